//! Questions about the syntax around a mutant.

use syn::visit::Visit;
use syn::{Attribute, BinOp, Expr};

/// A `const fn` cannot ask the switch. A conditional function may not be in the build.
pub fn is_switchable(signature: &syn::Signature, attributes: &[Attribute]) -> bool {
    signature.constness.is_none() && !is_conditional(attributes)
}

/// Whether the build may lack an item. Builds for tests have debug assertions.
pub fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let condition = attribute.parse_args::<syn::Ident>();
        !condition.is_ok_and(|condition| condition == "debug_assertions")
    })
}

/// Whether a function returns `impl Trait`.
pub fn returns_unnamed_type(signature: &syn::Signature) -> bool {
    struct Finder(bool);
    impl Visit<'_> for Finder {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut finder = Finder(false);
    finder.visit_return_type(&signature.output);
    finder.0
}

/// Whether a condition holds a `let` at its top.
pub fn holds_let(binary: &syn::ExprBinary) -> bool {
    [&binary.left, &binary.right].into_iter().any(|side| chain_holds_let(side))
}

/// Whether an expression is a chain of conditions with a `let`.
pub fn chain_holds_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => matches!(binary.op, BinOp::And(_)) && holds_let(binary),
        _ => false,
    }
}

/// Whether an operator is `+=` or alike. Call it after comparisons.
pub fn is_assignment(operator: &BinOp) -> bool {
    operator_text(operator).ends_with('=')
}

/// The operator as it is written.
pub fn operator_text(operator: &BinOp) -> &'static str {
    match operator {
        BinOp::Add(_) => "+",
        BinOp::Sub(_) => "-",
        BinOp::Mul(_) => "*",
        BinOp::Div(_) => "/",
        BinOp::Rem(_) => "%",
        BinOp::And(_) => "&&",
        BinOp::Or(_) => "||",
        BinOp::BitXor(_) => "^",
        BinOp::BitAnd(_) => "&",
        BinOp::BitOr(_) => "|",
        BinOp::Shl(_) => "<<",
        BinOp::Shr(_) => ">>",
        BinOp::Eq(_) => "==",
        BinOp::Lt(_) => "<",
        BinOp::Le(_) => "<=",
        BinOp::Ne(_) => "!=",
        BinOp::Ge(_) => ">=",
        BinOp::Gt(_) => ">",
        BinOp::AddAssign(_) => "+=",
        BinOp::SubAssign(_) => "-=",
        BinOp::MulAssign(_) => "*=",
        BinOp::DivAssign(_) => "/=",
        BinOp::RemAssign(_) => "%=",
        BinOp::BitXorAssign(_) => "^=",
        BinOp::BitAndAssign(_) => "&=",
        BinOp::BitOrAssign(_) => "|=",
        BinOp::ShlAssign(_) => "<<=",
        BinOp::ShrAssign(_) => ">>=",
        _ => unreachable!("an operator that syn does not know"),
    }
}
