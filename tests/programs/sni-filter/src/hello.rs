//! The client's first message (RFC 8446, 4.1.2), read byte by byte up to the server's name.

use core::mem::take;

use cora::prelude::*;

/// The longest name of a host.
const LONGEST: usize = 253;
/// Bytes of a TLS record's header, and its type.
const HEADER: u8 = 5;
const HANDSHAKE: u8 = 22;
/// Types of a message, of an extension, and of a name.
const CLIENT_HELLO: u64 = 1;
const SERVER_NAME: u64 = 0;
const HOST_NAME: u8 = 0;

/// The message as far as it is read.
#[derive(Clone, Copy, Debug, Plain)]
pub(crate) struct Hello {
    part: Part,
    /// Bytes of this part that are missing.
    missing: u16,
    /// The part's last bytes so far, as a number.
    number: u64,
    /// Bytes of the record's header that are missing, and then of the record.
    header: u8,
    record: u16,
    /// Bytes of extensions behind this one.
    extensions: u32,
    name: [u8; LONGEST],
    length: u8,
}

/// The parts of the message, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
enum Part {
    /// Type and length.
    Head,
    /// Version and random bytes.
    Random,
    SessionLength,
    Session,
    SuitesLength,
    Suites,
    CompressionLength,
    Compression,
    ExtensionsLength,
    /// Type and length of an extension.
    Extension,
    Skipped,
    /// Length of the list; type and length of its first name.
    Names,
    Name,
    Over,
}

impl Hello {
    pub(crate) const fn new() -> Self {
        Self {
            part: Part::Head,
            missing: 4,
            number: 0,
            header: HEADER,
            record: 0,
            extensions: 0,
            name: [0; LONGEST],
            length: 0,
        }
    }

    /// Whether nothing more is read.
    pub(crate) fn is_over(&self) -> bool {
        self.part == Part::Over
    }

    /// The name, once it is whole.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        self.name.get(..usize::from(self.length)).filter(|name| self.is_over() && !name.is_empty())
    }

    /// Takes the next byte of the connection. A message may begin in one TLS record and end in
    /// another; each has a header of type, version and length.
    pub(crate) fn take(&mut self, byte: u8) {
        if self.header == 0 {
            self.record -= 1;
            self.take_inner(byte);
        } else {
            if self.header == HEADER && byte != HANDSHAKE {
                self.part = Part::Over;
            }
            self.header -= 1;
            // The bytes before the length are shifted out.
            self.record = self.record << 8 | u16::from(byte);
        }
        if self.header == 0 && self.record == 0 {
            self.header = HEADER;
        }
    }

    /// Takes the next byte of the message.
    fn take_inner(&mut self, byte: u8) {
        if self.part == Part::Name
            && let Some(place) = self.name.get_mut(usize::from(self.length))
        {
            *place = byte;
            self.length += 1;
        }
        self.number = self.number << 8 | u64::from(byte);
        self.missing = self.missing.saturating_sub(1);
        while self.missing == 0 && self.part != Part::Over {
            self.turn();
        }
    }

    /// The part is whole: on to the next one. A vector without elements is over at once.
    fn turn(&mut self) {
        let number = take(&mut self.number);
        let length = number as u16;
        (self.part, self.missing) = match self.part {
            Part::Head if number >> 24 == CLIENT_HELLO => (Part::Random, 34),
            Part::Random => (Part::SessionLength, 1),
            Part::SessionLength => (Part::Session, length),
            Part::Session => (Part::SuitesLength, 2),
            Part::SuitesLength => (Part::Suites, length),
            Part::Suites => (Part::CompressionLength, 1),
            Part::CompressionLength => (Part::Compression, length),
            Part::Compression => (Part::ExtensionsLength, 2),
            Part::ExtensionsLength => {
                self.extensions = u32::from(length);
                (Part::Extension, 4)
            }
            Part::Extension => {
                self.extensions = self.extensions.saturating_sub(4 + u32::from(length));
                if number >> 16 == SERVER_NAME { (Part::Names, 5) } else { (Part::Skipped, length) }
            }
            Part::Skipped if self.extensions > 0 => (Part::Extension, 4),
            Part::Names
                if number.to_be_bytes()[5] == HOST_NAME && usize::from(length) <= LONGEST =>
            {
                (Part::Name, length)
            }
            _ => (Part::Over, 0),
        };
    }
}
