//! The flow of each entry, and the entries of each flow, as a list linked by entry numbers.
//!
//! Independent of the entries' type, so that one copy serves all tables.

use super::super::memory::{Arena, bytes_for};
use super::super::{Memory, NO_FLOW, OutOfMemory};
use super::entry::{InFlow, Links, NONE};
use crate::prefetch::prefetch;

/// The flows of a table's entries.
#[derive(Debug)]
pub(in crate::state) struct ByFlow {
    /// Per flow, its first entry as number + 1; empty until flows are attached.
    heads: &'static mut [u32],
    /// Per entry, its flow; empty until flows are attached.
    places: Arena<InFlow>,
    /// Number of entries without a flow.
    pub(in crate::state) strays: u32,
    /// Entries joined flows since the last call of [`Self::take_joined`].
    joined: bool,
}

impl ByFlow {
    /// No flows attached.
    pub(in crate::state) fn unknown() -> Self {
        Self { heads: &mut [], places: Arena::empty(), strays: 0, joined: false }
    }

    /// Bytes of [`Memory`] for this many flows and entries.
    pub(in crate::state) const fn bytes(flows: u32, entries: usize) -> usize {
        bytes_for::<u32>(flows as usize) + Arena::<InFlow>::bytes(entries)
    }

    /// Allocates space for this many flows and entries. `made` entries exist already, all without a
    /// flow.
    #[inline(never)]
    pub(in crate::state) fn attach(
        &mut self,
        memory: &mut Memory,
        flows: u32,
        entries: usize,
        made: usize,
    ) -> Result<(), OutOfMemory> {
        self.heads = memory.take_u32(flows as usize)?;
        self.places = Arena::create(memory, entries)?;
        while self.places.len() < made && self.places.push(InFlow::LOOSE).is_ok() {}
        Ok(())
    }

    /// Adds an entry without a flow.
    pub(in crate::state) fn add(&mut self) {
        // Fails while no flows are attached, which is fine.
        let _ = self.places.push(InFlow::LOOSE);
    }

    /// Prefetches the flow number of this entry, if it exists.
    #[inline(always)]
    pub(in crate::state) fn prefetch_flow(&self, number: u32) {
        if let Some(place) = self.places.get(number) {
            prefetch(place);
        }
    }

    /// The flow of this entry. Prefetches the head of the flow's entry list.
    #[inline(always)]
    pub(in crate::state) fn flow_ahead(&self, number: u32) -> Option<u32> {
        let flow = self.places.get(number)?.flow;
        // `None` for `NO_FLOW`.
        prefetch(self.heads.get(flow as usize)?);
        Some(flow)
    }

    /// Prefetches the place of this entry, existing or not.
    #[inline(always)]
    pub(in crate::state) fn prefetch(&self, number: u32) {
        self.places.prefetch(number);
    }

    /// The flow of an entry, or [`NO_FLOW`]. `None` if the entry does not exist, or no flows are
    /// attached.
    #[inline]
    pub(in crate::state) fn flow_of(&self, number: u32) -> Option<u32> {
        self.places.get(number).map(|place| place.flow)
    }

    /// The first entry of a flow, or [`NONE`].
    pub(in crate::state) fn first(&self, flow: u32) -> u32 {
        self.heads.get(flow as usize).map_or(NONE, |head| head.wrapping_sub(1))
    }

    /// The next entry of the same flow, or [`NONE`] after the last.
    pub(in crate::state) fn next(&self, number: u32) -> u32 {
        self.places.get(number).map_or(NONE, |place| place.links.next)
    }

    fn set_first(&mut self, flow: u32, number: u32) {
        if let Some(head) = self.heads.get_mut(flow as usize) {
            *head = number.wrapping_add(1);
        }
    }

    /// Links an entry into its flow's list; an unknown flow counts as [`NO_FLOW`].
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(in crate::state) fn join(&mut self, number: u32, flow: u32) {
        if self.heads.is_empty() {
            return;
        }
        let flow = if (flow as usize) < self.heads.len() { flow } else { NO_FLOW };
        self.strays += u32::from(flow == NO_FLOW);
        self.joined |= flow != NO_FLOW;
        let next = self.first(flow);
        if let Some(place) = self.places.get_mut(number) {
            *place = InFlow { flow, links: Links { previous: NONE, next } };
        }
        if let Some(behind) = self.places.get_mut(next) {
            behind.links.previous = number;
        }
        self.set_first(flow, number);
    }

    /// Whether entries joined flows since the last call.
    #[inline(always)]
    pub(in crate::state) const fn take_joined(&mut self) -> bool {
        core::mem::replace(&mut self.joined, false)
    }

    /// Unlinks an entry from its flow's list.
    #[cfg_attr(not(target_arch = "x86_64"), inline(never))]
    pub(in crate::state) fn leave(&mut self, number: u32) {
        let Some(place) = self.places.get_mut(number) else { return };
        let InFlow { flow, links } = core::mem::replace(place, InFlow::LOOSE);
        self.strays -= u32::from(flow == NO_FLOW);
        match self.places.get_mut(links.previous) {
            Some(previous) => previous.links.next = links.next,
            None => self.set_first(flow, links.next),
        }
        if let Some(next) = self.places.get_mut(links.next) {
            next.links.previous = links.previous;
        }
    }
}
