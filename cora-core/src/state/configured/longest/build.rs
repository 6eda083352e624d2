//! Builds the index, at the host.

use alloc::vec;
use alloc::vec::Vec;

use super::{DIRECT, LINE, LINES, NODE, ROOT, header};
use crate::config;
use crate::key::Prefix;

/// Runs that a line has space for.
const RUNS: usize = 12;
/// Up to this logarithm of their number, lines hold runs.
const MOST_RUN_LINES: u32 = 3;

/// A prefix with the value that it leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    pub(crate) prefix: Prefix,
    /// The row or group; at most 2^31 - 2.
    pub(crate) value: u32,
}

/// An IPv4 prefix: its address, its length, the entry that it leads to.
type V4 = (u32, u8, u32);

/// The index under construction.
struct Index<'a> {
    words: &'a mut [u32],
    /// Words in use, in whole lines.
    used: usize,
}

/// Builds the index of these prefixes into `words`, which are zero. Returns the number of words
/// used. Two rows with one prefix are a fault of the second, if a value is the number of a row.
pub(crate) fn run(
    networks: impl Iterator<Item = Network>,
    words: &mut [u32],
    file: &mut dyn config::File,
) -> Option<usize> {
    let mut sorted: Vec<Network> = networks.collect();
    // By address, a covering prefix before those that it covers.
    sorted
        .sort_by_key(|network| (network.prefix.address(), network.prefix.length(), network.value));
    if !are_distinct(&sorted, file) {
        return None;
    }
    let mut index = Index { words, used: LINE };
    let (v4, v6): (Vec<Network>, Vec<Network>) =
        sorted.iter().partition(|network| network.prefix.address().is_v4());
    index.add_v4(&v4);
    index.add_v6(&v6);
    Some(index.used)
}

fn are_distinct(sorted: &[Network], file: &mut dyn config::File) -> bool {
    for pair in sorted.windows(2) {
        if let [one, two] = pair
            && one.prefix == two.prefix
        {
            let prefix = one.prefix;
            file.fault_twice(two.value as usize, one.value as usize, &prefix);
        }
    }
    file.is_sound()
}

impl Index<'_> {
    /// Takes `lines` lines; returns the number of the first.
    fn take(&mut self, lines: usize) -> usize {
        let first = self.used / LINE;
        self.used += lines * LINE;
        first
    }

    /// The words of line `number` and the following.
    fn at(&mut self, line: usize) -> &mut [u32] {
        self.words.get_mut(line * LINE..).unwrap_or_default()
    }

    fn set_header(&mut self, at: usize, value: usize) {
        if let Some(place) = self.words.get_mut(at) {
            *place = value as u32;
        }
    }

    fn add_v4(&mut self, networks: &[Network]) {
        if networks.is_empty() {
            return;
        }
        let root = self.take(ROOT / LINE);
        self.set_header(header::ROOT, root);
        let all: Vec<V4> = networks
            .iter()
            .map(|network| {
                let bits = network.prefix.address().bits() as u32;
                (bits, network.prefix.length(), network.value + 1)
            })
            .collect();
        let (short, long): (Vec<V4>, Vec<V4>) =
            all.iter().partition(|(_, length, _)| *length <= 16);
        let mut entries = vec![0; ROOT];
        paint(&mut entries, &short, 16);
        for group in long.chunk_by(|one, two| one.0 >> 16 == two.0 >> 16) {
            let Some((bits, ..)) = group.first() else { continue };
            if let Some(entry) = entries.get_mut((bits >> 16) as usize) {
                *entry = self.node(group, 16, *entry);
            }
        }
        if let Some(place) = self.at(root).get_mut(..ROOT) {
            place.copy_from_slice(&entries);
        }
    }

    /// Adds the node for the 8 bits behind the first `depth`, which these prefixes share;
    /// `covering` is the entry of the longest prefix that covers them all. Returns the node's
    /// entry.
    fn node(&mut self, networks: &[V4], depth: u8, covering: u32) -> u32 {
        let end = depth + 8;
        let (short, long): (Vec<V4>, Vec<V4>) =
            networks.iter().partition(|(_, length, _)| *length <= end);
        let mut entries = [covering; 256];
        paint(&mut entries, &short, end);
        let part = |bits: u32| (bits >> (32 - end)) as u8;
        for group in long.chunk_by(|one, two| part(one.0) == part(two.0)) {
            let Some((bits, ..)) = group.first() else { continue };
            if let Some(entry) = entries.get_mut(usize::from(part(*bits))) {
                *entry = self.node(group, end, *entry);
            }
        }
        self.encode(&entries)
    }

    /// Adds the lines of a node; returns its entry.
    fn encode(&mut self, entries: &[u32; 256]) -> u32 {
        let fits = |log: &u32| {
            let mut parts = entries.chunks(256 >> log);
            parts.all(|part| part.chunk_by(|one, two| one == two).count() <= RUNS)
        };
        let log = (0..=MOST_RUN_LINES).find(fits).unwrap_or(DIRECT);
        let first = self.take(1 << log);
        for (number, part) in entries.chunks(256 >> log).enumerate() {
            let Some(line) = self.at(first + number).first_chunk_mut::<LINE>() else { continue };
            if log == DIRECT {
                line.copy_from_slice(part);
            } else {
                *line = line_of_runs(part);
            }
        }
        NODE | log << LINES | first as u32
    }

    /// Adds the ranges of these prefixes: sorted, a covering one first.
    fn add_v6(&mut self, networks: &[Network]) {
        let mut ranges = Ranges::default();
        for network in networks {
            ranges.open(network);
        }
        ranges.close_before(None);
        let starts = self.used;
        self.set_header(header::STARTS, starts);
        self.set_header(header::RANGES, ranges.found.len());
        let words: Vec<u32> = ranges
            .found
            .iter()
            .flat_map(|(start, _)| [96, 64, 32, 0].map(|shift| (start >> shift) as u32))
            .chain(ranges.found.iter().map(|(_, entry)| *entry))
            .collect();
        self.used += words.len().next_multiple_of(LINE);
        if let Some(place) = self.words.get_mut(starts..starts + words.len()) {
            place.copy_from_slice(&words);
        }
    }
}

/// Gives each entry that one of these prefixes covers its value. Entries are told apart by the
/// first `end` bits of an address; longer prefixes come after those that cover them.
fn paint(entries: &mut [u32], networks: &[V4], end: u8) {
    for (bits, length, entry) in networks {
        let first = (bits >> (32 - end)) as usize % entries.len();
        let covered = 1 << (end - length);
        entries.get_mut(first..first + covered).unwrap_or_default().fill(*entry);
    }
}

/// A line of the runs of these entries, which are at most [`RUNS`].
fn line_of_runs(entries: &[u32]) -> [u32; LINE] {
    // A last value that no look-up exceeds.
    let mut ends = [u8::MAX; RUNS];
    let mut line = [0; LINE];
    let mut end = 0;
    for (number, run) in entries.chunk_by(|one, two| one == two).enumerate() {
        end += run.len();
        if let (Some(place), Some(entry)) = (line.get_mut(3 + number), run.first()) {
            *place = *entry;
        }
        if let Some(place) = ends.get_mut(number) {
            *place = (end - 1) as u8;
        }
    }
    for (place, bytes) in line.iter_mut().zip(ends.as_chunks().0) {
        *place = u32::from_le_bytes(*bytes);
    }
    line
}

/// Ranges of IPv6 addresses with one answer each.
#[derive(Default)]
struct Ranges {
    /// Where each begins, and its entry.
    found: Vec<(u128, u32)>,
    /// Last address and entry of the prefixes that cover the place reached, the longest last.
    open: Vec<(u128, u32)>,
}

impl Ranges {
    fn open(&mut self, network: &Network) {
        let start = network.prefix.address().bits();
        self.close_before(Some(start));
        self.begin(start, network.value + 1);
        let free = 128 - u32::from(network.prefix.length());
        let last = start | u128::MAX.checked_shr(128 - free).unwrap_or(0);
        self.open.push((last, network.value + 1));
    }

    /// Ends the prefixes that end before this address; all of them without one.
    fn close_before(&mut self, address: Option<u128>) {
        while let Some((last, _)) =
            self.open.pop_if(|(last, _)| address.is_none_or(|at| *last < at))
        {
            let covering = self.open.last().map_or(0, |(_, entry)| *entry);
            if let Some(next) = last.checked_add(1) {
                self.begin(next, covering);
            }
        }
    }

    /// From this address on, the answer is this entry.
    fn begin(&mut self, start: u128, entry: u32) {
        self.found.pop_if(|(same, _)| *same == start);
        if self.found.last().map_or(0, |(_, entry)| *entry) != entry {
            self.found.push((start, entry));
        }
    }
}
