//! Durations in the users' notation: `"90s"`, `"1h30m"`.

/// Maximum idle time-out of an entry.
pub(super) const LONGEST: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// The units with their common aliases, in falling order of length.
const UNITS: [(&str, u64, &[&str]); 7] = [
    ("d", 86_400 * 1_000_000_000, &["day", "days"]),
    ("h", 3_600 * 1_000_000_000, &["hour", "hours", "hr", "hrs"]),
    ("m", 60 * 1_000_000_000, &["min", "mins", "minute", "minutes"]),
    ("s", 1_000_000_000, &["sec", "secs", "second", "seconds"]),
    ("ms", 1_000_000, &["msec", "millis", "millisecond", "milliseconds"]),
    ("us", 1_000, &["usec", "micros", "µs", "microsecond", "microseconds"]),
    ("ns", 1, &["nsec", "nanos", "nanosecond", "nanoseconds"]),
];

/// The fault of a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DurationError {
    /// It can't be parsed; this is the likely correction.
    Unreadable(Option<String>),
    /// It does not fit 64 bits of nanoseconds.
    TooLong,
}

/// The duration in nanoseconds: whole numbers, each followed by its unit.
pub(super) fn nanoseconds(text: &str) -> Result<u64, DurationError> {
    let parts = parts(text).ok_or_else(|| DurationError::Unreadable(meant(text)))?;
    let mut sum = 0_u64;
    for (number, unit) in parts {
        let Some((_, scale, _)) = UNITS.iter().find(|entry| entry.0 == unit) else {
            return Err(DurationError::Unreadable(meant(text)));
        };
        let number: u64 = number.parse().map_err(|_| DurationError::TooLong)?;
        sum = number
            .checked_mul(*scale)
            .and_then(|part| sum.checked_add(part))
            .ok_or(DurationError::TooLong)?;
    }
    Ok(sum)
}

/// Pairs of digits and letters, without separators; at least one.
fn parts(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = text;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        if unit.is_empty() {
            return None;
        }
        parts.push((number, unit));
        rest = after;
    }
    (!parts.is_empty()).then_some(parts)
}

/// The corrected duration, if it can be guessed.
fn meant(text: &str) -> Option<String> {
    let joined: String =
        text.chars().filter(|c| !matches!(c, ' ' | '_' | ',')).collect::<String>().to_lowercase();
    if !joined.is_empty() && joined.chars().all(|c| c.is_ascii_digit()) {
        return Some(format!("{joined}s"));
    }
    let mut guess = String::new();
    for (number, unit) in parts(&joined)? {
        let (unit, ..) = UNITS.iter().find(|entry| entry.0 == unit || entry.2.contains(&unit))?;
        guess.push_str(number);
        guess.push_str(unit);
    }
    Some(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads() {
        for (text, expected) in [
            ("5m", 300_000_000_000),
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("250ms", 250_000_000),
            ("10us", 10_000),
            ("7ns", 7),
            ("365d", LONGEST),
            ("0s", 0),
        ] {
            assert_eq!(nanoseconds(text), Ok(expected), "{text}");
        }
        assert_eq!(nanoseconds("99999999999d"), Err(DurationError::TooLong));
        assert_eq!(nanoseconds("99999999999999999999s"), Err(DurationError::TooLong));
    }

    #[test]
    fn proposes_what_was_meant() {
        for (text, expected) in [
            ("5 minutes", Some("5m")),
            ("5M", Some("5m")),
            ("300", Some("300s")),
            ("1 hour, 30 min", Some("1h30m")),
            ("soon", None),
            ("", None),
            ("5 parsecs", None),
            ("1.5h", None),
            ("m5", None),
        ] {
            let expected = expected.map(str::to_owned);
            assert_eq!(nanoseconds(text), Err(DurationError::Unreadable(expected)), "{text}");
        }
    }
}
