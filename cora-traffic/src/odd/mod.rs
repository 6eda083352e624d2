//! A collection of odd frames, each with one oddity and a name: the unexpected frames that a parser
//! meets on the wire.
//!
//! | module | oddities |
//! | --- | --- |
//! | `link` | Ethernet: runts, tags, other types, lengths |
//! | `v4` | the IPv4 header, its options, fragments, protocols |
//! | `v6` | the IPv6 header, extension headers, fragments |
//! | `transport` | TCP, UDP, ICMP, SCTP |
//! | `quoted` | the packet that an ICMP error quotes |
//!
//! The checksum of the IPv4 header is right, unless the case is about it: a parser that verifies it
//! first would see nothing else.

mod link;
mod quoted;
mod transport;
mod v4;
mod v6;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::TrafficError;
use crate::pcap::Writer;
use crate::wire::{self, End, Path, Tags};

/// Time of the first frame of the collection, in nanoseconds since 1970; each further one comes a
/// millisecond later.
const START: u64 = 1_700_000_000_000_000_000;
const STEP: u64 = 1_000_000;

/// Offset of the IP header in a frame without tags.
const IP: usize = 14;

/// One frame of the collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddFrame {
    /// Its oddity, in words joined by `-`; the name is unique.
    pub name: String,
    /// The frame.
    pub bytes: Vec<u8>,
}

/// Returns the whole collection, always in the same order.
pub fn odd() -> Vec<OddFrame> {
    let mut odd = Collection(Vec::new());
    link::collect(&mut odd);
    v4::collect(&mut odd);
    v6::collect(&mut odd);
    for v6 in [false, true] {
        transport::collect(&mut odd, v6);
        quoted::collect(&mut odd, v6);
    }
    odd.0
}

/// Writes the collection as a capture.
///
/// # Errors
/// If writing fails.
pub fn write_odd(out: impl Write) -> Result<Vec<OddFrame>, TrafficError> {
    let mut writer = Writer::new(out)?;
    let frames = odd();
    for (frame, number) in frames.iter().zip(0..) {
        writer.write(START + number * STEP, &frame.bytes)?;
    }
    writer.finish()?;
    Ok(frames)
}

/// The collection under construction.
struct Collection(Vec<OddFrame>);

impl Collection {
    fn add(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.0.push(OddFrame { name: name.into(), bytes });
    }

    /// Adds `frame`, changed by `change`, with a new checksum of its IPv4 header.
    fn changed(&mut self, name: impl Into<String>, frame: &[u8], change: impl FnOnce(&mut [u8])) {
        let mut bytes = frame.to_vec();
        change(&mut bytes);
        sum_header(&mut bytes, IP);
        self.add(name, bytes);
    }

    /// Adds `frame`, cut off after each of these numbers of bytes.
    fn cut(&mut self, name: &str, frame: &[u8], lengths: std::ops::Range<usize>) {
        for length in lengths {
            self.add(format!("{name}-{length}"), frame.iter().take(length).copied().collect());
        }
    }
}

/// Returns the path from an inside host to a server outside.
fn path(v6: bool) -> Path {
    let address = |v4: [u8; 4], six: u16| {
        if v6 {
            let prefix = if v4[0] == 10 { 0xfd00 } else { 0x2001 };
            IpAddr::V6(Ipv6Addr::new(prefix, 0xdb8, 0, 0, 0, 0, 0, six))
        } else {
            IpAddr::V4(Ipv4Addr::from(v4))
        }
    };
    Path {
        from: End { mac: [2, 0, 0, 0, 1, 7], address: address([10, 0, 0, 7], 7), port: 4_007 },
        to: End { mac: [2, 0, 0, 0, 0, 1], address: address([198, 51, 100, 9], 9), port: 443 },
        tags: Tags::None,
        hops: 64,
        id: 0x0d0d,
        options: false,
    }
}

/// Writes a 16-bit number.
fn put(bytes: &mut [u8], at: usize, number: u16) {
    if let Some(place) = bytes.get_mut(at..at + 2) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// Updates the checksum of the IPv4 header at `at`, over its stated length as far as the frame
/// reaches. Does nothing without an IPv4 header.
pub(crate) fn sum_header(frame: &mut [u8], at: usize) {
    let Some(first) = frame.get(at).filter(|first| **first >> 4 == 4) else { return };
    let length = usize::from(first & 15).max(5) * 4;
    let end = frame.len().min(at + length);
    if end < at + 12 {
        return;
    }
    put(frame, at + 10, 0);
    let sum = wire::checksum(&[&frame[at..end]]);
    put(frame, at + 10, sum);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_frame_has_a_name_of_its_own_and_differs() {
        let frames = odd();
        let names: BTreeSet<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names.len(), frames.len());
        let different: BTreeSet<&[u8]> = frames.iter().map(|frame| &frame.bytes[..]).collect();
        // Frames cut off within the Ethernet header occur once, not for each IP version.
        assert_eq!(different.len(), frames.len());
        assert!(frames.len() > 300, "{}", frames.len());
        assert_eq!(odd(), frames);
    }

    #[test]
    fn headers_are_summed_up_as_smoltcp_does() {
        use smoltcp::wire::Ipv4Packet;
        let whole = v4::plain();
        assert!(Ipv4Packet::new_unchecked(&whole[IP..]).verify_checksum());
        let mut longer = v4::with_options(&[1; 8]);
        assert!(Ipv4Packet::new_unchecked(&longer[IP..]).verify_checksum());
        longer[IP + 8] = 3;
        sum_header(&mut longer, IP);
        assert!(Ipv4Packet::new_unchecked(&longer[IP..]).verify_checksum());
    }
}
