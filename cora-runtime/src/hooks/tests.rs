//! Hooks under a split plan, message by message: when each runs, and that it runs once whichever
//! half dies.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use cora_core::app::{App, Lifecycle, PlanFacts, Prefetch, Sides, States, Transaction, Transfer};
use cora_core::key::FiveTuple;
use cora_core::outbox::Outbox;
use cora_core::packet::{Meta, Packet, Port};
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::hooked::{DELAY, hook_time};
use cora_core::state::{Described, Home, Keyed, Kind as Sort, Memory, OutOfMemory, Pinned, Place};
use cora_core::state::{Reach, Singleton, Stored, Table, reaches};
use cora_core::verdict::{Stop, Transmit, Verdict};

use crate::channel::{PeerOutbox, ProtocolError};
use crate::durability::tests::Replicas;
use crate::durability::waiting::ENDED;
use crate::durability::{Holder, ReplicaStore};
use crate::exec::burst::BURST_BYTES;
use crate::exec::{Burst, Wire};
use crate::host_half::{HostHalf, HostOutbox};
use crate::link::message::{Hooks, Kind, Message, Ownership, Stamp};
use crate::link::payload::Parked;
use crate::link::ring::{Popped, RingError};
use crate::nic_half::NicHalf;
use crate::node::{Inbox, NodeError, serve_punts};
use crate::ownership::halves_support::{frame, memory};
use crate::ownership::said::group;

const SECOND: u64 = DELAY;
const IDLE: u64 = 4 * SECOND;
/// When the first packet comes: the wheel has no tick at the end of its entry.
const START: u64 = SECOND + 1;
/// Places in the pool.
const PLACES: u64 = 8;
/// The number of its state.
const HELD: u16 = 0;

/// The second packet of the flow with this port makes another entry of the flow.
const OPENS: u16 = 9;

/// A flow's place in the pool: the first bit is 1 if there is one. The second bit of an entry is 1
/// if its flow has another one.
#[derive(Clone, Copy, Debug)]
struct Held(u64);

impl Plain for Held {
    const SIZE: usize = 8;
    const DURABLE: bool = true;
    const HOOKED: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u64::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Keyed for Held {
    type Key = FiveTuple;
    type Scope = cora_core::state::table::scope::Everywhere;
    type Held = Self;
    const NAME: &'static str = "Held";
    const CAPACITY: u32 = 16;
    const IDLE: u64 = IDLE;
    const REPLY: bool = false;
}

/// The number of free places.
#[derive(Clone, Copy, Debug)]
struct Pool(u64);

impl Default for Pool {
    fn default() -> Self {
        Self(PLACES)
    }
}

impl Plain for Pool {
    const SIZE: usize = 8;
    const DURABLE: bool = true;
    fn put(&self, out: &mut [u8]) {
        self.0.put(out);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        u64::get(bytes).map(Self)
    }
    fn describe(&self, to: &mut dyn Describe) {
        self.0.describe(to);
    }
}

impl Singleton for Pool {
    const NAME: &'static str = "Pool";
}

impl Stored for Pool {
    const NAME: &'static str = "Pool";
    const KIND: Sort = Sort::Singleton;
    const BYTES: usize = Pinned::<Self>::BYTES;
    type Home = Pinned<Self>;
    fn create(memory: &mut Memory) -> Result<Self::Home, OutOfMemory> {
        Pinned::create(memory)
    }
    fn borrow(home: &mut Self::Home) -> &mut Self {
        home.value()
    }
}

#[derive(Debug)]
struct Lending {
    held: Table<Held>,
    pool: Pinned<Pool>,
}

impl States for Lending {
    const PLACES: &'static [(&'static str, Place)] =
        &[("Held", Place::Travels), ("Pool", Place::Host)];
    const STATES: usize = 2;

    fn state(&mut self, number: usize) -> &mut dyn Home {
        if number == 0 { &mut self.held } else { &mut self.pool }
    }

    fn described(&mut self, number: usize) -> &mut dyn Described {
        if number == 0 { &mut self.held } else { &mut self.pool }
    }
}

impl Lifecycle for Lending {
    const MEMORY: usize = 256 + Table::<Held>::BYTES + Pinned::<Pool>::BYTES;
    const HOOKED: &'static [usize] = &[0];

    fn new(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self { held: Table::create(memory)?, pool: Pinned::create(memory)? })
    }

    fn is_due(&self, now: u64) -> bool {
        now >= self.held.next_hook()
    }

    fn run_due(&mut self, now: u64, _: &mut Outbox, _: &mut dyn FnMut(&mut Outbox)) {
        while hook_time(self.held.next_end()) <= now
            && let Some(ended) = self.held.take_ended()
        {
            self.pool.value().0 += ended.entry.0 & 1;
        }
    }
}

impl Prefetch for Lending {
    fn prefetch_owner(&self, _: u8) {}

    fn predicted_owner(&self, _: u8) -> Option<u32> {
        None
    }
}

impl Transaction for Lending {}

impl Transfer for Lending {
    type Group = FiveTuple;
    const DURABLE: bool = true;
    const KEPT: &'static [usize] = &[1];
}

impl App for Lending {
    const NAME: &'static str = "lending";
    const PLAN: PlanFacts = PlanFacts { host_ordered: true, ..PlanFacts::by_hand(Sides::Split) };

    fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>, _: &mut Outbox) -> Verdict {
        let flow = packet.five_tuple()?;
        match self.held.get_mut(&flow) {
            Some(held) if flow.source_port == OPENS && held.0 == 1 => {
                held.0 = 3;
                self.held.insert(FiveTuple { source_port: OPENS + 1, ..flow }, Held(0))?;
            }
            Some(_) => {}
            None => {
                if const { !reaches::<R, Pool>() } {
                    return Err(Stop::punt());
                }
                self.pool.value().0 -= 1;
                self.held.insert(flow, Held(1))?;
            }
        }
        Transmit
    }
}

/// A ring of encoded messages. Frames that leave by the wire are ignored.
#[derive(Debug, Default)]
struct Ring(VecDeque<(u16, Vec<u8>)>);

impl PeerOutbox for Ring {
    fn send(&mut self, message: &Message<'_>) {
        message.encode(|kind, parts| self.0.push_back((kind, parts.concat())));
    }
}

impl Wire for Ring {
    fn transmit(&mut self, _: &Stamp, _: &[u8]) {}
}

impl Ring {
    fn kinds(&self) -> Vec<Kind> {
        self.0.iter().map(|(kind, _)| Kind::of(*kind).expect("it has a kind")).collect()
    }

    /// The first message of this kind.
    fn first(&self, of: Kind) -> Vec<u8> {
        let found = self.0.iter().find(|(kind, _)| *kind == of);
        found.expect("there is one").1.clone()
    }
}

/// What the host writes to.
struct Out<'a>(&'a mut Ring, &'a mut Replicas);

impl PeerOutbox for Out<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.0.send(message);
    }
}

impl HostOutbox for Out<'_> {
    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        Some(self.1)
    }
}

/// A ring that notes when messages are taken, and when those taken so far are released.
struct Noted(Ring, Rc<RefCell<Vec<Option<Kind>>>>);

impl Inbox for Noted {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        Ok(self.0.0.is_empty())
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let Some((kind, bytes)) = self.0.0.pop_front() else { return Ok(None) };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.1.borrow_mut().push(Kind::of(kind));
        Ok(Some(Popped { kind, len: bytes.len() }))
    }

    fn release(&mut self) {
        self.1.borrow_mut().push(None);
    }
}

fn stamp(now: u64) -> Stamp {
    let meta = Meta { time: now, now, port: Port(0), ..Meta::default() };
    Stamp { meta, number: now, horizon: now, egress: Port(1), parked: Parked::NONE, missing: 0 }
}

fn program() -> Lending {
    Lending::new(&mut memory(Lending::MEMORY)).expect("there is memory")
}

fn new_host() -> HostHalf<Lending> {
    let mut app = program();
    let bytes = HostHalf::<Lending>::bytes(&mut app);
    HostHalf::create(app, &mut memory(bytes), true).expect("there is memory")
}

fn new_nic() -> NicHalf<Lending> {
    let mut app = program();
    let bytes = NicHalf::<Lending>::bytes(&mut app);
    NicHalf::create(app, &mut memory(bytes)).expect("there is memory")
}

/// Both halves, the rings between them, and the replicas.
struct Pair {
    nic: NicHalf<Lending>,
    host: HostHalf<Lending>,
    punt: Ring,
    back: Ring,
    store: Replicas,
}

impl Pair {
    fn new() -> Self {
        let (punt, back) = (Ring::default(), Ring::default());
        Self { nic: new_nic(), host: new_host(), punt, back, store: Replicas::new(999) }
    }

    /// One whose NIC owns the first flow, and has told of its end in front of another packet, a
    /// second before the hook is due.
    fn with_end() -> Self {
        let mut sides = Self::new();
        sides.own_at_nic(1, START);
        sides.packet(2, START + IDLE + SECOND / 2);
        sides
    }

    /// A packet comes in at the wire.
    fn packet(&mut self, port: u16, now: u64) {
        let (mut bytes, mut burst) = (frame(port), Burst::new());
        assert!(burst.push(stamp(now), &mut bytes));
        self.nic.burst(&mut burst, &mut self.punt);
    }

    /// The host handles all that the NIC sent.
    fn host(&mut self) {
        let Self { host, punt, back, store, .. } = self;
        while let Some((kind, mut bytes)) = punt.0.pop_front() {
            let mut out = Out(back, store);
            if kind == Kind::Punt {
                let (stamp, frame) = Message::decode_frame(kind, &mut bytes).expect("a packet");
                let mut burst = Burst::new();
                assert!(burst.push(stamp, frame));
                host.burst(&mut burst, &mut out).expect("in order");
            } else {
                let message = Message::decode(kind, &bytes).expect("a message");
                host.message(&message, &mut out).expect("in order");
            }
        }
    }

    /// The NIC handles the host's next messages up to one of this kind.
    fn nic(&mut self, until: Kind) {
        loop {
            let (kind, bytes) = self.back.0.pop_front().expect("a message");
            let message = Message::decode(kind, &bytes).expect("a message");
            self.nic.message(&message, &mut self.punt).expect("in order");
            if kind == until {
                return;
            }
        }
    }

    fn own_at_nic(&mut self, port: u16, now: u64) {
        self.packet(port, now);
        self.host();
        self.nic(Kind::Offer);
        self.host();
        self.nic(Kind::Entry);
    }

    /// The host takes only the news of ends.
    fn hear_ends(&mut self) {
        self.punt.0.retain(|(kind, _)| *kind == Kind::Over);
        self.host();
    }

    /// Another host takes over, after it caught up on the ring.
    fn next_host(&mut self, now: u64, afresh: bool) {
        self.host = new_host();
        let Self { host, punt, store, .. } = self;
        for (kind, bytes) in punt.0.drain(..) {
            host.catch_up(&Message::decode(kind, &bytes).expect("a message"), store);
        }
        host.restore_singletons(store, &mut |_| panic!("a singleton is bad"));
        host.take_over(now, store, afresh);
    }

    fn pass_time(&mut self, now: u64) {
        let Self { host, back, store, .. } = self;
        host.pass_time(now, &mut Out(back, store));
    }

    /// Free places in the pool.
    fn left(&mut self) -> u64 {
        self.host.engine().app().pool.value().0
    }

    /// Numbers of replicas: of ended entries, the host's, and the NIC's.
    fn copies(&self) -> [usize; 3] {
        let count = |is: &dyn Fn(u16, Holder) -> bool| {
            self.store.kept.iter().filter(|((state, _), kept)| is(*state, kept.0)).count()
        };
        [
            count(&|state, _| state & ENDED != 0),
            count(&|state, holder| state & ENDED == 0 && holder == Holder::Host),
            count(&|_, holder| holder == Holder::Nic),
        ]
    }
}

const END: u64 = START + IDLE;

#[test]
fn ends_are_told_in_front_of_the_packet() {
    let mut sides = Pair::new();
    sides.own_at_nic(1, START);
    assert_eq!((sides.left(), sides.copies()), (PLACES - 1, [0, 0, 1]));
    sides.packet(2, END + DELAY);
    let kinds = sides.punt.kinds();
    let at = |of| kinds.iter().position(|kind| *kind == of).expect("it was sent");
    assert!(at(Kind::Over) < at(Kind::Punt), "{kinds:?}");
    // The hook runs before this packet, and not before one that is less late.
    sides.host();
    assert_eq!((sides.left(), sides.copies()), (PLACES - 1, [0, 1, 0]));
    let mut sides = Pair::new();
    sides.own_at_nic(1, START);
    sides.packet(2, END + DELAY - 1);
    sides.host();
    assert_eq!((sides.left(), sides.copies()), (PLACES - 2, [1, 1, 0]));
}

#[test]
fn packets_for_the_host_wait_for_a_flow_that_is_late() {
    let mut sides = Pair::new();
    sides.packet(1, START);
    sides.packet(2, START);
    sides.host();
    sides.nic(Kind::Offer);
    assert!(sides.punt.kinds().ends_with(&[Kind::Reached, Kind::Fence]));
    sides.packet(3, START + DELAY - 1);
    assert_eq!((sides.nic.report.held, sides.nic.holds_none()), (0, true));
    sides.packet(4, START + DELAY);
    assert_eq!((sides.nic.report.held, sides.nic.holds_none()), (1, false));
    sides.packet(5, START + DELAY);
    // Another flow could make it later still.
    sides.nic(Kind::Offer);
    assert_eq!(sides.punt.kinds().last(), Some(&Kind::Decline));
    assert_eq!(sides.punt.kinds().iter().filter(|kind| **kind == Kind::Punt).count(), 1);
    sides.host();
    sides.nic(Kind::Entry);
    assert_eq!(sides.punt.kinds().iter().filter(|kind| **kind == Kind::Punt).count(), 2);
    assert!(sides.nic.holds_none());
}

#[test]
fn what_ended_at_a_fence_does_not_move() {
    let mut sides = Pair::new();
    sides.packet(1, START);
    sides.host();
    // The wheel has not noticed the end when the offer is taken.
    sides.packet(2, END);
    sides.nic(Kind::Offer);
    sides.host();
    assert_eq!(sides.copies(), [1, 1, 0], "it has ended, and does not come back with the NIC");
    sides.host.nic_lost(&mut sides.store);
    sides.pass_time(END + 2 * IDLE);
    assert_eq!((sides.left(), sides.copies()), (PLACES, [0, 0, 0]));
}

/// The host makes an entry with the key of one that ended at the NIC, which dies. The replica of
/// the new one takes the place of the old one's, so the end has to be known by then.
#[test]
fn the_end_of_an_idle_flow_is_told_in_front_of_its_next_packet() {
    let mut sides = Pair::new();
    sides.own_at_nic(1, START);
    sides.packet(1, END);
    let kinds = sides.punt.kinds();
    let at = |of| kinds.iter().position(|kind| *kind == of).expect("it was sent");
    assert!(at(Kind::Over) < at(Kind::Punt), "{kinds:?}");
    sides.host();
    assert_eq!(sides.left(), PLACES - 2, "the old one waits for its hook");
    sides.host.nic_lost(&mut sides.store);
    sides.pass_time(END + 2 * IDLE);
    assert_eq!((sides.left(), sides.copies()), (PLACES, [0, 0, 0]));
}

/// The host gives the NIC an entry with the key of one that ended there: its replica stays.
#[test]
fn what_ended_is_erased_in_front_of_a_fence() {
    let mut sides = Pair::new();
    sides.own_at_nic(1, START);
    // The host makes another entry.
    sides.packet(3, END);
    sides.packet(1, END);
    let kinds = sides.punt.kinds();
    let at = |of| kinds.iter().rposition(|kind| *kind == of).expect("it was sent");
    assert!(at(Kind::Over) < at(Kind::Punt) && at(Kind::Over) < at(Kind::Erase), "{kinds:?}");
    sides.host();
    assert_eq!(sides.left(), PLACES - 3);
    sides.nic(Kind::Offer);
    sides.nic(Kind::Send);
    // Time passes while this packet is held, and no other one looks for ends.
    sides.packet(3, END + SECOND / 2);
    assert!(!sides.nic.holds_none());
    sides.nic(Kind::Offer);
    let kinds = sides.punt.kinds();
    assert!(kinds.contains(&Kind::Fence) && !kinds.contains(&Kind::Erase), "{kinds:?}");
    sides.host();
    assert_eq!(sides.copies(), [1, 0, 2], "of the one that ended, and of two at the NIC");
}

#[test]
fn a_flow_that_is_recalled_tells_of_its_ends_first() {
    let mut sides = Pair::new();
    sides.own_at_nic(OPENS, START);
    // Its second entry ends at the time of the last packet, which the wheel has not noticed.
    for now in [START + SECOND, START + IDLE, START + IDLE + SECOND] {
        sides.packet(OPENS, now);
    }
    sides.host();
    assert_eq!(sides.copies(), [0, 0, 2]);
    let recall = Ownership::Recall { group: &group(OPENS) };
    sides.nic.message(&recall.into(), &mut sides.punt).expect("in order");
    // The host drops the flow's other replicas with the last entry that comes.
    assert!(sides.punt.kinds().starts_with(&[Kind::Over, Kind::Release]));
    sides.host();
    assert_eq!(sides.copies(), [1, 1, 0]);
}

/// A flow comes back so late that its entries have ended at the host, and the NIC dies amid it.
#[test]
fn what_came_back_late_ends_once_though_the_nic_dies() {
    // Of the release, the host takes so many of its entries.
    for taken in 0..=2 {
        let mut sides = Pair::new();
        sides.own_at_nic(OPENS, START);
        // A replica lags behind the times of last use.
        sides.packet(OPENS, START + SECOND);
        sides.packet(OPENS, START + 2 * SECOND);
        sides.host();
        let recall = Ownership::Recall { group: &group(OPENS) };
        sides.nic.message(&recall.into(), &mut sides.punt).expect("in order");
        assert_eq!(sides.punt.kinds().len(), 3, "{:?}", sides.punt.kinds());
        sides.pass_time(START + 2 * SECOND + IDLE);
        sides.punt.0.truncate(1 + taken);
        sides.host();
        assert_eq!(sides.copies(), [taken, 0, 2 - taken], "each has one");
        sides.host.nic_lost(&mut sides.store);
        assert_eq!(sides.host.reclaimed().entries, 2 - taken as u64, "{taken} taken");
        sides.pass_time(START + 9 * IDLE);
        assert_eq!((sides.left(), sides.copies()), (PLACES, [0, 0, 0]), "{taken} taken");
    }
}

#[test]
fn a_hook_runs_once_whenever_the_host_ends() {
    let due = END + DELAY;
    // The dead host has read of the end, or not, or it has and its successor reads that again.
    for (before, after) in [(true, false), (false, true), (true, true)] {
        let mut sides = Pair::with_end();
        let ring = sides.punt.0.clone();
        if before {
            sides.hear_ends();
            assert_eq!(sides.copies(), [1, 0, 0]);
        }
        sides.punt.0 = if after { ring } else { VecDeque::new() };
        sides.next_host(due, false);
        assert_eq!((sides.left(), sides.copies()), (PLACES - 1, [1, 0, 0]));
        sides.pass_time(due - 1);
        assert_eq!(sides.left(), PLACES - 1);
        sides.pass_time(due);
        assert_eq!((sides.left(), sides.copies()), (PLACES, [0, 0, 0]));
        sides.next_host(due + SECOND, false);
        sides.pass_time(due + 9 * SECOND);
        assert_eq!(sides.left(), PLACES, "not again");
    }
}

#[test]
fn what_a_successor_must_not_read_again_is_released_at_once() {
    let mut sides = Pair::with_end();
    sides.packet(3, END + DELAY);
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut punt = Noted(std::mem::take(&mut sides.punt), Rc::clone(&log));
    let Pair { host, back, store, .. } = &mut sides;
    let mut buffer = vec![0; BURST_BYTES];
    let served = serve_punts(
        host,
        &mut punt,
        &mut Out(back, store),
        (&mut buffer, usize::MAX),
        |half, out, message| half.message(message, out).map_err(NodeError::from),
    );
    assert!(served.is_ok() && punt.0.0.is_empty());
    let log = log.borrow();
    for (at, kind) in log.iter().enumerate() {
        let ends = matches!(kind, Some(Kind::Over | Kind::Erase | Kind::Entry | Kind::Same));
        assert!(!ends || log[at + 1].is_none(), "{log:?}");
    }
    assert!(log.contains(&Some(Kind::Over)) && log.contains(&Some(Kind::Erase)), "{log:?}");
}

#[test]
fn what_a_dead_nic_did_not_tell_comes_back_and_ends_later() {
    let mut sides = Pair::with_end();
    // Nothing that it sent was published.
    sides.punt.0.clear();
    sides.pass_time(END + SECOND / 2);
    sides.host.nic_lost(&mut sides.store);
    let back = END + SECOND / 2;
    sides.pass_time(back + IDLE + DELAY - 1);
    assert_eq!((sides.left(), sides.copies()), (PLACES - 1, [1, 0, 0]));
    sides.pass_time(back + IDLE + DELAY);
    assert_eq!((sides.left(), sides.copies()), (PLACES, [0, 0, 0]));
}

#[test]
fn nothing_runs_of_what_ended_with_lost_state() {
    let mut sides = Pair::with_end();
    sides.hear_ends();
    sides.own_at_nic(5, END + SECOND);
    sides.next_host(END + SECOND, true);
    assert_eq!(sides.copies(), [0, 0, 0]);
    let left = sides.left();
    sides.nic.host_lost(&mut sides.punt, true);
    sides.packet(6, END + 9 * IDLE);
    assert!(!sides.punt.kinds().contains(&Kind::Over), "{:?}", sides.punt.kinds());
    sides.pass_time(END + 9 * IDLE);
    assert_eq!(sides.left(), left);
}

#[test]
fn nonsense_about_ends_is_refused() {
    let mut sides = Pair::with_end();
    let over = sides.punt.first(Kind::Over);
    let Some(Message::Hooks(Hooks::Over { piece, .. })) = Message::decode(38, &over) else {
        panic!("it is one")
    };
    let piece = piece.to_vec();
    let Pair { host, back, store, .. } = &mut sides;
    let mut hear = |state, piece: &[u8]| {
        host.message(&Hooks::Over { state, piece }.into(), &mut Out(back, store))
    };
    for (state, piece) in [(HELD, &piece[1..]), (HELD, &[][..]), (1, &piece[..]), (9, &piece[..])] {
        assert_eq!(hear(state, piece), Err(ProtocolError::BadPiece(state)));
    }
    // Entries of both sides, and some more.
    let (capacity, beyond) = (Held::CAPACITY as usize, 64);
    let all = (0..4 * capacity + beyond).take_while(|_| hear(HELD, &piece).is_ok()).count();
    assert_eq!(all, 3 * capacity + beyond);
    assert_eq!(hear(HELD, &piece), Err(ProtocolError::BadPiece(HELD)));
}
