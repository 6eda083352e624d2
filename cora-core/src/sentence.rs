//! Texts with numbers, for a side's fatal errors. Avoids [`core::fmt`], which would be a twentieth
//! of the NIC half.
//!
//! ```
//! use cora_core::sentence::Sentence;
//!
//! let sentence = Sentence::new(&["a record of ", " bytes at 0x", " is too long"], &[9, 0x40]);
//! let mut said = String::new();
//! sentence.write(&mut |text| said.push_str(text));
//! assert_eq!(said, "a record of 9 bytes at 0x0000000000000040 is too long");
//! assert_eq!(said, sentence.to_string());
//! ```

use core::fmt;

/// Maximum number of numbers in a sentence.
const MOST: usize = 4;

/// Texts, with a number after each but the last. It is decimal, or hexadecimal with all digits if
/// the text before it ends with `0x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    texts: &'static [&'static str],
    /// Stands behind the first text, in place of a number.
    name: Option<&'static str>,
    numbers: [u64; MOST],
}

impl Sentence {
    /// A sentence. Numbers beyond the fourth are zero.
    #[inline]
    pub const fn new(texts: &'static [&'static str], given: &[u64]) -> Self {
        let mut numbers = [0; MOST];
        let mut at = 0;
        while at < given.len() && at < MOST {
            numbers[at] = given[at];
            at += 1;
        }
        Self { texts, name: None, numbers }
    }

    /// A sentence with a name behind its first text, and no number.
    #[inline]
    pub const fn naming(texts: &'static [&'static str], name: &'static str) -> Self {
        Self { texts, name: Some(name), numbers: [0; MOST] }
    }

    /// Passes the whole text to `write`, in pieces.
    #[cold]
    #[inline(never)]
    pub fn write(&self, write: &mut dyn FnMut(&str)) {
        let mut numbers = self.numbers.into_iter();
        for (place, text) in self.texts.iter().enumerate() {
            write(text);
            if let Some(name) = self.name.filter(|_| place == 0) {
                write(name);
            } else if place + 1 < self.texts.len() {
                let base = if text.ends_with("0x") { 16 } else { 10 };
                digits(numbers.next().unwrap_or_default(), base, write);
            }
        }
    }
}

/// Writes a number, in base 16 with all its digits.
fn digits(number: u64, base: u64, write: &mut dyn FnMut(&str)) {
    let mut unit = if base == 16 { 1 << 60 } else { 10_000_000_000_000_000_000 };
    let mut begun = base == 16;
    while unit > 0 {
        let digit = (number / unit % base) as usize;
        begun |= digit > 0 || unit == 1;
        if begun {
            write("0123456789abcdef".get(digit..=digit).unwrap_or_default());
        }
        unit /= base;
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut written = Ok(());
        self.write(&mut |text| written = written.and_then(|()| f.write_str(text)));
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_fmt_writes_them() {
        for number in [0, 7, 9, 10, 16, 255, 12_345, u64::MAX / 10, u64::MAX - 1, u64::MAX] {
            let decimal = Sentence::new(&["", ""], &[number]);
            assert_eq!(decimal.to_string(), format!("{number}"));
            let word = Sentence::new(&["0x", ""], &[number]);
            assert_eq!(word.to_string(), format!("{number:#018x}"));
        }
        assert_eq!(Sentence::new(&["ring"], &[]).to_string(), "ring");
    }
}
