//! The index for longest matches: which of many prefixes an address begins with.
//!
//! ```text
//! header   1 line: where the parts are
//! root     IPv4: an entry for each value of the first 16 bits; absent without IPv4 prefixes
//! nodes    IPv4: entries for the next 8 bits, in as few lines as hold them
//! starts   IPv6: first address of each range of addresses with one answer, ascending
//! answers  IPv6: the entry of each range
//! ```
//!
//! An entry is 0 (no prefix), a value plus 1, or the place of a node. A node has 1, 2, 4 or 8 lines
//! of runs, or 16 lines of 16 entries each. All lines of a node cover equally many values, so a
//! look-up reads one line of it. A line of runs has 12 runs at most: the last value of each as a
//! byte, then the entry of each. So IPv4 takes the root and at most two lines.

#[cfg(not(target_os = "none"))]
pub(super) mod build;

use crate::key::Address;

/// Words of a cache line.
pub(super) const LINE: usize = 16;
/// Entries of the root.
const ROOT: usize = 1 << 16;

/// The entry's place is that of a node.
const NODE: u32 = 1 << 31;
/// Where the logarithm of the node's lines is.
const LINES: u32 = 28;
/// The node has an entry per value.
const DIRECT: u32 = 4;

/// Words of the header: the line where the root begins or 0, the line where the nodes begin, the
/// word where the IPv6 starts begin, the number of IPv6 ranges.
mod header {
    pub(super) const ROOT: usize = 0;
    pub(super) const STARTS: usize = 1;
    pub(super) const RANGES: usize = 2;
}

/// Words of an IPv6 start.
const START: usize = 4;

/// Upper bound of the words of an index over this many prefixes.
///
/// A prefix adds at most two borders between runs to the node of each of its two levels. A node has
/// twice as many lines only if one of its parts has more than 12 runs, which takes 6 prefixes: so
/// no more than 256 / 6 words per prefix and level. The first level has at most 2^16 nodes. IPv6:
/// two starts and entries per prefix.
pub(super) const fn words(capacity: u32) -> usize {
    let capacity = capacity as usize;
    let level = capacity * (256usize.div_ceil(6));
    let first = if level < ROOT * 256 { level } else { ROOT * 256 };
    LINE + ROOT + first + level + (2 * capacity + 1) * (START + 1) + LINE
}

/// The value of the longest prefix that the address begins with.
#[inline]
pub(super) fn find(index: &[u32], address: Address) -> Option<u32> {
    let entry = match address.as_v4() {
        Some([first, second, third, fourth]) => {
            let root = *index.get(header::ROOT)? as usize * LINE;
            if root == 0 {
                return None;
            }
            let mut entry = *index.get(root + usize::from(u16::from_be_bytes([first, second])))?;
            if entry & NODE != 0 {
                entry = below(index, entry, third)?;
            }
            if entry & NODE != 0 {
                entry = below(index, entry, fourth)?;
            }
            entry
        }
        None => of_range(index, address.bits())?,
    };
    entry.checked_sub(1)
}

/// The entry for this byte in a node.
#[inline(always)]
fn below(index: &[u32], node: u32, byte: u8) -> Option<u32> {
    let log = node >> LINES & 7;
    let first = (node & ((1 << LINES) - 1)) as usize;
    let byte = u32::from(byte);
    let line = first + (byte >> (8 - log.min(DIRECT))) as usize;
    let line: &[u32; LINE] = index.get(line * LINE..)?.first_chunk()?;
    if log == DIRECT {
        return Some(line[(byte & 15) as usize]);
    }
    let value = (byte & (0xff >> log)) as u8;
    let [a, b, c, entries @ ..] = line;
    let ends = [a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes()];
    let run: usize = ends.as_flattened().iter().map(|end| usize::from(*end < value)).sum();
    entries.get(run).copied()
}

/// The entry of the IPv6 range with this address.
#[cold]
fn of_range(index: &[u32], bits: u128) -> Option<u32> {
    let starts = *index.get(header::STARTS)? as usize;
    let ranges = *index.get(header::RANGES)? as usize;
    let entries = index.get(starts + START * ranges..)?;
    let starts = index.get(starts..)?.as_chunks::<START>().0.get(..ranges)?;
    let after = starts.partition_point(|start| number(*start) <= bits);
    entries.get(after.checked_sub(1)?).copied()
}

/// A start as a number: the first word is the most significant.
#[inline(always)]
fn number([a, b, c, d]: [u32; START]) -> u128 {
    let high = u64::from(a) << 32 | u64::from(b);
    let low = u64::from(c) << 32 | u64::from(d);
    u128::from(high) << 64 | u128::from(low)
}
