//! Finds the places of the mutants in a parsed file, and the edits that put them behind the switch.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, UnOp};

use super::MODULE;
use super::edit::{Edit, Piece};
use super::syntax::{
    chain_holds_let, holds_let, is_assignment, is_conditional, is_switchable, operator_text, returns_unnamed_type,
};
use crate::list::Genre;

/// A mutant of the file: number, kind, new text, first byte of the replaced text.
#[derive(Debug)]
pub struct Candidate<'a> {
    pub mutant: usize,
    pub genre: Genre,
    pub replacement: &'a str,
    pub start: usize,
}

/// Edits of a file, and the mutants in the order of the switch's numbers.
#[derive(Debug, Default)]
pub struct Sites {
    pub edits: Vec<Edit>,
    pub order: Vec<usize>,
}

/// Finds the edits of all candidates that can be switched at run time. `next` is the number of the first mutant.
pub fn find(file: &syn::File, candidates: &[Candidate], next: usize) -> Sites {
    let mut at: HashMap<(Genre, usize), Vec<(usize, &str)>> = HashMap::new();
    for candidate in candidates {
        at.entry((candidate.genre, candidate.start)).or_default().push((candidate.mutant, candidate.replacement));
    }
    let mut finder = Finder { at, next, found: Sites::default() };
    finder.visit_file(file);
    finder.found
}

struct Finder<'a> {
    at: HashMap<(Genre, usize), Vec<(usize, &'a str)>>,
    next: usize,
    found: Sites,
}

fn bytes(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

/// Pattern of the alternative `n` of `count`; the last one takes all that is left.
fn pattern(n: usize, count: usize) -> String {
    if n + 1 == count { "_".to_owned() } else { (n + 1).to_string() }
}

/// A mutant of a place and its replacement.
type Alternative<'a> = (usize, &'a str);

impl<'a> Finder<'a> {
    fn take(&mut self, genre: Genre, start: usize) -> Vec<Alternative<'a>> {
        self.at.remove(&(genre, start)).unwrap_or_default()
    }

    /// Numbers the mutants of a place. Returns the call that says which of them is on.
    fn switch(&mut self, alternatives: &[Alternative]) -> String {
        let call = format!("crate::{MODULE}::at({}, {})", self.next, alternatives.len());
        self.next += alternatives.len();
        self.found.order.extend(alternatives.iter().map(|(mutant, _)| mutant));
        call
    }

    fn edit(&mut self, range: Range<usize>, pieces: Vec<Piece>, alternatives: &[Alternative]) {
        let mutants = alternatives.iter().map(|(mutant, _)| *mutant).collect();
        self.found.edits.push(Edit { range, pieces, mutants });
    }

    /// `match switch { 0 => original, 1 => first mutant, … }`. The original comes first, so that the compiler reports
    /// a wrong type at the mutant.
    fn choice(
        &mut self,
        original: Piece,
        alternatives: &[Alternative],
        mutated: impl Fn(&str) -> String,
    ) -> Vec<Piece> {
        let mut pieces = vec![text(format!("match {} {{ 0 => ", self.switch(alternatives))), original];
        for (n, (mutant, replacement)) in alternatives.iter().enumerate() {
            pieces.push(text(format!(", {} => ", pattern(n, alternatives.len()))));
            pieces.push(Piece::Mutant(*mutant, mutated(replacement)));
        }
        pieces.push(text(" }"));
        pieces
    }

    /// At the begin of a body: the function returns at once if one of its mutants is on.
    fn body(&mut self, signature: &syn::Signature, block: &Block) {
        let Some(first) = block.stmts.first() else { return };
        // The value of a mutant has another type than the body, where the type has no name.
        if returns_unnamed_type(signature) {
            return;
        }
        let alternatives = self.take(Genre::FnValue, bytes(first).start);
        if alternatives.is_empty() {
            return;
        }
        let mut pieces = vec![text("{ ")];
        pieces.extend(self.choice(text("{}"), &alternatives, |value| format!("return {value}")));
        self.edit(bytes(&block.brace_token.span.open()), pieces, &alternatives);
    }

    fn binary(&mut self, binary: &syn::ExprBinary) {
        let alternatives = self.take(Genre::BinaryOperator, bytes(&binary.op).start);
        if alternatives.is_empty() {
            return;
        }
        let (left, right) = (Piece::Source(bytes(&binary.left)), Piece::Source(bytes(&binary.right)));
        let operator = &alternatives[0].1;
        let pieces = match &binary.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let swapped = if matches!(binary.op, BinOp::And(_)) { "||" } else { "&&" };
                // An alternative between `let` conditions does not compile.
                if holds_let(binary) || alternatives.len() != 1 || *operator != swapped {
                    return;
                }
                let test = if swapped == "||" { "!=" } else { "==" };
                let switch = self.switch(&alternatives);
                vec![
                    text("(match "),
                    left,
                    text(format!(" {{ __a => if __a {test} ({switch} == 1) {{ ")),
                    right,
                    text(" } else { __a } })"),
                ]
            }
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                let mut pieces = vec![text("(match (&("), left, text("), &("), right, text(")) { (__a, __b) => ")];
                let original = format!("*__a {} *__b", operator_text(&binary.op));
                pieces.extend(self.choice(text(original), &alternatives, |operator| format!("*__a {operator} *__b")));
                pieces.push(text(" })"));
                pieces
            }
            operator if is_assignment(operator) => {
                let mut pieces =
                    vec![text("(match "), right, text(" { __b => match &mut ("), left, text(") { __a => ")];
                let original = format!("*__a {} __b", operator_text(operator));
                pieces.extend(self.choice(text(original), &alternatives, |operator| format!("*__a {operator} __b")));
                pieces.push(text(" } })"));
                pieces
            }
            operator => {
                let mut pieces = vec![text("(match ("), left, text(", "), right, text(") { (__a, __b) => ")];
                let original = format!("__a {} __b", operator_text(operator));
                pieces.extend(self.choice(text(original), &alternatives, |operator| format!("__a {operator} __b")));
                pieces.push(text(" })"));
                pieces
            }
        };
        self.edit(bytes(binary), pieces, &alternatives);
    }

    fn unary(&mut self, unary: &syn::ExprUnary) {
        let alternatives = self.take(Genre::UnaryOperator, bytes(&unary.op).start);
        if alternatives.is_empty() {
            return;
        }
        let operator = match unary.op {
            UnOp::Not(_) => "!",
            _ => "-",
        };
        let mut pieces = vec![text("(match "), Piece::Source(bytes(&unary.expr)), text(" { __a => ")];
        pieces.extend(self.choice(text(format!("{operator}__a")), &alternatives, |_| "__a".to_owned()));
        pieces.push(text(" })"));
        self.edit(bytes(unary), pieces, &alternatives);
    }

    /// A struct expression with a base, once for each field that may be deleted.
    fn fields(&mut self, expression: &syn::ExprStruct) {
        let mut alternatives = Vec::new();
        let mut without = HashMap::new();
        for pair in expression.fields.pairs() {
            let field = bytes(*pair.value());
            let end = pair.punct().map_or(field.end, |comma| bytes(comma).end);
            for alternative in self.take(Genre::StructField, field.start) {
                alternatives.push(alternative);
                without.insert(alternative.0, field.start..end);
            }
        }
        if alternatives.is_empty() {
            return;
        }
        let all = bytes(expression);
        let mut pieces = vec![text("("), text(format!("match {} {{ 0 => ", self.switch(&alternatives)))];
        pieces.push(Piece::Source(all.clone()));
        for (n, (mutant, _)) in alternatives.iter().enumerate() {
            let deleted = &without[mutant];
            pieces.push(text(format!(", {} => ", pattern(n, alternatives.len()))));
            pieces.push(Piece::Source(all.start..deleted.start));
            pieces.push(Piece::Source(deleted.end..all.end));
        }
        pieces.push(text(" })"));
        self.edit(all, pieces, &alternatives);
    }

    /// Marks the scrutinee of a `match` as the place of the arms that may be deleted: there the compiler reports that
    /// the other arms do not suffice.
    fn scrutinee(&mut self, matched: &syn::ExprMatch) {
        let deleted = matched.arms.iter().filter_map(|arm| self.at.get(&(Genre::MatchArm, bytes(arm).start)));
        let deleted: Vec<Alternative> = deleted.flatten().copied().collect();
        if !deleted.is_empty() {
            let range = bytes(&matched.expr);
            self.edit(range.clone(), vec![Piece::Source(range)], &deleted);
        }
    }

    fn arm(&mut self, arm: &syn::Arm) {
        let deleted = self.take(Genre::MatchArm, bytes(arm).start);
        let guard = arm.guard.as_ref().map(|(token, guard)| (bytes(token).start, guard));
        let fixed = match guard {
            Some((_, guard)) if !matches!(**guard, Expr::Let(_)) && !chain_holds_let(guard) => {
                self.take(Genre::MatchArmGuard, bytes(guard.as_ref()).start)
            }
            _ => Vec::new(),
        };
        if deleted.is_empty() && fixed.is_empty() {
            return;
        }
        let mut conditions = Vec::new();
        if !deleted.is_empty() {
            conditions.push(vec![text(format!("{} == 0", self.switch(&deleted)))]);
        }
        if let Some((_, guard)) = guard {
            let original = Piece::Source(bytes(guard.as_ref()));
            conditions.push(if fixed.is_empty() {
                vec![text("("), original, text(")")]
            } else {
                let mut pieces = vec![text("(")];
                pieces.extend(self.choice(original, &fixed, str::to_owned));
                pieces.push(text(")"));
                pieces
            });
        }
        let mut pieces = vec![text(" if ")];
        for (n, condition) in conditions.into_iter().enumerate() {
            if n > 0 {
                pieces.push(text(" && "));
            }
            pieces.extend(condition);
        }
        let range = match guard {
            Some((start, guard)) => start..bytes(guard.as_ref()).end,
            None => bytes(&arm.pat).end..bytes(&arm.pat).end,
        };
        self.edit(range, pieces, &[deleted, fixed].concat());
    }
}

/// Constants cannot ask a switch, and patterns hold no expressions to change.
impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_switchable(&item.sig, &item.attrs) {
            self.body(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_switchable(&item.sig, &item.attrs) {
            self.body(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if is_switchable(&item.sig, &item.attrs) {
            item.default.iter().for_each(|block| self.body(&item.sig, block));
            visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_conditional(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        self.binary(binary);
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        self.unary(unary);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_struct(&mut self, expression: &'ast syn::ExprStruct) {
        self.fields(expression);
        visit::visit_expr_struct(self, expression);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        self.scrutinee(matched);
        visit::visit_expr_match(self, matched);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        self.arm(arm);
        visit::visit_arm(self, arm);
    }

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
}
