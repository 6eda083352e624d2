//! A TOML reader with line numbers. It reports all faults of a file at once, each with its line and
//! its remedy.
//!
//! The reader of a kind of file (a statement, a profile) asks for tables, strings and numbers. A
//! missing or unknown key, a wrong type and a number out of range are recorded, and reading goes
//! on.
//!
//! ```
//! use cora_plan::toml::{Fault, Range, Reader};
//!
//! let read = |text: &str| {
//!     Reader::<Fault>::read(text, "`ports.toml`", "begins with `port = 1`", |reader, table| {
//!         reader.only(table, &["port"]);
//!         let port = reader.need(table, "port", "a number")?;
//!         reader.number(port, Range::POSITIVE)
//!     })
//! };
//! assert_eq!(read("port = 7\n"), Ok(7.0));
//! let faults = read("\nprot = 7\n").expect_err("a fault");
//! assert_eq!(faults[0].to_string(), "`port` is missing in `ports.toml`");
//! assert_eq!(faults[1].to_string(), "unknown key `prot` in `ports.toml`");
//! assert_eq!(faults[1].cure(), "did you mean `port`?");
//! ```

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::nearest::choose;

/// A fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It is not TOML.
    #[error("{message}")]
    NotToml {
        /// Message of the TOML reader.
        message: String,
        /// The beginning of a valid file of this kind.
        begins: &'static str,
        /// Line.
        line: usize,
    },
    /// An unknown key.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table with the key.
        table: String,
        /// Known keys of the table.
        known: &'static [&'static str],
        /// Line.
        line: usize,
    },
    /// A missing key.
    #[error("`{key}` is missing in {table}")]
    Missing {
        /// The key.
        key: String,
        /// The table that should have it.
        table: String,
        /// The expected value.
        wanted: &'static str,
        /// First line of the table.
        line: usize,
    },
    /// A value of another type.
    #[error("`{key}` is {found}, where {wanted} is wanted")]
    OtherType {
        /// Key of the value.
        key: String,
        /// Type of the value.
        found: &'static str,
        /// The expected value.
        wanted: &'static str,
        /// Line.
        line: usize,
    },
    /// A number out of range.
    #[error("`{key} = {found}` is out of range")]
    OutOfRange {
        /// Key of the number.
        key: String,
        /// The number, as written.
        found: String,
        /// The expected value.
        wanted: &'static str,
        /// Line.
        line: usize,
    },
    /// An unknown word.
    #[error("`{word}` is not a value of `{key}`")]
    UnknownWord {
        /// Key of the word.
        key: String,
        /// The word.
        word: String,
        /// Known words.
        known: &'static [&'static str],
        /// Line.
        line: usize,
    },
}

impl Fault {
    /// Line of the file, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::NotToml { line, .. }
            | Self::UnknownKey { line, .. }
            | Self::Missing { line, .. }
            | Self::OtherType { line, .. }
            | Self::OutOfRange { line, .. }
            | Self::UnknownWord { line, .. } => *line,
        }
    }

    /// The remedy.
    pub fn cure(&self) -> String {
        match self {
            Self::NotToml { begins, .. } => format!("mend the file; it {begins}"),
            Self::UnknownKey { key: word, known, .. } | Self::UnknownWord { word, known, .. } => {
                choose(word, known)
            }
            Self::Missing { key, wanted, .. } => format!("write `{key} = …`, {wanted}"),
            Self::OtherType { wanted, .. } | Self::OutOfRange { wanted, .. } => {
                format!("write {wanted}")
            }
        }
    }
}

/// A range of valid numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// In words, to follow "write": `a number above 0`.
    pub wanted: &'static str,
    /// The minimum.
    pub least: f64,
    /// Whether `least` itself is excluded.
    pub above: bool,
    /// The maximum.
    pub most: f64,
}

impl Range {
    /// Above 0.
    pub const POSITIVE: Self = Self::above_zero("a number above 0", f64::MAX);
    /// 0 or more.
    pub const NOT_NEGATIVE: Self = Self::from_zero("a number that is 0 or more", f64::MAX);
    /// From 0 to 1.
    pub const SHARE: Self = Self::from_zero("a number from 0.0 to 1.0", 1.0);
    /// Above 0, at most 1.
    pub const POSITIVE_SHARE: Self = Self::above_zero("a number above 0.0, at most 1.0", 1.0);

    const fn above_zero(wanted: &'static str, most: f64) -> Self {
        Self { wanted, least: 0.0, above: true, most }
    }

    const fn from_zero(wanted: &'static str, most: f64) -> Self {
        Self { wanted, least: 0.0, above: false, most }
    }

    /// Whether a number is in the range. Non-finite numbers never are.
    pub fn holds(&self, number: f64) -> bool {
        number.is_finite()
            && number <= self.most
            && if self.above { number > self.least } else { number >= self.least }
    }
}

/// A table of the file.
#[derive(Clone, Debug)]
pub struct Table<'t> {
    /// Its name in faults: `` `[nic]` ``.
    pub name: String,
    /// Its first line.
    pub line: usize,
    /// Its entries, in the order of the file.
    pub entries: Vec<Entry<'t>>,
}

impl<'t> Table<'t> {
    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key).copied()
    }
}

/// One value of the file.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    /// Its key; for an item of a list, the list's.
    pub key: &'t str,
    /// Its line, from 1.
    pub line: usize,
    value: &'t DeValue<'t>,
}

impl Entry<'_> {
    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self.value, DeValue::Integer(_) | DeValue::Float(_))
    }

    /// The same entry under a more specific key for faults.
    #[must_use]
    pub fn called<'k>(&'k self, key: &'k str) -> Entry<'k> {
        Entry { key, line: self.line, value: self.value }
    }
}

/// Reads one file: its text and the faults so far. `E` is the fault type of this kind of file.
#[derive(Debug)]
pub struct Reader<'a, E> {
    text: &'a str,
    faults: Vec<(usize, E)>,
}

impl<E: From<Fault>> Reader<'_, E> {
    /// Reads a file. `name` is its name in faults, and `begins` describes the beginning of a valid
    /// one. `read` gets the whole document as a table. It returns `None` only after it refused
    /// something.
    ///
    /// # Errors
    /// All faults, in the order of their lines.
    pub fn read<T>(
        text: &str,
        name: &str,
        begins: &'static str,
        read: impl FnOnce(&mut Reader<'_, E>, &Table<'_>) -> Option<T>,
    ) -> Result<T, Vec<E>> {
        let mut reader = Reader { text, faults: Vec::new() };
        let done = match DeTable::parse(text) {
            Ok(document) => {
                let table = reader.list_table(document.get_ref(), name.to_owned(), 1);
                read(&mut reader, &table)
            }
            Err(error) => {
                let line = reader.line(error.span().map_or(0, |span| span.start));
                let message = error.message().replace('\n', "; ");
                reader.note(Fault::NotToml { message, begins, line });
                None
            }
        };
        match done {
            Some(done) if reader.faults.is_empty() => Ok(done),
            _ => Err(reader.finish()),
        }
    }

    fn finish(mut self) -> Vec<E> {
        self.faults.sort_by_key(|(line, _)| *line);
        self.faults.into_iter().map(|(_, fault)| fault).collect()
    }

    /// Records a fault of the file's kind.
    pub fn refuse(&mut self, line: usize, fault: E) {
        self.faults.push((line, fault));
    }

    /// Records a fault.
    pub fn note(&mut self, fault: Fault) {
        self.refuse(fault.line(), fault.into());
    }

    /// Records a fault for each key that is not `known`.
    pub fn only(&mut self, table: &Table<'_>, known: &'static [&'static str]) {
        for entry in &table.entries {
            if !known.contains(&entry.key) {
                self.unknown(*entry, table, known);
            }
        }
    }

    /// Records an unknown key.
    pub fn unknown(&mut self, entry: Entry<'_>, table: &Table<'_>, known: &'static [&'static str]) {
        let (key, table) = (entry.key.to_owned(), table.name.clone());
        self.note(Fault::UnknownKey { key, table, known, line: entry.line });
    }

    /// The entry of a required key.
    pub fn need<'t>(
        &mut self,
        table: &Table<'t>,
        key: &str,
        wanted: &'static str,
    ) -> Option<Entry<'t>> {
        let entry = table.get(key);
        if entry.is_none() {
            let (key, line) = (key.to_owned(), table.line);
            self.note(Fault::Missing { key, table: table.name.clone(), wanted, line });
        }
        entry
    }

    /// A table, with its name for faults.
    pub fn table<'t>(&mut self, entry: Entry<'t>, name: impl Into<String>) -> Option<Table<'t>> {
        match entry.value {
            DeValue::Table(table) => Some(self.list_table(table, name.into(), entry.line)),
            _ => self.other_type(entry, "a table"),
        }
    }

    /// A list.
    pub fn list<'t>(&mut self, entry: Entry<'t>) -> Option<Vec<Entry<'t>>> {
        match entry.value {
            DeValue::Array(list) => Some(self.items(entry.key, list)),
            _ => self.other_type(entry, "a list"),
        }
    }

    /// A string.
    pub fn string<'t>(&mut self, entry: Entry<'t>) -> Option<&'t str> {
        match entry.value {
            DeValue::String(text) => Some(text),
            _ => self.other_type(entry, "a string"),
        }
    }

    /// The index of a word in `known`.
    pub fn word(&mut self, entry: Entry<'_>, known: &'static [&'static str]) -> Option<usize> {
        let word = self.string(entry)?;
        let found = known.iter().position(|known| *known == word);
        if found.is_none() {
            let (key, word) = (entry.key.to_owned(), word.to_owned());
            self.note(Fault::UnknownWord { key, word, known, line: entry.line });
        }
        found
    }

    /// An integer or float within a range.
    pub fn number(&mut self, entry: Entry<'_>, range: Range) -> Option<f64> {
        let written = self.written(entry, range.wanted)?;
        match written.number {
            Some(number) if range.holds(number) => Some(number),
            _ => {
                let (key, wanted) = (entry.key.to_owned(), range.wanted);
                let (found, line) = (written.text, entry.line);
                self.note(Fault::OutOfRange { key, found, wanted, line });
                None
            }
        }
    }

    /// A number as written, in any range.
    pub fn written(&mut self, entry: Entry<'_>, wanted: &'static str) -> Option<Written> {
        match entry.value {
            DeValue::Integer(number) if number.radix() != 10 => {
                let parsed = u32::from_str_radix(number.as_str(), number.radix());
                Some(Written { text: number.to_string(), number: parsed.ok().map(f64::from) })
            }
            DeValue::Integer(number) => Some(Written::of(number.as_str())),
            DeValue::Float(number) => Some(Written::of(number.as_str())),
            _ => self.other_type(entry, wanted),
        }
    }

    fn other_type<T>(&mut self, entry: Entry<'_>, wanted: &'static str) -> Option<T> {
        let found = match entry.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a truth value",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        let (key, line) = (entry.key.to_owned(), entry.line);
        self.note(Fault::OtherType { key, found, wanted, line });
        None
    }

    fn list_table<'t>(&self, table: &'t DeTable<'t>, name: String, line: usize) -> Table<'t> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries.into_iter().map(|(key, value)| Entry {
            key: key.get_ref().as_ref(),
            line: self.line(key.span().start),
            value: value.get_ref(),
        });
        Table { name, line, entries: entries.collect() }
    }

    fn items<'t>(&self, key: &'t str, list: &'t DeArray<'t>) -> Vec<Entry<'t>> {
        let item = |value: &'t Spanned<DeValue<'t>>| {
            let line = self.line(value.span().start);
            Entry { key, line, value: value.get_ref() }
        };
        list.iter().map(item).collect()
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }
}

/// A number as written in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Its digits.
    pub text: String,
    /// Their value; `None` if there are too many.
    pub number: Option<f64>,
}

impl Written {
    fn of(text: &str) -> Self {
        Self { text: text.to_owned(), number: text.parse().ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, range: Range) -> Result<f64, Vec<String>> {
        let read = Reader::<Fault>::read(text, "the file", "begins", |reader, table| {
            let entry = reader.need(table, "n", range.wanted)?;
            reader.number(entry, range)
        });
        let told = |fault: &Fault| format!("{}: {fault}; {}", fault.line(), fault.cure());
        read.map_err(|faults| faults.iter().map(told).collect())
    }

    #[test]
    fn numbers_are_read_in_every_spelling() {
        for (text, wanted) in
            [("n = 3", 3.0), ("n = 1_000.5", 1000.5), ("n = 0x10", 16.0), ("n = 1e3", 1000.0)]
        {
            assert_eq!(number(text, Range::POSITIVE), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_as_written() {
        let zero = ["1: `n = 0` is out of range; write a number above 0".to_owned()];
        assert_eq!(number("n = 0", Range::POSITIVE), Err(zero.to_vec()));
        assert_eq!(number("n = 0", Range::NOT_NEGATIVE), Ok(0.0));
        for text in ["n = nan", "n = inf", "n = -0.1", "n = 1.1"] {
            assert!(number(text, Range::SHARE).is_err(), "{text}");
        }
        let text = ["1: `n` is a truth value, where a number from 0.0 to 1.0 is wanted; \
                     write a number from 0.0 to 1.0"
            .to_owned()];
        assert_eq!(number("n = true", Range::SHARE), Err(text.to_vec()));
        let missing =
            ["1: `n` is missing in the file; write `n = …`, a number from 0.0 to 1.0".to_owned()];
        assert_eq!(number("m = 1", Range::SHARE), Err(missing.to_vec()));
    }

    #[test]
    fn items_of_a_list_have_their_own_lines_and_words_their_neighbours() {
        let text = "list = [\n  \"steer\",\n  \"dorp\",\n  5,\n]\n";
        let faults = Reader::<Fault>::read(text, "the file", "begins", |reader, table| {
            let list = reader.need(table, "list", "a list")?;
            for item in reader.list(list)? {
                reader.word(item, &["steer", "drop"]);
            }
            Some(())
        })
        .expect_err("two faults");
        let told: Vec<_> = faults
            .iter()
            .map(|fault| format!("{}: {fault}; {}", fault.line(), fault.cure()))
            .collect();
        assert_eq!(
            told,
            [
                "3: `dorp` is not a value of `list`; did you mean `drop`?",
                "4: `list` is an integer, where a string is wanted; write a string",
            ]
        );
    }
}
