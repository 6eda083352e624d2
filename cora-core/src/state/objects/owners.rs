//! The flows that have objects: by the words of their keys, and by number.

use super::super::memory::{Arena, bytes_for};
use super::super::{Memory, OutOfMemory};
use super::blocks::NOWHERE;
use crate::hash::FlowHasher;

/// A flow with objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    /// The flow's key.
    pub(super) words: [u64; 5],
    /// When a handler last took the state for the flow (ns of packet time).
    pub(super) used: u64,
    /// Stands in the flow's ids: those of other flows have another one.
    pub(super) tag: u32,
    /// The number of the flow's next object.
    pub(super) next: u32,
    /// The flow's objects, in the order of their insertion.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) objects: u32,
    /// The next flow in the chain of the index, or the next free number.
    chain: u32,
    /// Bytes of all objects when they travel.
    pub(super) stream: u64,
    alive: bool,
}

/// The flows with objects.
#[derive(Debug)]
pub(super) struct Owners {
    all: Arena<Owner>,
    /// The first owner of each chain, as number + 1.
    index: &'static mut [u32],
    hasher: FlowHasher,
    alive: u32,
    free: u32,
    /// The first flow that ended, and has objects left.
    ended: u32,
}

impl Owners {
    const fn chains(most: usize) -> usize {
        most.next_power_of_two()
    }

    /// Bytes of [`Memory`] for so many flows.
    pub(super) const fn bytes(most: usize) -> usize {
        Arena::<Owner>::bytes(most) + bytes_for::<u32>(Self::chains(most))
    }

    pub(super) fn create(memory: &mut Memory, most: usize) -> Result<Self, OutOfMemory> {
        let hasher = FlowHasher::new(memory.seed());
        let all = Arena::create(memory, most)?;
        let index = memory.take_u32(Self::chains(most))?;
        Ok(Self { all, index, hasher, alive: 0, free: NOWHERE, ended: NOWHERE })
    }

    /// Number of flows with objects.
    pub(super) const fn len(&self) -> u32 {
        self.alive
    }

    /// Numbers given so far.
    pub(super) const fn made(&self) -> u32 {
        self.all.len() as u32
    }

    /// Most flows.
    pub(super) const fn capacity(&self) -> usize {
        self.all.capacity()
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<&Owner> {
        self.all.get(number).filter(|owner| owner.alive)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Owner> {
        self.all.get_mut(number).filter(|owner| owner.alive)
    }

    /// The same, if it ended and has objects left.
    #[inline]
    pub(super) fn place_mut(&mut self, number: u32) -> Option<&mut Owner> {
        self.all.get_mut(number)
    }

    fn chain_of(&self, words: &[u64; 5]) -> usize {
        self.hasher.hash(words) as usize & (self.index.len() - 1)
    }

    /// The flow with this key.
    #[inline]
    pub(super) fn find(&self, words: &[u64; 5]) -> Option<u32> {
        let mut number = self.index.get(self.chain_of(words))?.wrapping_sub(1);
        while let Some(owner) = self.all.get(number) {
            if owner.words == *words {
                return Some(number);
            }
            number = owner.chain;
        }
        None
    }

    /// Adds a flow. `None`: there is no room.
    pub(super) fn add(&mut self, words: [u64; 5], used: u64, tag: u32, next: u32) -> Option<u32> {
        let chain = self.chain_of(&words);
        let owner = Owner {
            words,
            used,
            tag,
            next,
            first: NOWHERE,
            last: NOWHERE,
            objects: 0,
            chain: self.index[chain].wrapping_sub(1),
            stream: 0,
            alive: true,
        };
        let number = if let Some(place) = self.all.get_mut(self.free) {
            let number = core::mem::replace(&mut self.free, place.chain);
            *place = owner;
            number
        } else {
            self.all.push(owner).ok()?
        };
        self.index[chain] = number + 1;
        self.alive += 1;
        Some(number)
    }

    /// Ends a flow: no key finds it. Its objects are still there.
    pub(super) fn end(&mut self, number: u32) {
        let Some(Owner { words, chain: next, .. }) = self.get(number).copied() else { return };
        let chain = self.chain_of(&words);
        let mut at = self.index[chain].wrapping_sub(1);
        if at == number {
            self.index[chain] = next.wrapping_add(1);
        }
        while let Some(owner) = self.all.get_mut(at) {
            at = owner.chain;
            if at == number {
                owner.chain = next;
                break;
            }
        }
        if let Some(owner) = self.all.get_mut(number) {
            owner.alive = false;
            owner.chain = core::mem::replace(&mut self.ended, number);
        }
        self.alive -= 1;
    }

    /// A flow that ended: its number, and its first object.
    #[inline]
    pub(super) fn ended(&self) -> Option<(u32, u32)> {
        Some((self.ended, self.all.get(self.ended)?.first))
    }

    /// [`Self::ended`] has no objects any more: its number is free.
    pub(super) fn give_back(&mut self) {
        let Some(owner) = self.all.get_mut(self.ended) else { return };
        let next = core::mem::replace(&mut owner.chain, self.free);
        self.free = core::mem::replace(&mut self.ended, next);
    }
}
