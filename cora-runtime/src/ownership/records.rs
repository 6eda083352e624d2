//! Records of the flows that a side owns or is about to own, found by group key or by number.

use core::fmt::Debug;

use cora_core::app::{App, Sides};
use cora_core::bucket::Bucket;
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::transfer::ImportError;
use cora_core::state::table::{Entry, NEVER, Travelling};
use cora_core::state::{MAX_PIECE, Memory, OutOfMemory};

use crate::channel::ProtocolError;
use crate::ownership::bitmap::Taken;
use crate::ownership::entries::{self, each_travelling};
use crate::state_hash::{Say, say_words};

/// Most flows that a side can know if no state travels.
const STATELESS_FLOWS: u32 = 65_536;
/// Idle time-out of a flow if no state travels (ns).
const STATELESS_IDLE: u64 = 60_000_000_000;

/// Records that a search for one without entries examines.
const LOOKS: u32 = 16;

/// A side's record of a flow.
pub(crate) trait FlowRecord: Copy + Debug + Send + 'static {
    /// Whether packets of the flow are still held: `left` is the number of packets that ever left
    /// the hold queue. A flow with held packets stays known, however idle it is.
    fn is_held(&self, left: u64) -> bool;

    /// Everything that decides the handling of later packets, with places in the hold queue counted
    /// from `left` on.
    fn words(&self, left: u64) -> [u64; 6];
}

/// A record, as a value of the table of records, which requires plain data. It never leaves its
/// side, so it has no encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local<R>(pub(super) R);

impl<R: FlowRecord> Plain for Local<R> {
    const SIZE: usize = 0;
    const UNDIRECTED: bool = true;
    fn put(&self, _: &mut [u8]) {}
    fn get(_: &[u8]) -> Option<Self> {
        None
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

/// The flows known to this side.
#[derive(Debug)]
pub(crate) struct Flows<A: App, R: FlowRecord> {
    pub(super) records: RawTable<A::Group, Local<R>>,
    /// Idle time-out of a flow (ns).
    pub(super) idle: u64,
    /// Occupancy of the records.
    pub(super) taken: Taken,
    /// Whether an entry has another key than its flow's group key or the reply to that. If so, flow
    /// lookup also searches entries.
    pub(super) other_keys: bool,
    /// Clock hand: where the next search for a flow without entries begins.
    empty_hand: u32,
    /// Packets of the burst without a record for their group key, a bit each. Cleared when another
    /// record is made.
    pub(super) unknown: u64,
}

impl<A: App, R: FlowRecord> Flows<A, R> {
    fn shape(app: &mut A) -> Shape {
        let (mut capacity, mut idle) = (0, 0);
        each_travelling(app, &mut |_, table| {
            capacity = capacity.max(table.capacity());
            idle = idle.max(table.idle());
        });
        if matches!(A::PLAN.sides, Sides::Dealt) {
            // A flow per bucket, without records.
            return Shape { capacity: Bucket::COUNT as u32, spare: 0, idle, reply: false };
        }
        if A::PLAN.stateless_flows {
            return Shape {
                capacity: STATELESS_FLOWS,
                spare: 0,
                idle: STATELESS_IDLE,
                reply: false,
            };
        }
        // A record is used whenever an entry of its flow is, so it does not expire before them: no
        // entry stays linked to a number that another flow was given. All entries of both sides may
        // come here, hence twice the capacity.
        Shape { capacity: capacity.saturating_mul(2), spare: 0, idle, reply: false }
    }

    /// Most flows that can be known.
    pub(crate) fn capacity(app: &mut A) -> u32 {
        Self::shape(app).capacity
    }

    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub(crate) fn bytes(app: &mut A) -> usize {
        let shape = Self::shape(app);
        let mut attached = 0;
        each_travelling(app, &mut |_, table| attached += table.attached_bytes(shape.capacity));
        RawTable::<A::Group, Local<R>>::bytes(shape) + Taken::bytes(shape.capacity) + attached
    }

    /// Allocates the records, and the tables' links from them to entries.
    pub(crate) fn create(memory: &mut Memory, app: &mut A) -> Result<Self, OutOfMemory> {
        let shape = Self::shape(app);
        let mut attached = Ok(());
        each_travelling(app, &mut |_, table| {
            if attached.is_ok() {
                attached = table.attach(memory, shape.capacity);
            }
        });
        attached?;
        if const { A::ENTERS } {
            app.enter(None);
        }
        let taken = Taken::create(memory, shape.capacity)?;
        let records = RawTable::create(memory, shape)?;
        Ok(Self { records, idle: shape.idle, taken, other_keys: false, empty_hand: 0, unknown: 0 })
    }

    /// Number of known flows.
    pub(crate) const fn len(&self) -> u32 {
        self.records.len()
    }

    /// Number of flows that can be added.
    pub(crate) fn room(&self) -> u32 {
        Travelling::capacity(&self.records).saturating_sub(self.records.len())
    }

    /// Whether no flow is known.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether flow lookup also searches entries.
    pub(crate) const fn looks_among_entries(&self) -> bool {
        self.other_keys
    }

    /// Keeps the flow known until [`Self::unpin`].
    pub(crate) fn pin(&mut self, flow: u32) {
        self.records.set_used(flow, u64::MAX);
    }

    /// Lets the flow expire again, as last used at `now`.
    pub(crate) fn unpin(&mut self, flow: u32, now: u64) {
        self.records.set_used(flow, now);
    }

    /// The number that a new flow with this group key gets next. Nothing is linked to it. `left` is
    /// the number of packets that ever left the hold queue.
    #[inline(never)]
    pub(crate) fn reserve(&mut self, app: &mut A, group: &A::Group, left: u64) -> Option<u32> {
        // Frees an expired record of the same flow; its number may then be the next.
        while let Some(number) = self.records.number_of(group) {
            self.remove(app, number);
        }
        let mut number = self.records.next_number();
        if number.is_none() && self.idle == NEVER {
            core::hint::cold_path();
            self.forget_empty(app, left);
            number = self.records.next_number();
        }
        let number = number?;
        // An expired record may have left entries behind, which expired before it.
        each_travelling(app, &mut |_, table| table.remove_flow(number));
        Some(number)
    }

    /// Removes flows without entries among the next records. Where some entries never expire, no
    /// record does, and those of flows whose entries were evicted, or did expire, would stay. After
    /// a packet, [`Self::remove`] sees to that.
    #[cold]
    #[inline(never)]
    fn forget_empty(&mut self, app: &mut A, left: u64) {
        let made = self.made();
        for _ in 0..LOOKS.min(made) {
            let flow = self.empty_hand;
            self.empty_hand = if flow + 1 < made { flow + 1 } else { 0 };
            let free = self.records.entry(flow).is_some_and(|record| {
                let is_pinned = record.used.get() == u64::MAX;
                !is_pinned && !record.value.0.is_held(left)
            });
            if free && !entries::look_back(app, flow).0 {
                self.remove(app, flow);
            }
        }
    }

    /// Makes a record; it gets the number that [`Self::reserve`] returned.
    #[inline(never)]
    pub(crate) fn add(&mut self, group: A::Group, record: R) -> Option<u32> {
        let number = self.records.next_number()?;
        self.records.add(group, Local(record)).ok()?;
        self.unknown = 0;
        self.taken.mark(number);
        Some(number)
    }

    /// The record with this number.
    #[inline]
    pub(crate) fn record(&mut self, flow: u32) -> Option<&mut R> {
        self.records.entry_mut(flow).map(|entry| &mut entry.value.0)
    }

    /// The group key of the record with this number.
    #[inline]
    pub(crate) fn group(&self, flow: u32) -> Option<A::Group> {
        self.records.entry(flow).map(Entry::key)
    }

    /// Removes the flow and its entries.
    #[inline(never)]
    pub(crate) fn remove(&mut self, app: &mut A, flow: u32) {
        each_travelling(app, &mut |_, table| table.remove_flow(flow));
        self.records.release_number(flow);
    }

    /// Record numbers used so far.
    pub(crate) fn made(&self) -> u32 {
        self.records.made()
    }

    /// The numbers and group keys of all flows.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(u32, A::Group)) {
        for number in 0..self.records.made() {
            if let Some(group) = self.group(number) {
                visit(number, group);
            }
        }
    }

    /// Installs an entry of the flow by `install`, in the table of the state with this number.
    /// Returns the time of its last use. `None`: there is no room for it here, or its key belongs
    /// to another entry.
    #[inline(always)]
    pub(super) fn install(
        &mut self,
        app: &mut A,
        (state, piece): (u16, &[u8]),
        flow: u32,
        install: impl FnOnce(&mut dyn Travelling) -> Result<u64, ImportError>,
    ) -> Result<Option<u64>, ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES || piece.len() > MAX_PIECE {
            return Err(bad);
        }
        let table = app.state(usize::from(state)).as_travelling().ok_or(bad)?;
        match install(table) {
            Ok(used) => {
                // Installed entries are settled here, so the next run does not count them as new.
                table.look_back(flow);
                self.note_used(flow, used);
                Ok(Some(used))
            }
            Err(ImportError::Refused(_)) => Ok(None),
            Err(ImportError::Malformed(_)) => Err(bad),
        }
    }

    /// An entry of the flow was last used at `used`: the record lives as long.
    pub(super) fn note_used(&mut self, flow: u32, used: u64) {
        if let Some(record) = self.records.entry(flow) {
            record.used.set(used.max(record.used.get()));
        }
    }

    /// Gives the entries of all states and all records to `say`. The number of packets that left
    /// the hold queue does not matter, so places in it count from its beginning.
    pub(super) fn hash(&mut self, app: &mut A, left: u64, say: &mut Say<'_>) {
        for state in 0..A::STATES {
            say_words(say, &[state as u64]);
            app.state(state).export(0, say);
        }
        let next = self.records.next_number().map_or(u64::MAX, u64::from);
        say_words(say, &[next, self.empty_hand.into()]);
        for flow in 0..Travelling::capacity(&self.records) {
            let Some(entry) = self.records.entry(flow) else { continue };
            let mut bytes = [0; 64];
            entry.key().put(&mut bytes);
            say(&bytes);
            say_words(say, &[u64::from(flow), entry.used.get()]);
            say_words(say, &entry.value.0.words(left));
            entries::each_key(app, flow, &mut |words| say_words(say, words));
        }
    }
}
