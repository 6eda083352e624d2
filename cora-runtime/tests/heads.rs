//! Header split: if handlers read only headers, the host gets only the head of a long frame. For
//! any frame and any change of its headers, the output is the same as if all frames went whole, and
//! no payload buffer leaks.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;

use cora_core::app::{App, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::{Address, FiveTuple};
use cora_core::outbox::Outbox;
use cora_core::packet::{HEAD, Headers, Meta, Packet, Port, checksum};
use cora_core::state::{Line, Memory, Reach};
use cora_core::verdict::{Drop, Reason, Transmit, Verdict};
use cora_runtime::channel::{PeerOutbox, ProtocolError};
use cora_runtime::exec::{Burst, Wire, rest_of};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Frames, Message, Stamp};
use cora_runtime::link::payload::{BUFFER_BYTES, Parked, Parking, PayloadBuffers};
use cora_runtime::link::ring::{CONTROL_WORDS, SharedMemory};
use cora_runtime::nic_half::NicHalf;
use proptest::prelude::*;

/// Payload buffers of the NIC.
const BUFFERS: usize = 4;

/// Rewrites headers, as the first byte of the source's Ethernet address asks.
#[derive(Debug)]
struct Rewrites<const HEADS: bool>;

fn rewrite(packet: &mut Headers<'_>) -> Verdict {
    let [ask, ..] = packet.mac_source()?;
    packet.five_tuple()?;
    let v4 = packet.is_ipv4();
    let to = if v4 { Address::v4([192, 0, 2, 9]) } else { Address::v6([0x2a; 16]) };
    let tcp = packet.tcp().is_some();
    match ask % 16 {
        0 => return Drop(Reason::new("asked-for")),
        2 => packet.set_source_endpoint(to, 40_000)?,
        4 => packet.set_destination(to)?,
        6 => packet.turn_back()?,
        8 if tcp => packet.set_tcp_seq(packet.len() as u32)?,
        10 if tcp => packet.shift_sack(77)?,
        12 => packet.set_mac_destination([2, 1, 1, 1, 1, 1])?,
        _ => packet.set_destination_port(packet.tcp().map_or(1, |tcp| tcp.payload_len as u16))?,
    }
    packet.decrement_ttl()?;
    Transmit
}

by_hand!([const HEADS: bool] Rewrites<HEADS>, by FiveTuple, {});

impl<const HEADS: bool> App for Rewrites<HEADS> {
    const NAME: &'static str = "rewrites";
    const PLAN: PlanFacts =
        PlanFacts { stateless_flows: true, ..PlanFacts::by_hand(Sides::HostOnly) };
    const HEADS: bool = HEADS;

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        rewrite(packet)
    }
}

/// The encoded messages of one direction; at the NIC also its payload buffers, and the frames that
/// left.
struct Way {
    ring: VecDeque<(u16, Vec<u8>)>,
    left: Vec<Vec<u8>>,
    payloads: PayloadBuffers,
}

impl Way {
    fn new() -> Self {
        let words = (0..CONTROL_WORDS + BUFFERS * BUFFER_BYTES / 8).map(|_| AtomicU64::new(0));
        let memory = SharedMemory::new(words.collect::<Vec<_>>().leak());
        Self { ring: VecDeque::new(), left: Vec::new(), payloads: PayloadBuffers::new(memory) }
    }
}

impl HostOutbox for Way {}

impl PeerOutbox for Way {
    fn send(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| self.ring.push_back((kind, parts.concat())));
    }
}

impl Wire for Way {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        assert!(!stamp.parked.is_some(), "only whole frames leave");
        self.left.push(frame.to_vec());
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.payloads)
    }
}

fn stamp() -> Stamp {
    let meta = Meta { time: 1, now: 1, port: Port::INSIDE, ..Meta::default() };
    Stamp { meta, number: 0, horizon: 1, egress: Port(1), parked: Parked::NONE, missing: 0 }
}

/// Memory of at least `bytes` bytes, never given back.
fn memory(bytes: usize) -> Memory {
    Memory::new(vec![Line::ZERO; bytes.div_ceil(Line::BYTES) + 32].leak())
}

/// Both halves.
struct Pair<const HEADS: bool> {
    nic: NicHalf<Rewrites<HEADS>>,
    host: HostHalf<Rewrites<HEADS>>,
    punt: Way,
    back: Way,
}

impl<const HEADS: bool> Pair<HEADS> {
    fn new() -> Self {
        let mut app = Rewrites::<HEADS>;
        let of_nic = NicHalf::bytes_to_hold(&mut app, 0);
        let nic = NicHalf::create_to_hold(app, &mut memory(of_nic), 0).expect("there is memory");
        let mut app = Rewrites::<HEADS>;
        let of_host = HostHalf::bytes(&mut app);
        let host = HostHalf::create(app, &mut memory(of_host), true).expect("there is memory");
        Self { nic, host, punt: Way::new(), back: Way::new() }
    }

    /// A frame comes in. Returns the bytes of it that the NIC passes on, and the handle of the
    /// rest.
    fn comes(&mut self, frame: &[u8]) -> (usize, Parked) {
        let (mut bytes, mut burst) = (frame.to_vec(), Burst::new());
        assert!(burst.push(stamp(), &mut bytes));
        self.nic.burst(&mut burst, &mut self.punt);
        let (kind, bytes) = self.punt.ring.back().expect("it was passed on");
        match Message::decode(*kind, bytes) {
            Some(Message::Frames(Frames::Punt { stamp, frame })) => (frame.len(), stamp.parked),
            other => panic!("{other:?}"),
        }
    }

    /// The host handles the packets passed on, and the NIC the messages that come back.
    fn handle(&mut self) {
        while let Some((kind, mut bytes)) = self.punt.ring.pop_front() {
            let (stamp, frame) = Message::decode_frame(kind, &mut bytes).expect("a packet");
            let mut burst = Burst::new();
            assert!(burst.push_passed_on(stamp, frame.into()));
            self.host.burst(&mut burst, &mut self.back).expect("in order");
        }
        while let Some((kind, bytes)) = self.back.ring.pop_front() {
            let message = Message::decode(kind, &bytes).expect("a message");
            self.nic.message(&message, &mut self.punt).expect("in order");
        }
        self.punt.payloads.recycle();
    }
}

/// A frame of `length` bytes over IPv4 or IPv6: TCP with `tcp` words of options, or UDP.
fn frame(v6: bool, tcp: Option<u8>, length: usize, ask: u8) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|at| (at * 31) as u8).collect();
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, ask << 1, 0, 0, 0, 0, 1]);
    let protocol = if tcp.is_some() { 6 } else { 17 };
    let transport = if v6 { 54 } else { 34 };
    if v6 {
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame[14..18].copy_from_slice(&[0x60, 0, 0, 0]);
        frame[18..20].copy_from_slice(&((length - 54) as u16).to_be_bytes());
        frame[20..22].copy_from_slice(&[protocol, 64]);
        frame[22..38].fill(0x20);
        frame[38..54].fill(0x21);
    } else {
        frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        frame[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
        frame[18..26].copy_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 198, 51, 100, 1]);
        let sum = checksum::internet(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    if let Some(options) = tcp {
        frame[transport + 12..transport + 14].copy_from_slice(&[(5 + options) << 4, 0x10]);
        // A selective acknowledgement, if the options have room for a block.
        if options >= 3 {
            frame[transport + 20..transport + 24].copy_from_slice(&[1, 1, 5, 10]);
            frame[transport + 32..transport + 20 + usize::from(options) * 4].fill(1);
        }
    } else {
        let datagram = ((length - transport) as u16).to_be_bytes();
        frame[transport + 4..transport + 6].copy_from_slice(&datagram);
    }
    frame
}

#[test]
fn a_long_frame_goes_as_its_head_and_leaves_whole() {
    let mut sides = Pair::<true>::new();
    let sent = frame(false, Some(0), 1514, 6);
    assert!(matches!(sides.comes(&sent), (HEAD, parked) if parked.bytes() == 1514 - HEAD));
    assert_eq!(rest_of(&sent), 1514 - HEAD);
    assert_eq!(sides.punt.payloads.left(), BUFFERS - 1);
    sides.handle();
    assert_eq!(sides.punt.payloads.left(), BUFFERS);
    let [left] = &sides.punt.left[..] else { panic!("one left") };
    assert_eq!(left.len(), 1514);
    assert_eq!(left[54..], sent[54..], "what it carries is as it was");
    assert_eq!(left[22], 63, "a router less");
    // A dropped packet frees its payload buffer, too.
    sides.comes(&frame(false, None, 1000, 0));
    sides.handle();
    assert_eq!((sides.punt.left.len(), sides.punt.payloads.left()), (1, BUFFERS));
    assert_eq!(sides.host.engine().outcomes.total(), 2);
}

#[test]
fn what_its_head_does_not_tell_all_about_goes_whole() {
    let plain = frame(false, None, 1000, 6);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = plain.clone();
        change(&mut frame);
        frame[24..26].fill(0);
        let sum = checksum::internet(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
        frame
    };
    let odd = [
        with(&|frame| drop(frame.splice(12..12, [0x81, 0, 0, 7]))),
        with(&|frame| frame[20] = 0x20),
        with(&|frame| frame[23] = 47),
        with(&|frame| frame[16] = 0xff),
        with(&|frame| frame[38] = 0xff),
        plain[..511].to_vec(),
        frame(false, None, 256, 6),
        frame(true, None, BUFFER_BYTES + HEAD + 1, 6),
    ];
    for (number, odd) in odd.iter().enumerate() {
        let mut sides = Pair::<true>::new();
        assert_eq!(sides.comes(odd), (odd.len(), Parked::NONE), "{number}");
        assert_eq!(rest_of(odd), 0, "{number}");
    }
    let mut sides = Pair::<true>::new();
    for _ in 0..BUFFERS {
        assert_eq!(sides.comes(&plain).0, HEAD);
    }
    assert_eq!(sides.comes(&plain), (plain.len(), Parked::NONE), "there is no payload buffer left");
    sides.handle();
    assert_eq!(sides.comes(&plain).0, HEAD);
    let mut whole = Pair::<false>::new();
    assert_eq!(whole.comes(&plain), (plain.len(), Parked::NONE), "handlers may ask for more");
}

#[test]
fn a_head_that_comes_back_twice_or_from_nowhere_is_refused() {
    let mut sides = Pair::<true>::new();
    let (_, parked) = sides.comes(&frame(true, Some(10), 700, 2));
    let head = [0; HEAD];
    let refused = Err(ProtocolError::NothingParked);
    let other = Parked::NONE;
    for message in [
        Message::Frames(Frames::Send {
            stamp: Stamp { parked, ..stamp() },
            frame: &vec![0; 70_000],
        }),
        Message::Frames(Frames::Ended { parked: other }),
    ] {
        assert_eq!(sides.nic.message(&message, &mut sides.punt), refused);
    }
    let ended = Message::Frames(Frames::Ended { parked });
    assert!(sides.nic.message(&ended, &mut sides.punt).is_ok());
    assert_eq!(sides.nic.message(&ended, &mut sides.punt), refused);
    let again = Message::Frames(Frames::Send { stamp: Stamp { parked, ..stamp() }, frame: &head });
    assert_eq!(sides.nic.message(&again, &mut sides.punt), refused);
    assert!(sides.punt.left.is_empty());
}

proptest! {
    // Memory of halves is never given back.
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 100 }))]

    /// Bytes of headers are changed at random, so that many frames are malformed.
    #[test]
    fn heads_make_no_difference(
        shapes in prop::collection::vec((
            any::<bool>(),
            prop::option::of(0..11_u8),
            prop_oneof![100..2200_usize, 500..530_usize, 1500..1520_usize],
            0..8_u8,
            prop::collection::vec((12..100_usize, any::<u8>()), 0..2),
            prop::bool::weighted(0.3),
        ), 1..8),
    ) {
        let (mut heads, mut whole) = (Pair::<true>::new(), Pair::<false>::new());
        for (v6, tcp, length, ask, changes, changed) in shapes {
            let mut frame = frame(v6, tcp, length.max(150), ask);
            for (at, byte) in changes.iter().filter(|_| changed) {
                frame[*at] = *byte;
            }
            heads.comes(&frame);
            whole.comes(&frame);
            heads.handle();
            whole.handle();
            prop_assert_eq!(&heads.punt.left, &whole.punt.left);
            prop_assert_eq!(heads.punt.payloads.left(), BUFFERS);
        }
        let outcomes = |outcomes: &cora_core::outcome::Outcomes| {
            let mut all = Vec::new();
            outcomes.each(&mut |name, count| all.push((name, count)));
            all
        };
        let [one, other] = [outcomes(&heads.host.engine().outcomes), outcomes(&whole.host.engine().outcomes)];
        prop_assert_eq!(one, other);
    }
}
