//! A number with its source. A profile without sources is an opinion.

use std::fmt;

/// A number of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number, in the unit of its key.
    pub value: f64,
    /// Its source.
    pub source: Source,
}

/// Source of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Published; the string cites the publication.
    Published(String),
    /// Measured; the string gives the method and the machine.
    Measured(String),
    /// Derived from other numbers; the string says how.
    Derived(String),
    /// Assumed without a source; the string says why.
    Assumed(String),
}

impl Figure {
    /// A number without a source, and the reason for it.
    pub fn assumed(value: f64, why: impl Into<String>) -> Self {
        Self { value, source: Source::Assumed(why.into()) }
    }

    /// A measured number, and its method.
    pub fn measured(value: f64, how: impl Into<String>) -> Self {
        Self { value, source: Source::Measured(how.into()) }
    }
}

impl Source {
    /// The word, as a profile spells it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Published(_) => "published",
            Self::Measured(_) => "measured",
            Self::Derived(_) => "derived",
            Self::Assumed(_) => "assumed",
        }
    }

    /// The text of the source.
    pub fn text(&self) -> &str {
        match self {
            Self::Published(text)
            | Self::Measured(text)
            | Self::Derived(text)
            | Self::Assumed(text) => text,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}: {})", self.value, self.source.word(), self.source.text())
    }
}
