//! The code of a file: without comments, the contents of strings, and tests.

/// The code of a file, with a space in place of all that was taken out.
pub(super) fn code(text: &str) -> String {
    without_tests(&bare(text))
}

/// Without comments and the contents of strings.
fn bare(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = comment(rest).or_else(|| literal(rest, &code));
        if length.is_some() {
            code.push(' ');
        } else {
            code.push(letter);
        }
        at += length.unwrap_or(letter.len_utf8());
    }
    code
}

/// The length of the comment that begins here.
fn comment(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(rest.len(), |end| end + 2))
}

/// The length of the string or character that begins here. A lifetime is none.
fn literal(rest: &str, before: &str) -> Option<usize> {
    if let Some(body) = rest.strip_prefix('"') {
        return Some((closing(body, '"') + 2).min(rest.len()));
    }
    if let Some(body) = rest.strip_prefix('\'') {
        let is_character = body.starts_with('\\') || body.chars().nth(1) == Some('\'');
        return is_character.then(|| (closing(body, '\'') + 2).min(rest.len()));
    }
    let is_name = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let raw = rest.strip_prefix('r').filter(|_| !is_name || before.ends_with('b'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let body = raw[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end)?;
    Some(rest.len() - body.len() + length + end.len())
}

/// Where the closing quote stands; the end, where it lacks.
fn closing(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in body.char_indices() {
        if letter == quote && !escaped {
            return at;
        }
        escaped = letter == '\\' && !escaped;
    }
    body.len()
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
