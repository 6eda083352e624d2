//! The pair of Ethernet addresses: a key for programs that read no further than Ethernet.

use core::fmt;

use crate::hash::FlowHasher;
use crate::key::{HeaderKey, Key, Mac};
use crate::packet::Headers;
use crate::plain::{Describe, Plain};
use crate::verdict::Reason;

/// The two Ethernet addresses of a frame. Both directions belong to one flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacPair {
    /// Source address.
    pub source: [u8; 6],
    /// Destination address.
    pub destination: [u8; 6],
}

impl MacPair {
    /// The pair of the opposite direction.
    #[inline]
    #[must_use]
    pub const fn reversed(&self) -> Self {
        Self { source: self.destination, destination: self.source }
    }

    /// Both addresses, concatenated.
    #[inline]
    fn bytes(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..6].copy_from_slice(&self.source);
        bytes[6..].copy_from_slice(&self.destination);
        bytes
    }

    #[inline]
    fn of_bytes(bytes: &[u8; 12]) -> Self {
        let mut pair = Self::default();
        pair.source.copy_from_slice(&bytes[..6]);
        pair.destination.copy_from_slice(&bytes[6..]);
        pair
    }
}

/// An address as a number, the first octet most significant.
#[inline]
fn number(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |number, octet| number << 8 | u64::from(*octet))
}

impl fmt::Display for MacPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", Mac(self.source), Mac(self.destination))
    }
}

impl fmt::Debug for MacPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Plain for MacPair {
    const SIZE: usize = 12;
    #[inline]
    fn put(&self, out: &mut [u8]) {
        if let Some(place) = out.first_chunk_mut() {
            *place = self.bytes();
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(Self::of_bytes)
    }
    fn describe(&self, to: &mut dyn Describe) {
        to.text(self);
    }
}

impl Key for MacPair {
    type Packed = [u8; 12];

    #[inline]
    fn pack(&self) -> [u8; 12] {
        self.bytes()
    }

    #[inline]
    fn unpack(packed: &[u8; 12]) -> Self {
        Self::of_bytes(packed)
    }

    #[inline]
    fn reply(&self) -> Option<Self> {
        Some(self.reversed())
    }

    #[inline]
    fn words(&self) -> [u64; 5] {
        [number(self.source), number(self.destination), 0, 0, 0]
    }

    #[inline]
    fn hash(&self, hasher: &FlowHasher, undirected: bool) -> u64 {
        let (source, destination) = (number(self.source), number(self.destination));
        let turned = undirected && source > destination;
        hasher.hash_pair(if turned { [destination, source] } else { [source, destination] })
    }
}

impl HeaderKey for MacPair {
    #[inline]
    fn of(packet: &Headers<'_>) -> Result<Self, Reason> {
        Ok(Self { source: packet.mac_source()?, destination: packet.mac_destination()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Meta, Packet};
    use crate::verdict::reasons::Truncated;

    const PAIR: MacPair = MacPair { source: [2, 0, 0, 0, 0, 0xa], destination: [0xff; 6] };

    #[test]
    fn is_read_from_any_frame() {
        let mut frame = [0; 14];
        frame[..6].copy_from_slice(&PAIR.destination);
        frame[6..12].copy_from_slice(&PAIR.source);
        let of = |frame: &mut [u8]| MacPair::of(&Packet::new(frame, Meta::default()));
        assert_eq!(of(&mut frame), Ok(PAIR));
        assert_eq!(of(&mut frame[..12]), Ok(PAIR));
        assert_eq!(of(&mut frame[..11]), Err(Truncated));
    }

    #[test]
    fn round_trips_and_reverses() {
        let mut bytes = [0; MacPair::SIZE];
        PAIR.put(&mut bytes);
        assert_eq!(MacPair::get(&bytes), Some(PAIR));
        assert_eq!(MacPair::get(&bytes[1..]), None);
        assert_eq!(MacPair::unpack(&PAIR.pack()), PAIR);
        assert_eq!(PAIR.reply().and_then(|reply| reply.reply()), Some(PAIR));
        assert_ne!(PAIR.words(), PAIR.reversed().words());
        let hashes = |undirected| {
            [PAIR, PAIR.reversed()].map(|pair| pair.hash(&FlowHasher::new(1), undirected))
        };
        assert_ne!(hashes(false)[0], hashes(false)[1]);
        assert_eq!(hashes(true)[0], hashes(true)[1]);
        assert_eq!(std::format!("{PAIR}"), "02:00:00:00:00:0a > ff:ff:ff:ff:ff:ff");
    }
}
