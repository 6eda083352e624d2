//! The comments and the string literals of a Rust file.

/// A file, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Source<'a> {
    /// Each `//` to the end of its line, without block comments.
    pub(crate) comments: Vec<Comment<'a>>,
    /// Strings before the file's tests, as they are written, without quotes.
    pub(crate) literals: Vec<&'a str>,
}

/// A comment behind its slashes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    pub(crate) text: &'a str,
    /// The length of the whole line.
    pub(crate) columns: usize,
}

/// The literals of tests are data.
const TESTS: &str = "#[cfg(test)]\nmod ";

pub(crate) fn read(text: &str) -> Source<'_> {
    let mut source = Source::default();
    let tests = text.find(TESTS).unwrap_or(text.len());
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        at += if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let begin = text[..at].rfind('\n').map_or(0, |line| line + 1);
            source.comments.push(Comment {
                text: rest[..length].trim_start_matches(['/', '!']),
                columns: text[begin..at + length].trim_end().chars().count(),
            });
            length
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + "*/".len())
        } else if let Some((length, literal)) = string(rest, &text[..at]) {
            source.literals.extend((at < tests).then_some(literal));
            length
        } else {
            character(rest).unwrap_or(letter.len_utf8())
        };
    }
    source
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

#[cfg(test)]
mod tests {
    use super::read;

    fn comments(text: &str) -> Vec<&str> {
        read(text).comments.iter().map(|comment| comment.text).collect()
    }

    #[test]
    fn comments_of_all_three_kinds_are_found() {
        let text = "//! a\n/// b\nfn f() {} // c\n/* d // e */ let _ = 1; // f";
        assert_eq!(comments(text), [" a", " b", " c", " f"]);
        assert_eq!(read(text).comments[2].columns, "fn f() {} // c".len());
    }

    #[test]
    fn literals_hide_comments_and_quotes() {
        let text =
            r##"f("a // \" b", r#"c " // d"#, br"e", '"', '\'', b'/'); let x: &'a str; // g"##;
        assert_eq!(comments(text), [" g"]);
        assert_eq!(read(text).literals, [r#"a // \" b"#, r#"c " // d"#, "e"]);
    }

    #[test]
    fn literals_of_tests_are_left_out() {
        let text = "f(\"a\"); // b\n#[cfg(test)]\nmod tests { f(\"c\"); // d\n}";
        assert_eq!((read(text).literals, comments(text)), (vec!["a"], vec![" b", " d"]));
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_file() {
        assert_eq!(read("a \"b").literals, ["b"]);
        assert_eq!(read("for\"b\"").literals, ["b"]);
    }
}
