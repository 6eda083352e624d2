//! The supervisor passes on what the dealer and the shards tell each other.

use cora_switch::dealer::{Lied, Passed};

use crate::RunError;
use crate::ingress::capture::Cable;
use crate::process::log::{self, Part};
use crate::supervisor::dealer::Dealer;
use crate::supervisor::{Shard, Supervisor};

impl<C: Cable> Supervisor<'_, C> {
    /// Passes on what the shards said, and goes on with moves. Returns whether there was anything.
    pub(super) fn deal(&mut self) -> Result<bool, RunError> {
        let Self { shards, dealer: Some(dealer), .. } = self else { return Ok(false) };
        let mut any = false;
        for number in 0..shards.len() {
            any |= !shards[number].wire.said.is_empty();
            for lied in pass_on(dealer, shards, number) {
                shards[number].lied_about_buckets(&lied)?;
            }
        }
        dealer.step(&mut |shard, record| {
            any = true;
            shards[shard].wire.place(record);
        });
        Ok(any)
    }

    /// The dealer looks how full the queues of all shards are. At the end no bucket moves any more.
    pub(super) fn look_at_queues(&mut self) {
        let Self { shards, dealer: Some(dealer), intake, .. } = self else { return };
        dealer.tell_moves();
        if intake.ended().is_some() {
            return;
        }
        dealer.look(shards.iter_mut().map(Shard::fill::<C>).enumerate());
    }

    /// Has the host halves get all buckets, for a successor that begins with what they keep.
    /// Returns whether they have them.
    pub(crate) fn gather(&mut self) -> bool {
        self.dealer.as_mut().is_none_or(Dealer::gather)
    }

    /// Whether no bucket moves, so that the wire may end.
    pub(super) fn is_dealt(&self) -> bool {
        self.dealer.as_ref().is_none_or(Dealer::is_quiet)
    }

    /// Tells halves that were started again of their buckets, in front of all packets.
    pub(super) fn tell_new_halves(&mut self) {
        let Self { shards, dealer: Some(dealer), .. } = self else { return };
        for number in 0..shards.len() {
            if !shards[number].entrance_is_new() {
                continue;
            }
            // What the half before said is taken before the dealer knows of the new one, which
            // must not be blamed for it.
            for lied in pass_on(dealer, shards, number) {
                log::warn(
                    Part::Moves,
                    format_args!("shard {number}, before it was started again: {lied}"),
                );
            }
            let mut first = Vec::new();
            dealer.restarted(number, &mut |shard, record| {
                if shard == number {
                    first.push(record);
                } else {
                    shards[shard].wire.place(record);
                }
            });
            let wire = &mut shards[number].wire;
            wire.keep_unread(|meta, bytes| dealer.takes_again(number, meta, bytes));
            wire.deal_anew(first);
        }
    }
}

/// Passes on what a shard said so far. Returns what makes no sense of it, which is left out.
fn pass_on(dealer: &mut Dealer, shards: &mut [Shard<'_>], number: usize) -> Vec<Lied> {
    let mut lies = Vec::new();
    for record in std::mem::take(&mut shards[number].wire.said) {
        match dealer.said(number, record) {
            Ok(Passed::Done) => {}
            Ok(Passed::Record(to, record)) => shards[to.number()].wire.place(record),
            Ok(Passed::Packet(to, stamp, frame)) => {
                shards[to.number()].wire.pass_on(stamp, &frame);
            }
            Err(lied) => lies.push(lied),
        }
    }
    lies
}

impl Shard<'_> {
    /// Ends a NIC half that said what makes no sense. A host half is trusted: its record is left
    /// out.
    fn lied_about_buckets(&mut self, lied: &Lied) -> Result<(), RunError> {
        log::warn(Part::Moves, format_args!("shard {}: {lied}", self.number));
        if self.has_nic() {
            self.nic_broke_protocol("said of its buckets what makes no sense")?;
        }
        Ok(())
    }
}
