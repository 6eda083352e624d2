//! Every fault has a code, and every code has an entry here. `cargo cora explain` prints the
//! entries, and `tests/ui` has one case for each.

use std::fmt;
use std::str::FromStr;

use super::{catalogue_handler, catalogue_message, catalogue_program, catalogue_state};

/// The number of a fault; shown as `CORA0001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CORA{:04}", self.0)
    }
}

impl FromStr for Code {
    type Err = std::num::ParseIntError;

    /// Reads `CORA0001`, `cora1` and `1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = match text.get(..4) {
            Some(start) if start.eq_ignore_ascii_case("cora") => &text[4..],
            _ => text,
        };
        digits.parse().map(Self)
    }
}

/// The explanation of a fault.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its code.
    pub code: Code,
    /// The fault in a few words.
    pub title: &'static str,
    /// The reason that it is one.
    pub cause: &'static str,
    /// The remedy.
    pub cure: &'static str,
    /// An example program.
    pub example: &'static str,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}\n", self.code, self.title)?;
        writeln!(f, "why:  {}", self.cause)?;
        writeln!(f, "cure: {}\n", self.cure)?;
        for line in self.example.lines() {
            writeln!(f, "    {line}")?;
        }
        Ok(())
    }
}

/// Defines codes and their entries together: a constant per code in `codes`, and `ENTRIES`.
macro_rules! catalogue {
    ($($name:ident = $code:literal {
        title: $title:literal,
        cause: $cause:literal,
        cure: $cure:literal,
        example: $example:literal $(,)?
    })*) => {
        /// The codes of this part of the catalogue.
        pub mod codes {
            $(
                #[doc = $title]
                pub const $name: $crate::diag::Code = $crate::diag::Code($code);
            )*
        }

        /// The entries, in the order of their codes.
        pub const ENTRIES: &[$crate::diag::Entry] = &[$($crate::diag::Entry {
            code: $crate::diag::Code($code),
            title: $title,
            cause: $cause,
            cure: $cure,
            example: $example,
        }),*];
    };
}
pub(super) use catalogue;

/// The entry of a code; `None` for an unknown code.
pub fn lookup(code: Code) -> Option<&'static Entry> {
    entries().find(|entry| entry.code == code)
}

/// All entries, in the order of their codes.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    catalogue_handler::ENTRIES
        .iter()
        .chain(catalogue_state::ENTRIES)
        .chain(catalogue_message::ENTRIES)
        .chain(catalogue_program::ENTRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_they_are_written() {
        assert_eq!("CORA0042".parse(), Ok(Code(42)));
        assert_eq!("cora7".parse(), Ok(Code(7)));
        assert_eq!("7".parse(), Ok(Code(7)));
        assert_eq!(Code(7).to_string(), "CORA0007");
        assert!("CORA".parse::<Code>().is_err());
    }

    #[test]
    fn codes_ascend_and_every_entry_says_something() {
        let all: Vec<_> = entries().collect();
        for pair in all.windows(2) {
            assert!(pair[0].code < pair[1].code, "{} stands before {}", pair[0].code, pair[1].code);
        }
        for entry in all {
            for text in [entry.title, entry.cause, entry.cure, entry.example] {
                assert!(!text.trim().is_empty(), "{} leaves something out", entry.code);
                assert!(!text.contains("invalid"), "{} says `invalid`", entry.code);
            }
            assert!(lookup(entry.code).is_some());
        }
    }
}
