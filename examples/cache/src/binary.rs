//! memcached's binary protocol (its doc/protocol-binary): the effect of a request on items.

use core::ops::Range;

/// First byte of a request.
pub const REQUEST: u8 = 0x80;
/// First byte of a response.
pub const RESPONSE: u8 = 0x81;
/// Bytes of a head.
pub const HEAD: usize = 24;

/// A request, by its effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    /// It changes no item.
    Reads,
    /// It changes the item that it names.
    Changes,
    /// It may change any.
    Unknown,
}

/// The head of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    operation: u8,
    /// Bytes between head and name.
    extras: usize,
    name: usize,
    /// All bytes behind the head.
    body: usize,
}

impl Head {
    /// Reads the head of a request; `None` if there are not enough bytes, or it is none.
    pub fn of(request: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD] = request.first_chunk()?;
        let &[REQUEST, operation, high, low, extras, ..] = head else { return None };
        let body = u32::from_be_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let (name, extras) = (u16::from_be_bytes([high, low]).into(), extras.into());
        let head = Self { operation, extras, name, body };
        (head.name + head.extras <= head.body).then_some(head)
    }

    /// What the request does.
    pub const fn does(&self) -> Does {
        match self.operation {
            // Get, get quietly, with the name, both; no-op, version, statistics, quit, verbosity;
            // three of the authentication.
            0x00 | 0x07 | 0x09..=0x0d | 0x10 | 0x17 | 0x1b | 0x20..=0x22 => Does::Reads,
            // Set, add, replace, delete, increment, decrement, append, prepend, and quietly; touch,
            // and get and touch.
            0x01..=0x06 | 0x0e | 0x0f | 0x11..=0x16 | 0x19 | 0x1a | 0x1c..=0x1e | 0x23 | 0x24
                if self.name > 0 =>
            {
                Does::Changes
            }
            _ => Does::Unknown,
        }
    }

    /// Where the name is.
    pub const fn name(&self) -> Range<usize> {
        HEAD + self.extras..HEAD + self.extras + self.name
    }

    /// All bytes of the request.
    pub const fn whole(&self) -> usize {
        HEAD + self.body
    }
}
