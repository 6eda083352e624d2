//! A fault of a program, ready to show, and its reporter.
//!
//! The item's macro reports a fault of one item, at the token. The build script reports faults that
//! only the whole program shows. It does so through the compiler, because Cargo puts lines of its
//! own before the message of a failed build script.

use std::fmt;
#[cfg(feature = "script")]
use std::fmt::Write as _;

use crate::diag::{Code, Reader};

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its code; the catalogue explains it.
    pub code: Code,
    /// The reader that reports it when the program is compiled.
    pub told_by: Reader,
    /// The fault, in a sentence.
    pub message: String,
    /// Its place, with line and carets, and the remedy. Ends in a line end unless it is empty.
    pub details: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}\n{}", self.code, self.message, self.details)
    }
}

impl Fault {
    /// The text for the compiler, which puts `error: ` before it.
    pub fn for_the_compiler(&self) -> String {
        let text = format!("{}: {}\n{}", self.code, self.message, self.details);
        text.trim_end().to_owned()
    }
}

/// All faults of a program. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        Self(faults.into_iter().collect())
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.0 {
            writeln!(f, "{fault}")?;
        }
        let Some(first) = self.0.first() else { return Ok(()) };
        writeln!(f, "for more about an error: `cargo cora explain {}`", first.code)
    }
}

/// A fault outside of Rust source, which no macro reports.
#[cfg(feature = "script")]
pub(crate) fn fault(
    code: Code,
    message: String,
    cure: &str,
    at: Option<(&str, usize, &str)>,
) -> Fault {
    let mut details = String::new();
    let mut margin = String::new();
    if let Some((name, line, text)) = at {
        let number = line.to_string();
        margin = " ".repeat(number.len());
        let _infallible = writeln!(details, "{margin}--> {name}:{line}");
        if let Some(shown) = text.lines().nth(line - 1) {
            let before = shown.len() - shown.trim_start().len();
            let carets = "^".repeat(shown.trim().chars().count().max(1));
            let _infallible = writeln!(
                details,
                "{margin} |\n{number} | {shown}\n{margin} | {}{carets}",
                " ".repeat(before)
            );
        }
    }
    if !cure.is_empty() {
        let _infallible = writeln!(details, "{margin} = help: {cure}");
    }
    Fault { code, told_by: Reader::BuildScript, message, details }
}
