//! A number, and where it is from. A profile without sources is an opinion.

use std::fmt;

/// A number of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The number; its unit is that of the key it stands under.
    pub value: f64,
    /// Where it is from.
    pub source: Source,
}

/// Where a number is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A publication says so: which one.
    Published(String),
    /// It was measured: how and on what.
    Measured(String),
    /// It follows from other numbers: how.
    Derived(String),
    /// Nobody says so: why it was taken nevertheless.
    Assumed(String),
}

impl Figure {
    /// A number that was taken without a source, and why.
    pub fn assumed(value: f64, why: impl Into<String>) -> Self {
        Self { value, source: Source::Assumed(why.into()) }
    }

    /// A number that was measured, and how.
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

    /// What it says.
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
