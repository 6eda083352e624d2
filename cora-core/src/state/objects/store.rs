//! Objects by their owners and numbers: blocks, an index, and a list per owner.

use super::super::memory::bytes_for;
use super::super::{Memory, OutOfMemory};
use super::blocks::{BlockHead, Blocks, NOWHERE, Noted};
use super::classes::PAGE;
use super::owners::{Owner, Owners};
use crate::hash::FlowHasher;
use crate::plain::Plain;

/// Bytes of a page per chain of the index: two of the smallest objects.
const PER_CHAIN: usize = 128;

/// The objects of all flows at this side.
#[derive(Debug)]
pub(super) struct Store<T> {
    pub(super) blocks: Blocks<T>,
    pub(super) owners: Owners,
    /// The first object of each chain, as place + 1.
    index: &'static mut [u32],
    hasher: FlowHasher,
}

impl<T: Plain> Store<T> {
    /// Bytes of an object on its way to the other side, without those behind its head: its number,
    /// their number, and the head.
    pub(super) const TRAVELS: usize = 8 + T::SIZE;

    const fn chains(pages: usize) -> usize {
        (pages * (PAGE / PER_CHAIN)).next_power_of_two()
    }

    /// Bytes of [`Memory`].
    pub(super) const fn bytes(pages: usize, flows: usize) -> usize {
        Blocks::<T>::bytes(pages) + Owners::bytes(flows) + bytes_for::<u32>(Self::chains(pages))
    }

    pub(super) fn create(
        memory: &mut Memory,
        pages: usize,
        flows: usize,
    ) -> Result<Self, OutOfMemory> {
        let hasher = FlowHasher::new(memory.seed());
        let blocks = Blocks::create(memory, pages)?;
        let owners = Owners::create(memory, flows)?;
        Ok(Self { blocks, owners, index: memory.take_u32(Self::chains(pages))?, hasher })
    }

    #[inline]
    fn chain_of(&self, owner: u32, serial: u32) -> usize {
        self.hasher.hash_pair([owner.into(), serial.into()]) as usize & (self.index.len() - 1)
    }

    /// The place of an object.
    #[inline]
    pub(super) fn find(&self, owner: u32, serial: u32) -> Option<u32> {
        let mut place = self.index.get(self.chain_of(owner, serial))?.wrapping_sub(1);
        while place != NOWHERE {
            let head = self.blocks.head(place);
            if head.owner == owner && head.serial == serial {
                return Some(place);
            }
            place = head.chain;
        }
        None
    }

    /// Inserts an object, with zeroes behind its head. `None`: there is no room in so many pages.
    pub(super) fn insert(
        &mut self,
        (number, serial): (u32, u32),
        head: T,
        length: usize,
        most: u32,
    ) -> Option<u32> {
        let last = self.owners.get(number)?.last;
        let place = self.blocks.insert(head, length, most)?;
        let chain = self.chain_of(number, serial);
        let block = self.blocks.head_mut(place);
        (block.serial, block.owner, block.previous) = (serial, number, last);
        block.chain = self.index[chain].wrapping_sub(1);
        self.index[chain] = place + 1;
        if last != NOWHERE {
            self.blocks.head_mut(last).next = place;
        }
        if let Some(owner) = self.owners.get_mut(number) {
            if last == NOWHERE {
                owner.first = place;
            }
            owner.last = place;
            owner.objects += 1;
            owner.stream += (Self::TRAVELS + length) as u64;
        }
        Some(place)
    }

    /// Whatever refers to `from` in the chain of this object refers to `to`.
    fn chain_to(&mut self, (owner, serial): (u32, u32), from: u32, to: u32) {
        let chain = self.chain_of(owner, serial);
        let mut place = self.index[chain].wrapping_sub(1);
        if place == from {
            self.index[chain] = to.wrapping_add(1);
            return;
        }
        while place != NOWHERE {
            let head = self.blocks.head_mut(place);
            if head.chain == from {
                head.chain = to;
                return;
            }
            place = head.chain;
        }
    }

    /// Its neighbours in the owner's list are told to refer to these places.
    fn link(&mut self, block: &BlockHead, before: u32, after: u32) {
        if block.previous != NOWHERE {
            self.blocks.head_mut(block.previous).next = after;
        } else if let Some(owner) = self.owners.place_mut(block.owner) {
            owner.first = after;
        }
        if block.next != NOWHERE {
            self.blocks.head_mut(block.next).previous = before;
        } else if let Some(owner) = self.owners.place_mut(block.owner) {
            owner.last = before;
        }
    }

    /// Frees the object at this place. Another object may be there afterwards.
    pub(super) fn free(&mut self, place: u32) {
        let block = *self.blocks.head(place);
        self.chain_to((block.owner, block.serial), place, block.chain);
        self.link(&block, block.previous, block.next);
        if let Some(owner) = self.owners.place_mut(block.owner) {
            owner.objects -= 1;
            owner.stream -= (Self::TRAVELS + block.length as usize) as u64;
        }
        let Some(from) = self.blocks.release(place) else { return };
        let moved = *self.blocks.head(place);
        self.chain_to((moved.owner, moved.serial), from, place);
        self.link(&moved, place, place);
    }

    /// Frees objects of flows that ended, at most `most`. Returns whether none is left.
    pub(super) fn free_ended(&mut self, most: u32) -> bool {
        let mut left = most;
        while let Some((_, first)) = self.owners.ended() {
            if first == NOWHERE {
                self.owners.give_back();
            } else if left == 0 {
                return false;
            } else {
                left -= 1;
                self.free(first);
            }
        }
        true
    }

    /// Frees all objects of a flow.
    pub(super) fn free_all(&mut self, number: u32) {
        while let Some(Owner { first, .. }) = self.owners.get(number)
            && *first != NOWHERE
        {
            self.free(*first);
        }
    }

    /// Visits the places of a flow's objects, in the order of their insertion.
    pub(super) fn each(&self, number: u32, visit: &mut dyn FnMut(u32)) {
        let mut place = self.owners.get(number).map_or(NOWHERE, |owner| owner.first);
        while place != NOWHERE {
            visit(place);
            place = self.blocks.head(place).next;
        }
    }

    /// The place of an object that the current run has not removed.
    #[inline]
    pub(super) fn find_kept(&self, owner: u32, serial: u32) -> Option<u32> {
        self.find(owner, serial).filter(|place| self.blocks.head(*place).noted != Noted::Removed)
    }
}
