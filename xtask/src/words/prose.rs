//! The sentences of a page in Markdown.
//!
//! 1. Left out: fenced code, headings, HTML, rows that draw a table's line, targets of links.
//! 2. A piece of code in backquotes is one word, however long.
//! 3. A blank line, a list's item, a table's cell and everything that is left out end a sentence.
//!    So do `.`, `!` and `?` before a blank.
//! 4. A table's cell of fewer than five words is a label, no sentence.
//! 5. A word is between blanks and has a letter or a digit.

/// Fewer words in a cell are a label.
const LABEL: usize = 5;

pub(crate) fn sentences(page: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for (kind, text) in blocks(page) {
        let text = plain(&text);
        if kind == Kind::Paragraph || length(&text) >= LABEL {
            sentences.extend(split(&text));
        }
    }
    sentences
}

/// The words of a sentence.
pub(crate) fn length(sentence: &str) -> usize {
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    sentence.split_whitespace().filter(is_word).count()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Paragraph,
    Cell,
}

/// Pieces of text that belong together.
fn blocks(page: &str) -> Vec<(Kind, String)> {
    let mut blocks = Vec::new();
    let mut open = String::new();
    let mut is_code = false;
    for line in page.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        let item = item(line);
        let is_apart = line.is_empty() || line.starts_with(['#', '<', '|']) || is_fence || is_code;
        if (is_apart || item.is_some()) && !open.is_empty() {
            blocks.push((Kind::Paragraph, std::mem::take(&mut open)));
        }
        is_code ^= is_fence;
        if !is_apart {
            open.push_str(item.unwrap_or(line));
            open.push(' ');
        } else if line.starts_with('|') && !is_code {
            blocks.extend(cells(line));
        }
    }
    blocks.push((Kind::Paragraph, open));
    blocks
}

/// The text of a list's item.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let marked = if number.len() < line.len() { number.strip_prefix(". ") } else { None };
    marked.or_else(|| line.strip_prefix("- ")).or_else(|| line.strip_prefix("* "))
}

fn cells(row: &str) -> impl Iterator<Item = (Kind, String)> {
    let row = row.replace("\\|", "/");
    let is_line = row.chars().all(|letter| "|-: ".contains(letter));
    let cells: Vec<_> = row.split('|').map(|cell| (Kind::Cell, cell.trim().to_owned())).collect();
    cells.into_iter().filter(move |_| !is_line)
}

/// Without code and targets of links.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (number, part) in text.split('`').enumerate() {
        plain.push_str(if number % 2 == 0 { part } else { "code" });
    }
    let mut parts = plain.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, behind)| behind))
}

fn split(text: &str) -> Vec<String> {
    let mut sentences = vec![String::new()];
    for word in text.split_whitespace() {
        let last = sentences.len() - 1;
        sentences[last].push_str(word);
        sentences[last].push(' ');
        let bare = word.trim_end_matches([')', '*', '"', '_', ']', '”']);
        if bare.ends_with(['.', '!', '?']) {
            sentences.push(String::new());
        }
    }
    sentences.retain(|sentence| length(sentence) > 0);
    sentences
}

#[cfg(test)]
mod tests {
    use super::{length, sentences};

    fn lengths(page: &str) -> Vec<usize> {
        sentences(page).iter().map(|sentence| length(sentence)).collect()
    }

    #[test]
    fn a_sentence_ends_before_a_blank_only() {
        assert_eq!(
            lengths("One of 1.5 kinds (so it is.) Two `a. b` words?\nThree\nlines"),
            [7, 3, 2]
        );
    }

    #[test]
    fn code_headings_and_targets_are_left_out() {
        let page =
            "# Not this\n\nSee [the page](docs/a_b.md) there\n```sh\nnot this. nor this\n```\nEnd.";
        assert_eq!(lengths(page), [4, 1]);
        assert_eq!(sentences(page)[0], "See [the page there ");
    }

    #[test]
    fn items_and_cells_end_sentences() {
        let page = "- one two\n- three\n  four\n1. five\n\n| a | one two three four five \\| six |\n| --- | --: |\n";
        assert_eq!(lengths(page), [2, 2, 1, 6]);
    }

    #[test]
    fn marks_alone_are_no_words() {
        assert_eq!(lengths("a – b · c → d ."), [4]);
    }
}
