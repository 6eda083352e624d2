//! If no handler reads packets, they are not parsed: they pass unchanged, and the reported top
//! flows are right all the same.

mod halves_support;

use cora_core::app::{App, PlanFacts, Sides};
use cora_core::by_hand;
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::plain::Plain as _;
use cora_core::state::Reach;
use cora_core::verdict::{Transmit, Verdict};
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Frames, Load, Message, Stamp, Telemetry};
use cora_runtime::link::payload::Parked;
use cora_runtime::nic_half::NicHalf;

use halves_support::{flow, frame, memory};

const PORT: u16 = 7;

/// Passes every packet, at the NIC or at the host.
#[derive(Debug)]
struct Unread<const AT_NIC: bool>;

by_hand!([const AT_NIC: bool] Unread<AT_NIC>, by FiveTuple, {});

impl<const AT_NIC: bool> App for Unread<AT_NIC> {
    const NAME: &'static str = "unread";
    const PLAN: PlanFacts = PlanFacts {
        stateless_flows: true,
        ..PlanFacts::by_hand(if AT_NIC { Sides::NicOnly } else { Sides::HostOnly })
    };
    const READS_PACKETS: bool = false;

    fn chain<R: Reach>(&mut self, _: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        Transmit
    }
}

/// The packets passed on, the packets that left, and the flows that the NIC reported.
#[derive(Debug, Default)]
struct Out {
    passed_on: Vec<Vec<u8>>,
    left: Vec<Vec<u8>>,
    talkers: Vec<Vec<u8>>,
}

impl HostOutbox for Out {}

impl PeerOutbox for Out {
    fn send(&mut self, message: &Message<'_>) {
        match message {
            Message::Frames(Frames::Punt { frame, .. }) => self.passed_on.push(frame.to_vec()),
            Message::Frames(Frames::Send { frame, .. }) => self.left.push(frame.to_vec()),
            Message::Telemetry(Telemetry::Talker { group, .. }) => {
                self.talkers.push(group.to_vec());
            }
            _ => {}
        }
    }
}

impl Wire for Out {
    fn transmit(&mut self, _: &Stamp, frame: &[u8]) {
        self.left.push(frame.to_vec());
    }
}

/// A packet; every other one is cut off in its IP header, and has no flow.
fn whole_or_cut_off(number: usize) -> Vec<u8> {
    let mut frame = frame(PORT);
    frame.truncate(if number.is_multiple_of(2) { frame.len() } else { 20 });
    frame
}

/// Passes all frames to `run` in bursts.
fn bursts(frames: &[Vec<u8>], mut run: impl FnMut(&mut Burst<'_>)) {
    for frames in frames.chunks(8) {
        let mut copies = frames.to_vec();
        let mut burst = Burst::new();
        for bytes in &mut copies {
            let meta = Meta { time: 1, now: 1, port: Port::INSIDE, ..Meta::default() };
            assert!(burst.push(
                Stamp {
                    meta,
                    number: 0,
                    horizon: 1,
                    egress: Port(1),
                    parked: Parked::NONE,
                    missing: 0
                },
                bytes
            ));
        }
        run(&mut burst);
    }
}

/// The NIC's output for the frames.
fn at_nic<const AT_NIC: bool>(frames: &[Vec<u8>]) -> Out {
    let mut app = Unread::<AT_NIC>;
    let bytes = NicHalf::bytes(&mut app);
    let mut half = NicHalf::create(app, &mut memory(bytes)).expect("there is memory");
    let mut out = Out::default();
    half.message(&Message::Telemetry(Telemetry::Watch { every: 1 }), &mut out)
        .expect("it may come at any time");
    bursts(frames, |burst| half.burst(burst, &mut out));
    half.tell(&Load::default(), &mut out);
    out
}

#[test]
fn packets_pass_as_they_came() {
    let frames: Vec<_> = (0..1_000).map(whole_or_cut_off).collect();
    let out = at_nic::<true>(&frames);
    assert!(out.left == frames && out.passed_on.is_empty());
    let out = at_nic::<false>(&frames);
    assert!(out.passed_on == frames && out.left.is_empty());

    let mut app = Unread::<false>;
    let bytes = HostHalf::bytes(&mut app);
    let mut half = HostHalf::create(app, &mut memory(bytes), false).expect("there is memory");
    let mut out = Out::default();
    half.watch();
    bursts(&frames, |burst| half.burst(burst, &mut out).expect("no protocol without a NIC"));
    assert!(out.left == frames);
    let mut talkers = Vec::new();
    let load = half.load(|talker| talkers.push(talker.key));
    assert_eq!((talkers, load.counts.packets), (vec![flow(PORT)], 1_000));
}

#[test]
fn the_nic_tells_whose_packets_it_does_not_read() {
    let frames: Vec<_> = (0..1_000).map(whole_or_cut_off).collect();
    let [first, second] = [at_nic::<true>(&frames), at_nic::<false>(&frames)];
    let mut expected = vec![0; FiveTuple::SIZE];
    flow(PORT).put(&mut expected);
    assert_eq!([first.talkers, second.talkers], [[expected.clone()], [expected]]);
}
