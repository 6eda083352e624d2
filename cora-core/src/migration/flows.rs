//! Records of the flows that a side owns or is about to, and which of them a packet belongs to.
//!
//! A flow is found by its group key in either direction (both are the same flow, even where no state
//! has a reply key), or by any key that finds one of its entries: a NAT's replies carry a key of their
//! own. A record's number is what entries of the flow's are linked to.

use core::any::TypeId;

use super::ProtocolError;
use crate::app::App;
use crate::key::Key;
use crate::message::MAX_KEYS;
use crate::plain::{Describe, Plain};
use crate::state::table::Travelling;
use crate::state::table::raw::{RawTable, Shape};
use crate::state::table::travelling::ImportError;
use crate::state::{MAX_PIECE, Memory, NO_FLOW, OutOfMemory, Place, Visit};

/// Flows without entries that a side can know, when no state travels.
const STATELESS_FLOWS: u32 = 65_536;
/// How long a flow without packets is known, when no state travels (ns).
const STATELESS_IDLE: u64 = 60_000_000_000;

/// Where a flow stands between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// This side owns it.
    Owned,
    /// It is offered: at the host it is still owned, at the NIC its packets are held.
    Offered,
    /// At the NIC: it goes back to the host, but packets of it still wait in the queue, and what
    /// comes in now must stay behind them.
    Leaving,
}

/// What a side knows of a flow.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Where it stands.
    pub stage: Stage,
    /// The ticket it is offered under.
    pub ticket: u32,
    /// How often it punted.
    pub punts: u32,
    /// At the host: its packets since it came. At the NIC: not counted.
    pub packets: u32,
    /// At the NIC: the number behind the last of its packets in the queue.
    pub queued_until: u64,
}

impl Record {
    /// A flow that this side owns.
    pub const OWNED: Self =
        Self { stage: Stage::Owned, ticket: 0, punts: 0, packets: 0, queued_until: 0 };
}

/// Records live in a table, which asks for plain values; they never leave this side.
impl Plain for Record {
    const SIZE: usize = 0;
    fn put(&self, _: &mut [u8]) {}
    fn get(_: &[u8]) -> Option<Self> {
        Some(Self::OWNED)
    }
    fn describe(&self, _: &mut dyn Describe) {}
}

/// The flows that this side knows.
#[derive(Debug)]
pub struct Flows<A: App> {
    records: RawTable<A::Group, Record>,
    /// How long a flow without packets is known (ns).
    idle: u64,
}

/// The tables whose entries travel, with their state numbers.
fn each_travelling<A: App>(app: &mut A, visit: &mut dyn FnMut(u16, &mut dyn Travelling)) {
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
            return Shape { capacity: STATELESS_FLOWS, idle: STATELESS_IDLE, reply: false };
        }
        // A record outlives the flow's last entry, so that an entry never hangs at a number that
        // another flow was given.
        Shape { capacity, idle: idle.saturating_mul(2), reply: false }
    }

    /// Bytes of [`Memory`] that [`Self::create`] takes.
    pub fn bytes(app: &mut A) -> usize {
        let shape = Self::shape(app);
        let mut tables = 0;
        each_travelling(app, &mut |_, _| tables += 1);
        let heads = (shape.capacity as usize * 4).next_multiple_of(64);
        RawTable::<A::Group, Record>::bytes(shape) + tables * heads
    }

    /// Makes room to know flows, and lets the tables know their entries by them.
    pub fn create(memory: &mut Memory, app: &mut A) -> Result<Self, OutOfMemory> {
        let shape = Self::shape(app);
        let mut attached = Ok(());
        each_travelling(app, &mut |_, table| {
            if attached.is_ok() {
                attached = table.attach(memory, shape.capacity);
            }
        });
        attached?;
        Ok(Self { records: RawTable::create(memory, shape)?, idle: shape.idle })
    }

    /// Flows known.
    pub const fn len(&self) -> u32 {
        self.records.len()
    }

    /// Whether none is known.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A packet of this time is next, and none older than `horizon` will come.
    #[inline]
    pub fn begin(&mut self, now: u64, horizon: u64) {
        self.records.begin(Visit { now, horizon, undo: false, flow: NO_FLOW });
    }

    /// The flow that a packet with this group key belongs to. A flow that had no packet for long is
    /// forgotten, unless packets of it still wait: `left` is how many packets ever left the queue.
    #[inline]
    pub fn find(&mut self, app: &mut A, group: &A::Group, now: u64, left: u64) -> Option<u32> {
        let words = group.words();
        let number = self
            .records
            .number_of(&words)
            .or_else(|| Self::find_by_entry(app, &words))
            .or_else(|| self.records.number_of(&group.reply()?.words()))?;
        let record = self.records.entry(number)?;
        let recent = now.saturating_sub(record.used.get()) < self.idle;
        if !recent && record.value.queued_until <= left {
            return None;
        }
        record.used.set(now.max(record.used.get()));
        Some(number)
    }

    /// A packet of the flow was seen.
    pub fn touch(&mut self, number: u32, now: u64) {
        if let Some(record) = self.records.entry(number) {
            record.used.set(now.max(record.used.get()));
        }
    }

    /// Whether a flow had no packet for so long that it is forgotten.
    pub fn is_forgotten(&self, number: u32, now: u64) -> bool {
        self.records.entry(number).is_none_or(|record| now.saturating_sub(record.used.get()) >= self.idle)
    }

    fn find_by_entry(app: &mut A, words: &[u64; 5]) -> Option<u32> {
        let mut found = None;
        each_travelling(app, &mut |_, table| {
            if found.is_none() && table.key_type() == TypeId::of::<A::Group>() {
                found = table.flow_of(words);
            }
        });
        found
    }

    /// The number that a new flow with this group key gets next, with nothing linked to it.
    pub fn reserve(&mut self, app: &mut A, group: &A::Group) -> Option<u32> {
        // Frees a forgotten record of the same flow, whose number may then be the next.
        for key in [Some(*group), group.reply()].into_iter().flatten() {
            if let Some(number) = self.records.number_of(&key.words()) {
                self.remove(app, number);
            }
        }
        let number = self.records.next_number()?;
        // A record that expired may have left entries behind; they expired before it did.
        each_travelling(app, &mut |_, table| table.remove_flow(number));
        Some(number)
    }

    /// Makes a record; it gets the number that [`Self::reserve`] told.
    pub fn add(&mut self, group: A::Group, record: Record) -> Option<u32> {
        let number = self.records.next_number()?;
        self.records.insert(group, None, record).ok()?;
        Some(number)
    }

    /// After a run: a flow that has entries has a record, one that has none has none (unless no state
    /// travels at all). Gives the number of the record there is.
    pub fn settle(&mut self, app: &mut A, number: u32, group: &A::Group) -> Option<u32> {
        let keep = A::PLAN.stateless_flows || Self::has_entries(app, number);
        match (self.records.entry(number).is_some(), keep) {
            (true, true) => Some(number),
            (false, true) => self.add(*group, Record::OWNED),
            (true, false) => {
                self.remove(app, number);
                None
            }
            (false, false) => None,
        }
    }

    /// Whether the flow has entries here.
    pub fn has_entries(app: &mut A, number: u32) -> bool {
        let mut any = false;
        each_travelling(app, &mut |_, table| any |= table.has_entries(number));
        any
    }

    /// The record with this number.
    #[inline]
    pub fn record(&mut self, number: u32) -> Option<&mut Record> {
        self.records.entry_mut(number).map(|entry| &mut entry.value)
    }

    /// The group key of the record with this number.
    #[inline]
    pub fn group(&self, number: u32) -> Option<A::Group> {
        self.records.entry(number).map(|entry| entry.key)
    }

    /// Takes the flow's entries out.
    pub fn remove_entries(app: &mut A, number: u32) {
        each_travelling(app, &mut |_, table| table.remove_flow(number));
    }

    /// Takes the flow out, its entries too.
    pub fn remove(&mut self, app: &mut A, number: u32) {
        Self::remove_entries(app, number);
        self.records.release_number(number);
    }

    /// Hands out the flow's entries, each with its state's number.
    pub fn export(app: &mut A, number: u32, piece: &mut dyn FnMut(u16, &[u8])) {
        each_travelling(app, &mut |state, table| {
            table.export_flow(number, &mut |bytes| piece(state, bytes));
        });
    }

    /// How many entries [`Self::export`] hands out.
    pub fn entries(app: &mut A, number: u32) -> u32 {
        let mut count = 0;
        Self::export(app, number, &mut |_, _| count += 1);
        count
    }

    /// Installs an entry of the flow. `Ok(false)`: there is no room for it here.
    pub fn import(app: &mut A, state: u16, bytes: &[u8], number: u32) -> Result<bool, ProtocolError> {
        let bad = ProtocolError::BadPiece(state);
        if usize::from(state) >= A::STATES || bytes.len() > MAX_PIECE {
            return Err(bad);
        }
        let table = app.state(usize::from(state)).as_travelling().ok_or(bad)?;
        match table.import_entry(bytes, number) {
            Ok(()) => Ok(true),
            Err(ImportError::Refused(_)) => Ok(false),
            Err(ImportError::Malformed(_)) => Err(bad),
        }
    }

    /// The keys by which packets of the flow are known, the group key aside; `None` when there are
    /// more than an offer can announce.
    pub fn keys(&self, app: &mut A, number: u32) -> Option<heapless::Vec<[u64; 5], MAX_KEYS>> {
        let group = self.group(number)?.words();
        let mut keys = heapless::Vec::new();
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
