//! Rust code without comments, white space and unit tests.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of Rust code, separated by spaces. Comments, documentation and items with `#[cfg(test)]` are left out, so
/// that only code counts. `None` if the text is no Rust code.
pub fn tokens(code: &str) -> Option<String> {
    let mut out = String::new();
    write(code.parse().ok()?, &mut out);
    Some(out)
}

fn write(stream: TokenStream, out: &mut String) {
    let mut rest = stream.into_iter().peekable();
    while let Some(token) = rest.next() {
        if let TokenTree::Punct(mark) = &token
            && mark.as_char() == '#'
        {
            // The documentation of a file has a `!` before the brackets.
            let inner = rest.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'));
            let attribute = rest.peek().map(ToString::to_string).unwrap_or_default();
            if attribute.starts_with("[doc =") || attribute.starts_with("[doc=") {
                rest.next();
                continue;
            }
            if attribute.replace(' ', "") == "[cfg(test)]" {
                // The attribute, and its item up to its braces or its semicolon.
                let ends = |token: &TokenTree| match token {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    TokenTree::Punct(mark) => mark.as_char() == ';',
                    _ => false,
                };
                let _ = rest.by_ref().find(ends);
                continue;
            }
            out.push_str(if inner.is_some() { "#! " } else { "# " });
            continue;
        }
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("( ", ") "),
                    Delimiter::Brace => ("{ ", "} "),
                    Delimiter::Bracket => ("[ ", "] "),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write(group.stream(), out);
                out.push_str(close);
            }
            other => {
                out.push_str(&other.to_string());
                out.push(' ');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_white_space_and_tests_do_not_count() {
        let code = "//! A file.\n\n/// A function.\nfn f(x: u32) -> u32 { /* twice */ 2 * x } // end\n\
                    #[cfg(test)]\nmod tests { fn g() {} }\n#[cfg(test)]\nmod more;\nconst N: u32 = 1;\n";
        let bare = "fn f(x: u32)->u32{2*x}\nconst N: u32 = 1;";
        assert_eq!(tokens(code), tokens(bare));
        assert!(tokens(code).is_some());
    }

    #[test]
    fn everything_else_counts() {
        let code = "#[inline] fn f() { let block = [32, 4, 2]; print(\"// no comment\"); let c = 'a'; }";
        for (from, to) in [("32", "64"), ("// no", "//  no"), ("'a'", "'b'"), ("[inline]", "[cold]"), ("f()", "g()")]
        {
            assert_ne!(tokens(code), tokens(&code.replacen(from, to, 1)), "{from}");
        }
        assert_eq!(tokens("fn f( {"), None);
    }
}
