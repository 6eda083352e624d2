//! The exchange of merges between the hosts of several shards, over their [`Board`].

use cora_core::app::App;
use cora_runtime::host_half::{HostHalf, HostOutbox};

use crate::node::board::{Board, Part, Seen};
use crate::process::log::{self, Part as LogPart};

/// One shard's end of the exchange.
#[derive(Debug)]
pub struct Exchange {
    board: Board,
    shard: u16,
    shards: u16,
    /// The shards whose parts lack for the current epoch.
    lacks: Vec<u16>,
}

impl Exchange {
    /// The end of this shard, of so many.
    pub const fn new(board: Board, shard: u16, shards: u16) -> Self {
        Self { board, shard, shards, lacks: Vec::new() }
    }

    /// Publishes this shard's part, and takes those of the others that are there. Returns whether
    /// there was anything.
    pub fn step<A: App>(&mut self, half: &mut HostHalf<A>, out: &mut impl HostOutbox) -> bool {
        let mut anything = false;
        if let Some(ends) = half.epoch_to_tell() {
            self.board.publish(self.shard, ends, |piece| half.tell_part(piece));
            self.lacks = (0..self.shards).filter(|shard| *shard != self.shard).collect();
            anything = true;
        }
        let Some(ends) = half.epoch_to_collect() else { return anything };
        let Self { board, lacks, .. } = self;
        lacks.retain(|shard| match board.part(*shard, ends) {
            Seen::NotYet => true,
            Seen::Nothing => {
                anything = true;
                false
            }
            Seen::Part(part) => {
                take(half, *shard, &part, out);
                anything = true;
                false
            }
        });
        if lacks.is_empty() {
            half.has_all_parts(out);
            anything = true;
        }
        anything
    }

    /// The shard publishes nothing more.
    pub(crate) fn leave(&self) {
        self.board.leave(self.shard);
    }
}

/// Adds the part of another shard, as far as it is sound.
fn take<A: App>(half: &mut HostHalf<A>, shard: u16, part: &Part, out: &mut impl HostOutbox) {
    for (state, piece) in part {
        if let Err(error) = half.take_part(*state, piece, out) {
            log::error(
                LogPart::Host,
                format_args!("a part of a merge from shard {shard} is left out: {error}"),
            );
            return;
        }
    }
}
