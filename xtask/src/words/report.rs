//! The figures as a table, and as JSON.

use std::fmt::Write as _;

use super::Figures;

pub(crate) fn table(figures: &Figures) -> String {
    let mut text = format!(
        "{:<20} {:>8} {:>10} {:>9} {:>8} {:>9}\n",
        "crate", "words", "per 1,000", "over 100", "messages", "per 1,000"
    );
    for (name, counted) in &figures.crates {
        let (comments, messages) = (counted.comments, counted.messages);
        let _written = writeln!(
            text,
            "{name:<20} {:>8} {:>10.1} {:>9} {:>8} {:>9.1}",
            comments.all,
            comments.per_thousand(),
            counted.over_100_columns,
            messages.all,
            messages.per_thousand(),
        );
    }
    let _written =
        writeln!(text, "\n{:<34} {:>7} {:>10} {:>10}", "page", "words", "a sentence", "per 1,000");
    for (path, page) in &figures.pages {
        let (mean, words) = (page.mean_sentence(), page.words.per_thousand());
        let _written = writeln!(text, "{path:<34} {:>7} {mean:>10.1} {words:>10.1}", page.length);
    }
    text
}

/// Names of packages and paths of pages need no escapes.
pub(crate) fn json(figures: &Figures) -> String {
    let crates = figures.crates.iter().map(|(name, counted)| {
        format!(
            "    \"{name}\": {{ \"per_thousand\": {:.1}, \"over_100_columns\": {}, \"messages_per_thousand\": {:.1} }}",
            counted.comments.per_thousand(),
            counted.over_100_columns,
            counted.messages.per_thousand(),
        )
    });
    let pages = figures.pages.iter().map(|(path, page)| {
        format!(
            "    \"{path}\": {{ \"mean_sentence\": {:.1}, \"per_thousand\": {:.1} }}",
            page.mean_sentence(),
            page.words.per_thousand(),
        )
    });
    let joined = |lines: Vec<String>| lines.join(",\n");
    format!(
        "{{\n  \"crates\": {{\n{}\n  }},\n  \"pages\": {{\n{}\n  }}\n}}",
        joined(crates.collect()),
        joined(pages.collect())
    )
}

#[cfg(test)]
mod tests {
    use super::{json, table};
    use crate::words::Figures;
    use crate::words::count::{Crate, Page, Words};

    #[test]
    fn both_forms_have_every_figure() {
        let comments = Words { all: 1000, pronouns: 3 };
        let counted = Crate { comments, over_100_columns: 7, ..Crate::default() };
        let figures = Figures {
            crates: vec![("a".to_owned(), counted)],
            pages: vec![("b.md".to_owned(), Page::of(&["One two three.".to_owned()]))],
        };
        let json = json(&figures);
        assert!(
            json.contains("\"a\": { \"per_thousand\": 3.0, \"over_100_columns\": 7,"),
            "{json}"
        );
        assert!(json.contains("\"b.md\": { \"mean_sentence\": 3.0,"), "{json}");
        let table = table(&figures);
        assert!(table.contains("3.0         7") && table.contains("b.md"), "{table}");
    }
}
