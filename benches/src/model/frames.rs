//! Captures of 64-byte UDP frames: one from each flow, then draws of all.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use cora_core::bucket::Bucket;
use cora_traffic::pcap::Writer;

use super::cases::Feed;
use super::popularity::{Popularity, Random};
use crate::keys::mix;
use crate::traffic::FRAME;

/// An address and a port.
type End = ([u8; 4], u16);

/// The balancer's service, and the public address of `nat`.
const SERVICE: End = ([192, 0, 2, 80], 443);
const PUBLIC: [u8; 4] = [192, 0, 2, 1];
const FIRST_PUBLIC_PORT: u16 = 32_768;
/// Bits 1 to 8 of a port say its bucket.
const BUCKETS: u16 = Bucket::COUNT as u16;

/// The input of programs, and the flow of each packet behind the first `warm`.
pub(crate) struct Capture {
    pub(crate) warm: usize,
    pub(crate) draws: Vec<u64>,
}

impl Capture {
    /// Writes `path`: a frame per microsecond.
    pub(crate) fn save(
        path: &Path,
        feed: Feed,
        flows: u64,
        popularity: Popularity,
        draws: usize,
    ) -> std::io::Result<Self> {
        let draws = popularity.draws(flows, draws);
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let mut time = 0;
        let mut write = |frame: &[u8]| {
            time += 1_000;
            writer.write(time, frame)
        };
        for flow in 0..flows {
            write(&first(feed, flow))?;
        }
        let mut coin = Random(7);
        for flow in &draws {
            let answers = feed.answers() && coin.next().is_multiple_of(2);
            write(&if answers { answer(feed, *flow) } else { first(feed, *flow) })?;
        }
        writer.finish()?;
        Ok(Self { warm: flows as usize, draws })
    }
}

/// Returns a frame from the side that begins the flow.
fn first(feed: Feed, flow: u64) -> [u8; FRAME] {
    let (from, to) = ends(feed, flow);
    datagram(from, to)
}

/// Returns a frame from the side that answers.
fn answer(feed: Feed, flow: u64) -> [u8; FRAME] {
    let (from, to) = ends(feed, flow);
    match feed {
        // Its ports are leased bucket by bucket, in the order of the starts of flows.
        Feed::Translated => datagram(to, (PUBLIC, FIRST_PUBLIC_PORT + flow as u16)),
        _ => datagram(to, from),
    }
}

/// Returns the opener of a flow, and its peer.
pub(crate) fn ends(feed: Feed, flow: u64) -> (End, End) {
    let mixed = mix(flow);
    let [.., high, middle, low] = flow.to_be_bytes();
    if feed == Feed::ToService {
        // 17 bits of the flow's number are in the source, and the rest in the port.
        let port = 1_024 + (flow >> 17) as u16 * 4_096 + mixed as u16 % 4_096;
        return (([198, 18 + (high & 1), middle, low], port), SERVICE);
    }
    // The flow's number is in the source, so no two are equal.
    let port = match feed {
        // Each bucket has as many flows as public ports.
        Feed::Translated => 1_024 + flow as u16 % (2 * BUCKETS),
        _ => 1_024 + (mixed >> 16) as u16 % 60_000,
    };
    (([10, high, middle, low], port), ([198, 18, mixed as u8, (mixed >> 8) as u8], 443))
}

/// Returns a UDP datagram over IPv4 with 18 bytes of zeros and no UDP checksum (RFC 768 allows it).
fn datagram(from: End, to: End) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[14..34];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&46_u16.to_be_bytes());
    (ip[6], ip[8], ip[9]) = (0x40, 64, 17);
    ip[12..16].copy_from_slice(&from.0);
    ip[16..20].copy_from_slice(&to.0);
    let sum = checksum(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame[34..36].copy_from_slice(&from.1.to_be_bytes());
    frame[36..38].copy_from_slice(&to.1.to_be_bytes());
    frame[38..40].copy_from_slice(&26_u16.to_be_bytes());
    frame
}

/// Returns the internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_sound_and_answers_turn_round() {
        let frame = first(Feed::BothWays, 70_000);
        assert_eq!(checksum(&frame[14..34]), 0);
        let back = answer(Feed::BothWays, 70_000);
        assert_eq!(frame[26..30], back[30..34]);
        assert_eq!(frame[34..36], back[36..38]);
        assert_eq!(answer(Feed::Translated, 5)[36..38], 32_773_u16.to_be_bytes());
    }

    #[test]
    fn no_two_flows_share_ends() {
        for feed in [Feed::FromInside, Feed::ToService] {
            let mut all: Vec<_> = (0..500_000).map(|flow| ends(feed, flow)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 500_000);
        }
    }
}
