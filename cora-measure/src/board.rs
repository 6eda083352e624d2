//! The exchange of merges between shards in memory, as the hosts of a run make it: each publishes
//! its part of an epoch, and adds those of the others.

use std::sync::{Arc, Mutex, PoisonError};

use cora_core::app::App;
use cora_host::RunError;
use cora_runtime::host_half::{HostHalf, HostOutbox};

/// Pieces of a shard's states, each with the number of its state.
type Part = Vec<(u16, Vec<u8>)>;

/// A shard's parts of its last two epochs, by the end of the epoch: the others may be one behind.
type Places = [(u64, Arc<Part>); 2];

/// The parts of all shards.
#[derive(Debug)]
pub(crate) struct Board(Vec<Mutex<Places>>);

/// One shard's end of the exchange.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    board: &'a Board,
    shard: usize,
    /// The shards whose parts lack for the current epoch.
    lacks: Vec<usize>,
}

impl Board {
    pub(crate) fn new(shards: usize) -> Self {
        Self((0..shards).map(|_| Mutex::default()).collect())
    }

    /// Returns the end of the shard with this number.
    pub(crate) const fn exchange(&self, shard: usize) -> Exchange<'_> {
        Exchange { board: self, shard, lacks: Vec::new() }
    }

    fn places(&self, shard: usize) -> Places {
        let places = self.0[shard].lock().unwrap_or_else(PoisonError::into_inner);
        places.clone()
    }
}

impl Exchange<'_> {
    /// Publishes this shard's part if an epoch has begun, and takes those of the others that are
    /// there. It waits for none: packets of an epoch that nobody told do not.
    ///
    /// # Errors
    /// If the half refuses a part.
    #[inline]
    pub(crate) fn step<A: App>(
        &mut self,
        half: &mut HostHalf<A>,
        out: &mut impl HostOutbox,
    ) -> Result<(), RunError> {
        if let Some(ends) = half.epoch_to_tell() {
            self.publish(half, ends);
        }
        match half.epoch_to_collect() {
            Some(ends) => self.collect(half, ends, out),
            None => Ok(()),
        }
    }

    fn publish<A: App>(&mut self, half: &mut HostHalf<A>, ends: u64) {
        let mut part = Part::new();
        half.tell_part(&mut |state, piece| part.push((state, piece.to_vec())));
        let mut places = self.board.0[self.shard].lock().unwrap_or_else(PoisonError::into_inner);
        let [older, newer] = &mut *places;
        *older = std::mem::replace(newer, (ends, Arc::new(part)));
        self.lacks = (0..self.board.0.len()).filter(|shard| *shard != self.shard).collect();
    }

    fn collect<A: App>(
        &mut self,
        half: &mut HostHalf<A>,
        ends: u64,
        out: &mut impl HostOutbox,
    ) -> Result<(), RunError> {
        let mut still = Vec::new();
        for shard in std::mem::take(&mut self.lacks) {
            let places = self.board.places(shard);
            match places.iter().find(|(of, _)| *of == ends) {
                Some((_, part)) => {
                    for (state, piece) in part.iter() {
                        half.take_part(*state, piece, out)?;
                    }
                }
                // A shard that is in a later epoch had no packet in this one.
                None if places[1].0 > ends => {}
                None => still.push(shard),
            }
        }
        self.lacks = still;
        if self.lacks.is_empty() {
            half.has_all_parts(out);
        }
        Ok(())
    }
}
