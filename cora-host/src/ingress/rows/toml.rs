//! Rows as TOML: a list of tables, of any name.

use std::collections::VecDeque;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{LineCount, unknown};

/// A file of tables.
#[derive(Debug)]
pub(super) struct Toml<'a> {
    text: &'a str,
    rows: VecDeque<Spanned<DeValue<'a>>>,
    /// The cells of the row: column, text, place in bytes.
    row: Vec<(String, Option<String>, usize)>,
    /// Where the row begins, in bytes.
    at: usize,
    lines: LineCount,
}

type Found = Vec<(usize, String)>;

impl<'a> Toml<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let lines = LineCount::default();
        Self { text, rows: VecDeque::new(), row: Vec::new(), at: 0, lines }
    }

    /// Parses the file.
    pub(super) fn begin(&mut self) -> Found {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        if !errors.is_empty() {
            let place = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
            return errors.iter().map(|error| (place(error), error.message().to_owned())).collect();
        }
        let mut found = Found::new();
        let mut lists: Vec<_> = table.into_inner().into_iter().collect();
        lists.sort_by_key(|(name, _)| name.span().start);
        for (number, (name, list)) in lists.into_iter().enumerate() {
            let at = list.span().start;
            match list.into_inner() {
                _ if number > 0 => {
                    let why = "a file has one list of rows, and this is another";
                    found.push((name.span().start, why.to_owned()));
                }
                DeValue::Array(rows) => self.rows = rows.into_iter().collect(),
                _ => {
                    let name = name.get_ref();
                    let why = format!("a file is a list of rows: write `[[{name}]]` above each");
                    found.push((at, why));
                }
            }
        }
        found
    }

    /// Goes to the next row; returns its line.
    pub(super) fn next_row(&mut self, columns: &[&'static str], found: &mut Found) -> Option<u32> {
        let row = self.rows.pop_front()?;
        self.at = row.span().start;
        self.row.clear();
        match row.into_inner() {
            DeValue::Table(cells) => {
                for (column, cell) in cells {
                    let (at, name) = (column.span().start, column.into_inner().into_owned());
                    if !columns.contains(&name.as_str()) {
                        found.push((at, unknown(&name, columns)));
                        continue;
                    }
                    let text = text_of(cell.get_ref());
                    if let Err(kind) = &text {
                        let why = format!("`{name}` is one value, and this is {kind}");
                        found.push((cell.span().start, why));
                    }
                    self.row.push((name, text.ok(), cell.span().start));
                }
            }
            other => {
                let what = other.type_str();
                found.push((self.at, format!("a row is a table, and this is {what}")));
            }
        }
        Some(self.lines.line(self.text, self.at))
    }

    /// The text of the row in a column.
    pub(super) fn cell(&self, column: &str) -> Option<&str> {
        let (_, text, _) = self.row.iter().find(|(name, ..)| name == column)?;
        text.as_deref()
    }

    /// Whether the row has a value in this column that can't be a cell, which was reported.
    pub(super) fn is_refused(&self, column: &str) -> bool {
        self.row.iter().any(|(name, text, _)| name == column && text.is_none())
    }

    /// Where the value of a column begins, or the row if it has none.
    pub(super) fn place(&self, column: &str) -> usize {
        let cell = self.row.iter().find(|(name, ..)| name == column);
        cell.map_or(self.at, |(_, _, at)| *at)
    }
}

/// A value as a cell says it; an error is its kind.
fn text_of(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Integer(number) => {
            let digits: String = number.as_str().chars().filter(|digit| *digit != '_').collect();
            match number.radix() {
                10 => Ok(digits),
                radix => i128::from_str_radix(&digits, radix)
                    .map(|number| number.to_string())
                    .map_err(|_| "a number of more than 127 bits"),
            }
        }
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Ok(truth.to_string()),
        DeValue::Datetime(time) => Ok(time.to_string()),
        DeValue::Array(_) => Err("an array"),
        DeValue::Table(_) => Err("a table"),
    }
}
