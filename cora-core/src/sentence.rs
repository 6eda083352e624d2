//! Sentences with numbers in them: what a side says when it can't go on, without the machinery of
//! [`core::fmt`], which would be a twentieth of the NIC half.
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

/// Numbers that a sentence may have.
const MOST: usize = 4;

/// Texts, with a number behind each but the last: in decimal, or all digits in hexadecimal behind a
/// text that ends with `0x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    texts: &'static [&'static str],
    numbers: [u64; MOST],
}

impl Sentence {
    /// A sentence; of more than four numbers, the rest is zero.
    #[inline]
    pub const fn new(texts: &'static [&'static str], given: &[u64]) -> Self {
        let mut numbers = [0; MOST];
        let mut at = 0;
        while at < given.len() && at < MOST {
            numbers[at] = given[at];
            at += 1;
        }
        Self { texts, numbers }
    }

    /// Hands all of it to `write`, in pieces.
    #[cold]
    #[inline(never)]
    pub fn write(&self, write: &mut dyn FnMut(&str)) {
        let mut numbers = self.numbers.into_iter();
        for (place, text) in self.texts.iter().enumerate() {
            write(text);
            if place + 1 < self.texts.len() {
                let base = if text.ends_with("0x") { 16 } else { 10 };
                digits(numbers.next().unwrap_or_default(), base, write);
            }
        }
    }
}

/// Writes a number, to the base of 16 with all its digits.
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
