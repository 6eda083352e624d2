//! A table with undo and imports that can be made to fail.

use std::any::{Any, TypeId};
use std::cell::RefCell;

use cora_core::bucket::{Bucket, Mark};
use cora_core::key::{Key, PacketKey};
use cora_core::packet::Packet;
use cora_core::plain::Describe;
use cora_core::record::{FlowRecord, Recorded as _};
use cora_core::state::table::hooked::DELAY;
use cora_core::state::table::scope::{PacketScope, Scope};
use cora_core::state::table::transfer::ImportError;
use cora_core::state::table::{Durable, Ended, Ending, Hooked, InsertError, Travelling, Which};
use cora_core::state::{
    Announced, Described, Home, Keyed, Kind, Malformed, Memory, OutOfMemory, Stored, Table, Visit,
};

use super::Variant;
use crate::random::Random;

/// Times between packets, for entries with hooks. Mostly less than the time between an end and its
/// hook, so that this passes amid a transfer, and moves begin within it. Some end exactly at an
/// end, or at a hook.
pub const AROUND_HOOKS: &[u64] = &[
    0,
    1_000_000,
    40_000_000,
    40_000_000,
    90_000_000,
    90_000_000,
    200_000_000,
    249_999_999,
    250_000_000,
    400_000_000,
    650_000_000,
    DELAY - 1,
    DELAY,
    2 * DELAY - 1,
];

/// A table with planted faults.
#[derive(Debug)]
pub struct Wrapped<S: Keyed> {
    table: RefCell<Table<S>>,
    rolls_back: bool,
    keeps_apart: bool,
    refuses: Option<Random>,
}

impl<S: Keyed> Wrapped<S> {
    pub fn create<V: Variant>(memory: &mut Memory) -> Result<Self, OutOfMemory> {
        Ok(Self {
            table: RefCell::new(Table::create(memory)?),
            rolls_back: V::ROLLS_BACK,
            keeps_apart: V::KEEPS_APART,
            refuses: None,
        })
    }

    /// Refuses one in sixteen entries from the other side.
    pub fn refuse(&mut self, seed: u64) {
        self.refuses = Some(Random::new(seed));
    }

    /// The values of the entries here, and of those that wait for their hooks.
    pub fn held(&mut self) -> Vec<S> {
        let value = |piece: &[u8]| {
            S::get(&piece[piece.len() - S::SIZE..]).expect("an entry ends with its value")
        };
        let mut held = Vec::new();
        // At time 0 every entry is alive.
        self.export(0, &mut |piece| held.push(value(piece)));
        if let Some(hooked) = self.as_hooked() {
            hooked.each_expired(&mut |piece| held.push(value(piece)));
        }
        held
    }

    pub fn table(&mut self) -> &mut Table<S> {
        self.table.get_mut()
    }

    /// The end of the entry whose hook is next.
    pub fn next_end(&self) -> u64 {
        self.table.borrow().next_end()
    }

    /// No hook is due before this time (ns).
    pub fn next_hook(&self) -> u64 {
        self.table.borrow().next_hook()
    }

    /// The mark of the packets that this entry was of.
    pub fn ended_mark(&self) -> Mark {
        self.table.borrow().ended_mark()
    }

    /// Takes the entry whose hook is next.
    pub fn take_ended(&mut self) -> Option<Ended<S>> {
        self.table().take_ended()
    }

    fn travelling<T>(&self, act: impl FnOnce(&mut dyn Travelling) -> T) -> T {
        act(self.table.borrow_mut().as_travelling().expect("it is keyed"))
    }
}

impl<S: Keyed<Scope: Scope<S::Key, Group: PacketKey>>> Wrapped<S> {
    /// Enters the packet's group, as the build script generates it: by the declaration of the keys,
    /// `within` a named group, or by an address.
    pub fn enter_group<G: Key>(
        &mut self,
        packet: Option<&Packet<'_>>,
        group: Option<G>,
        within: bool,
    ) {
        if !self.keeps_apart {
            return;
        }
        if <S::Scope as Scope<S::Key>>::NAMED {
            let group = |packet| {
                <Table<S> as cora_core::state::table::KeyOf>::Group::of_packet(packet).ok()
            };
            self.table().enter_scope(packet.and_then(group));
        } else if within {
            self.table().enter_named(group.map(|group| group.words()));
        } else {
            self.table().enter(group.and_then(|group| group.group_address(false)));
        }
    }
}

impl<S: FlowRecord> Wrapped<S> {
    /// Reports the entries that ended since the last call.
    pub fn tell_ended(&mut self, tell: &mut dyn FnMut(Ending<'_>)) {
        self.table().tell_ended(tell);
    }
}

type Item<'a> = dyn FnMut(&[u8], &mut dyn FnMut(&mut dyn Describe)) + 'a;

impl<S: Keyed<Key: PacketKey, Scope: PacketScope<S::Key>>> Announced for Wrapped<S> {
    fn prefetch_index(&mut self, number: u8, packet: &Packet<'_>) {
        self.table().prefetch_index(number, packet);
    }
    fn prefetch_entry(&mut self, number: u8, packet: &Packet<'_>) -> bool {
        self.table().prefetch_entry(number, packet)
    }
}

impl<S: Keyed> Home for Wrapped<S> {
    fn kind(&self) -> Kind {
        Kind::Keyed
    }
    fn prefetch_owner(&self, number: u8) {
        self.table.borrow().prefetch_owner(number);
    }
    fn predicted_owner(&self, number: u8) -> Option<u32> {
        self.table.borrow().predicted_owner(number)
    }
    fn begin(&mut self, visit: Visit) {
        self.table().begin(visit);
    }
    fn enter_marked(&mut self, mark: Mark) {
        self.table().enter_marked(mark);
    }
    fn commit(&mut self, undo: bool) {
        self.table().commit(undo);
    }
    fn rollback(&mut self) {
        if self.rolls_back { self.table().rollback() } else { self.table().commit(true) }
    }
    fn export(&mut self, now: u64, piece: &mut dyn FnMut(&[u8])) {
        self.table().export(now, piece);
    }
    fn merge(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        self.table().merge(piece)
    }
    fn is_void(&self) -> bool {
        self.table.borrow().is_void()
    }
    fn as_travelling(&mut self) -> Option<&mut dyn Travelling> {
        Some(self)
    }
    fn entries(&self, now: u64) -> u64 {
        self.table.borrow().entries(now)
    }
}

impl<S: Keyed> Described for Wrapped<S> {
    fn describe(&self, now: u64, item: &mut Item<'_>) {
        self.table.borrow().describe(now, item);
    }
    fn import(&mut self, piece: &[u8], now: u64, item: &mut Item<'_>) -> Result<(), Malformed> {
        self.table().import(piece, now, item)
    }
}

impl<S: Keyed> Travelling for Wrapped<S> {
    fn attach(&mut self, memory: &mut Memory, flows: u32) -> Result<(), OutOfMemory> {
        self.travelling(|table| table.attach(memory, flows))
    }
    fn attached_bytes(&self, flows: u32) -> usize {
        self.travelling(|table| table.attached_bytes(flows))
    }
    fn capacity(&self) -> u32 {
        self.travelling(|table| table.capacity())
    }
    fn filled(&self) -> u32 {
        self.travelling(|table| table.filled())
    }
    fn idle(&self) -> u64 {
        self.travelling(|table| table.idle())
    }
    fn key_type(&self) -> TypeId {
        self.travelling(|table| table.key_type())
    }
    fn flow_of(&mut self, key: (&dyn Any, Option<Bucket>), now: u64, ahead: u8) -> Option<u32> {
        self.travelling(|table| table.flow_of(key, now, ahead))
    }
    fn look_back(&mut self, flow: u32) -> (bool, bool) {
        self.travelling(|table| table.look_back(flow))
    }
    fn each_key(&self, flow: u32, visit: &mut dyn FnMut(&[u64; 5])) {
        self.travelling(|table| table.each_key(flow, visit));
    }
    fn strays(&self) -> u32 {
        self.travelling(|table| table.strays())
    }
    fn count_flow(&self, flow: u32, now: u64) -> u32 {
        self.travelling(|table| table.count_flow(flow, now))
    }
    fn take_out(&mut self, flow: u32, now: u64, most: u32, piece: &mut dyn FnMut(&[u8])) -> u32 {
        self.travelling(|table| table.take_out(flow, now, most, piece))
    }
    fn prefetch_new(&self, key: &dyn Any) {
        self.travelling(|table| table.prefetch_new(key));
    }
    fn import_entry(&mut self, piece: &[u8], flow: u32, most: u32) -> Result<u64, ImportError> {
        if self.refuses.as_mut().is_some_and(|random| random.once_in(16)) {
            return Err(ImportError::Refused(InsertError::Full));
        }
        self.travelling(|table| table.import_entry(piece, flow, most))
    }
    fn take_back(&mut self, piece: &[u8], flow: u32) -> Result<u64, ImportError> {
        self.travelling(|table| table.take_back(piece, flow))
    }
    fn evicted(&self) -> u64 {
        self.travelling(|table| table.evicted())
    }
    fn expired(&self) -> u64 {
        self.travelling(|table| table.expired())
    }
    fn as_durable(&mut self) -> Option<&mut dyn Durable> {
        self.table.get_mut().as_travelling()?.as_durable()
    }
    fn as_hooked(&mut self) -> Option<&mut dyn Hooked> {
        self.table.get_mut().as_travelling()?.as_hooked()
    }
    fn remove_flow(&mut self, flow: u32) {
        self.travelling(|table| table.remove_flow(flow));
    }
    fn list(&self, which: Which, now: u64, visit: &mut dyn FnMut(u32, u32, &[u8])) -> Option<u32> {
        self.travelling(|table| table.list(which, now, visit))
    }
    fn remove_named(&mut self, name: &[u8]) -> Option<u32> {
        self.travelling(|table| table.remove_named(name))
    }
}
