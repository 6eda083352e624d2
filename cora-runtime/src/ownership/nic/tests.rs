//! The flows of the NIC alone, message by message.

use cora_core::app::States as _;
use cora_core::key::Key as _;
use cora_core::packet::{Meta, Packet};
use proptest::prelude::*;

use super::{Dispatch, NicOwnership, NicSide};
use crate::channel::ProtocolError;
use crate::link::message::{Keys, Kind, Ownership, Report};
use crate::ownership::counts::{Counts, IDLE, app};
use crate::ownership::halves_support::{flow, frame, memory};
use crate::ownership::hold::HoldQueue;
use crate::ownership::lookup::Match;
use crate::ownership::said::{Said, entry, group};

/// Bytes of the hold queue.
const HOLD: usize = 4_096;

/// The flows of a NIC, and what they need.
struct Nic {
    app: Counts,
    hold: HoldQueue,
    report: Report,
    flows: NicOwnership<Counts>,
    said: Said,
    /// The time of the latest packet.
    now: u64,
}

/// Borrows the parts that a change of owner touches.
macro_rules! side {
    ($nic:ident) => {
        &mut NicSide {
            app: &mut $nic.app,
            hold: &mut $nic.hold,
            report: &mut $nic.report,
            now: $nic.now,
            hooks_until: u64::MAX,
        }
    };
}

impl Nic {
    fn new() -> Self {
        let mut app = app();
        let bytes = NicOwnership::bytes(&mut app);
        Self {
            flows: NicOwnership::create(&mut memory(bytes), &mut app).expect("there is memory"),
            app,
            hold: HoldQueue::create(&mut memory(HOLD), HOLD).expect("there is memory"),
            report: Report::default(),
            said: Said::default(),
            now: 1,
        }
    }

    /// A message from the host. Returns the kinds of the answers.
    fn hears(&mut self, message: Ownership<'_>) -> Result<Vec<Kind>, ProtocolError> {
        self.flows.message(message, side!(self), &mut self.said)?;
        Ok(self.said.take())
    }

    fn offer(&mut self, ticket: u32, port: u16) -> Result<Vec<Kind>, ProtocolError> {
        self.hears(Ownership::Offer { ticket, punts: 0, keys: Keys(&[]), group: &group(port) })
    }

    /// The flow of this port comes, with entries of these ports.
    fn owns(&mut self, port: u16, entries: &[u16]) {
        assert_eq!(self.offer(0, port), Ok(vec![Kind::Fence]));
        let count = entries.len() as u32;
        assert_eq!(self.hears(Ownership::Transfer { ticket: 0, entries: count }), Ok(vec![]));
        for other in entries {
            assert_eq!(self.comes(*other), Ok(vec![]));
        }
        assert!(self.hold.moves_on(), "packets may have been held");
    }

    /// An entry with this port's key comes.
    fn comes(&mut self, port: u16) -> Result<Vec<Kind>, ProtocolError> {
        self.hears(Ownership::Entry { state: 0, piece: &entry(port, self.now) })
    }

    fn recall(&mut self, port: u16) -> Result<Vec<Kind>, ProtocolError> {
        self.hears(Ownership::Recall { group: &group(port) })
    }

    /// The class of a packet of this port's flow.
    fn class(&mut self, port: u16) -> Dispatch {
        self.class_of(&mut frame(port))
    }

    fn class_of(&mut self, frame: &mut [u8]) -> Dispatch {
        let packet = Packet::new(frame, Meta::default());
        self.flows.dispatch(&mut self.app, self.now, self.hold.left(), &packet)
    }

    /// Entries of the program.
    fn entries(&mut self) -> u32 {
        self.app.state(0).as_travelling().expect("its entries travel").filled()
    }
}

#[test]
fn an_offered_flow_waits_until_its_last_entry_is_here() {
    let mut nic = Nic::new();
    assert_eq!(nic.class(1), Dispatch::Host);
    assert_eq!(nic.offer(3, 1), Ok(vec![Kind::Fence]));
    let Dispatch::Wait(flow) = nic.class(1) else { panic!("its packets must wait") };
    assert_eq!(nic.class(2), Dispatch::Host, "other flows are the host's");
    assert_eq!(nic.hears(Ownership::Transfer { ticket: 3, entries: 2 }), Ok(vec![]));
    assert_eq!(nic.comes(1), Ok(vec![]));
    assert_eq!((nic.class(1), nic.hold.moves_on()), (Dispatch::Wait(flow), false));
    assert_eq!(nic.hears(Ownership::Vanished {}), Ok(vec![]));
    let found = Match { flow, is_sure: true };
    assert_eq!((nic.class(1), nic.hold.moves_on()), (Dispatch::Run(found), true));
    assert!(nic.flows.is_settled());
    assert_eq!((nic.report.offloads, nic.entries()), (1, 1));
}

#[test]
fn a_flow_without_entries_is_owned_at_once() {
    let mut nic = Nic::new();
    nic.owns(1, &[]);
    assert!(matches!(nic.class(1), Dispatch::Run(_)));
}

#[test]
fn offers_are_declined_for_lack_of_room_and_for_a_known_flow() {
    let mut nic = Nic::new();
    nic.owns(1, &[1]);
    assert_eq!(nic.offer(0, 1), Ok(vec![Kind::Decline]), "the NIC owns it");
    nic.flows.limit(1);
    assert_eq!(nic.offer(0, 2), Ok(vec![Kind::Decline]), "there is no room");
    assert_eq!((nic.flows.room(), nic.report.declined), (0, 2));
    nic.flows.limit(2);
    assert_eq!(nic.offer(0, 2), Ok(vec![Kind::Fence]));
}

#[test]
fn messages_out_of_order_are_refused() {
    let mut nic = Nic::new();
    let unknown = |ticket| Err(ProtocolError::UnknownTicket(ticket));
    assert_eq!(nic.offer(64, 1), unknown(64));
    assert_eq!(nic.hears(Ownership::Transfer { ticket: 2, entries: 1 }), unknown(2));
    assert_eq!(nic.hears(Ownership::Withdraw { ticket: u32::MAX }), unknown(u32::MAX));
    assert_eq!(nic.comes(1), Err(ProtocolError::Unexpected(Kind::Entry)));
    let vanished = nic.hears(Ownership::Vanished {});
    assert_eq!(vanished, Err(ProtocolError::Unexpected(Kind::Vanished)));
    let short = nic.hears(Ownership::Recall { group: &[1, 2, 3] });
    assert_eq!(short, Err(ProtocolError::Undecodable(Kind::Recall)));
    let of_the_nic = nic.hears(Ownership::Fence { ticket: 0 });
    assert_eq!(of_the_nic, Err(ProtocolError::Unexpected(Kind::Fence)));
    assert_eq!(nic.offer(5, 1), Ok(vec![Kind::Fence]));
    assert_eq!(nic.offer(5, 2), unknown(5), "the ticket is in use");
    assert_eq!(nic.hears(Ownership::Transfer { ticket: 5, entries: 1 }), Ok(vec![]));
    assert_eq!(nic.offer(6, 2), Ok(vec![Kind::Fence]));
    let second = nic.hears(Ownership::Transfer { ticket: 6, entries: 1 });
    assert_eq!(second, Err(ProtocolError::Unexpected(Kind::Transfer)), "another flow comes");
    for (state, piece) in [(1, entry(1, 1)), (0, vec![0; 3]), (0, vec![0xff; 100_000])] {
        let bad = nic.hears(Ownership::Entry { state, piece: &piece });
        assert_eq!(bad, Err(ProtocolError::BadPiece(state)));
    }
}

#[test]
fn a_withdrawn_flow_is_the_hosts() {
    let mut nic = Nic::new();
    assert_eq!(nic.offer(0, 1), Ok(vec![Kind::Fence]));
    assert_eq!(nic.hears(Ownership::Withdraw { ticket: 0 }), Ok(vec![]));
    assert_eq!((nic.class(1), nic.flows.is_settled()), (Dispatch::Host, true));
    assert!(nic.hold.moves_on(), "packets may have been held");
    assert_eq!(nic.offer(0, 1), Ok(vec![Kind::Fence]), "the ticket is free again");
}

#[test]
fn a_flow_whose_entry_is_refused_goes_back_whole() {
    let mut nic = Nic::new();
    nic.owns(1, &[1, 9]);
    assert_eq!(nic.offer(0, 2), Ok(vec![Kind::Fence]));
    assert_eq!(nic.hears(Ownership::Transfer { ticket: 0, entries: 4 }), Ok(vec![]));
    assert_eq!(nic.comes(2), Ok(vec![]));
    // The key of the second is that of another flow's entry.
    assert_eq!(nic.comes(9), Ok(vec![Kind::Release, Kind::Entry, Kind::Entry]));
    assert!(nic.flows.is_returning());
    assert_eq!(nic.comes(3), Ok(vec![Kind::Entry]), "later ones go straight back");
    assert_eq!(nic.hears(Ownership::Vanished {}), Ok(vec![Kind::Vanished]));
    assert!(nic.flows.is_settled());
    assert_eq!((nic.class(2), nic.entries()), (Dispatch::Host, 2));
    assert_eq!((nic.report.declined, nic.report.released), (1, 1));
}

#[test]
fn a_recalled_flow_leaves_in_parts_and_its_packets_wait() {
    let mut nic = Nic::new();
    nic.owns(1, &[1, 2, 3, 4, 5, 6]);
    let small = [vec![Kind::Release], vec![Kind::Entry; 4]].concat();
    assert_eq!(nic.recall(1), Ok(small));
    assert!(matches!(nic.class(1), Dispatch::Wait(_)));
    assert!(matches!(nic.class(2), Dispatch::Wait(_)), "by the key of an entry that has gone");
    assert!(nic.flows.is_handing_over());
    nic.flows.hand_over(1, side!(nic), &mut nic.said);
    assert_eq!(nic.said.take(), [Kind::Entry]);
    assert!(!nic.hold.moves_on());
    nic.flows.hand_over(u32::MAX, side!(nic), &mut nic.said);
    assert_eq!(nic.said.take(), [Kind::Entry]);
    assert_eq!((nic.class(1), nic.class(2)), (Dispatch::Host, Dispatch::Host));
    assert!(nic.hold.moves_on() && nic.flows.is_settled());
    assert_eq!(nic.entries(), 0);
    assert_eq!(nic.recall(1), Ok(vec![]), "the NIC no longer owns it");
}

#[test]
fn only_one_flow_leaves_at_a_time() {
    let mut nic = Nic::new();
    nic.owns(1, &[1, 2, 3, 4, 5, 6]);
    nic.owns(11, &[11]);
    assert_eq!(nic.recall(1).map(|said| said.len()), Ok(5));
    let rest = vec![Kind::Entry, Kind::Entry, Kind::Release, Kind::Entry];
    assert_eq!(nic.recall(11), Ok(rest), "the first goes whole before the second");
}

#[test]
fn entries_that_expire_on_their_way_are_announced() {
    let mut nic = Nic::new();
    nic.owns(1, &[1, 2, 3, 4, 5, 6]);
    nic.recall(1).expect("it is owned");
    let Dispatch::Wait(flow) = nic.class(1) else { panic!("it is leaving") };
    nic.app.state(0).as_travelling().expect("its entries travel").remove_flow(flow);
    nic.flows.hand_over(u32::MAX, side!(nic), &mut nic.said);
    assert_eq!(nic.said.take(), [Kind::Vanished, Kind::Vanished]);
}

#[test]
fn the_flow_idle_for_longest_makes_room() {
    let mut nic = Nic::new();
    for (port, used) in [(1, 300), (2, 100), (3, 200)] {
        nic.now = used;
        nic.owns(port, &[port]);
    }
    nic.now = 400;
    assert_eq!(nic.hears(Ownership::MakeRoom { idle: 301 }), Ok(vec![]), "none is that idle");
    let went = [Kind::Release, Kind::Entry].to_vec();
    assert_eq!(nic.hears(Ownership::MakeRoom { idle: 150 }), Ok(went.clone()));
    assert_eq!(nic.class(2), Dispatch::Host);
    assert_eq!(nic.hears(Ownership::MakeRoom { idle: 150 }), Ok(went));
    assert_eq!(nic.class(3), Dispatch::Host);
    assert_eq!(nic.hears(Ownership::MakeRoom { idle: 150 }), Ok(vec![]));
    nic.now = 300 + IDLE;
    assert_eq!(nic.hears(Ownership::MakeRoom { idle: 150 }), Ok(vec![]), "it is about to expire");
}

#[test]
fn a_new_host_hears_of_the_flows_that_are_complete() {
    let mut nic = Nic::new();
    nic.owns(1, &[1]);
    nic.owns(2, &[2]);
    assert_eq!(nic.offer(7, 3), Ok(vec![Kind::Fence]));
    assert_eq!(nic.offer(8, 4), Ok(vec![Kind::Fence]));
    assert_eq!(nic.hears(Ownership::Transfer { ticket: 8, entries: 1 }), Ok(vec![]));
    nic.flows.forget_incomplete(side!(nic));
    assert!(nic.flows.is_settled());
    nic.flows.report_owned(&mut nic.said);
    assert!(nic.said.last().contains("flows: 2"), "{}", nic.said.last());
    assert_eq!(nic.said.take(), [Kind::Owned, Kind::Owned, Kind::AllOwned]);
    nic.flows.end_all(side!(nic));
    assert_eq!((nic.flows.flows().len(), nic.entries(), nic.report.ended_with_host), (0, 0, 2));
}

/// A reply to the packet of this port's flow, and its key's words.
fn reply(port: u16) -> (Vec<u8>, [u64; 5]) {
    let mut frame = frame(port);
    let (source, destination) = (frame[26..30].to_vec(), frame[30..34].to_vec());
    frame[26..34].copy_from_slice(&[destination, source].concat());
    frame.copy_within(34..36, 36);
    frame[34..36].copy_from_slice(&[0, 0]);
    let key = Packet::new(&mut frame, Meta::default()).five_tuple().expect("it has one");
    assert_eq!(key, flow(port).reversed());
    (frame, key.words())
}

#[test]
fn a_key_on_its_way_has_precedence_over_replies() {
    let mut nic = Nic::new();
    nic.owns(1, &[1]);
    let (mut frame, words) = reply(1);
    assert!(matches!(nic.class_of(&mut frame), Dispatch::Run(found) if found.is_sure));
    // The flow of port 2 has an entry that replies of port 1 find: the two ends of a hairpin.
    let keys = [words];
    let keys = Keys(zerocopy::IntoBytes::as_bytes(keys.as_slice()));
    let offered = nic.hears(Ownership::Offer { ticket: 0, punts: 0, keys, group: &group(2) });
    assert_eq!(offered, Ok(vec![Kind::Fence]));
    let Dispatch::Wait(second) = nic.class(2) else { panic!("its packets must wait") };
    assert_eq!(nic.class_of(&mut frame), Dispatch::Wait(second), "its entry comes");
    assert!(matches!(nic.class(1), Dispatch::Run(found) if found.flow != second));
    assert_eq!(nic.hears(Ownership::Withdraw { ticket: 0 }), Ok(vec![]));
    // The host kept it, so nobody here can tell whose the packet is.
    assert!(matches!(nic.class_of(&mut frame), Dispatch::Run(found) if !found.is_sure));
    assert!(matches!(nic.class(1), Dispatch::Run(found) if found.is_sure));
}

/// Something that may happen to the NIC's flows.
#[derive(Clone, Debug)]
enum Step {
    Offer(u32, u16),
    Transfer(u32, u32),
    Entry(u16),
    Vanished,
    Withdraw(u32),
    Recall(u16),
    MakeRoom(u64),
    HandOver(u32),
    NewHost,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (ticket, port) = (0..3_u32, 1..6_u16);
    prop_oneof![
        4 => (ticket.clone(), port.clone()).prop_map(|(ticket, port)| Step::Offer(ticket, port)),
        4 => (ticket.clone(), 0..8_u32).prop_map(|(ticket, count)| Step::Transfer(ticket, count)),
        8 => (1..12_u16).prop_map(Step::Entry),
        1 => Just(Step::Vanished),
        1 => ticket.prop_map(Step::Withdraw),
        2 => port.prop_map(Step::Recall),
        1 => (0..IDLE).prop_map(Step::MakeRoom),
        2 => (0..3_u32).prop_map(Step::HandOver),
        1 => Just(Step::NewHost),
        1 => (0..2 * IDLE).prop_map(Step::Pass),
    ]
}

impl Nic {
    /// Takes a step. Refused messages change nothing that matters here, although a run would end
    /// its host for one.
    fn step(&mut self, step: &Step) -> Result<Vec<Kind>, ProtocolError> {
        match *step {
            Step::Offer(ticket, port) => self.offer(ticket, port),
            Step::Transfer(ticket, entries) => self.hears(Ownership::Transfer { ticket, entries }),
            Step::Entry(port) => self.comes(port),
            Step::Vanished => self.hears(Ownership::Vanished {}),
            Step::Withdraw(ticket) => self.hears(Ownership::Withdraw { ticket }),
            Step::Recall(port) => self.recall(port),
            Step::MakeRoom(idle) => self.hears(Ownership::MakeRoom { idle }),
            Step::HandOver(most) => {
                self.flows.hand_over(most, side!(self), &mut self.said);
                Ok(self.said.take())
            }
            Step::NewHost => {
                self.flows.forget_incomplete(side!(self));
                self.said.promised = 0;
                Ok(vec![])
            }
            Step::Pass(time) => {
                self.now += time;
                Ok(vec![])
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    /// Whatever the host says: what the NIC promised, it sends, and nothing is left in the end.
    #[test]
    fn promises_are_kept(steps in prop::collection::vec(step(), 1..60)) {
        let mut nic = Nic::new();
        for step in &steps {
            drop(nic.step(step));
            prop_assert!(nic.said.promised >= 0, "an entry that nobody announced");
            if !nic.flows.is_handing_over() && !nic.flows.is_returning() {
                prop_assert_eq!(nic.said.promised, 0, "after {:?}", step);
            }
        }
        nic.flows.forget_incomplete(side!(nic));
        prop_assert!(nic.flows.is_settled());
        nic.flows.end_all(side!(nic));
        prop_assert_eq!((nic.flows.flows().len(), nic.entries()), (0, 0));
    }
}
