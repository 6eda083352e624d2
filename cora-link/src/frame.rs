//! The header of a frame.
//!
//! ```text
//! byte  0  destination 6, source 6, EtherType 2 (big-endian; all else is little-endian)
//!      14  version 2
//!      16  kind 1, flags 1
//!      18  CRC32C 4, over the whole frame up to its length, with zeros here
//!      22  bytes behind the header 2
//!      24  the caller's number of the session 8, the answerer's 8
//!      40  number 8: of this frame if it has data, otherwise of the next one with data
//!      48  next 8: all numbers below came
//!      56  limit 8: numbers below may be sent
//!      64  records, or the words of a call
//! ```

/// IEEE 802's "Local Experimental EtherType 1".
pub const ETHERTYPE: u16 = 0x88b5;
/// Bytes of a frame before its records. No frame is shorter than Ethernet's 60 bytes.
pub const HEADER: usize = 64;
/// Most bytes of the words of a call.
pub const LONGEST_CALL: usize = 512;

/// Version of this header, of records in frames, and of the words of a call.
const VERSION: u16 = 1;

/// Bytes at their places.
mod at {
    pub(super) const DESTINATION: usize = 0;
    pub(super) const SOURCE: usize = 6;
    pub(super) const ETHERTYPE: usize = 12;
    pub(super) const VERSION: usize = 14;
    pub(super) const KIND: usize = 16;
    pub(super) const FLAGS: usize = 17;
    pub(super) const SUM: usize = 18;
    pub(super) const LENGTH: usize = 22;
    pub(super) const CALLER: usize = 24;
    pub(super) const ANSWERER: usize = 32;
    pub(super) const NUMBER: usize = 40;
    pub(super) const NEXT: usize = 48;
    pub(super) const LIMIT: usize = 56;
}

/// The bit of the flags that says that a frame is missing.
const GAP: u8 = 1;

/// The addresses of an end and of its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// This end's.
    pub own: [u8; 6],
    /// The peer's.
    pub peer: [u8; 6],
}

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The caller wants a session. Its words follow.
    Call,
    /// The answerer takes part.
    Answer,
    /// The answerer does not, and `limit` says why by a code.
    Refusal,
    /// Records.
    Data,
    /// No records.
    Idle,
}

impl Kind {
    const ALL: [(u8, Self); 5] =
        [(1, Self::Call), (2, Self::Answer), (3, Self::Refusal), (4, Self::Data), (5, Self::Idle)];

    fn number(self) -> u8 {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or(0, |(number, _)| *number)
    }

    fn of(number: u8) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
    }
}

/// Both ends' numbers of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Session {
    /// Grows from call to call.
    pub caller: u64,
    /// Chosen by chance; zero before the answer.
    pub answerer: u64,
}

/// A header but for addresses, sum and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its purpose.
    pub kind: Kind,
    /// A frame before the next expected one is missing.
    pub gap: bool,
    /// The session that it belongs to.
    pub session: Session,
    /// The number of this frame, if it has data.
    pub number: u64,
    /// All numbers below came.
    pub next: u64,
    /// Numbers below may be sent.
    pub limit: u64,
}

/// Why a frame is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    /// It is from somebody else, for somebody else, or of another protocol.
    Strange,
    /// Its sum is wrong, or it is cut.
    Damaged,
    /// The peer speaks another version.
    OtherVersion(u16),
}

/// Writes the header of a frame. The bytes behind the header are there already.
pub fn seal(frame: &mut [u8], addresses: Addresses, header: &Header) {
    let Some(length) = frame.len().checked_sub(HEADER) else { return };
    let mut put = |at: usize, bytes: &[u8]| frame[at..at + bytes.len()].copy_from_slice(bytes);
    put(at::DESTINATION, &addresses.peer);
    put(at::SOURCE, &addresses.own);
    put(at::ETHERTYPE, &ETHERTYPE.to_be_bytes());
    put(at::VERSION, &VERSION.to_le_bytes());
    put(at::KIND, &[header.kind.number(), u8::from(header.gap) * GAP]);
    put(at::SUM, &[0; 4]);
    put(at::LENGTH, &(length as u16).to_le_bytes());
    put(at::CALLER, &header.session.caller.to_le_bytes());
    put(at::ANSWERER, &header.session.answerer.to_le_bytes());
    put(at::NUMBER, &header.number.to_le_bytes());
    put(at::NEXT, &header.next.to_le_bytes());
    put(at::LIMIT, &header.limit.to_le_bytes());
    let sum = crc32c::crc32c(frame);
    frame[at::SUM..at::LENGTH].copy_from_slice(&sum.to_le_bytes());
}

/// The header of a frame from the peer, and the bytes behind it.
///
/// # Errors
/// If it is none, or was damaged.
pub fn open(frame: &[u8], addresses: Addresses) -> Result<(Header, &[u8]), Unheard> {
    let Some((head, rest)) = frame.split_first_chunk::<HEADER>() else {
        return Err(Unheard::Strange);
    };
    let is_ours = head[at::DESTINATION..at::SOURCE] == addresses.own
        && head[at::SOURCE..at::ETHERTYPE] == addresses.peer
        && head[at::ETHERTYPE..at::VERSION] == ETHERTYPE.to_be_bytes();
    if !is_ours {
        return Err(Unheard::Strange);
    }
    let length = usize::from(u16::from_le_bytes([head[at::LENGTH], head[at::LENGTH + 1]]));
    let rest = rest.get(..length).ok_or(Unheard::Damaged)?;
    let told: [u8; 4] = take(head, at::SUM);
    let sum = crc32c::crc32c(&head[..at::SUM]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    let sum = crc32c::crc32c_append(sum, &head[at::LENGTH..]);
    if crc32c::crc32c_append(sum, rest) != u32::from_le_bytes(told) {
        return Err(Unheard::Damaged);
    }
    let version = u16::from_le_bytes(take(head, at::VERSION));
    if version != VERSION {
        return Err(Unheard::OtherVersion(version));
    }
    // A sum that is right over a kind that does not exist is of no peer of this version.
    let kind = Kind::of(head[at::KIND]).ok_or(Unheard::Damaged)?;
    let word = |at: usize| u64::from_le_bytes(take(head, at));
    let session = Session { caller: word(at::CALLER), answerer: word(at::ANSWERER) };
    let gap = head[at::FLAGS] & GAP != 0;
    let (number, next, limit) = (word(at::NUMBER), word(at::NEXT), word(at::LIMIT));
    Ok((Header { kind, gap, session, number, next, limit }, rest))
}

fn take<const BYTES: usize>(head: &[u8; HEADER], at: usize) -> [u8; BYTES] {
    core::array::from_fn(|byte| head[at + byte])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Addresses = Addresses { own: [2; 6], peer: [4; 6] };
    const THERE: Addresses = Addresses { own: [4; 6], peer: [2; 6] };

    fn header() -> Header {
        let session = Session { caller: 5, answerer: 6 };
        Header { kind: Kind::Data, gap: true, session, number: 7, next: 8, limit: 9 }
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; HEADER];
        frame.extend(payload);
        seal(&mut frame, HERE, &header());
        frame
    }

    #[test]
    fn what_was_sealed_is_opened() {
        for payload in [&b""[..], b"a", &[7; 1436]] {
            let mut frame = frame(payload);
            assert_eq!(open(&frame, THERE), Ok((header(), payload)));
            // Ethernet pads short frames.
            frame.extend([0; 46]);
            assert_eq!(open(&frame, THERE), Ok((header(), payload)));
        }
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_noticed() {
        let sound = frame(b"records");
        for bit in 0..8 * sound.len() {
            let mut frame = sound.clone();
            frame[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&frame, THERE).is_err(), "bit {bit}");
        }
        for length in 0..sound.len() {
            assert!(open(&sound[..length], THERE).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn strangers_and_other_versions_are_told_apart() {
        let sound = frame(b"records");
        assert_eq!(open(&sound, HERE), Err(Unheard::Strange), "its own frame");
        let other = Addresses { peer: [9; 6], ..THERE };
        assert_eq!(open(&sound, other), Err(Unheard::Strange));
        let mut newer = sound;
        newer[at::VERSION] = 2;
        newer[at::SUM..at::LENGTH].fill(0);
        let sum = crc32c::crc32c(&newer);
        newer[at::SUM..at::LENGTH].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(open(&newer, THERE), Err(Unheard::OtherVersion(2)));
    }
}
