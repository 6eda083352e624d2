//! Counts of words, and the figures made of them.

use super::source::Source;

/// Words that stand in the place of a noun.
pub(crate) const PRONOUNS: [&str; 3] = ["what", "whose", "whoever"];

/// Columns of a line with a comment.
const COLUMNS: usize = 100;

/// A literal with fewer words is a name, a unit or a format; with more it speaks to somebody.
const MESSAGE: usize = 3;

/// Words, and how many of them are pronouns in the place of a noun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) all: usize,
    pub(crate) pronouns: usize,
}

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        let mut words = Self::default();
        for word in text.split(|letter: char| !letter.is_alphabetic() && letter != '\'') {
            let word = word.trim_matches('\'');
            if !word.is_empty() {
                words.all += 1;
                let bare = word.split('\'').next().unwrap_or(word);
                words.pronouns += usize::from(PRONOUNS.contains(&bare.to_lowercase().as_str()));
            }
        }
        words
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.all += other.all;
        self.pronouns += other.pronouns;
    }

    #[expect(clippy::cast_precision_loss, reason = "a repository has fewer words than 2^52")]
    pub(crate) fn per_thousand(self) -> f64 {
        if self.all == 0 { 0.0 } else { 1000.0 * self.pronouns as f64 / self.all as f64 }
    }
}

/// The figures of a package.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub(crate) comments: Words,
    pub(crate) over_100_columns: usize,
    pub(crate) messages: Words,
}

impl Crate {
    /// Counts a file. The literals of tests are data, not messages.
    pub(crate) fn add(&mut self, file: &Source<'_>, is_test: bool) {
        for comment in &file.comments {
            self.comments.add(Words::of(comment.text));
            self.over_100_columns += usize::from(comment.columns > COLUMNS);
        }
        let messages = if is_test { &[][..] } else { &file.literals[..] };
        for literal in messages {
            let words = Words::of(&without_places(literal));
            if words.all >= MESSAGE {
                self.messages.add(words);
            }
        }
    }
}

/// A format string without its `{places}`, which name variables.
fn without_places(literal: &str) -> String {
    let mut parts = literal.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + " " + part.split_once('}').map_or(part, |(_, behind)| behind)
    })
}

/// The figures of a page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) words: Words,
    pub(crate) sentences: usize,
    pub(crate) length: usize,
}

impl Page {
    pub(crate) fn of(sentences: &[String]) -> Self {
        let mut page = Self { sentences: sentences.len(), ..Self::default() };
        for sentence in sentences {
            page.words.add(Words::of(sentence));
            page.length += super::prose::length(sentence);
        }
        page
    }

    #[expect(clippy::cast_precision_loss, reason = "a page has fewer words than 2^52")]
    pub(crate) fn mean_sentence(&self) -> f64 {
        if self.sentences == 0 { 0.0 } else { self.length as f64 / self.sentences as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crate, Page, Words};
    use crate::words::source;

    #[test]
    fn whole_words_count_in_either_case() {
        let words = Words::of("What's whatever, whose; somewhat WHOEVER: don't");
        assert_eq!(words, Words { all: 6, pronouns: 3 });
        assert!((words.per_thousand() - 500.0).abs() < f64::EPSILON);
        assert!(Words::default().per_thousand().abs() < f64::EPSILON);
    }

    #[test]
    fn a_message_has_three_words_and_its_places_are_no_words() {
        let text = "let a = [\"what\", \"say what {what} is {}\", \"{what} {whose} b\"];";
        let mut counted = Crate::default();
        counted.add(&source::read(text), false);
        assert_eq!(counted.messages, Words { all: 3, pronouns: 1 });
        let mut test = Crate::default();
        test.add(&source::read(text), true);
        assert_eq!(test.messages, Words::default());
    }

    #[test]
    fn a_line_with_a_comment_has_a_hundred_columns() {
        let line = |length: usize| format!("//{}\n", "–".repeat(length - 2));
        let mut counted = Crate::default();
        counted.add(&source::read(&line(100)), false);
        assert_eq!(counted.over_100_columns, 0);
        counted.add(&source::read(&line(101)), false);
        assert_eq!(counted.over_100_columns, 1);
    }

    #[test]
    fn a_mean_is_over_sentences() {
        let page = Page::of(&["One two three.".to_owned(), "Four.".to_owned()]);
        assert!((page.mean_sentence() - 2.0).abs() < f64::EPSILON);
        assert!(Page::of(&[]).mean_sentence().abs() < f64::EPSILON);
    }
}
