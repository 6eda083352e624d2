//! For tests of a handler, which is a function like any other.
//!
//! ```
//! use cora::prelude::*;
//!
//! #[state(key = SourceAddress, capacity = 100, idle = "1m")]
//! struct Source {
//!     packets: u64,
//! }
//!
//! #[flow_handler]
//! fn count(packet: &mut Packet, sources: &mut Table<Source>) -> Verdict {
//!     sources.insert(SourceAddress(packet.source()?), Source { packets: 1 })?;
//!     Transmit
//! }
//!
//! let mut frame = [0; 60];
//! let mut packet = Packet::new(&mut frame, Meta::default());
//! let mut sources = cora::testing::table();
//! assert_eq!(count(&mut packet, &mut sources), Drop(NotIp));
//! ```

extern crate std;

mod objects;
mod region;
mod sent;

use core::net::SocketAddr;
use core::ops::{Index, IndexMut};
use std::vec::Vec;

use cora_core::bucket::Bucket;
use cora_core::config::File as _;
use cora_core::key::{PacketKey, protocol};
use cora_core::packet::{Meta, Packet, ROOM, Roomy, TcpSegment, checksum};
use cora_core::record::{Element, End, Fields, FlowRecord, Record};
use cora_core::state::commutative::{Merged, Merging as _, ReadMerged};
use cora_core::state::configured::Configured;
use cora_core::state::table::hooked::DELAY;
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::scope::Scope;
use cora_core::state::table::{Ended, KeyOf};
use cora_core::state::{
    Commutative, Described as _, Generation, Home as _, Keyed, NO_FLOW, PerBucket, Row, Table,
    Visit,
};
use cora_host::parts::{GivenBack, LentOutbox, Rows};

pub use objects::{TestObjects, objects, of_flow};
pub use region::{TestRegion, region, run_ended};
pub use sent::{delay, message, sent, written};

/// A table of a test. It goes where a handler asks for `&mut Table<S>`, and its memory ends with
/// it.
pub type TestTable<S> = GivenBack<Table<S>>;

/// An outbox of a test, whose memory ends with it.
pub type TestOutbox = LentOutbox;

/// An empty table, at time 0. Memory is only taken where entries stand: an empty table costs next
/// to nothing.
///
/// # Panics
/// When the machine has no memory.
#[must_use]
pub fn table<S: Keyed>() -> TestTable<S> {
    GivenBack::table().expect("memory for a table")
}

/// A configured table of a test. It goes where a handler asks for `&Map<S>`, `&Prefixes<S>` or
/// `&Acl<S>`, and its memory ends with it.
pub type TestRows<S> = GivenBack<Configured<S>>;

/// A configured table with the rows of a file with this text, TOML or CSV.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(prefixes, capacity = 100)]
/// #[derive(Debug, PartialEq)]
/// struct Route {
///     port: u8,
/// }
///
/// let routes = cora::testing::configured::<Route>("prefix, port\n10.0.0.0/8, 1\n::/0, 2");
/// assert_eq!(routes.longest(Address::v4([10, 0, 0, 7])), Some(&Route { port: 1 }));
/// assert_eq!(routes.longest(Address::v4([192, 0, 2, 7])), None);
/// ```
///
/// # Panics
/// When the file has faults, with all of them; or when the machine has no memory.
#[must_use]
pub fn configured<S: Row>(text: &str) -> TestRows<S> {
    let mut table = GivenBack::configured().expect("memory for a table");
    read(&mut table, text);
    table
}

/// Gives a configured table its next version: the rows of this text, and another
/// [`Generation`].
///
/// # Panics
/// When the file has faults, with all of them.
pub fn next_version<S: Row>(table: &mut Configured<S>, text: &str) {
    let next = table.generation().number() + 1;
    read(table, text);
    table.begin_generation(Generation::new(next));
}

fn read<S: Row>(table: &mut Configured<S>, text: &str) {
    let mut file = Rows::new(text);
    table.configure(&mut file);
    let is_sound = file.is_sound();
    assert!(is_sound, "{}", file.faults(&S::NAME).join("\n"));
}

/// A state of a test that is read as of a merge. It goes where a handler asks for `&mut Merged<S>`,
/// and its memory ends with it.
pub type TestMerged<S> = GivenBack<Merged<S>>;

/// A state that is read as of a merge, without updates.
///
/// # Panics
/// When the machine has no memory.
#[must_use]
pub fn merged<S: ReadMerged>() -> TestMerged<S> {
    GivenBack::merged().expect("memory for a state")
}

/// Makes a merge: from now on handlers read all updates so far, and those that follow are another
/// packet's.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(commutative, merged)]
/// struct Seen {
///     packets: Sum,
/// }
///
/// let mut seen = cora::testing::merged::<Seen>();
/// seen.update().packets.add(1);
/// assert_eq!(seen.merged().packets.value(), 0);
/// cora::testing::merge(&mut seen);
/// assert_eq!(seen.merged().packets.value(), 1);
/// ```
pub fn merge<S: ReadMerged>(state: &mut Merged<S>) {
    state.cut(false);
    state.show();
    state.begin(Visit::OF_A_HOOK);
}

/// The values of a state with one per bucket, by bucket.
#[derive(Debug)]
pub struct TestBuckets<S>(Vec<S>);

/// The values of a state with one per bucket, each as it begins. A handler takes that of its
/// packet's bucket.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(per = Bucket)]
/// #[derive(Debug)]
/// struct Free {
///     ports: u16,
/// }
///
/// impl From<Bucket> for Free {
///     fn from(_: Bucket) -> Self {
///         Self { ports: 128 }
///     }
/// }
///
/// let mut free = cora::testing::per_bucket::<Free>();
/// free[Bucket::of_port(5_000)].ports -= 1;
/// assert_eq!(free[Bucket::of_port(5_001)].ports, 127);
/// assert_eq!(free[Bucket::of_port(5_002)].ports, 128);
/// ```
#[must_use]
pub fn per_bucket<S: PerBucket>() -> TestBuckets<S> {
    TestBuckets(Bucket::all().map(S::from).collect())
}

impl<S> Index<Bucket> for TestBuckets<S> {
    type Output = S;

    fn index(&self, bucket: Bucket) -> &S {
        &self.0[bucket.number()]
    }
}

impl<S> IndexMut<Bucket> for TestBuckets<S> {
    fn index_mut(&mut self, bucket: Bucket) -> &mut S {
        &mut self.0[bucket.number()]
    }
}

/// Lets time pass: from now on a packet that comes at `now` (ns) asks the table. Entries that were
/// unused for their idle time by then have expired.
pub fn at<S: Keyed>(table: &mut Table<S>, now: u64) {
    table.begin(Visit { now, horizon: now, undo: false, flow: NO_FLOW, ahead: ALONE });
}

/// Lets time pass, and returns the entries whose hooks are due at `now` (ns), in their order: those
/// that ended a second before, or earlier. A test hands each to the hook, which is a function like
/// any other.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(key = SourceAddress, capacity = 10, idle = "5s", on_expire)]
/// struct Held {
///     port: u16,
/// }
///
/// let second = 1_000_000_000;
/// let mut table = cora::testing::table::<Held>();
/// for (now, port) in [(1, 7), (2, 5), (3, 6)] {
///     cora::testing::at(&mut table, now * second);
///     let key = SourceAddress(Address::v4([10, 0, 0, port as u8]));
///     table.insert(key, Held { port }).unwrap();
/// }
/// let due = cora::testing::ended(&mut table, 8 * second);
/// let due: Vec<_> = due.iter().map(|ended| (ended.entry.port, ended.at)).collect();
/// assert_eq!(due, [(7, 6 * second), (5, 7 * second)]);
/// ```
pub fn ended<S: Keyed>(table: &mut Table<S>, now: u64) -> Vec<Ended<S>> {
    at(table, now);
    let due = |table: &Table<S>| table.next_end().saturating_add(DELAY) <= now;
    let mut ended = Vec::new();
    while due(table)
        && let Some(next) = table.take_ended()
    {
        ended.push(next);
    }
    ended
}

/// The packet is handled from now on: it decides which entries are found in a table with keys
/// `within` a group. Other tables don't change.
pub fn on<S: Keyed<Scope: Scope<S::Key, Group: PacketKey>>>(
    table: &mut Table<S>,
    packet: &Packet<'_>,
) {
    table.enter_scope(<Table<S> as KeyOf>::Group::of_packet(packet).ok());
}

/// An empty outbox.
///
/// # Panics
/// When the machine has no memory.
#[must_use]
pub fn outbox() -> TestOutbox {
    LentOutbox::new().expect("memory for an outbox")
}

/// Handles a frame that may grow, as in a run: with [`ROOM`] behind it. The frame is then what
/// leaves.
///
/// ```
/// use cora::prelude::*;
///
/// let mut frame = cora::testing::udp(([10, 0, 0, 1], 5_000), ([192, 0, 2, 1], 53), b"data");
/// let before = frame.len();
/// cora::testing::in_room(&mut frame, Meta::default(), |packet| {
///     packet.push_vlan(Vlan { id: 7, ..Vlan::default() })
/// })?;
/// assert_eq!(frame.len(), before + 4);
/// # Ok::<(), Reason>(())
/// ```
pub fn in_room<R>(frame: &mut Vec<u8>, meta: Meta, handle: impl FnOnce(&mut Packet<'_>) -> R) -> R {
    let length = frame.len();
    // Nobody may count on zeroes there.
    frame.resize(length + ROOM, 0xee);
    let mut packet = Packet::in_room(Roomy::new(frame, length), meta);
    let result = handle(&mut packet);
    let length = packet.len();
    frame.truncate(length);
    result
}

/// The bytes of an Ethernet frame with an IPv4 packet. The checksum of its header is right, and the
/// frame is padded to the 60 bytes that it has at least. The payload is the caller's: transport
/// header first, checksums included.
///
/// # Panics
/// When the payload is longer than the 65,515 bytes that an IPv4 packet may carry.
#[must_use]
pub fn ipv4(
    source: [u8; 4],
    destination: [u8; 4],
    ttl: u8,
    protocol: u8,
    payload: &[u8],
) -> Vec<u8> {
    let total = u16::try_from(20 + payload.len()).expect("an IPv4 packet is shorter than this");
    let mut frame = std::vec![0; 34];
    frame[12..15].copy_from_slice(&[8, 0, 0x45]);
    frame[16..18].copy_from_slice(&total.to_be_bytes());
    frame[22..24].copy_from_slice(&[ttl, protocol]);
    frame[26..30].copy_from_slice(&source);
    frame[30..34].copy_from_slice(&destination);
    let sum = checksum::internet(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    padded(frame, payload)
}

/// An Ethernet frame with an IPv6 packet without extension headers, padded as [`ipv4`] pads; the
/// payload is the caller's.
///
/// # Panics
/// When the payload is longer than the 65,535 bytes that an IPv6 packet may carry.
#[must_use]
pub fn ipv6(
    source: [u8; 16],
    destination: [u8; 16],
    hop_limit: u8,
    protocol: u8,
    payload: &[u8],
) -> Vec<u8> {
    let length = u16::try_from(payload.len()).expect("an IPv6 packet is shorter than this");
    let mut frame = std::vec![0; 54];
    frame[12..15].copy_from_slice(&[0x86, 0xdd, 0x60]);
    frame[18..20].copy_from_slice(&length.to_be_bytes());
    frame[20..22].copy_from_slice(&[protocol, hop_limit]);
    frame[22..38].copy_from_slice(&source);
    frame[38..54].copy_from_slice(&destination);
    padded(frame, payload)
}

/// An Ethernet frame with a UDP datagram between two addresses of one family, with the right
/// checksums.
///
/// ```
/// use cora::prelude::*;
///
/// let mut frame = cora::testing::udp(([10, 0, 0, 1], 5_000), ([192, 0, 2, 1], 53), b"who is it?");
/// let packet = Packet::new(&mut frame, Meta::default());
/// assert_eq!(packet.payload(), b"who is it?");
/// assert!(checksum::verify(&packet));
/// ```
///
/// # Panics
/// When one address is IPv4 and the other IPv6, or when the data is longer than a packet may carry.
#[must_use]
pub fn udp(
    source: impl Into<SocketAddr>,
    destination: impl Into<SocketAddr>,
    data: &[u8],
) -> Vec<u8> {
    let ends = (source.into(), destination.into());
    let length = u16::try_from(8 + data.len()).expect("a datagram is shorter than this");
    let mut datagram = ports(ends);
    datagram.extend_from_slice(&length.to_be_bytes());
    datagram.extend_from_slice(&[0, 0]);
    datagram.extend_from_slice(data);
    let sum = checksum::transport(ends.0.ip().into(), ends.1.ip().into(), protocol::UDP, &datagram);
    // Zero would say that there is none (RFC 768).
    let sum = if sum == 0 { u16::MAX } else { sum };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    between(ends, protocol::UDP, &datagram)
}

/// An Ethernet frame with a TCP segment between two addresses of one family, with the right
/// checksums.
///
/// ```
/// use cora::prelude::*;
///
/// let (client, server) = (([10, 0, 0, 1], 5_000), ([192, 0, 2, 1], 443));
/// let segment = TcpSegment { flags: TcpFlags::SYN, seq: 7, ..TcpSegment::default() };
/// let mut frame = cora::testing::tcp(client, server, &segment);
/// let packet = Packet::new(&mut frame, Meta::default());
/// assert_eq!(packet.tcp().map(|tcp| (tcp.flags, tcp.seq)), Some((TcpFlags::SYN, 7)));
/// assert!(checksum::verify(&packet));
/// ```
///
/// # Panics
/// When one address is IPv4 and the other IPv6, when options are no whole words or more than 40
/// bytes, or when the data is longer than a packet may carry.
#[must_use]
pub fn tcp(
    source: impl Into<SocketAddr>,
    destination: impl Into<SocketAddr>,
    segment: &TcpSegment<'_>,
) -> Vec<u8> {
    let ends = (source.into(), destination.into());
    let TcpSegment { seq, ack, flags, window, options, data } = *segment;
    assert!(options.len() <= 40 && options.len() % 4 == 0, "options are up to ten whole words");
    let mut bytes = ports(ends);
    bytes.extend_from_slice(&seq.to_be_bytes());
    bytes.extend_from_slice(&ack.to_be_bytes());
    let words = u8::try_from(5 + options.len() / 4).expect("up to ten words of options");
    bytes.extend_from_slice(&[words << 4, flags.0]);
    bytes.extend_from_slice(&window.to_be_bytes());
    // Checksum and urgent pointer.
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(options);
    bytes.extend_from_slice(data);
    let sum = checksum::transport(ends.0.ip().into(), ends.1.ip().into(), protocol::TCP, &bytes);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    between(ends, protocol::TCP, &bytes)
}

/// Both ports, as transport headers begin.
fn ports((source, destination): (SocketAddr, SocketAddr)) -> Vec<u8> {
    [source.port().to_be_bytes(), destination.port().to_be_bytes()].concat()
}

/// A frame with an IP packet between these two.
fn between(ends: (SocketAddr, SocketAddr), protocol: u8, payload: &[u8]) -> Vec<u8> {
    match ends {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            ipv4(source.ip().octets(), destination.ip().octets(), 64, protocol, payload)
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            ipv6(source.ip().octets(), destination.ip().octets(), 64, protocol, payload)
        }
        (source, destination) => panic!("{source} and {destination} are of two families"),
    }
}

/// The whole frame: at least as long as the wire wants it.
fn padded(mut frame: Vec<u8>, payload: &[u8]) -> Vec<u8> {
    frame.extend_from_slice(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

/// The elements of a record, in their order, with their values, big-endian.
pub type Elements = Vec<(Element, Vec<u8>)>;

/// The record of an entry that ended so; of several, the first. It is empty if there is none.
pub fn record<S: FlowRecord>(entry: &S, key: &S::Key, end: End) -> Elements {
    records(entry, key, end).into_iter().next().unwrap_or_default()
}

/// The records of an entry that ended so. As in a run, those without elements are left out.
///
/// ```
/// use cora::prelude::*;
///
/// #[state(key = SourceAddress, capacity = 10, idle = "1m", recorded)]
/// struct Seen {
///     packets: [u64; 2],
/// }
///
/// impl FlowRecord for Seen {
///     fn record(&self, _: &SourceAddress, _: End, record: &mut Record<'_>) {
///         for packets in self.packets.iter().filter(|packets| **packets > 0) {
///             record.number(element::PACKETS, *packets);
///             record.another();
///         }
///     }
/// }
///
/// let key = SourceAddress(Address::v4([10, 0, 0, 1]));
/// let records = |packets| cora::testing::records(&Seen { packets }, &key, End::Idle).len();
/// assert_eq!([records([5, 7]), records([0, 7]), records([0, 0])], [2, 1, 0]);
/// assert!(cora::testing::record(&Seen { packets: [0, 0] }, &key, End::Idle).is_empty());
/// ```
pub fn records<S: FlowRecord>(entry: &S, key: &S::Key, end: End) -> Vec<Elements> {
    struct Told(Vec<Elements>);
    impl Fields for Told {
        fn field(&mut self, element: Element, value: &[u8]) {
            if let Some(last) = self.0.last_mut() {
                last.push((element, value.to_vec()));
            }
        }

        fn another(&mut self) {
            self.0.push(Vec::new());
        }
    }
    let mut told = Told(std::vec![Vec::new()]);
    entry.record(key, end, &mut Record::new(&mut told));
    told.0.retain(|elements| !elements.is_empty());
    told.0
}

/// A commutative state without updates.
#[must_use]
pub fn replica<S: Commutative>() -> S {
    let mut replica = S::EMPTY;
    replica.key(1);
    replica
}

/// The packet is through: its updates of a commutative state stay.
pub fn commit<S: Commutative>(state: &mut S) {
    state.begin(false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn frames_are_what_they_are_made_of_and_their_checksums_are_right() {
        let (v4, v6) = ([192, 0, 2, 9], [0x20; 16]);
        let data = b"odd";
        let options = [2, 4, 5, 180];
        let segment =
            TcpSegment { seq: 1, ack: 2, flags: TcpFlags::ACK, window: 3, options: &options, data };
        for (mut frame, transport) in [
            (udp(([10, 0, 0, 1], 7), (v4, 8), data), protocol::UDP),
            (udp(([0xfd; 16], 7), (v6, 8), data), protocol::UDP),
            (tcp(([10, 0, 0, 1], 7), (v4, 8), &segment), protocol::TCP),
            (tcp(([0xfd; 16], 7), (v6, 8), &segment), protocol::TCP),
        ] {
            let packet = Packet::new(&mut frame, Meta::default());
            assert!(checksum::verify(&packet), "{packet:?}");
            let flow = packet.five_tuple().unwrap();
            assert_eq!((flow.protocol, flow.source_port, flow.destination_port), (transport, 7, 8));
            assert_eq!(packet.payload(), data, "{packet:?}");
        }
    }

    #[test]
    fn a_checksum_of_zero_is_written_as_ones() {
        // Two bytes of data that make the sum come out as zero.
        let found = (0..=u16::MAX).any(|word| {
            let frame = udp(([10, 0, 0, 1], 7), ([10, 0, 0, 2], 8), &word.to_be_bytes());
            assert_ne!(frame[40..42], [0, 0], "{word}");
            frame[40..42] == [0xff, 0xff]
        });
        assert!(found);
    }
}
