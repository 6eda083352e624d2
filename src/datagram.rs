//! Messages in datagrams, for clients of a program that takes them.
//!
//! A client shares the types with the program: as a package whose library has them, or as a module
//! that both include.
//!
//! ```
//! use cora::datagram;
//! use cora::prelude::*;
//!
//! #[message(udp)]
//! #[derive(PartialEq, Debug)]
//! struct Is {
//!     version: u32,
//!     name: Bytes<200>,
//! }
//!
//! let is = Is { version: 7, name: Bytes::of(b"row")? };
//! let mut bytes = [0; datagram::MOST];
//! let length = datagram::write(&is, &mut bytes)?;
//! // Version, the length of the text, and the text.
//! assert_eq!(bytes[..length], *b"\x07\0\0\0\x03\0row");
//! assert_eq!(datagram::read(&bytes[..length]), Ok(is));
//! assert_eq!(datagram::read::<Is>(&bytes[..length - 1]), Err(Malformed));
//! # Ok::<(), Reason>(())
//! ```

use cora_core::message::{Message, Wired};
use cora_core::short::ShortWriter;
use cora_core::verdict::Reason;
use cora_core::verdict::reasons::TooLong;

/// Most bytes in a datagram: a UDP datagram over IPv4 without options (RFC 768, RFC 791).
pub const MOST: usize = 65_507;

/// Writes a message as the contents of a datagram, from the first byte on. Returns the length in
/// bytes.
///
/// # Errors
/// `too-long`, if it has more bytes than `out`.
pub fn write<M: Wired>(message: &M, out: &mut [u8]) -> Result<usize, Reason> {
    let mut writer = ShortWriter::new(out);
    message.write(&mut writer);
    writer.finish().ok_or(TooLong)
}

/// Reads the contents of a datagram as a message.
///
/// # Errors
/// `malformed`, or the reason of the type's own `Parse`, if they are no such message.
pub fn read<M: Message>(contents: &[u8]) -> Result<M, Reason> {
    M::of_datagram(contents)
}
