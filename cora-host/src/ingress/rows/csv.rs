//! Rows as CSV (RFC 4180), with the columns' names in the first line.

use std::fmt;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::{LineCount, is_left_out, unknown};

/// A file of comma-separated values.
pub(super) struct Csv<'a> {
    text: &'a str,
    reader: csv::Reader<&'a [u8]>,
    head: StringRecord,
    row: StringRecord,
    /// Where the row begins, in bytes.
    at: usize,
    lines: LineCount,
}

impl fmt::Debug for Csv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Csv").field("head", &self.head).field("row", &self.row).finish()
    }
}

impl<'a> Csv<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        let (head, row) = (StringRecord::new(), StringRecord::new());
        Self { text, reader, head, row, at: 0, lines: LineCount::default() }
    }

    /// Reads the head.
    pub(super) fn begin(&mut self, columns: &[&'static str]) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        if !self.read(&mut found) {
            return found;
        }
        self.head = self.row.clone();
        for (number, name) in self.head.iter().enumerate() {
            if !columns.contains(&name) {
                found.push((self.start(number), unknown(name, columns)));
            } else if self.head.iter().position(|other| other == name) != Some(number) {
                found.push((self.start(number), format!("a second column is called `{name}`")));
            }
        }
        if !found.is_empty() {
            // Rows under other names would only repeat that.
            self.head.clear();
        }
        found
    }

    /// Reads the next row; returns its line.
    pub(super) fn next_row(&mut self, found: &mut Vec<(usize, String)>) -> Option<u32> {
        if self.head.is_empty() || !self.read(found) {
            return None;
        }
        let (cells, head) = (self.row.len(), self.head.len());
        if cells != head {
            found.push((self.at, format!("the row has {cells} cells, and the head {head}")));
        }
        Some(self.lines.line(self.text, self.at))
    }

    /// The text of the row in a column; an empty cell has none.
    pub(super) fn cell(&self, column: &str) -> Option<&str> {
        let number = self.head.iter().position(|name| name == column)?;
        self.row.get(number).filter(|text| !text.is_empty())
    }

    /// Where the cell of a column begins, or the row if it has none.
    pub(super) fn place(&self, column: &str) -> usize {
        let number = self.head.iter().position(|name| name == column);
        self.start(number.filter(|number| *number < self.row.len()).unwrap_or_default())
    }

    /// Reads a record; `false` at the end.
    fn read(&mut self, found: &mut Vec<(usize, String)>) -> bool {
        let before = self.reader.position().byte() as usize;
        match self.reader.read_record(&mut self.row) {
            // The text is valid UTF-8 and in memory, and rows may be of any length: no other error
            // is left.
            Err(error) => {
                found.push((before, error.to_string()));
                false
            }
            Ok(is_read) => {
                self.at = before + left_out(self.text.get(before..).unwrap_or_default());
                is_read
            }
        }
    }

    /// Where cell `number` of the row begins.
    fn start(&self, number: usize) -> usize {
        let row = self.text.get(self.at..).unwrap_or_default();
        let mut quoted = false;
        let ends = row.bytes().enumerate().filter(|(_, byte)| {
            quoted ^= *byte == b'"';
            *byte == b',' && !quoted
        });
        let start = match number.checked_sub(1) {
            None => 0,
            Some(before) => ends.map(|(at, _)| at + 1).nth(before).unwrap_or_default(),
        };
        let cell = row.get(start..).unwrap_or_default();
        self.at + start + (cell.len() - cell.trim_start_matches([' ', '\t']).len())
    }
}

/// Bytes of the lines at the beginning that have nothing to read.
fn left_out(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines.take_while(|line| is_left_out(line) && line.ends_with('\n')).map(str::len).sum()
}
