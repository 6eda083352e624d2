//! Replicas at the host, without a NIC half and without the memory that real ones lie in.

use std::collections::BTreeMap;

use cora_core::app::{App, Lifecycle as _, PlanFacts, Sides, Transaction as _};
use cora_core::by_hand;
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::{Place, Reach, Table, Visit};
use cora_core::verdict::{Transmit, Verdict};

use super::replicate::Replication;
use super::store::{Holder, Reclaimed, Replica, ReplicaStore};
use crate::channel::ProtocolError;
use crate::link::message::{Durability, GroupKey, Kind, Message, Ownership, Report};
use crate::ownership::counts::Count;
use crate::ownership::halves_support::{flow, frame, memory};
use crate::ownership::host::{Clock, HostOwnership, HostSide};
use crate::ownership::said::group;

/// Counts that outlive their owner.
#[derive(Debug)]
struct Durables {
    counts: Table<Count<true>>,
}

by_hand!([] Durables, by FiveTuple, { Place::Travels => counts: Table<Count<true>>, } durable true);

impl App for Durables {
    const NAME: &'static str = "durables";
    const PLAN: PlanFacts = PlanFacts::by_hand(Sides::Split);

    fn chain<R: Reach>(&mut self, _: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        Transmit
    }
}

/// A replica, without its state and key.
pub(crate) type Kept = (Holder, Vec<u8>, Vec<u8>);

/// Replicas on the heap, at most so many.
#[derive(Debug)]
pub(crate) struct Replicas {
    pub(crate) kept: BTreeMap<(u16, Vec<u8>), Kept>,
    singletons: BTreeMap<u16, Vec<u8>>,
    most: usize,
    /// Reports of single entries.
    reports: usize,
}

impl Replicas {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: BTreeMap::new(), singletons: BTreeMap::new(), most, reports: 0 }
    }

    fn belongs(kept: &Kept, holder: Holder, group: Option<&[u8]>) -> bool {
        kept.0 == holder && group.is_none_or(|group| kept.1 == group)
    }

    /// The holders of all replicas, in the order of their keys.
    fn holders(&self) -> Vec<Holder> {
        self.kept.values().map(|(holder, ..)| *holder).collect()
    }
}

impl ReplicaStore for Replicas {
    fn keep(&mut self, copy: &Replica<'_>) -> bool {
        self.reports += 1;
        let key = (copy.state, copy.key.to_vec());
        self.kept.remove(&key);
        let fits = self.kept.len() < self.most;
        if fits {
            self.kept.insert(key, (copy.holder, copy.group.to_vec(), copy.piece.to_vec()));
        }
        fits
    }

    fn forget(&mut self, holder: Holder, state: u16, key: &[u8]) {
        self.reports += 1;
        let key = (state, key.to_vec());
        if self.kept.get(&key).is_some_and(|kept| kept.0 == holder) {
            self.kept.remove(&key);
        }
    }

    fn forget_all(&mut self, holder: Holder, group: Option<&[u8]>) {
        self.kept.retain(|_, kept| !Self::belongs(kept, holder, group));
    }

    fn assign(&mut self, from: Holder, to: Holder, group: Option<&[u8]>) {
        for kept in self.kept.values_mut().filter(|kept| Self::belongs(kept, from, group)) {
            kept.0 = to;
        }
    }

    fn keep_part(&mut self, state: u16, at: usize, part: &[u8]) {
        let whole = self.singletons.entry(state).or_default();
        whole.resize(whole.len().max(at + part.len()), 0);
        whole[at..at + part.len()].copy_from_slice(part);
    }

    fn parts(&self, state: u16, visit: &mut dyn FnMut(usize, &[u8])) -> bool {
        self.singletons.get(&state).inspect(|whole| visit(0, whole)).is_some()
    }

    fn find(&self, state: u16, key: &[u8], visit: &mut dyn FnMut(&Replica<'_>)) -> bool {
        let found = self.kept.get(&(state, key.to_vec()));
        if let Some((holder, group, piece)) = found {
            visit(&Replica { state, holder: *holder, group, key, piece });
        }
        found.is_some()
    }

    fn each(&self, holder: Holder, group: Option<&[u8]>, visit: &mut dyn FnMut(&Replica<'_>)) {
        for ((state, key), kept) in &self.kept {
            if Self::belongs(kept, holder, group) {
                visit(&Replica { state: *state, holder, group: &kept.1, key, piece: &kept.2 });
            }
        }
    }
}

/// A host, and the store that outlives it.
struct Host {
    app: Durables,
    report: Report,
    flows: HostOwnership<Durables>,
    replication: Replication<Durables>,
    store: Replicas,
}

/// No packet came for long enough that an entry might have expired.
const NOW: Clock = Clock { now: 10, horizon: 10 };

impl Host {
    fn new() -> Self {
        Self::with(Replicas::new(16))
    }

    /// A host that starts with these replicas.
    fn with(store: Replicas) -> Self {
        let mut app = Durables::new(&mut memory(Durables::MEMORY)).expect("there is memory");
        let bytes = HostOwnership::bytes(&mut app);
        let flows = HostOwnership::create(&mut memory(bytes), &mut app, true);
        let flows = flows.expect("there is memory");
        Self { app, report: Report::default(), flows, replication: Replication::new(), store }
    }

    /// A packet of this port's flow writes this value in the flow's entry; 0 removes the entry.
    fn writes(&mut self, port: u16, value: u64) {
        let mut bytes = frame(port);
        let packet = Packet::new(&mut bytes, Meta::default());
        let found = self.flows.find(&mut self.app, &packet, NOW, ALONE);
        let Clock { now, horizon } = NOW;
        let number = found.for_entries();
        self.app.begin(Visit { now, horizon, undo: false, flow: number, ahead: ALONE });
        let counts = &mut self.app.counts;
        match counts.get_mut(&flow(port)) {
            _ if value == 0 => drop(counts.remove(&flow(port))),
            Some(count) => count.0 = value,
            None => counts.insert(flow(port), Count(value)).expect("there is room"),
        }
        self.app.commit(false);
        self.flows.settle_new(&mut self.app, &found);
        self.flows.settle(&mut self.app, &found);
        self.replication.replicate(&self.flows, &mut self.app, &mut self.store);
    }

    /// A message of the NIC about replicas.
    fn hears(&mut self, message: Durability<'_>) -> Result<(), ProtocolError> {
        let Self { app, report, flows, replication, store } = self;
        let side = &mut HostSide { app, report, clock: NOW };
        replication.message(message, flows, side, Some(store))
    }

    /// The NIC reports the entry of this port's flow, which it owns.
    fn copy(&mut self, port: u16, value: u64) -> Result<(), ProtocolError> {
        let piece = piece(port, value);
        self.hears(Durability::Copy { state: 0, group: GroupKey(&group(port)), piece: &piece })
    }

    /// The value of this port's entry here.
    fn value(&mut self, port: u16) -> Option<u64> {
        let Clock { now, horizon } = NOW;
        self.app.begin(Visit { now, horizon, undo: false, flow: 0, ahead: ALONE });
        self.app.counts.get(&flow(port)).map(|count| count.0)
    }

    fn nic_lost(&mut self) -> Reclaimed {
        let Self { app, flows, replication, store, .. } = self;
        replication.nic_lost(flows, app, NOW, store)
    }

    fn takes_over(&mut self, afresh: bool) -> Reclaimed {
        let Self { app, flows, replication, store, .. } = self;
        replication.take_over(flows, app, NOW, store, afresh)
    }

    /// A message that the NIC sent to the host before.
    fn catches_up(&mut self, message: Ownership<'_>) {
        let Self { app, replication, store, .. } = self;
        replication.catch_up(&Message::Ownership(message), app, store);
    }
}

/// The encoded entry of this port's flow with this value.
fn piece(port: u16, value: u64) -> Vec<u8> {
    let mut host = Host::new();
    host.writes(port, value);
    host.store.kept.into_values().map(|(_, _, piece)| piece).next().expect("it was replicated")
}

/// The encoded key of that entry.
fn key(port: u16) -> Vec<u8> {
    let mut host = Host::new();
    host.writes(port, 1);
    host.store.kept.into_keys().map(|(_, key)| key).next().expect("it was replicated")
}

#[test]
fn changes_at_the_host_are_replicated() {
    let mut host = Host::new();
    host.writes(1, 5);
    host.writes(1, 6);
    host.writes(2, 7);
    assert_eq!(host.store.holders(), [Holder::Host, Holder::Host]);
    let kept = host.store.kept.get(&(0, key(1))).expect("there is a replica");
    assert_eq!((&kept.1, &kept.2), (&group(1), &piece(1, 6)));
    host.writes(1, 0);
    assert_eq!((host.store.kept.len(), host.replication.uncopied()), (1, 0));
}

#[test]
fn a_replica_without_room_is_counted() {
    let mut host = Host::with(Replicas::new(1));
    host.writes(1, 5);
    host.writes(2, 5);
    assert_eq!((host.store.kept.len(), host.replication.uncopied()), (1, 1));
}

#[test]
fn a_flow_that_goes_is_the_nics_to_report() {
    let mut host = Host::new();
    host.writes(1, 5);
    host.writes(2, 5);
    let known =
        host.flows.find(&mut host.app, &Packet::new(&mut frame(1), Meta::default()), NOW, ALONE);
    let number = known.for_entries();
    let Host { app, store, .. } = &mut host;
    Replication::<Durables>::assign_to_nic(&flow(1), number, app, NOW.now, Some(store));
    let reports = host.store.reports;
    host.app.counts.remove(&flow(1));
    host.replication.replicate(&host.flows, &mut host.app, &mut host.store);
    assert_eq!(host.store.reports, reports, "the NIC reports the entry from now on");
    let nics = host.store.kept.values().filter(|kept| kept.0 == Holder::Nic);
    assert_eq!(nics.map(|kept| &kept.1).collect::<Vec<_>>(), [&group(1)]);
    Replication::<Durables>::came_back(&flow(1), &mut host.store);
    assert_eq!(host.store.holders(), [Holder::Host], "the others stay");
}

#[test]
fn the_nic_cannot_replace_what_the_host_owns() {
    let mut host = Host::new();
    host.writes(1, 5);
    assert_eq!((host.copy(1, 9), host.copy(2, 9)), (Ok(()), Ok(())));
    assert_eq!(host.store.kept.get(&(0, key(1))).map(|kept| &kept.2), Some(&piece(1, 5)));
    assert_eq!(host.replication.uncopied(), 1);
    for (state, piece) in [(0, &piece(3, 1)[1..]), (0, &[][..]), (1, &piece(3, 1)[..])] {
        let copy = Durability::Copy { state, group: GroupKey(&group(3)), piece };
        assert_eq!(host.hears(copy), Err(ProtocolError::BadPiece(state)));
    }
    for port in [1, 2] {
        assert_eq!(host.hears(Durability::Erase { state: 0, key: &key(port) }), Ok(()));
    }
    assert_eq!(host.store.holders(), [Holder::Host], "the NIC erases its own alone");
}

#[test]
fn an_unchanged_entry_comes_back_from_its_replica() {
    let mut host = Host::new();
    host.copy(1, 9).expect("it is one");
    let same = |host: &mut Host, port| {
        host.hears(Durability::Same { state: 0, used: NOW.now, key: &key(port) })
    };
    assert_eq!(same(&mut host, 1), Err(ProtocolError::Unexpected(Kind::Same)), "no flow comes");
    let Host { app, report, flows, .. } = &mut host;
    flows.release((flow(1), 0), 2, &mut HostSide { app, report, clock: NOW });
    assert_eq!(same(&mut host, 1), Ok(()));
    assert_eq!(same(&mut host, 2), Err(ProtocolError::NoCopy(0)));
    assert_eq!(host.value(1), Some(9));
}

#[test]
fn the_host_takes_back_the_flows_of_a_lost_nic() {
    let mut host = Host::new();
    host.writes(1, 5);
    host.copy(2, 9).expect("it is one");
    host.copy(3, 9).expect("it is one");
    // The NIC's last report does not decode as an entry any more.
    host.store.kept.get_mut(&(0, key(3))).expect("it is there").2.truncate(20);
    let reclaimed = host.nic_lost();
    assert_eq!((reclaimed.entries, reclaimed.refused), (1, 1));
    assert_eq!([1, 2, 3].map(|port| host.value(port)), [Some(5), Some(9), None]);
    assert_eq!(host.store.holders(), [Holder::Host, Holder::Host]);
    host.writes(2, 10);
    assert_eq!(host.store.kept.get(&(0, key(2))).map(|kept| &kept.2), Some(&piece(2, 10)));
}

#[test]
fn a_new_host_waits_for_the_nics_word() {
    let mut old = Host::new();
    old.writes(1, 5);
    for port in [2, 3] {
        old.copy(port, 9).expect("it is one");
    }
    let mut host = Host::with(old.store);
    let reclaimed = host.takes_over(false);
    assert_eq!((reclaimed.flows, reclaimed.entries, reclaimed.dropped), (1, 1, 0));
    assert_eq!(host.store.holders(), [Holder::Host, Holder::Unsure, Holder::Unsure]);
    assert_eq!([1, 2, 3].map(|port| host.value(port)), [Some(5), None, None]);
    // The NIC owns the second flow and has reported it anew; the third is the host's.
    host.copy(2, 10).expect("it is one");
    Replication::<Durables>::is_owned(&group(2), &mut host.store);
    let Host { app, flows, replication, store, .. } = &mut host;
    replication.all_owned(flows, app, NOW, store);
    assert_eq!([1, 2, 3].map(|port| host.value(port)), [Some(5), None, Some(9)]);
    assert_eq!(host.store.holders(), [Holder::Host, Holder::Nic, Holder::Host]);
    assert_eq!(host.replication.reclaimed().entries, 2);
}

#[test]
fn entries_that_rest_on_lost_state_are_dropped() {
    let mut old = Host::new();
    old.writes(1, 5);
    old.copy(2, 9).expect("it is one");
    let mut host = Host::with(old.store);
    assert_eq!(host.takes_over(true).dropped, 2);
    assert_eq!((host.store.kept.len(), host.value(1)), (0, None));
}

#[test]
fn entries_that_a_dead_host_left_in_the_ring_are_kept() {
    let mut host = Host::new();
    host.takes_over(false);
    let entry = |port| piece(port, 9);
    host.catches_up(Ownership::Release { punts: 0, entries: 2, group: &group(1) });
    host.catches_up(Ownership::Entry { state: 0, piece: &entry(1) });
    host.catches_up(Ownership::Vanished {});
    assert_eq!(host.store.kept.get(&(0, key(1))).map(|kept| kept.1.clone()), Some(group(1)));
    // The release of the next one was consumed: an older replica tells its flow, or none does.
    host.copy(2, 8).expect("it is one");
    host.catches_up(Ownership::Entry { state: 0, piece: &entry(2) });
    host.catches_up(Ownership::Entry { state: 0, piece: &entry(3) });
    let groups: Vec<_> = host.store.kept.values().map(|kept| kept.1.clone()).collect();
    assert_eq!(groups, [group(1), group(2), vec![]]);
    assert_eq!(host.store.kept.get(&(0, key(2))).map(|kept| &kept.2), Some(&entry(2)));
    host.catches_up(Ownership::Entry { state: 0, piece: &[1, 2, 3] });
    host.catches_up(Ownership::Entry { state: 7, piece: &entry(4) });
    assert_eq!(host.store.holders(), [Holder::Nic; 3], "nonsense is ignored");
}
