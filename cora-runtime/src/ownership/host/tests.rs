//! The flows of the host alone, message by message.

use cora_core::app::{States as _, Transaction as _};
use cora_core::key::FiveTuple;
use cora_core::packet::{Meta, Packet};
use cora_core::state::Visit;
use cora_core::state::table::NEVER;
use cora_core::state::table::prefetch::ALONE;

use super::admission::{ASKED_AGAIN, Admission, Order};
use super::{Clock, HostOwnership, HostSide};
use crate::channel::{ProtocolError, TICKETS};
use crate::link::message::{Kind, Report};
use crate::ownership::counts::{Count, Counts, IDLE, app};
use crate::ownership::halves_support::{flow, frame, memory};
use crate::ownership::said::{Said, entry, group};

/// The flows of a host, and what they need.
struct Host {
    app: Counts,
    report: Report,
    flows: HostOwnership<Counts>,
    said: Said,
    clock: Clock,
}

/// Borrows the parts that a change of owner touches.
macro_rules! side {
    ($host:ident) => {
        &mut HostSide { app: &mut $host.app, report: &mut $host.report, clock: $host.clock }
    };
}

impl Host {
    fn new() -> Self {
        let mut app = app();
        let bytes = HostOwnership::bytes(&mut app);
        let flows = HostOwnership::create(&mut memory(bytes), &mut app, true);
        let (report, said) = (Report::default(), Said::default());
        let clock = Clock { now: 1, horizon: 1 };
        Self { flows: flows.expect("there is memory"), app, report, said, clock }
    }

    /// A host under this admission.
    fn admits(admission: Admission) -> Self {
        let mut host = Self::new();
        host.follow(&Order::Admit(admission));
        host
    }

    fn follow(&mut self, order: &Order<FiveTuple>) -> Vec<Kind> {
        self.flows.follow(order, side!(self), &mut self.said);
        self.said.take()
    }

    /// A packet of this port's flow, which makes entries with the keys of these ports. Returns the
    /// kinds of the messages.
    fn makes(&mut self, port: u16, entries: &[u16]) -> Vec<Kind> {
        let mut bytes = frame(port);
        let packet = Packet::new(&mut bytes, Meta::default());
        let found = self.flows.find(&mut self.app, &packet, self.clock, ALONE);
        let Clock { now, horizon } = self.clock;
        let flow_number = found.for_entries();
        self.app.begin(Visit { now, horizon, undo: false, flow: flow_number, ahead: ALONE });
        for other in entries {
            self.app.counts.insert(flow(*other), Count(1)).expect("there is room");
        }
        // A use of the flow's entry keeps it alive.
        self.app.counts.get_mut(&flow(port));
        self.app.commit(false);
        let new = self.flows.settle_new(&mut self.app, &found);
        if let Some(flow) = new.or_else(|| self.flows.settle(&mut self.app, &found)) {
            self.flows.consider_offer(&mut self.app, flow, now, &mut self.said);
        }
        self.said.take()
    }

    /// Another packet of this port's flow.
    fn packet(&mut self, port: u16) -> Vec<Kind> {
        self.makes(port, &[])
    }

    /// The NIC fenced this offer.
    fn fence(&mut self, ticket: u32) -> Result<Vec<Kind>, ProtocolError> {
        if let Some(flow) = self.flows.fence(ticket, false, &mut self.app, &mut self.said)? {
            self.flows.transfer(ticket, flow, side!(self), &mut self.said);
        }
        Ok(self.said.take())
    }

    /// The flow of this port comes back after so many punts, with entries of these ports.
    fn comes_back(&mut self, port: u16, punts: u32, entries: &[u16]) {
        let key = self.flows.announced_release(&group(port), &mut self.app).expect("it may come");
        self.flows.release((key, punts), entries.len() as u32, side!(self));
        for other in entries {
            self.comes(*other).expect("it is announced");
        }
        assert_eq!(self.flows.end_of_release(self.clock.now), Some(flow(port)));
    }

    /// An entry with this port's key comes.
    fn comes(&mut self, port: u16) -> Result<(), ProtocolError> {
        self.flows.entry(0, &entry(port, self.clock.now), side!(self))
    }

    /// Entries of the program.
    fn entries(&mut self) -> u32 {
        self.app.state(0).as_travelling().expect("its entries travel").filled()
    }

    /// Flows known.
    fn known(&self) -> u32 {
        self.flows.flows().len()
    }
}

/// Offers any flow after its first packet.
const EAGER: Admission =
    Admission { share: 1_024, after: 1, rest: 0, most: u32::MAX, pace: 0, idle: 0 };

#[test]
fn a_fenced_flow_goes_with_its_entries() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.makes(1, &[1, 2]), [Kind::Offer]);
    assert!(!host.flows.is_settled());
    assert_eq!(host.packet(1), [], "it is offered already");
    let gone = vec![Kind::Transfer, Kind::Entry, Kind::Entry];
    assert_eq!(host.fence(0), Ok(gone));
    assert!(host.flows.is_settled());
    assert_eq!((host.known(), host.entries(), host.flows.at_nic()), (0, 0, 1));
    assert_eq!((host.report.offloads, host.fence(0)), (1, Err(ProtocolError::UnknownTicket(0))));
}

#[test]
fn a_packet_without_entries_makes_no_flow_known() {
    let mut host = Host::admits(EAGER);
    assert_eq!((host.packet(1), host.known()), (vec![], 0));
}

#[test]
fn a_flow_with_another_key_than_announced_stays() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.makes(1, &[1]), [Kind::Offer]);
    assert_eq!(host.makes(1, &[2]), [], "packets with the new key are not held");
    assert_eq!(host.fence(0), Ok(vec![Kind::Withdraw]));
    assert_eq!((host.known(), host.entries(), host.report.offloads), (1, 2, 0));
    assert_eq!(host.packet(1), [Kind::Offer], "with all its keys");
    assert_eq!(host.fence(0).map(|said| said.len()), Ok(3));
}

#[test]
fn a_declined_flow_is_offered_later_each_time() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.makes(1, &[1]), [Kind::Offer]);
    for patience in [2, 4, 8] {
        host.flows.declined(0, side!(host)).expect("it was offered");
        for _ in 1..patience {
            assert_eq!(host.packet(1), [], "of {patience}");
        }
        assert_eq!(host.packet(1), [Kind::Offer], "of {patience}");
    }
    assert_eq!(host.report.declined, 3);
}

#[test]
fn a_flow_that_came_back_rests() {
    let mut host = Host::admits(Admission { rest: 100, ..EAGER });
    host.clock.now = 50;
    host.comes_back(1, 2, &[1, 3]);
    assert_eq!((host.known(), host.entries(), host.report.released), (1, 2, 1));
    for now in [60, 70, 80, 149] {
        host.clock.now = now;
        assert_eq!(host.packet(1), [], "at {now}");
    }
    host.clock.now = 150;
    assert_eq!(host.packet(1), [Kind::Offer], "its fifth packet, after two punts");
}

#[test]
fn a_key_that_belongs_to_another_entry_refuses_one_that_comes_back() {
    let mut host = Host::admits(Admission::NONE);
    assert_eq!(host.makes(1, &[1, 2]), []);
    host.comes_back(3, 0, &[3, 2]);
    assert_eq!((host.known(), host.entries(), host.report.refused), (2, 3, 1));
}

#[test]
fn messages_out_of_order_are_refused() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.comes(1), Err(ProtocolError::Unexpected(Kind::Entry)));
    assert_eq!(host.flows.vanished(), Err(ProtocolError::Unexpected(Kind::Vanished)));
    for ticket in [0, 64, u32::MAX] {
        let unknown = ProtocolError::UnknownTicket(ticket);
        assert_eq!(host.fence(ticket), Err(unknown));
        assert_eq!(host.flows.declined(ticket, side!(host)), Err(unknown));
    }
    let short = host.flows.announced_release(&[1], &mut host.app);
    assert_eq!(short, Err(ProtocolError::Undecodable(Kind::Release)));
    host.flows.release((flow(1), 0), 1, side!(host));
    let second = host.flows.announced_release(&group(2), &mut host.app);
    assert_eq!(second, Err(ProtocolError::Unexpected(Kind::Release)));
    assert_eq!(host.flows.end_of_release(1), None, "an entry is missing");
}

#[test]
fn a_large_flow_goes_in_parts_and_others_wait_for_it() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.makes(1, &[1, 2, 3, 4, 5]), [Kind::Offer]);
    assert_eq!(host.makes(11, &[11]), [Kind::Offer]);
    assert_eq!(host.makes(21, &[21]), [Kind::Offer]);
    assert_eq!(host.fence(0), Ok(vec![Kind::Transfer]), "its entries go later");
    assert!(host.flows.is_handing_over() && host.flows.is_leaving(&flow(1)));
    assert_eq!((host.fence(2), host.fence(1)), (Ok(vec![]), Ok(vec![])));
    assert_eq!(host.fence(1), Err(ProtocolError::UnknownTicket(1)), "fenced already");
    assert_eq!(host.fence(64), Err(ProtocolError::UnknownTicket(64)));
    assert_eq!((host.flows.offers_left(), host.flows.next_fenced()), (0, None));
    assert_eq!(host.follow(&Order::Recall(flow(9))), [], "an answer would come amid the flow");
    for more in [3, 2] {
        host.flows.send_entries(3, side!(host), &mut host.said);
        assert_eq!(host.said.take(), vec![Kind::Entry; more]);
    }
    assert_eq!(host.known(), 2);
    for ticket in [1, 2] {
        assert_eq!(host.flows.next_fenced(), Some(ticket));
        assert_eq!(host.fence(ticket), Ok(vec![Kind::Transfer, Kind::Entry]));
    }
    assert_eq!((host.flows.next_fenced(), host.flows.at_nic()), (None, 3));
    assert!(host.flows.is_settled());
}

#[test]
fn a_full_nic_is_asked_for_room_less_and_less_often() {
    let admission = Admission { most: 0, idle: 1_000, ..EAGER };
    let mut host = Host::admits(admission);
    host.clock.now = ASKED_AGAIN[0];
    assert_eq!(host.makes(1, &[1]), [Kind::MakeRoom]);
    let mut asked = ASKED_AGAIN[0];
    for _ in 0..4 {
        asked *= 2;
        host.clock.now += asked - 1;
        // The flow expired meanwhile.
        assert_eq!(host.makes(1, &[1]), [], "{asked} ns are not over");
        host.clock.now += 1;
        assert_eq!(host.packet(1), [Kind::MakeRoom]);
    }
    host.comes_back(2, 0, &[]);
    host.clock.now += ASKED_AGAIN[0];
    assert_eq!(host.makes(1, &[1]), [Kind::MakeRoom], "the NIC gave a flow back");
}

#[test]
fn a_flow_is_offered_only_above_its_pace() {
    let mut host = Host::admits(Admission { after: 3, pace: 10, ..EAGER });
    host.clock.now = 10;
    assert_eq!(host.makes(1, &[1]), []);
    for _ in 0..8 {
        host.clock.now += 10;
        assert_eq!(host.packet(1), [], "one for each interval");
    }
    let burst: Vec<_> = (0..2).map(|_| host.packet(1)).collect();
    assert_eq!(burst, [vec![], vec![Kind::Offer]]);
}

#[test]
fn orders_move_single_flows() {
    let mut host = Host::admits(Admission::NONE);
    assert_eq!(host.makes(1, &[1]), []);
    assert_eq!(host.follow(&Order::Offer(flow(2))), [], "it is not known");
    assert_eq!(host.follow(&Order::Offer(flow(1))), [Kind::Offer]);
    assert_eq!(host.follow(&Order::Offer(flow(1))), [], "it is offered already");
    assert_eq!(host.follow(&Order::Recall(flow(1))), [Kind::Recall]);
    host.flows.close();
    assert_eq!(host.follow(&Order::Recall(flow(1))), [], "a half that closes moves nothing");
}

#[test]
fn a_nic_that_stands_in_gets_no_flow() {
    let mut host = Host::admits(EAGER);
    host.flows.nic_takes(false);
    assert_eq!(host.makes(1, &[1]), []);
    assert_eq!(host.follow(&Order::Offer(flow(1))), []);
    assert_eq!((host.known(), host.flows.is_settled()), (1, true));
    host.flows.nic_takes(true);
    assert_eq!(host.packet(1), [Kind::Offer], "the next one gets it");
}

#[test]
fn tickets_run_out() {
    let mut host = Host::admits(EAGER);
    let offers = (0..16).map(|port| host.makes(port, &[port])).filter(|said| !said.is_empty());
    assert_eq!(offers.count(), 16);
    assert_eq!(host.flows.offers_left(), TICKETS - 16);
}

#[test]
fn a_lost_nic_leaves_no_flow_in_transit() {
    let mut host = Host::admits(EAGER);
    assert_eq!(host.makes(1, &[1, 2, 3, 4, 5]), [Kind::Offer]);
    assert_eq!(host.makes(11, &[11]), [Kind::Offer]);
    assert_eq!(host.fence(0), Ok(vec![Kind::Transfer]));
    host.flows.release((flow(21), 0), 3, side!(host));
    host.comes(21).expect("it is announced");
    let lost = host.flows.nic_lost(&mut host.app, 1);
    assert_eq!((lost.cancelled, lost.missing), (1, Some(2)));
    assert!(host.flows.is_settled());
    assert_eq!((host.known(), host.entries()), (2, 2), "the flow that was leaving is gone");
    assert_eq!(host.packet(11), [Kind::Offer], "its offer was void");
}

#[test]
fn where_entries_never_expire_a_flow_without_entries_makes_room_for_another() {
    for idle in [IDLE, NEVER] {
        let mut host = Host::new();
        host.flows.flows.idle = idle;
        // A record stays when the flow's entries end without a packet of it.
        for port in 0..32 {
            host.makes(port, &[port]);
            if port != 31 {
                host.app.counts.remove(&flow(port));
            }
        }
        assert_eq!((host.known(), host.entries(), host.flows.flows.room()), (32, 1, 0));
        host.makes(40, &[40]);
        let found = host.flows.flows.find(&mut host.app, &flow(40), 1, 0, || None);
        assert_eq!(found.is_some(), idle == NEVER);
        assert_eq!(host.entries(), 2, "no entry ended");
        // Pinned flows stay.
        for number in 0..32 {
            host.flows.flows.pin(number);
        }
        let all = host.known();
        for port in 50..90 {
            host.makes(port, &[]);
        }
        assert_eq!(host.known(), all);
    }
}
