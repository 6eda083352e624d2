//! The code of a file: without comments, the contents of strings, and tests.

use crate::lexer::token;

/// The code of a file, with a space in place of all that was taken out.
pub(super) fn code(text: &str) -> String {
    without_tests(&bare(text))
}

/// Without comments, strings and characters.
fn bare(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let token = token(&text[at..], &text[..at]);
        code.push(if token.is_some() { ' ' } else { letter });
        at += token.map_or(letter.len_utf8(), |(_, length)| length);
    }
    code
}

/// Without the items behind `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    const TEST: &str = "#[cfg(test)]";
    let mut left = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(TEST) {
        left.push_str(&rest[..at]);
        let item = &rest[at + TEST.len()..];
        rest = &item[end_of_item(item)..];
    }
    left.push_str(rest);
    left
}

/// Where the item that begins here ends: with its block, or with a semicolon.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && letter == '}' && !code[at + 1..].trim_start().starts_with(';') {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn tests_comments_and_strings_are_no_code() {
        let text = "use a::b; // crate::no\n/* crate::no */ let s = \"crate::no \\\" \";\n\
                    let c = '\"';\n\
                    let r = r#\"crate::no \"#; fn f<'a>(x: &'a u8) {}\n\
                    #[cfg(test)]\nmod tests { use crate::no; fn g() { h(\"}\") } }\n\
                    #[cfg(test)] use crate::no::{x, y};\nuse c::d;";
        let code = code(text);
        assert!(!code.contains("no"), "{code}");
        assert!(code.contains("use a::b;") && code.contains("use c::d;"), "{code}");
        assert!(code.contains("fn f<'a>(x: &'a u8) {}"), "{code}");
    }
}
