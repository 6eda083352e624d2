//! Messages of CoAP (RFC 7252), as far as it takes to find the payload.

/// Version 1, in the two highest bits of the first byte.
const VERSION: u8 = 1;
/// Most bytes of a message's own token, which pairs answers with requests and proves nothing.
const LONGEST_PAIRING: u8 = 8;
/// Stands between the options and the payload.
const MARKER: u8 = 0xff;

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A confirmation, a rejection or a ping: a head without anything else.
    Empty,
    /// A request or an answer with a payload.
    Full { payload: &'a [u8] },
}

impl<'a> Message<'a> {
    /// Reads a datagram; `None` if it is no message, or has no payload though it is not empty.
    pub fn of(datagram: &'a [u8]) -> Option<Self> {
        let (&[first, code, _, _], rest) = datagram.split_first_chunk()?;
        let pairing = first & 0xf;
        if first >> 6 != VERSION || pairing > LONGEST_PAIRING {
            return None;
        }
        if code == 0 {
            return (pairing == 0 && rest.is_empty()).then_some(Self::Empty);
        }
        let (_, mut rest) = rest.split_at_checked(pairing.into())?;
        // An option has a byte at least.
        for _ in 0..rest.len() {
            let (head, options) = rest.split_first()?;
            if *head == MARKER {
                return (!options.is_empty()).then_some(Self::Full { payload: options });
            }
            rest = option(*head, options)?;
        }
        None
    }
}

/// The bytes behind an option.
fn option(head: u8, rest: &[u8]) -> Option<&[u8]> {
    let (_, rest) = number(head >> 4, rest)?;
    let (length, rest) = number(head & 0xf, rest)?;
    rest.get(length..)
}

/// A number in four bits, or in further bytes that these tell.
fn number(bits: u8, rest: &[u8]) -> Option<(usize, &[u8])> {
    match bits {
        13 => {
            let (byte, rest) = rest.split_first()?;
            Some((usize::from(*byte) + 13, rest))
        }
        14 => {
            let (bytes, rest) = rest.split_first_chunk()?;
            Some((usize::from(u16::from_be_bytes(*bytes)) + 269, rest))
        }
        15 => None,
        _ => Some((bits.into(), rest)),
    }
}
