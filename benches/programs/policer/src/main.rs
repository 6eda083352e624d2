//! # policer: a token bucket for each source
//!
//! To measure: no calibration ever saw it. A source may send a megabyte a second, and 64 KiB at once; what is beyond
//! that is dropped.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Nanoseconds per byte: a megabyte a second.
const NS_PER_BYTE: u64 = 1_000;
/// What a source may save, in nanoseconds' worth of bytes.
const BURST_NS: u64 = 65_536 * NS_PER_BYTE;

const OVER_RATE: Reason = Reason::new("over-rate");

/// A source's bucket.
#[state(key = SourceAddress, capacity = 1 << 20, idle = "2m")]
struct Bucket {
    /// What it holds, as the nanoseconds that it took to fill.
    saved_ns: u64,
    /// When it was last filled.
    filled_at: u64,
    dropped: u64,
}

impl Bucket {
    /// Takes so many bytes out, if they are there.
    fn take(&mut self, bytes: u64, now: u64) -> bool {
        let since = now.saturating_sub(self.filled_at);
        self.saved_ns = (self.saved_ns + since).min(BURST_NS);
        self.filled_at = now;
        let cost = bytes * NS_PER_BYTE;
        let enough = self.saved_ns >= cost;
        if enough {
            self.saved_ns -= cost;
        } else {
            self.dropped += 1;
        }
        enough
    }
}

/// Lets pass what the source's bucket holds.
#[flow_handler]
fn police(packet: &mut Packet, buckets: &mut Table<Bucket>) -> Verdict {
    if packet.is_link_local_control() {
        return Transmit;
    }
    let source = SourceAddress(packet.source()?);
    let (bytes, now) = (packet.len() as u64, packet.now());
    if let Some(bucket) = buckets.get_mut(&source) {
        if !bucket.take(bytes, now) {
            return Drop(OVER_RATE);
        }
    } else {
        let saved_ns = BURST_NS.saturating_sub(bytes * NS_PER_BYTE);
        buckets.insert(source, Bucket { saved_ns, filled_at: now, dropped: 0 })?;
    }
    Transmit
}

cora::app!(police);
