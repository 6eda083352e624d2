//! Tokens of a Rust file that are no code: comments, strings and characters.

/// A comment or a literal, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// `//` to the end of its line.
    Line(&'a str),
    /// A block comment, or a character.
    Other,
    /// A string, without its quotes.
    String(&'a str),
}

/// The token that begins at `rest`, and its length; none where code goes on. `before` is the text
/// before it.
pub(crate) fn token<'a>(rest: &'a str, before: &str) -> Option<(Token<'a>, usize)> {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        return Some((Token::Line(&rest[..length]), length));
    }
    if rest.starts_with("/*") {
        return Some((Token::Other, rest.find("*/").map_or(rest.len(), |end| end + "*/".len())));
    }
    if let Some((length, literal)) = string(rest, before) {
        return Some((Token::String(literal), length));
    }
    character(rest).map(|length| (Token::Other, length))
}

/// The string that begins here: its length with its quotes, and its text.
fn string<'a>(rest: &'a str, before: &str) -> Option<(usize, &'a str)> {
    if let Some(body) = rest.strip_prefix('"') {
        let length = closing(body, '"');
        return Some(((length + 2).min(rest.len()), body.get(..length)?));
    }
    let is_name = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let raw = rest.strip_prefix('r').filter(|_| !is_name || before.ends_with('b'))?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let body = raw[hashes..].strip_prefix('"')?;
    let length = body.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((rest.len() - body.len() + length + 1 + hashes, &body[..length]))
}

/// The length of the character that begins here; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    let is_literal = body.starts_with('\\') || body.chars().nth(1) == Some('\'');
    is_literal.then(|| (closing(body, '\'') + 2).min(rest.len()))
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
