//! Text in columns.

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Aligned rows with two spaces between columns, and no spaces at the ends of lines.
pub(crate) fn columns(align: &[Align], rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..align.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(align).zip(&widths).map(|((cell, align), width)| match align {
            Align::Left => format!("{cell:<width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The same as Markdown; the first row is the head.
pub(crate) fn markdown(align: &[Align], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    for (number, cells) in rows.iter().enumerate() {
        out.push_str(&row(cells));
        if number == 0 {
            let rule = align.iter().map(|align| match align {
                Align::Left => "---".to_owned(),
                Align::Right => "---:".to_owned(),
            });
            out.push_str(&row(&rule.collect::<Vec<_>>()));
        }
    }
    out
}

/// A sentence in lines of at most `width` characters, each after the first indented by `indent`
/// more spaces.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let long = word.chars().count();
        if used > 0 && used + 1 + long > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += long;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "22".to_owned()]];
        assert_eq!(columns(&[Align::Left, Align::Right], &rows), ["a     1", "bcd  22"]);
        assert_eq!(
            markdown(&[Align::Left, Align::Right], &rows),
            "| a | 1 |\n| --- | ---: |\n| bcd | 22 |\n"
        );
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, 2), "one two\n  three");
        assert_eq!(wrapped("", 8, 2), "");
    }
}
