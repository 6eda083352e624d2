//! The comments and the string literals of a Rust file.

use crate::lexer::{Token, token};

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
        let token = token(&text[at..], &text[..at]);
        match token {
            Some((Token::Line(comment), length)) => {
                let begin = text[..at].rfind('\n').map_or(0, |line| line + 1);
                source.comments.push(Comment {
                    text: comment.trim_start_matches(['/', '!']),
                    columns: text[begin..at + length].trim_end().chars().count(),
                });
            }
            Some((Token::String(literal), _)) => {
                source.literals.extend((at < tests).then_some(literal));
            }
            Some((Token::Other, _)) | None => {}
        }
        at += token.map_or(letter.len_utf8(), |(_, length)| length);
    }
    source
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
