//! Flows of a capture: how many packets each has, how often it opens, how many there are at a time.
//!
//! Flows are those of the runtime: keys are read from packets by the code that handlers read them
//! with, ports follow from `--inside`, and time never runs backwards. Both directions of a
//! five-tuple are one flow.
//!
//! Flows at a time: a flow is there from a packet until it was idle for the given time. The number
//! is the mean over the capture but for its first idle time, when flows that were there before are
//! not known yet; a capture that is no longer than that has the number that it ends with, all flows
//! in it.
//!
//! Of long frames the bytes are counted that wait at the NIC where they go to the host as their
//! heads.
//!
//! Memory grows with flows and addresses, by 88 and 168 bytes for one and as much again where
//! tables grow, and not with packets. Look-ups are made for several packets in a row, table by
//! table, so that the processor waits for memory once for several of them.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;
use std::path::Path;
use std::time::Duration;

use ahash::RandomState;
use cora_core::key::{Address, FiveTuple};
use cora_core::packet::{MAX_FRAME, Packet};
use cora_host::parts::{Reading, Source};
use cora_host::{Inside, RunError};
use cora_runtime::exec::rest_of;

/// How many frames pass between two calls of who watches.
const WATCHED: u64 = 1 << 14;

/// How many packets are counted in a row.
const TOGETHER: usize = 64;

/// The flows of a capture, by each type of key.
#[derive(Clone, Debug)]
pub(crate) struct FlowStats {
    /// Packets in the capture.
    pub(crate) packets: u64,
    /// Those without a five-tuple: not IP, broken, or fragments. Those that have addresses count
    /// for these.
    pub(crate) without_flow: u64,
    /// Those that are longer than any frame may be, and count for nothing.
    pub(crate) too_long: u64,
    /// Packets whose headers were cut when they were captured.
    pub(crate) cut: u64,
    /// Bytes of all frames with a five-tuple.
    pub(crate) bytes: u64,
    /// Time of the first packet, and the latest of all, in nanoseconds since 1970.
    pub(crate) span: (u64, u64),
    window: Window,
    five_tuples: HashMap<FiveTuple, Life, RandomState>,
    addresses: HashMap<Address, Host, RandomState>,
    /// Packets that are not counted yet.
    waiting: Vec<Seen>,
}

/// The facts of an address, by each key that it is.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    source: Life,
    destination: Life,
    inside: Life,
}

/// The counted facts of a packet.
#[derive(Clone, Copy, Debug)]
struct Seen {
    flow: Option<FiveTuple>,
    /// Where it comes from and where it goes.
    ends: Option<[Address; 2]>,
    /// Whether the first end is the inside host.
    from_inside: bool,
    bytes: u64,
    /// Those that wait at the NIC while the frame's head is with the host.
    rest: u64,
    now: u64,
}

/// Keys with equally many packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// How many different ones.
    pub(crate) keys: u64,
    /// How many of them at a time.
    pub(crate) at_a_time: f64,
    /// How often one of them opened: at its first packet, and at one that it was idle before.
    pub(crate) opens: u64,
    /// Bytes of all their packets.
    pub(crate) bytes: u64,
    /// Those that don't go to the host where long frames go as their heads.
    pub(crate) rests: u64,
}

/// When flows count as being there.
#[derive(Clone, Copy, Debug)]
struct Window {
    idle: u64,
    /// From here on flows at a time are counted.
    from: u64,
}

/// The facts of one key; nothing as long as it has no packets.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    packets: u64,
    opens: u64,
    bytes: u64,
    rests: u64,
    last: u64,
    /// Nanoseconds that it was there within the window, up to its last packet.
    there: u64,
}

impl FlowStats {
    /// Counts the flows of a capture. `watch` is told now and then how many packets there were and
    /// how many bytes of the file they took.
    ///
    /// # Errors
    /// When the capture can't be read, or is damaged: [`RunError::File`], [`RunError::Capture`].
    pub(crate) fn of(
        capture: &Path,
        inside: &Inside,
        idle: Duration,
        mut watch: impl FnMut(u64, u64),
    ) -> Result<Self, RunError> {
        // A profile asks for no more than headers.
        let reading = Reading { inside: inside.clone(), heads: true, ..Reading::default() };
        let mut source = Source::open(capture, reading)?;
        let mut buffer = vec![0; MAX_FRAME];
        let mut stats: Option<Self> = None;
        let idle = idle.as_nanos().min(u128::from(u64::MAX)) as u64;
        while let Some((stamp, length)) = source.next(&mut buffer)? {
            let now = stamp.meta.now;
            let stats = stats.get_or_insert_with(|| Self::begin(now, idle));
            stats.see(&Packet::new(&mut buffer[..length], stamp.meta), now);
            if source.packets.is_multiple_of(WATCHED) {
                watch(source.packets, source.offset());
            }
        }
        watch(source.packets, source.offset());
        let mut stats = stats.unwrap_or_else(|| Self::begin(0, idle));
        stats.count();
        (stats.packets, stats.too_long) = (source.packets, source.too_long);
        (_, stats.cut) = source.cut;
        Ok(stats)
    }

    /// Seconds from the first packet to the last.
    pub(crate) fn seconds(&self) -> f64 {
        Duration::from_nanos(self.span.1.saturating_sub(self.span.0)).as_secs_f64()
    }

    fn begin(now: u64, idle: u64) -> Self {
        Self {
            packets: 0,
            without_flow: 0,
            too_long: 0,
            cut: 0,
            bytes: 0,
            span: (now, now),
            window: Window { idle, from: now.saturating_add(idle) },
            five_tuples: lives(),
            addresses: lives(),
            waiting: Vec::with_capacity(TOGETHER),
        }
    }

    fn see(&mut self, packet: &Packet<'_>, now: u64) {
        self.span.1 = now;
        let flow = packet.five_tuple().ok().map(undirected);
        self.without_flow += u64::from(flow.is_none());
        let ends = packet.source().ok().zip(packet.destination().ok());
        self.waiting.push(Seen {
            flow,
            ends: ends.map(|(source, destination)| [source, destination]),
            from_inside: packet.from_inside(),
            bytes: packet.len() as u64,
            rest: rest_of(packet.frame()) as u64,
            now,
        });
        if self.waiting.len() == TOGETHER {
            self.count();
        }
    }

    /// Counts the packets that wait for it.
    fn count(&mut self) {
        let window = self.window;
        for seen in &self.waiting {
            if let Some(flow) = seen.flow {
                self.bytes += seen.bytes;
                window.note(self.five_tuples.entry(flow).or_default(), seen);
            }
        }
        for seen in &self.waiting {
            let Some([source, destination]) = seen.ends else { continue };
            let host = self.addresses.entry(source).or_default();
            window.note(&mut host.source, seen);
            if seen.from_inside {
                window.note(&mut host.inside, seen);
            }
            let host = self.addresses.entry(destination).or_default();
            window.note(&mut host.destination, seen);
            if !seen.from_inside {
                window.note(&mut host.inside, seen);
            }
        }
        self.waiting.clear();
    }

    /// By the type of the key, as sources spell it, then by how many packets a key has: the keys
    /// with that many.
    pub(crate) fn groups(&self) -> BTreeMap<&'static str, BTreeMap<u64, Group>> {
        BTreeMap::from([
            ("FiveTuple", self.grouped(self.five_tuples.values().copied())),
            ("SourceAddress", self.grouped(self.addresses.values().map(|host| host.source))),
            (
                "DestinationAddress",
                self.grouped(self.addresses.values().map(|host| host.destination)),
            ),
            ("InsideAddress", self.grouped(self.addresses.values().map(|host| host.inside))),
        ])
    }

    /// Sums of integers, which are the same in any order.
    #[expect(clippy::cast_precision_loss, reason = "counts of flows are far below 2^53")]
    fn grouped(&self, lives: impl Iterator<Item = Life>) -> BTreeMap<u64, Group> {
        let mut there: BTreeMap<u64, u128> = BTreeMap::new();
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        for life in lives.filter(|life| life.packets > 0) {
            let group = groups.entry(life.packets).or_default();
            group.keys += 1;
            group.opens += life.opens;
            group.bytes += life.bytes;
            group.rests += life.rests;
            let last = self.window.there(life.last, self.span.1);
            *there.entry(life.packets).or_default() += u128::from(life.there + last);
        }
        let width = self.span.1.saturating_sub(self.window.from);
        for (packets, group) in &mut groups {
            let there = there.get(packets).copied().unwrap_or_default();
            group.at_a_time =
                if width == 0 { group.keys as f64 } else { there as f64 / width as f64 };
        }
        groups
    }
}

/// Nothing yet. Seeds differ from run to run, so that no capture can be made to collide.
fn lives<K, V>() -> HashMap<K, V, RandomState> {
    let random = std::hash::RandomState::new();
    let [a, b, c, d] = [0_u8, 1, 2, 3].map(|number| random.hash_one(number));
    HashMap::with_hasher(RandomState::with_seeds(a, b, c, d))
}

/// One of the two directions, whichever it is given.
fn undirected(flow: FiveTuple) -> FiveTuple {
    flow.min(flow.reversed())
}

impl Window {
    /// A packet of a key.
    fn note(self, life: &mut Life, seen: &Seen) {
        let opens = life.packets == 0 || seen.now - life.last > self.idle;
        if life.packets > 0 {
            life.there += self.there(life.last, seen.now);
        }
        life.packets += 1;
        life.opens += u64::from(opens);
        life.bytes += seen.bytes;
        life.rests += seen.rest;
        life.last = seen.now;
    }

    /// Nanoseconds within the window that a flow is there between its last packet and now.
    fn there(self, last: u64, now: u64) -> u64 {
        let end = now.min(last.saturating_add(self.idle));
        end.saturating_sub(last.max(self.from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cora_host::ingress::pcap::Writer;

    const SECOND: u64 = 1_000_000_000;

    /// A UDP datagram between an inside host and a server, one way or the other.
    fn frame(host: u8, port: u8, is_answer: bool) -> Vec<u8> {
        let (inside, outside) = ([10, 0, 0, host], [192, 0, 2, 1]);
        let (from, to) = if is_answer { (outside, inside) } else { (inside, outside) };
        let ports = if is_answer { [0, 53, 1, port] } else { [1, port, 0, 53] };
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend(from.into_iter().chain(to));
        let sum = cora_core::packet::checksum::internet(&frame[14..]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ports);
        frame.extend([0, 8, 0, 0]);
        frame
    }

    /// The statistics of a capture with frames of these seconds, idle after ten.
    fn stats(frames: &[(u64, Vec<u8>)]) -> FlowStats {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = Writer::new(file.reopen().unwrap()).unwrap();
        for (second, frame) in frames {
            writer.write((1_000 + second) * SECOND, frame).unwrap();
        }
        writer.finish().unwrap();
        let idle = Duration::from_secs(10);
        FlowStats::of(file.path(), &Inside::default(), idle, |_, _| {}).unwrap()
    }

    #[test]
    fn both_directions_are_one_flow_and_ends_count_by_themselves() {
        let stats = stats(&[
            (0, frame(1, 1, false)),
            (0, frame(1, 1, true)),
            (1, frame(1, 2, false)),
            (1, frame(2, 1, false)),
            (1, vec![7; 60]),
        ]);
        assert_eq!((stats.packets, stats.without_flow, stats.bytes), (5, 1, 4 * 42));
        let groups = stats.groups();
        let keys = |key: &str| -> Vec<(u64, u64)> {
            groups[key].iter().map(|(packets, group)| (*packets, group.keys)).collect()
        };
        assert_eq!(keys("FiveTuple"), [(1, 2), (2, 1)]);
        assert_eq!(keys("SourceAddress"), [(1, 2), (2, 1)]);
        assert_eq!(keys("DestinationAddress"), [(1, 1), (3, 1)]);
        assert_eq!(keys("InsideAddress"), [(1, 1), (3, 1)]);
    }

    #[test]
    fn of_long_frames_what_waits_at_the_nic_is_counted() {
        // A datagram in a frame of so many bytes, with a new checksum.
        let long = |length: usize| {
            let mut frame = frame(1, 1, false);
            frame.resize(length, 7);
            frame[16..18].copy_from_slice(&(length as u16 - 14).to_be_bytes());
            frame[38..40].copy_from_slice(&(length as u16 - 34).to_be_bytes());
            frame[24..26].fill(0);
            let sum = cora_core::packet::checksum::internet(&frame[14..34]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        let mut tagged = long(996);
        tagged.splice(12..12, [0x81, 0, 0, 7]);
        let frames = [frame(1, 1, false), long(511), long(512), long(1514), tagged, long(3000)];
        let groups = stats(&frames.map(|frame| (0, frame))).groups();
        for key in ["FiveTuple", "SourceAddress", "DestinationAddress", "InsideAddress"] {
            let group = groups[key][&6];
            assert_eq!(group.bytes, 42 + 511 + 512 + 1514 + 1000 + 3000, "{key}");
            assert_eq!(group.rests, (512 - 128) + (1514 - 128), "{key}");
        }
    }

    #[test]
    fn a_flow_that_was_idle_opens_again() {
        let at = |second| (second, frame(1, 1, false));
        let opens = |frames: &[(u64, Vec<u8>)]| {
            stats(frames).groups()["FiveTuple"].values().map(|group| group.opens).sum::<u64>()
        };
        assert_eq!(opens(&[at(0), at(10), at(20)]), 1);
        assert_eq!(opens(&[at(0), at(11), at(12)]), 2);
        // A stamp that steps back doesn't make time run backwards.
        assert_eq!(opens(&[at(0), at(9), at(5), at(19)]), 1);
    }

    /// Mean flows over the seconds 10 to 30 of a capture that is idle after ten.
    #[test]
    fn flows_at_a_time_are_a_mean_behind_the_first_idle_time() {
        let stats = stats(&[
            (0, frame(1, 1, false)),  // there until second 10: not in the window
            (5, frame(1, 2, false)),  // until 15: 5 s of it
            (12, frame(1, 3, false)), // to 22
            (18, frame(1, 3, false)), // to 28: from 12 on, 16 s
            (30, frame(1, 4, false)), // begins at the end
        ]);
        let at_a_time: f64 =
            stats.groups()["FiveTuple"].values().map(|group| group.at_a_time).sum();
        assert!((at_a_time - (5.0 + 16.0) / 20.0).abs() < 1e-12, "{at_a_time}");
    }

    #[test]
    fn a_short_capture_has_all_its_flows_at_a_time() {
        let stats = stats(&[(0, frame(1, 1, false)), (9, frame(1, 2, false))]);
        let groups = stats.groups();
        assert!((groups["FiveTuple"][&1].at_a_time - 2.0).abs() < 1e-12);
    }
}
