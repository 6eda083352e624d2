//! A length of time on the command line: `60s`, `1500ms`, `5m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Units, and their nanoseconds; those that end like others come first.
const UNITS: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A length of time that is not nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)));
        let span = unit.and_then(|(number, ns)| number.parse::<u64>().ok()?.checked_mul(*ns));
        span.filter(|ns| *ns > 0).map(|ns| Self(Duration::from_nanos(ns))).ok_or_else(|| {
            format!("`{text}` is not a length of time: write it like 60s, 1500ms or 5m")
        })
    }
}

impl fmt::Display for Span {
    /// In the coarsest unit that is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        let exact = UNITS.iter().rev().find(|(_, unit)| ns.is_multiple_of(u128::from(*unit)));
        let (unit, each) = exact.unwrap_or(&UNITS[0]);
        write!(f, "{}{unit}", ns / u128::from(*each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_told_alike() {
        for (text, told, ns) in [
            ("60s", "1m", 60_000_000_000),
            ("1500ms", "1500ms", 1_500_000_000),
            ("5m", "5m", 300_000_000_000),
            ("2h", "2h", 7_200_000_000_000),
            ("7us", "7us", 7_000),
            ("1ns", "1ns", 1),
        ] {
            let span: Span = text.parse().unwrap();
            assert_eq!((span.to_string().as_str(), span.0.as_nanos()), (told, ns));
        }
        for wrong in ["", "s", "60", "0s", "-1s", "1.5s", "60 s", "99999999999999999999h"] {
            assert!(wrong.parse::<Span>().unwrap_err().contains("like 60s"), "{wrong}");
        }
    }
}
