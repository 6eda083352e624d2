//! Files of configured states: rows of named columns, as TOML or CSV.
//!
//! A file is TOML if its first line that is neither empty nor a comment has a `[` at its beginning
//! or a `=`; otherwise it is CSV, with the columns' names in that line. A comment begins with `#`.
//!
//! ```text
//! [[route]]                     prefix,     port
//! prefix = "10.0.0.0/8"         10.0.0.0/8, 0
//! port = 0
//! ```
//!
//! All faults of a file are reported at once, each with line and column.

mod csv;
mod toml;

use std::fmt::Display;

use cora_core::config::File;

use crate::spelling::nearest;

/// Faults that are shown; the others are counted.
const SHOWN: usize = 20;

/// A file of a configured state.
#[derive(Debug)]
pub struct Rows<'a> {
    text: &'a str,
    form: Form<'a>,
    /// The columns that rows may have.
    columns: Vec<&'static str>,
    /// The line of each row so far.
    lines: Vec<u32>,
    faults: Vec<Fault>,
    /// Faults that are not kept.
    more: usize,
}

#[derive(Debug)]
enum Form<'a> {
    Csv(csv::Csv<'a>),
    Toml(toml::Toml<'a>),
}

/// A line and a column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    line: u32,
    column: u32,
}

impl Place {
    const BEGIN: Self = Self { line: 1, column: 1 };

    /// The place of the byte with this offset.
    fn of(text: &str, at: usize) -> Self {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(start..).map_or(0, |inside| inside.chars().count()) + 1;
        Self { line: line as u32, column: column as u32 }
    }
}

/// Counts lines from the beginning of a text.
#[derive(Clone, Copy, Debug, Default)]
struct LineCount {
    at: usize,
    ended: u32,
}

impl LineCount {
    /// The line of the byte with this offset, which is not before the last one asked for.
    fn line(&mut self, text: &str, at: usize) -> u32 {
        let between = text.get(self.at..at).unwrap_or_default();
        *self = Self { at, ended: self.ended + between.matches('\n').count() as u32 };
        self.ended + 1
    }
}

/// What is wrong, and where; `None` for the file as a whole.
#[derive(Debug)]
struct Fault {
    place: Option<Place>,
    why: String,
}

impl<'a> Rows<'a> {
    /// The rows in this text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        // A byte order mark is no part of the first column's name.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().find(|line| !is_left_out(line)).unwrap_or_default();
        let is_toml = first.trim_start().starts_with('[') || first.contains('=');
        let form = if is_toml {
            Form::Toml(toml::Toml::new(text))
        } else {
            Form::Csv(csv::Csv::new(text))
        };
        let (columns, lines, faults) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, form, columns, lines, faults, more: 0 }
    }

    /// The faults, in the order of the file, as `NAME:LINE:COLUMN: what is wrong`.
    #[must_use]
    pub fn faults(mut self, name: &dyn Display) -> Vec<String> {
        self.faults.sort_by_key(|fault| fault.place);
        let shown = |Fault { place, why }: &Fault| match place {
            Some(Place { line, column }) => format!("{name}:{line}:{column}: {why}"),
            None => format!("{name}: {why}"),
        };
        let mut shown: Vec<String> = self.faults.iter().map(shown).collect();
        if self.more > 0 {
            shown.push(format!("{name}: {} more faults", self.more));
        }
        shown
    }

    /// Notes a fault. Places are counted from the beginning of the file, so only for those shown.
    fn note(&mut self, fault: impl FnOnce(&Self) -> Fault) {
        if self.faults.len() < SHOWN {
            let fault = fault(self);
            self.faults.push(fault);
        } else {
            self.more += 1;
        }
    }

    /// Takes what the form noticed about the file or the current row.
    fn take(&mut self, found: Vec<(usize, String)>) {
        for (at, why) in found {
            self.note(|file| Fault { place: Some(Place::of(file.text, at)), why });
        }
    }
}

/// Why a column is not one of those that rows have.
fn unknown(name: &str, columns: &[&str]) -> String {
    match nearest(name, columns.iter().copied()) {
        Some(near) => format!("unknown column `{name}`: did you mean `{near}`?"),
        None => format!("unknown column `{name}`: the columns are {}", columns.join(", ")),
    }
}

/// Whether a line has nothing to read.
fn is_left_out(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

impl File for Rows<'_> {
    fn text(&self) -> &str {
        self.text
    }

    fn begin(&mut self, columns: &[&[&'static str]]) {
        self.columns = columns.concat();
        let found = match &mut self.form {
            Form::Csv(csv) => csv.begin(&self.columns),
            Form::Toml(toml) => toml.begin(),
        };
        self.take(found);
    }

    fn next_row(&mut self) -> bool {
        let mut found = Vec::new();
        let at = match &mut self.form {
            Form::Csv(csv) => csv.next_row(&mut found),
            Form::Toml(toml) => toml.next_row(&self.columns, &mut found),
        };
        self.take(found);
        if let Some(line) = at {
            self.lines.push(line);
        }
        at.is_some()
    }

    fn cell(&self, column: &str) -> Option<&str> {
        match &self.form {
            Form::Csv(csv) => csv.cell(column),
            Form::Toml(toml) => toml.cell(column),
        }
    }

    fn fault(&mut self, column: &str, why: &dyn Display) {
        let at = match &self.form {
            Form::Csv(csv) => csv.place(column),
            Form::Toml(toml) if toml.is_refused(column) => return,
            Form::Toml(toml) => toml.place(column),
        };
        self.note(|file| {
            let why = match file.cell(column) {
                Some(text) => format!("`{column}`: {text:?}: {why}"),
                None => format!("`{column}`: {why}"),
            };
            Fault { place: Some(Place::of(file.text, at)), why }
        });
    }

    fn fault_of(&mut self, row: usize, why: &dyn Display) {
        self.note(|file| {
            let line = file.lines.get(row).copied();
            let place = line.map_or(Place::BEGIN, |line| Place { line, column: 1 });
            Fault { place: Some(place), why: why.to_string() }
        });
    }

    fn fault_twice(&mut self, row: usize, earlier: usize, what: &dyn Display) {
        let line = self.lines.get(earlier).copied().unwrap_or_default();
        self.fault_of(row, &format_args!("{what} has a row already, in line {line}"));
    }

    fn refuse(&mut self, why: &dyn Display) {
        self.note(|_| Fault { place: None, why: why.to_string() });
    }

    fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use cora_core::config;
    use cora_core::key::Prefix;

    use super::*;

    /// The rows of a text with the columns `prefix` and `port`, or its faults.
    fn read(text: &str) -> Result<Vec<(Prefix, u16)>, Vec<String>> {
        let mut file = Rows::new(text);
        file.begin(&[&["prefix"], &["port"]]);
        let mut rows = Vec::new();
        while file.next_row() {
            let (prefix, port) =
                (config::read(&mut file, "prefix"), config::read(&mut file, "port"));
            rows.extend(prefix.zip(port));
        }
        if file.is_sound() { Ok(rows) } else { Err(file.faults(&"f")) }
    }

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    #[test]
    fn both_forms_say_the_same() {
        let csv = "# routes\n\nprefix, port\n10.0.0.0/8, 1\n# one more\n\"::/0\",0x\n";
        let toml = "# routes\n[[route]]\nprefix = \"10.0.0.0/8\"\nport = 1\n\n[[route]]\nport = \"0x\"\nprefix = '::/0'\n";
        let expected = [(prefix("10.0.0.0/8"), 1), (prefix("::/0"), 16)];
        assert_eq!(read(&csv.replace("0x", "16")).unwrap(), expected);
        assert_eq!(read(&toml.replace("\"0x\"", "0x10")).unwrap(), expected);
        assert_eq!(read("rows = [{ prefix = '::/0', port = 16 }]").unwrap(), expected[1..]);
        let wrong = "`port`: \"0x\": invalid digit found in string";
        assert_eq!(read(csv).unwrap_err(), [format!("f:6:8: {wrong}")]);
        assert_eq!(read(toml).unwrap_err(), [format!("f:7:8: {wrong}")]);
        assert_eq!(read("\u{feff}prefix,port\r\n::/0,16\r\n").unwrap(), expected[1..]);
        for empty in ["", "# nothing\n", "prefix,port\n", "route = []"] {
            assert_eq!(read(empty), Ok(Vec::new()), "{empty:?}");
        }
    }

    #[test]
    fn all_faults_are_told_at_their_places() {
        let csv = "prefix,port\n10.0.0.0/8,1\n10.1.2.3/8\n,5,6\n";
        assert_eq!(
            read(csv).unwrap_err(),
            [
                "f:3:1: the row has 1 cells, and the head 2",
                "f:3:1: `prefix`: \"10.1.2.3/8\": bits behind the length are set: is it `10.0.0.0/8`?",
                "f:3:1: `port`: nothing stands there",
                "f:4:1: the row has 3 cells, and the head 2",
                "f:4:1: `prefix`: nothing stands there",
            ]
        );
        let head = "# routes\nprefix, prot, prefix\n10.0.0.0/8,1,2\n";
        assert_eq!(
            read(head).unwrap_err(),
            [
                "f:2:9: unknown column `prot`: did you mean `port`?",
                "f:2:15: a second column is called `prefix`",
            ]
        );
        let toml = "[[route]]\nprefix = [1]\nprot = 7\n[other]\nx = 1\n";
        assert_eq!(
            read(toml).unwrap_err(),
            [
                "f:1:1: `port`: nothing stands there",
                "f:2:10: `prefix` is one value, and this is an array",
                "f:3:1: unknown column `prot`: did you mean `port`?",
                "f:4:2: a file has one list of rows, and this is another",
            ]
        );
        assert_eq!(read("[[route]\n").unwrap_err().len(), 1, "only the syntax");
        assert_eq!(
            read("port = 7").unwrap_err(),
            ["f:1:8: a file is a list of rows: write `[[port]]` above each"]
        );
    }

    #[test]
    fn many_faults_are_counted() {
        let text = format!("prefix,port\n{}", "x,1\n".repeat(100));
        let faults = read(&text).unwrap_err();
        assert_eq!((faults.len(), faults[20].as_str()), (21, "f: 80 more faults"));
    }
}
