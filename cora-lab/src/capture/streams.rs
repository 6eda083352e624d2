//! The bytes that each end of a TCP connection said, put together from its segments.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cora_traffic::view::Tuple;

use super::packet::Packet;
use crate::verdict::Observed;

const SYN: u8 = 2;
/// No program says more by one connection.
const LONGEST: usize = 1 << 26;

/// One direction of a connection.
#[derive(Debug, Default)]
struct Stream {
    /// The sequence number of its first byte.
    begins: Option<u32>,
    bytes: Vec<u8>,
}

impl Stream {
    fn add(&mut self, sequence: u32, flags: u8, data: &[u8]) {
        if flags & SYN != 0 {
            self.begins = Some(sequence.wrapping_add(1));
            return;
        }
        // A segment without data may stand one behind the end: the FIN has a number too.
        let Some(begins) = self.begins.filter(|_| !data.is_empty()) else { return };
        let at = sequence.wrapping_sub(begins) as usize;
        // A segment from before the beginning is none of the stream's.
        let end = at.saturating_add(data.len());
        if end > LONGEST {
            return;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(data);
    }
}

/// Returns the number of streams with data, and a digest of their data. The clients' ports are not
/// part of it.
pub(super) fn told(packets: &[Packet]) -> Observed {
    let mut streams = BTreeMap::<Tuple, Stream>::new();
    for packet in packets {
        if let Some((sequence, flags, data)) = &packet.segment {
            streams.entry(packet.tuple).or_default().add(*sequence, *flags, data);
        }
    }
    let said = streams.iter().filter(|(_, stream)| !stream.bytes.is_empty());
    let mut digests: Vec<u64> = said.map(|(tuple, stream)| digest(tuple, stream)).collect();
    digests.sort_unstable();
    let mut all = DefaultHasher::new();
    digests.hash(&mut all);
    let result = format!("{} streams, digest {:016x}", digests.len(), all.finish());
    Observed::compared("captures: what TCP's ends said", result)
}

fn digest(tuple: &Tuple, stream: &Stream) -> u64 {
    let mut digest = DefaultHasher::new();
    // Of the two ports, the service's is the lower one here.
    tuple.2.min(tuple.4).hash(&mut digest);
    stream.bytes.hash(&mut digest);
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_put_in_order_and_counted_once() {
        let mut stream = Stream::default();
        stream.add(u32::MAX - 1, SYN, b"");
        stream.add(2, 0x10, b"de");
        stream.add(u32::MAX, 0x10, b"abc");
        stream.add(1, 0x10, b"cd");
        stream.add(6, 0x10, b"");
        assert_eq!(stream.bytes, b"abcde");
    }
}
