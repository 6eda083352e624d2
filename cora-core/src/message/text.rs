//! Protocols that a program reads and writes itself: `#[message(udp, parse)]`.

use crate::plain::Plain;
use crate::short::ShortWriter;
use crate::verdict::Reason;

/// Reads a message from the contents of a datagram. A datagram that it can't read passes unread.
#[diagnostic::on_unimplemented(
    message = "nothing reads a `{Self}` from a datagram",
    label = "declared with `parse`",
    note = "write `impl Parse for {Self}`, or take `parse` away for Cora's own wire form"
)]
pub trait Parse: Plain {
    /// Reads the message.
    ///
    /// # Errors
    /// Any reason, if this is no message that the program knows: then the datagram passes.
    fn parse(datagram: &[u8]) -> Result<Self, Reason>;
}

/// Writes a message as the contents of a datagram.
#[diagnostic::on_unimplemented(
    message = "nothing writes a `{Self}` to a datagram",
    label = "declared with `parse`",
    note = "write `impl Compose for {Self}`, or take `parse` away for Cora's own wire form"
)]
pub trait Compose: Plain {
    /// Writes the message.
    fn compose(&self, out: &mut Text<'_, '_>);
}

/// The contents of a datagram that is written.
#[derive(Debug)]
pub struct Text<'a, 'b>(&'a mut ShortWriter<'b>);

/// Digits of the largest number.
const DIGITS: usize = 20;

impl<'a, 'b> Text<'a, 'b> {
    /// An empty one, for generated code.
    #[doc(hidden)]
    #[inline]
    pub const fn new(out: &'a mut ShortWriter<'b>) -> Self {
        Self(out)
    }

    /// Adds these bytes.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.put(bytes);
        self
    }

    /// Adds a number in decimal digits.
    pub fn number(&mut self, number: u64) -> &mut Self {
        let mut digits = [b'0'; DIGITS];
        let (mut left, mut from) = (number, DIGITS);
        for place in digits.iter_mut().rev() {
            *place = b'0' + (left % 10) as u8;
            left /= 10;
            from -= 1;
            if left == 0 {
                break;
            }
        }
        self.put(digits.get(from..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 7, 10, 1_234_567_890, u64::MAX] {
            let mut bytes = [0; 30];
            let mut out = ShortWriter::new(&mut bytes);
            Text::new(&mut out).put(b"<").number(number).put(b">");
            let length = out.finish().unwrap();
            assert_eq!(bytes[..length], *format!("<{number}>").as_bytes());
        }
    }
}
