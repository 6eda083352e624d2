//! # payload-digest: reads every byte of each payload, three times
//!
//! To measure a program that is heavy by its instructions, not to copy. It stands for functions
//! that read whole payloads without an engine of their own in hardware: integrity checks, keyed
//! authentication, search for leaks. Each payload gets a CRC32C (by a table, a byte at a time, as
//! RFC 3720 has it), a SipHash with a key of its flow, and a scan for eight patterns at once
//! (Baeza-Yates and Gonnet's Shift-And). A flow keeps sums of all three. With hardware instructions
//! for CRC, or another scan, it would take a fraction of the instructions: it is heavy on purpose.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[cfg(test)]
mod tests;

/// Bytes of a payload that are read: those of frames of 2 KB. The rest of a longer one is not.
const MOST: usize = 2_048;
/// Eight patterns of eight bytes each, one behind the other.
const PATTERNS: &[u8; 64] =
    b"PASSWORDpassword-----BEG\x7fELF\x02\x01\x01\0SELECT */bin/sh\0USER admdocument";
/// The last byte of each pattern, as bits of the scan.
const LAST: u64 = 0x8080_8080_8080_8080;
/// The first one.
const FIRST: u64 = 0x0101_0101_0101_0101;

/// The reflected polynomial of Castagnoli.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The remainder of each byte.
static REMAINDERS: [u32; 256] = {
    let mut remainders = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = (byte as u32, 0);
        while bit < 8 {
            let odd = remainder & 1;
            remainder = (remainder >> 1) ^ (odd * POLYNOMIAL);
            bit += 1;
        }
        remainders[byte] = remainder;
        byte += 1;
    }
    remainders
};

/// For each byte, the places in the patterns that have it, a bit each.
static PLACES: [u64; 256] = {
    let mut places = [0; 256];
    let mut at = 0;
    while at < PATTERNS.len() {
        places[PATTERNS[at] as usize] |= 1 << at;
        at += 1;
    }
    places
};

/// Sums over the payloads of a flow.
#[state(key = FiveTuple, reply, capacity = 262_144, idle = "5m")]
struct Flow {
    packets: u64,
    bytes: u64,
    /// The key of the hash.
    secret: [u64; 2],
    /// The hash of the last payload, and of the hash before it.
    digest: u64,
    /// The exclusive or of the checksums.
    checksums: u32,
    /// Patterns that were found.
    found: u32,
}

impl Flow {
    fn new(now: u64) -> Self {
        let secret = [now, !now];
        Self { packets: 0, bytes: 0, secret, digest: 0, checksums: 0, found: 0 }
    }

    /// Reads a payload.
    fn read(&mut self, payload: &[u8]) {
        let payload = payload.get(..MOST).unwrap_or(payload);
        self.packets += 1;
        self.bytes += payload.len() as u64;
        self.checksums ^= crc32c(payload);
        self.digest = digest(self.secret, self.digest, payload);
        self.found = self.found.saturating_add(patterns(payload));
    }
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        let index = usize::from(sum as u8 ^ byte);
        sum >> 8 ^ REMAINDERS.get(index).copied().unwrap_or_default()
    })
}

/// SipHash of the hash before, the length, and the bytes as words.
fn digest(secret: [u64; 2], before: u64, bytes: &[u8]) -> u64 {
    let mut words = [0; 2 + MOST / 8];
    let (head, rest) = words.split_at_mut(2);
    head.copy_from_slice(&[before, bytes.len() as u64]);
    for (word, piece) in rest.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        for (to, from) in whole.iter_mut().zip(piece) {
            *to = *from;
        }
        *word = u64::from_le_bytes(whole);
    }
    sip_hash(secret, words.get(..2 + bytes.len().div_ceil(8)).unwrap_or_default())
}

/// How many of the patterns' occurrences end in these bytes: bit `n` of the state says that the
/// bytes so far end with the beginning of a pattern, up to its place `n`.
fn patterns(bytes: &[u8]) -> u32 {
    let (mut state, mut found) = (0_u64, 0);
    for byte in bytes {
        let places = PLACES.get(usize::from(*byte)).copied().unwrap_or_default();
        // The last place of a pattern does not lead to the first one of the next.
        state = ((state & !LAST) << 1 | FIRST) & places;
        found += (state & LAST).count_ones();
    }
    found
}

#[flow_handler]
fn read(packet: &mut Packet, flows: &mut Table<Flow>) -> Verdict {
    let (key, now) = (packet.five_tuple()?, packet.now());
    if let Some(flow) = flows.get_mut(&key) {
        flow.read(packet.payload());
    } else {
        let mut flow = Flow::new(now);
        flow.read(packet.payload());
        flows.insert(key, flow)?;
    }
    Transmit
}

cora::app!(read);
