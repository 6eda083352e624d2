//! What the user says about the plan: the name of a plan, or a `cora.toml`.
//!
//! ```toml
//! [plan]
//! use = "split"        # or "host-only", "nic-only"
//! nic-share = 0.5      # the NIC owns at most half of the flows
//!
//! [plan.places]
//! Session = "host"     # instead of "travels"
//! ```

use std::collections::BTreeMap;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::nearest::nearest;
use crate::words::{Place, Sides};

/// What is wanted of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Which side runs packets.
    pub sides: Sides,
    /// Which share of the flows the NIC may own, 0 to 1.
    pub nic_share: Option<Stated<f64>>,
    /// Places of single states, instead of those that follow from their kind.
    pub places: BTreeMap<String, Stated<Place>>,
}

/// Something stated, and the line that states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated<T> {
    /// What.
    pub what: T,
    /// Line of `cora.toml`, from 1.
    pub line: usize,
}

/// What a `cora.toml` says wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StatementError {
    /// It is not TOML.
    #[error("{message}")]
    NotToml {
        /// What the TOML reader says.
        message: String,
        /// Line.
        line: usize,
    },
    /// A key that means nothing here.
    #[error("`{key}` means nothing in {table}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The table it stands in.
        table: &'static str,
        /// Keys that mean something there.
        known: &'static [&'static str],
        /// Line.
        line: usize,
    },
    /// A value of another type.
    #[error("`{key}` is {found}, where {wanted} is wanted")]
    OtherType {
        /// Key of the value.
        key: String,
        /// What it is.
        found: &'static str,
        /// What is wanted.
        wanted: &'static str,
        /// Line.
        line: usize,
    },
    /// `use` names no plan.
    #[error("there is no plan `{name}`")]
    UnknownPlan {
        /// The name.
        name: String,
        /// Line; none when it was not said in a file.
        line: Option<usize>,
    },
    /// A place that there is not.
    #[error("there is no place `{name}` for `{state}`")]
    UnknownPlace {
        /// The name.
        name: String,
        /// The state.
        state: String,
        /// Line.
        line: usize,
    },
    /// A share below 0 or above 1.
    #[error("`nic-share = {share}` is no share")]
    ShareOutOfRange {
        /// The share, as written.
        share: String,
        /// Line.
        line: usize,
    },
}

impl StatementError {
    /// Line of the file, where there is one.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::NotToml { line, .. }
            | Self::UnknownKey { line, .. }
            | Self::OtherType { line, .. }
            | Self::UnknownPlace { line, .. }
            | Self::ShareOutOfRange { line, .. } => Some(*line),
            Self::UnknownPlan { line, .. } => *line,
        }
    }

    /// What would be right.
    pub fn cure(&self) -> String {
        match self {
            Self::NotToml { .. } => "mend the file; it begins with `[plan]`".to_owned(),
            Self::UnknownKey { key, known, .. } => choose(key, known),
            Self::OtherType { wanted, .. } => format!("write {wanted}"),
            Self::UnknownPlan { name, .. } => choose(name, &Sides::ALL.map(Sides::word)),
            Self::UnknownPlace { name, .. } => choose(name, &Place::ALL.map(Place::word)),
            Self::ShareOutOfRange { .. } => {
                "write a number from 0.0 (the NIC owns no flow) to 1.0 (it may own all)".to_owned()
            }
        }
    }
}

fn choose(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of `{}`", known.join("`, `")),
    }
}

impl Statement {
    /// Plain `host-only`, `nic-only` or `split`.
    pub fn of(sides: Sides) -> Self {
        Self { sides, nic_share: None, places: BTreeMap::new() }
    }

    /// The plan of this name.
    pub fn named(name: &str) -> Result<Self, StatementError> {
        Sides::named(name)
            .map(Self::of)
            .ok_or_else(|| StatementError::UnknownPlan { name: name.to_owned(), line: None })
    }

    /// Reads a `cora.toml`; on refusal says everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<StatementError>> {
        let mut errors = Vec::new();
        let mut reading = Reading { text, errors: &mut errors };
        let statement = reading.document();
        if errors.is_empty() { Ok(statement) } else { Err(errors) }
    }
}

/// Reading one file: its text, and what was wrong so far.
struct Reading<'a> {
    text: &'a str,
    errors: &'a mut Vec<StatementError>,
}

type Entry<'a> = (&'a str, usize, &'a Spanned<DeValue<'a>>);

impl Reading<'_> {
    fn document(&mut self) -> Statement {
        let mut statement = Statement::of(Sides::Split);
        match DeTable::parse(self.text) {
            Ok(document) => {
                for (key, line, value) in self.entries(document.get_ref()) {
                    match key {
                        "plan" => self.plan(value, &mut statement),
                        _ => self.unknown(key, "`cora.toml`", &["plan"], line),
                    }
                }
            }
            Err(error) => {
                let line = self.line(error.span().map_or(0, |span| span.start));
                let message = error.message().replace('\n', "; ");
                self.errors.push(StatementError::NotToml { message, line });
            }
        }
        statement
    }

    fn plan(&mut self, value: &Spanned<DeValue<'_>>, statement: &mut Statement) {
        let Some(table) = self.table("plan", value) else { return };
        for (key, line, value) in self.entries(table) {
            match key {
                "use" => self.sides(value, line, statement),
                "nic-share" => self.share(value, line, statement),
                "places" => self.places(value, statement),
                _ => self.unknown(key, "`[plan]`", &["use", "nic-share", "places"], line),
            }
        }
    }

    fn sides(&mut self, value: &Spanned<DeValue<'_>>, line: usize, statement: &mut Statement) {
        let Some(name) = self.string("use", value, line) else { return };
        match Sides::named(name) {
            Some(sides) => statement.sides = sides,
            None => self
                .errors
                .push(StatementError::UnknownPlan { name: name.to_owned(), line: Some(line) }),
        }
    }

    fn share(&mut self, value: &Spanned<DeValue<'_>>, line: usize, statement: &mut Statement) {
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            other => return self.other_type("nic-share", other, "a number from 0.0 to 1.0", line),
        };
        match text.parse::<f64>() {
            Ok(what) if (0.0..=1.0).contains(&what) => {
                statement.nic_share = Some(Stated { what, line });
            }
            _ => self.errors.push(StatementError::ShareOutOfRange { share: text.to_owned(), line }),
        }
    }

    fn places(&mut self, value: &Spanned<DeValue<'_>>, statement: &mut Statement) {
        let Some(table) = self.table("places", value) else { return };
        for (state, line, value) in self.entries(table) {
            let Some(name) = self.string(state, value, line) else { continue };
            match Place::ALL.into_iter().find(|place| place.word() == name) {
                Some(what) => {
                    statement.places.insert(state.to_owned(), Stated { what, line });
                }
                None => self.errors.push(StatementError::UnknownPlace {
                    name: name.to_owned(),
                    state: state.to_owned(),
                    line,
                }),
            }
        }
    }

    /// Entries of a table in the order of the file.
    fn entries<'t>(&self, table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| (key.span().start, key.get_ref().as_ref(), value))
            .collect();
        entries.sort_by_key(|(start, ..)| *start);
        entries.into_iter().map(|(start, key, value)| (key, self.line(start), value)).collect()
    }

    fn table<'t>(&mut self, key: &str, value: &'t Spanned<DeValue<'t>>) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = value.get_ref() {
            return Some(table);
        }
        let line = self.line(value.span().start);
        self.other_type(key, value.get_ref(), "a table", line);
        None
    }

    fn string<'t>(
        &mut self,
        key: &str,
        value: &'t Spanned<DeValue<'t>>,
        line: usize,
    ) -> Option<&'t str> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text);
        }
        self.other_type(key, value.get_ref(), "a string", line);
        None
    }

    fn other_type(&mut self, key: &str, found: &DeValue<'_>, wanted: &'static str, line: usize) {
        let found = match found {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a truth value",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.errors.push(StatementError::OtherType { key: key.to_owned(), found, wanted, line });
    }

    fn unknown(
        &mut self,
        key: &str,
        table: &'static str,
        known: &'static [&'static str],
        line: usize,
    ) {
        self.errors.push(StatementError::UnknownKey { key: key.to_owned(), table, known, line });
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusals(text: &str) -> Vec<String> {
        Statement::parse(text)
            .expect_err("a refusal")
            .iter()
            .map(|e| format!("{}: {e}; {}", e.line().unwrap_or(0), e.cure()))
            .collect()
    }

    #[test]
    fn an_empty_file_states_a_plain_split() {
        assert_eq!(Statement::parse(""), Ok(Statement::of(Sides::Split)));
    }

    #[test]
    fn everything_stated_is_read() {
        let text = "[plan]\nuse = \"split\"\nnic-share = 0.25\n[plan.places]\nSession = \"host\"\n";
        let statement = Statement::parse(text).expect("a statement");
        assert_eq!(statement.sides, Sides::Split);
        assert_eq!(statement.nic_share, Some(Stated { what: 0.25, line: 3 }));
        assert_eq!(statement.places["Session"], Stated { what: Place::Host, line: 5 });
    }

    #[test]
    fn all_faults_are_told_at_once_with_their_lines() {
        let text = "plans = 1\n[plan]\nuse = \"splti\"\nnic-share = 1.5\nshare = 1\n\
                    [plan.places]\nSession = \"travel\"\nPorts = 3\n";
        assert_eq!(
            refusals(text),
            [
                "1: `plans` means nothing in `cora.toml`; did you mean `plan`?",
                "3: there is no plan `splti`; did you mean `split`?",
                "4: `nic-share = 1.5` is no share; write a number from 0.0 (the NIC owns no flow) \
                 to 1.0 (it may own all)",
                "5: `share` means nothing in `[plan]`; write one of `use`, `nic-share`, `places`",
                "7: there is no place `travel` for `Session`; did you mean `travels`?",
                "8: `Ports` is an integer, where a string is wanted; write a string",
            ]
        );
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_line() {
        let refusals = refusals("[plan]\nuse = split\n");
        assert_eq!(refusals.len(), 1);
        assert!(refusals[0].starts_with("2: "), "{refusals:?}");
    }

    #[test]
    fn a_share_that_is_no_number_is_refused() {
        assert_eq!(refusals("[plan]\nnic-share = nan\n").len(), 1);
        assert_eq!(refusals("[plan]\nnic-share = true\n").len(), 1);
        assert_eq!(refusals("plan = 1\n").len(), 1);
    }
}
