//! Records of the flows that a side owns or is about to own. Entries are linked to the number of
//! their flow's record.

use core::any::TypeId;

use cora_core::app::App;
use cora_core::key::Key;
use cora_core::plain::{Describe, Plain};
use cora_core::state::table::raw::{RawTable, Shape};
use cora_core::state::table::travelling::ImportError;
use cora_core::state::table::{Entry, Moved, Travelling};
use cora_core::state::{MAX_PIECE, Memory, OutOfMemory, Place};

use crate::channel::ProtocolError;
use crate::link::message::MAX_KEYS;
use crate::ownership::bitmap::Taken;

/// Most flows that a side can know if no state travels.
const STATELESS_FLOWS: u32 = 65_536;
/// Idle time-out of a flow if no state travels (ns).
const STATELESS_IDLE: u64 = 60_000_000_000;

/// The stage of a flow between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This side owns it.
    Owned,
    /// It is offered: the host still owns it, and the NIC holds its packets.
    Offered,
    /// It is in handover, with some entries still here: none of its packets run.
    Leaving,
}

/// A side's record of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its stage.
    pub stage: Stage,
    /// At the host: the ticket of its offer.
    pub ticket: u32,
    /// Some of its entries may be linked to no flow, since there was no room for a record when they
    /// were made.
    pub scattered: bool,
    /// Number of its punts.
    pub punts: u32,
    /// At the host: its packets since it came, after decay
    /// ([`Admission::pace`](crate::ownership::Admission::pace)). At the NIC: not counted.
    pub packets: u32,
    /// At the host: when it came back from the NIC (ns of packet time); 0 if it never did. At the
    /// NIC: the latest use of the entries that came.
    pub came: u64,
    /// At the NIC: one more than the number of the last held packet that is, or may be, the flow's.
    pub queued_until: u64,
    /// At the NIC: the end of the hold queue when a packet of the flow last overtook it. Packets
    /// held then were not the flow's. At the host, under decay: the time of its last packet (ns of
    /// packet time).
    pub passed: u64,
}

impl Record {
    /// A flow that this side owns.
    pub const OWNED: Self = Self {
        stage: Stage::Owned,
        ticket: 0,
        scattered: false,
        punts: 0,
        packets: 0,
        came: 0,
        queued_until: 0,
        passed: 0,
    };
}

/// Records are in a table, which requires plain values; they never leave this side.
impl Plain for Record {
    const SIZE: usize = 0;
    const UNDIRECTED: bool = true;
    fn put(&self, _: &mut [u8]) {}
    fn get(_: &[u8]) -> Option<Self> {
        Some(Self::OWNED)
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

/// The flows known to this side.
#[derive(Debug)]
pub struct Flows<A: App> {
    pub(crate) records: RawTable<A::Group, Record>,
    /// Idle time-out of a flow (ns).
    pub(crate) idle: u64,
    /// Occupancy of the records.
    pub(crate) taken: Taken,
    /// Whether an entry has another key than its flow's group key or the reply to that. If so, flow
    /// lookup also searches entries.
    pub(crate) other_keys: bool,
    /// Packets of the burst without a record for their group key, a bit each. Cleared when another
    /// record is made.
    pub(crate) unknown: u64,
}

/// Visits the tables with entries that travel, and their state numbers.
pub(crate) fn each_travelling<A: App>(
    app: &mut A,
    visit: &mut dyn FnMut(u16, &mut dyn Travelling),
) {
    for number in 0..A::STATES {
        let travels = matches!(A::PLACES.get(number), Some((_, Place::Travels)));
        if let Some(table) = app.state(number).as_travelling().filter(|_| travels) {
            visit(number as u16, table);
        }
    }
}

impl<A: App> Flows<A> {
    fn shape(app: &mut A) -> Shape {
        let (mut capacity, mut idle) = (0, 0);
        each_travelling(app, &mut |_, table| {
            capacity = capacity.max(table.capacity());
            idle = idle.max(table.idle());
        });
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

    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub fn bytes(app: &mut A) -> usize {
        let shape = Self::shape(app);
        let mut attached = 0;
        each_travelling(app, &mut |_, table| attached += table.attached_bytes(shape.capacity));
        RawTable::<A::Group, Record>::bytes(shape) + Taken::bytes(shape.capacity) + attached
    }

    /// Allocates the records, and the tables' links from them to entries.
    pub fn create(memory: &mut Memory, app: &mut A) -> Result<Self, OutOfMemory> {
        let shape = Self::shape(app);
        let mut attached = Ok(());
        each_travelling(app, &mut |_, table| {
            if attached.is_ok() {
                attached = table.attach(memory, shape.capacity);
            }
        });
        attached?;
        if const { A::GROUPED } {
            app.enter(None);
        }
        let taken = Taken::create(memory, shape.capacity)?;
        let records = RawTable::create(memory, shape)?;
        Ok(Self { records, idle: shape.idle, taken, other_keys: false, unknown: 0 })
    }

    /// Number of known flows.
    pub const fn len(&self) -> u32 {
        self.records.len()
    }

    /// Number of flows that can be added.
    pub fn room(&self) -> u32 {
        Travelling::capacity(&self.records).saturating_sub(self.records.len())
    }

    /// Whether no flow is known.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Prefetches the record with this number.
    #[inline(always)]
    pub fn prefetch(&self, number: u32) {
        self.records.prefetch(number);
    }

    /// Keeps the flow known until [`Self::unpin`].
    pub fn pin(&mut self, number: u32) {
        self.records.set_used(number, u64::MAX);
    }

    /// Lets the flow expire again, as last used at `now`.
    pub fn unpin(&mut self, number: u32, now: u64) {
        self.records.set_used(number, now);
    }

    /// Prefetches the places for the record of a new flow with this group key, and for an entry
    /// with that key.
    pub(crate) fn expect(&self, app: &mut A, group: &A::Group) {
        self.records.expect_key(group);
        each_travelling(app, &mut |_, table| table.expect(group));
    }

    /// The number that a new flow with this group key gets next. Nothing is linked to it.
    #[inline(never)]
    pub fn reserve(&mut self, app: &mut A, group: &A::Group) -> Option<u32> {
        // Frees an expired record of the same flow; its number may then be the next.
        while let Some(number) = self.records.number_of(group) {
            self.remove(app, number);
        }
        let number = self.records.next_number()?;
        // An expired record may have left entries behind, which expired before it.
        each_travelling(app, &mut |_, table| table.remove_flow(number));
        Some(number)
    }

    /// Entries linked to no flow.
    pub fn strays(app: &mut A) -> u32 {
        let mut strays = 0;
        each_travelling(app, &mut |_, table| strays += table.strays());
        strays
    }

    /// Makes a record; it gets the number that [`Self::reserve`] returned.
    #[inline(never)]
    pub fn add(&mut self, app: &mut A, group: A::Group, record: Record) -> Option<u32> {
        let number = self.records.next_number()?;
        let record = Record { scattered: Self::strays(app) > 0, ..record };
        self.records.add(group, record).ok()?;
        self.unknown = 0;
        self.taken.mark(number);
        Some(number)
    }

    /// After a run for a known flow: forgets it if it has no entries (unless no state travels at
    /// all). Returns whether it is still known.
    #[inline]
    pub fn settle(&mut self, app: &mut A, number: u32) -> bool {
        let (kept, joined) = Self::look_back(app, number);
        if !kept {
            self.remove(app, number);
        } else if joined {
            self.note_keys(app, number);
        }
        kept
    }

    /// [`Self::settle`] for the NIC. Flows hardly ever get entries there, so the keys of new
    /// entries are not examined.
    #[inline]
    pub(crate) fn settle_at_nic(&mut self, app: &mut A, number: u32) -> bool {
        let (kept, joined) = Self::look_back(app, number);
        self.other_keys |= joined && const { !A::GROUPED };
        if !kept {
            self.remove(app, number);
        }
        kept
    }

    /// After a run for an unknown flow, with the number that was [reserved](Self::reserve) for it:
    /// makes it known if it has entries. Returns whether it did.
    #[inline(never)]
    pub fn settle_new(&mut self, app: &mut A, number: u32, group: &A::Group) -> bool {
        let (kept, _) = Self::look_back(app, number);
        let added = kept && self.add(app, *group, Record::OWNED).is_some();
        if added {
            self.note_keys(app, number);
        }
        added
    }

    /// After a run: whether the flow's record is kept, since it has entries or needs none; and
    /// whether entries joined that flow lookup can find.
    fn look_back(app: &mut A, number: u32) -> (bool, bool) {
        let (mut kept, mut any_joined) = (A::PLAN.stateless_flows, false);
        each_travelling(app, &mut |_, table| {
            let (has_entries, joined) = table.look_back(number);
            kept |= has_entries;
            any_joined |= joined && table.key_type() == TypeId::of::<A::Group>();
        });
        (kept, any_joined)
    }

    /// The record with this number.
    #[inline]
    pub fn record(&mut self, number: u32) -> Option<&mut Record> {
        self.records.entry_mut(number).map(|entry| &mut entry.value)
    }

    /// The group key of the record with this number.
    #[inline]
    pub fn group(&self, number: u32) -> Option<A::Group> {
        self.records.entry(number).map(Entry::key)
    }

    /// Removes the flow and its entries.
    #[inline(never)]
    pub fn remove(&mut self, app: &mut A, number: u32) {
        each_travelling(app, &mut |_, table| table.remove_flow(number));
        self.records.release_number(number);
    }

    /// Takes entries of the flow out, and hands out at most `most` that are alive at `now`, each
    /// with its state's number. Returns the number handed out; it is smaller if none is left.
    #[inline(never)]
    pub fn take_out(
        app: &mut A,
        number: u32,
        now: u64,
        most: u32,
        piece: &mut dyn FnMut(u16, &[u8]),
    ) -> u32 {
        let mut left = most;
        each_travelling(app, &mut |state, table| {
            left -= table.take_out(number, now, left, &mut |bytes| piece(state, bytes));
        });
        most - left
    }

    /// [`Self::take_out`] of all entries, to the side that has replicas: entries that have not
    /// changed since they were reported are not sent again. That side reports all of them from now
    /// on. Entries with replicas are left for [`Self::remove`].
    pub fn hand_back(app: &mut A, number: u32, now: u64, moved: &mut dyn FnMut(u16, Moved<'_>)) {
        each_travelling(app, &mut |state, table| {
            if const { A::DURABLE }
                && let Some(durable) = table.as_durable()
            {
                durable.export_moved(number, now, &mut |what| moved(state, what));
                durable.disown(number, now);
            } else {
                let mut whole = |bytes: &[u8]| moved(state, Moved::Whole(bytes));
                table.take_out(number, now, u32::MAX, &mut whole);
            }
        });
    }

    /// Record numbers used so far.
    pub(crate) fn made(&self) -> u32 {
        self.records.made()
    }

    /// The numbers and group keys of all flows.
    pub fn each(&self, visit: &mut dyn FnMut(u32, A::Group)) {
        for number in 0..self.records.made() {
            if let Some(group) = self.group(number) {
                visit(number, group);
            }
        }
    }

    /// Visits the words of each key that finds an entry of the flow, in any table.
    pub fn each_key(app: &mut A, number: u32, visit: &mut dyn FnMut(&[u64; 5])) {
        each_travelling(app, &mut |_, table| table.each_key(number, visit));
    }

    /// Number of the flow's entries that are alive at `now`.
    #[inline(never)]
    pub fn entries(app: &mut A, number: u32, now: u64) -> u32 {
        let mut count = 0;
        each_travelling(app, &mut |_, table| count += table.count_flow(number, now));
        count
    }

    /// Installs an entry of the flow; one that comes back always finds room. Returns the time of
    /// its last use. `None`: there is no room for it here, or its key belongs to another entry.
    #[inline(never)]
    pub fn import(
        &mut self,
        app: &mut A,
        state: u16,
        bytes: &[u8],
        number: u32,
        comes_back: bool,
    ) -> Result<Option<u64>, ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES || bytes.len() > MAX_PIECE {
            return Err(bad);
        }
        let table = app.state(usize::from(state)).as_travelling().ok_or(bad)?;
        let imported = if comes_back {
            table.take_back(bytes, number)
        } else {
            table.import_entry(bytes, number, table.capacity())
        };
        match imported {
            Ok(used) => {
                // Imported entries are settled here, so the next run does not count them as new.
                table.look_back(number);
                if let Some(record) = self.records.entry_mut(number) {
                    record.used.set(used.max(record.used.get()));
                    if !comes_back {
                        record.value.came = used.max(record.value.came);
                    }
                }
                if const { A::DURABLE }
                    && comes_back
                    && let Some(durable) = table.as_durable()
                {
                    durable.changed(bytes);
                }
                // Keys of an entry that comes for the first time were announced.
                if comes_back {
                    self.note_keys(app, number);
                }
                Ok(Some(used))
            }
            Err(ImportError::Refused(_)) => Ok(None),
            Err(ImportError::Malformed(_)) => Err(bad),
        }
    }

    /// The number that the next record gets, if there is room for one.
    pub(crate) fn next_number(&mut self) -> Option<u32> {
        self.records.next_number()
    }

    /// Capacity of the records.
    pub(crate) fn numbers(&self) -> u32 {
        Travelling::capacity(&self.records)
    }

    /// When the flow had its last packet (ns of packet time).
    pub(crate) fn used(&self, number: u32) -> Option<u64> {
        self.records.entry(number).map(|entry| entry.used.get())
    }

    /// The keys that find the flow, except its group key. `None`: there are more than an offer can
    /// announce. If flows are grouped by an address there are none: packets of other groups find
    /// none of the flow's entries.
    pub fn keys(&self, app: &mut A, number: u32) -> Option<heapless::Vec<[u64; 5], MAX_KEYS>> {
        let group = self.group(number)?.words();
        let mut keys = heapless::Vec::new();
        if const { A::GROUPED } {
            return Some(keys);
        }
        let mut fits = true;
        each_travelling(app, &mut |_, table| {
            if table.key_type() != TypeId::of::<A::Group>() {
                return;
            }
            table.each_key(number, &mut |words| {
                if *words != group && !keys.contains(words) {
                    fits &= keys.push(*words).is_ok();
                }
            });
        });
        fits.then_some(keys)
    }
}
