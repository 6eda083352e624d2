//! Configuration files, as states read them: rows of named columns.
//!
//! The host opens a file and knows its form; states ask for cells by column. Faults go back to the
//! file, which knows the line, so that all of them are reported at once.

#[cfg(not(target_os = "none"))]
use core::fmt::Display;
#[cfg(not(target_os = "none"))]
use core::str::FromStr;

/// A file of rows, at the host.
#[cfg(not(target_os = "none"))]
pub trait File {
    /// The text, for a state that reads it itself.
    fn text(&self) -> &str;

    /// Begins to read rows that have these columns. Any other column is a fault.
    fn begin(&mut self, columns: &[&[&'static str]]);

    /// Goes to the next row; `false` at the end.
    fn next_row(&mut self) -> bool;

    /// The text in a column of the row; `None` if the row has none there.
    fn cell(&self, column: &str) -> Option<&str>;

    /// Reports a fault of this column of the row, with the text that is there.
    fn fault(&mut self, column: &str, why: &dyn Display);

    /// Reports a fault of the row with this number, counted from 0.
    fn fault_of(&mut self, row: usize, why: &dyn Display);

    /// Reports that a row is about the same as an earlier one.
    fn fault_twice(&mut self, row: usize, earlier: usize, what: &dyn Display);

    /// Reports a fault of the whole file.
    fn refuse(&mut self, why: &dyn Display);

    /// Whether no fault was reported yet.
    fn is_sound(&self) -> bool;
}

/// A value that a cell holds: any type that is read from text.
#[cfg(not(target_os = "none"))]
#[diagnostic::on_unimplemented(
    message = "a file can't say a `{Self}`",
    label = "not read from text",
    note = "`impl FromStr for {Self}`, with an error that can be shown, reads it from a column's \
            text; `#[host_only]` on it keeps that out of the NIC half"
)]
pub trait Column: Sized {
    /// What is wrong with a text.
    type Fault: Display;

    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn from_cell(text: &str) -> Result<Self, Self::Fault>;
}

#[cfg(not(target_os = "none"))]
impl<T: FromStr<Err: Display>> Column for T {
    type Fault = T::Err;

    fn from_cell(text: &str) -> Result<Self, T::Err> {
        text.parse()
    }
}

/// The value in a column of the file's row. A row without one, or with another text there, is a
/// fault.
#[cfg(not(target_os = "none"))]
pub fn read<T: Column>(file: &mut dyn File, column: &'static str) -> Option<T> {
    let Some(text) = file.cell(column) else {
        file.fault(column, &"nothing stands there");
        return None;
    };
    match T::from_cell(text) {
        Ok(value) => Some(value),
        Err(error) => {
            file.fault(column, &error);
            None
        }
    }
}

/// The same, but a row without a value there has this one.
#[cfg(not(target_os = "none"))]
pub fn read_or<T: Column>(file: &mut dyn File, column: &'static str, default: T) -> Option<T> {
    if file.cell(column).is_none() { Some(default) } else { read(file, column) }
}

/// A value that takes one or more columns of a row, such as the key of a
/// [`Map`](crate::state::configured::Map).
#[diagnostic::on_unimplemented(
    message = "a file's columns can't say a `{Self}`",
    label = "not read from columns",
    note = "`#[derive(Key)]` reads fields that are integers, `bool`, `Address`, `Ipv4Addr`, \
            `Mac` or `Prefix`; `impl FromColumns for {Self}` reads others"
)]
pub trait FromColumns: Sized {
    /// The names of the columns.
    const COLUMNS: &'static [&'static str];

    /// The value in the file's row; `None` after a fault, which is reported to the file.
    #[cfg(not(target_os = "none"))]
    fn from_columns(file: &mut dyn File) -> Option<Self>;
}

#[cfg(test)]
pub(crate) mod tests {
    use std::string::{String, ToString as _};
    use std::vec::Vec;

    use super::*;

    /// Rows without quotes and comments, for tests of states.
    #[derive(Debug)]
    pub(crate) struct Cells {
        text: &'static str,
        rows: Vec<Vec<String>>,
        row: usize,
        pub(crate) faults: Vec<String>,
    }

    impl Cells {
        pub(crate) fn new(text: &'static str) -> Self {
            let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_owned()).collect();
            let rows = text.lines().map(cells).collect();
            Self { text, rows, row: 0, faults: Vec::new() }
        }

        /// A head, and rows.
        pub(crate) fn of(rows: Vec<Vec<String>>) -> Self {
            Self { text: "", rows, row: 0, faults: Vec::new() }
        }
    }

    impl File for Cells {
        fn text(&self) -> &str {
            self.text
        }

        fn begin(&mut self, _: &[&[&'static str]]) {}

        fn next_row(&mut self) -> bool {
            self.row += 1;
            self.row < self.rows.len()
        }

        fn cell(&self, column: &str) -> Option<&str> {
            let number = self.rows[0].iter().position(|name| name == column)?;
            self.rows[self.row].get(number).map(String::as_str).filter(|text| !text.is_empty())
        }

        fn fault(&mut self, column: &str, why: &dyn Display) {
            self.faults.push(std::format!("{}: {column}: {why}", self.row - 1));
        }

        fn fault_of(&mut self, row: usize, why: &dyn Display) {
            self.faults.push(std::format!("{row}: {why}"));
        }

        fn fault_twice(&mut self, row: usize, earlier: usize, what: &dyn Display) {
            self.fault_of(row, &std::format!("{what} as in {earlier}"));
        }

        fn refuse(&mut self, why: &dyn Display) {
            self.faults.push(why.to_string());
        }

        fn is_sound(&self) -> bool {
            self.faults.is_empty()
        }
    }
}
