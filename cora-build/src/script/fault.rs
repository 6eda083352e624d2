//! A fault of a program, ready to be shown, and who shows it.
//!
//! A fault of one item is told by the item's macro, at the token; what only the whole program
//! shows, the build script tells. It does so through the compiler: a build script that fails is
//! reported by Cargo, with lines of its own before the one that counts.
//! [`emit::faulty`](super::emit::faulty) writes what the compiler is to say.

use std::fmt;

use crate::diag::Code;
use crate::syntax::Reader;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which one: the catalogue explains it.
    pub code: Code,
    /// Who tells it when the program is compiled.
    pub told_by: Reader,
    /// The fault, in a sentence.
    pub message: String,
    /// Where, with the line and carets; and what would be right. Ends in a line end, unless it is
    /// empty.
    pub details: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}\n{}", self.code, self.message, self.details)
    }
}

impl Fault {
    /// As the compiler is to say it, behind its own `error: `.
    pub fn for_the_compiler(&self) -> String {
        let text = format!("{}: {}\n{}", self.code, self.message, self.details);
        text.trim_end().to_owned()
    }
}

/// All that is wrong with a program. Never empty.
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
