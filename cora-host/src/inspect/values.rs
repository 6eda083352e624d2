//! Values of states without keys, and the way of a made packet on those of its shard.

use std::collections::BTreeMap;
use std::ops::Range;

use cora_core::app::App;
use cora_core::state::Place;
use cora_runtime::link::message::{Answer, Questions};

use crate::ingress::door::{Door, Services};
use crate::ingress::versions::Version;
use crate::inspect::entries::Pieces;
use crate::inspect::inspector::Thread;
use crate::inspect::question::TraceRequest;
use crate::inspect::row::Answered;
use crate::inspect::tracing::{TRACE, Values, frame_of, made};

impl<A: App> Thread<A> {
    /// Puts the version in force that the run has.
    pub(super) fn configure(&mut self, version: Option<&Version>) -> Result<Services, String> {
        let rehearsal = self.rehearsal()?;
        let version = version.ok_or("the run has no version of its configuration")?;
        rehearsal.configure(version).map_err(|error| error.to_string())
    }

    /// Asks these shards for the values that a rehearsal copies.
    pub(super) fn values(&mut self, shards: Range<u16>) -> Result<Values, String> {
        let states = self.rehearsal()?.valued();
        self.values_of(states.into_iter(), shards)
    }

    /// Asks these shards for the values of these states.
    fn values_of(
        &mut self,
        states: impl Iterator<Item = u16>,
        shards: Range<u16>,
    ) -> Result<Values, String> {
        let mut all = Values::new();
        for state in states {
            let place = A::PLACES.get(usize::from(state)).map(|(_, place)| *place);
            for shard in shards.clone() {
                for at_nic in [true, false] {
                    let has_it = match place {
                        Some(place) if place.is_of_host() => !at_nic,
                        Some(Place::Nic) => at_nic,
                        _ => true,
                    };
                    if has_it {
                        let mut lost = false;
                        let pieces = all.entry((shard, at_nic)).or_default();
                        let question = Questions::Export { at_nic: at_nic.into(), state };
                        self.ask(shard, question, &mut |told| match told {
                            Questions::Exported { state, piece } => {
                                pieces.push((state, piece.to_vec()));
                            }
                            Questions::Answered { answer: Answer::NicGone } => lost = true,
                            _ => {}
                        })?;
                        if lost {
                            return Err("the NIC half was lost meanwhile: ask again".into());
                        }
                    }
                }
            }
        }
        Ok(all)
    }

    /// Asks a shard.
    pub(super) fn ask(
        &mut self,
        shard: u16,
        question: Questions<'_>,
        each: &mut dyn FnMut(Questions<'_>),
    ) -> Result<(), String> {
        let caller = self.callers.get_mut(usize::from(shard)).ok_or("there is no such shard")?;
        caller.ask(&self.run.lines, question, each)
    }

    /// The way that a made packet would have.
    pub(super) fn made(
        &mut self,
        request: &TraceRequest,
        version: Option<&Version>,
    ) -> Result<Answered, String> {
        let (stamp, frame) = frame_of(request, self.run.clock.now())?;
        let services = self.configure(version)?;
        let mut door = Door::new(self.run.seed, self.run.deal, &services);
        let (shard, stamp) = door.steer::<A>(stamp, &mut frame.clone());
        let shard = shard as u16;
        let mut entries = [Pieces::new(), Pieces::new()];
        for (at_nic, pieces) in [1, 0].into_iter().zip(&mut entries) {
            let question = Questions::Find { at_nic, stamp, frame: &frame };
            self.ask(shard, question, &mut |told| {
                if let Questions::Listed { state, piece, .. } = told {
                    pieces.push((state, piece.to_vec()));
                }
            })?;
        }
        let values = self.values(shard..shard + 1)?;
        let packet = made(self.rehearsal()?, (shard, stamp), &frame, entries, &values);
        Ok(Answered::Traced { schema: TRACE, packets: vec![packet], missed: 0, passed_by: 0 })
    }

    /// The values that take at most so many bytes, all shards and sides together.
    pub(super) fn told_values(&mut self, most: usize) -> Result<Answered, String> {
        let (told, left_out) = self.rehearsal()?.told(most);
        let mut values = BTreeMap::new();
        for state in told {
            let all = self.values_of([state].into_iter(), 0..self.run.shards)?;
            let deal = self.run.deal;
            let rehearsal = self.rehearsal()?;
            let mut pieces = Vec::new();
            for ((shard, _), of_side) in all {
                for (state, piece) in of_side {
                    if rehearsal.is_of_shard(state, &piece, shard, &deal) {
                        pieces.push(piece);
                    }
                }
            }
            let name = A::PLACES.get(usize::from(state)).map_or("", |(name, _)| *name);
            values.insert(name, rehearsal.value(state, &pieces));
        }
        Ok(Answered::Values { schema: "cora-values/1", values, left_out })
    }
}
