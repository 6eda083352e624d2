//! A run on a capture without a NIC: the host handles every packet, in this process.
//!
//! With several shards, each packet is steered to one of as many host halves, which share nothing.
//! One thread runs them in turn, so the output is in the order of the capture.

use std::time::Instant;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_core::state::commutative::epoch_end;
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Deal;

use crate::RunError;
use crate::ingress::capture::{Files, Packets, Sink, Source};
use crate::ingress::crossing::{Crossing, arrival};
use crate::ingress::door::{Door, Services};
use crate::ingress::versions::{self, Changes, Version};
use crate::memory::supply::Supply;
use crate::node::direct::{self, Direct};
use crate::node::half::half;
use crate::node::results::{account_of, each_piece};
use crate::node::running;
use crate::observe::account::{Ended, Piece};
use crate::observe::ipfix::Exporter;
use crate::observe::progress::Progress;
use crate::observe::report::RunReport;
use crate::options::Run;
use crate::run::capture;
use crate::run::finish::{Over, WireReport};
use crate::run::prepared::check;

/// The host halves, and what they export to.
struct Alone<A: App> {
    shards: Vec<Shard<A>>,
    door: Door,
    sink: Sink,
    /// The end of the current epoch of merges, with several shards.
    epoch_ends: u64,
    /// Messages for flows of other shards than the one that sent them.
    crossing: Crossing,
}

/// Writes a packet that leaves.
type Leave<'a> = &'a mut dyn FnMut(&Stamp, Port, &[u8]);

/// A host half without a NIC.
struct Shard<A: App> {
    half: HostHalf<A>,
    exporter: Option<Exporter>,
}

/// Runs the program on a capture.
pub(super) fn run<A: App>(run: &Run) -> Result<RunReport, RunError> {
    let options = &run.options;
    check::<A>(options, false)?;
    let (seed, mut source) = capture::open::<A>(run)?;
    Packets::of(&source).watch(options.slow_patience());
    let supply = Supply { seed, pages: options.pages, resident: false };
    let version = Version::first(1, &options.configurations)?;
    let deal = Deal::even(options.shards);
    let mut shards = Vec::new();
    for shard in 0..options.shards {
        let (mut half, _) = half::<A>((supply, None), &version, false)?;
        if options.shards > 1 {
            half.join_shards();
            // There are as many shards as there may be.
            let _ = A::MESSAGES && half.is_shard((shard, options.shards), seed);
            let own = deal.buckets_of(shard.into());
            half.engine().app().own_buckets(own);
        }
        let exporter = options.ipfix.as_ref();
        let exporter = exporter.map(|name| Exporter::open::<A>(name, shard, true));
        shards.push(Shard { half, exporter: exporter.transpose()? });
    }
    let (changes, services) = match shards.first_mut() {
        Some(first) => {
            let app = first.half.engine().app();
            let services = Services::of(app);
            (versions::changes(app, &version, &options.changes)?, services)
        }
        None => (Changes::new(), Services::default()),
    };
    let mut door = Door::new(seed, deal, &services);
    door.will_change(&changes);
    let sink = Sink::create(options.output.as_deref(), capture::input(run))?;
    let is_on = A::MESSAGES && options.shards > 1;
    let crossing = Crossing { is_on, ..Crossing::default() };
    let mut alone = Alone { shards, door, sink, epoch_ends: 0, crossing };
    let start = Instant::now();
    alone.handle(&mut source, changes)?;
    alone.sink.finish()?;
    let elapsed = start.elapsed();
    let Alone { shards, sink, .. } = alone;
    // One common time decides which entries have expired.
    let (now, writes) = (source.now(), options.state_out.is_some());
    let over = Over {
        options,
        seed,
        version: &version,
        deal: (deal, None),
        wire: WireReport::of(&Files::new(source, sink)),
        shards: shards.into_iter().map(|shard| shard.end(now, writes)).collect(),
        lives: None,
        elapsed,
    };
    Ok(over.report::<A>())
}

impl<A: App> Alone<A> {
    /// Handles all frames of the capture, in bursts.
    fn handle(&mut self, source: &mut Source, mut changes: Changes) -> Result<(), RunError> {
        let mut buffer = vec![0; BURST_BYTES];
        let mut progress = Progress::new();
        loop {
            source.stop_before = self.change_before(&mut changes, source.packets)?;
            let mut frames = BurstBuffer::new(&mut buffer);
            let mut bursts: Vec<_> = self.shards.iter().map(|_| Burst::new()).collect();
            let mut begins = None;
            while bursts.iter().all(|burst| !burst.is_full()) {
                let Some(room) = frames.room() else { break };
                let Some((stamp, length)) = source.next(room)? else { break };
                let (shard, stamp) = self.door.steer::<A>(stamp, &mut room[..length]);
                if A::TELLS_EPOCHS && self.shards.len() > 1 && stamp.meta.now >= self.epoch_ends {
                    let mut first = Burst::new();
                    first.push_roomy(stamp, frames.keep(length));
                    begins = Some((shard, epoch_end(stamp.meta.now), first));
                    break;
                }
                // There is space, by the loop's condition.
                bursts[shard].push_roomy(stamp, frames.keep(length));
            }
            if bursts.iter().all(Burst::is_empty) && begins.is_none() {
                if source.packets >= source.stop_before {
                    continue;
                }
                break;
            }
            self.bursts(bursts)?;
            if let Some((shard, ends, first)) = begins {
                self.epoch_begins(ends)?;
                let mut bursts: Vec<_> = self.shards.iter().map(|_| Burst::new()).collect();
                bursts[shard] = first;
                self.bursts(bursts)?;
            }
            progress.tell(source.packets, self.sink.packets);
        }
        self.change_before(&mut changes, u64::MAX)?;
        self.pass_time(source.now())
    }

    /// An epoch begins for all shards: each gets the parts of the others.
    fn epoch_begins(&mut self, ends: u64) -> Result<(), RunError> {
        self.epoch_ends = ends;
        self.at_all(|half, out| half.epoch_begins(ends, out))?;
        if !A::MERGED {
            return Ok(());
        }
        let mut parts = Vec::new();
        for (number, Shard { half, .. }) in self.shards.iter_mut().enumerate() {
            half.tell_part(&mut |state, piece| parts.push((number, state, piece.to_vec())));
        }
        for (number, Shard { half, exporter }) in self.shards.iter_mut().enumerate() {
            // Without a NIC nothing is sent.
            let leave = |_: &Stamp, _: Port, _: &[u8]| {};
            let mut out = Direct::new(leave).exporting(exporter.as_ref());
            for (_, state, piece) in parts.iter().filter(|(of, ..)| *of != number) {
                half.take_part(*state, piece, &mut out)?;
            }
            half.has_all_parts(&mut out);
        }
        Ok(())
    }

    /// The run ends at this time: runs the hooks and timers that are due by then, and writes what
    /// they send.
    fn pass_time(&mut self, now: u64) -> Result<(), RunError> {
        self.at_all(|half, out| half.pass_time(now, out))
    }

    /// Lets time pass at all host halves, and writes what their hooks and timers send.
    fn at_all(
        &mut self,
        mut pass: impl FnMut(&mut HostHalf<A>, &mut Direct<'_, Leave<'_>>),
    ) -> Result<(), RunError> {
        for Shard { half, exporter } in &mut self.shards {
            let (sink, crossing, mut written) = (&mut self.sink, &mut self.crossing, Ok(()));
            let mut leave = |stamp: &Stamp, egress: Port, frame: &[u8]| {
                let stamp = Stamp { egress, ..*stamp };
                if !crossing.takes(&stamp, frame) && written.is_ok() {
                    written = sink.write(&stamp, frame);
                }
            };
            let leave: Leave<'_> = &mut leave;
            pass(half, &mut Direct::new(leave).exporting(exporter.as_ref()));
            written?;
        }
        self.cross()
    }

    /// Messages for flows of other shards are handled there, with all that they bring about.
    fn cross(&mut self) -> Result<(), RunError> {
        while !self.crossing.leaving.is_empty() {
            for (stamp, mut frame) in std::mem::take(&mut self.crossing.leaving) {
                let stamp = arrival(&stamp, u64::MAX);
                let (to, stamp) = self.door.steer::<A>(stamp, &mut frame);
                let mut bursts: Vec<_> = self.shards.iter().map(|_| Burst::new()).collect();
                if let Some(burst) = bursts.get_mut(to) {
                    burst.push(stamp, &mut frame);
                }
                self.burst_at_each(bursts)?;
            }
        }
        Ok(())
    }

    /// Puts changes in force that are due before the packet with this number; returns the number of
    /// the next one. Numbers beyond the capture are due at its end.
    fn change_before(&mut self, changes: &mut Changes, packet: u64) -> Result<u64, RunError> {
        while let Some((_, change)) = changes.pop_front_if(|(number, _)| *number <= packet) {
            for shard in &mut self.shards {
                change.put_in_force(shard.half.engine().app())?;
            }
        }
        Ok(changes.front().map_or(u64::MAX, |(number, _)| *number))
    }

    /// Runs a burst at each host half, with all that it brings about, and writes what leaves.
    fn bursts(&mut self, bursts: Vec<Burst<'_>>) -> Result<(), RunError> {
        self.burst_at_each(bursts)?;
        self.cross()
    }

    fn burst_at_each(&mut self, bursts: Vec<Burst<'_>>) -> Result<(), RunError> {
        let is_alone = self.shards.len() == 1;
        let mut left: Vec<(Stamp, Vec<u8>)> = Vec::new();
        for (shard, mut burst) in self.shards.iter_mut().zip(bursts) {
            let (sink, crossing, mut written) = (&mut self.sink, &mut self.crossing, Ok(()));
            let leave = |stamp: &Stamp, egress: Port, frame: &[u8]| {
                let stamp = Stamp { egress, ..*stamp };
                if crossing.takes(&stamp, frame) {
                    // It is another shard's.
                } else if !is_alone {
                    left.push((stamp, frame.to_vec()));
                } else if written.is_ok() {
                    written = sink.write(&stamp, frame);
                }
            };
            if !burst.is_empty() {
                shard.burst(&mut burst, leave)?;
            }
            written?;
        }
        left.sort_by_key(|(stamp, _)| stamp.number);
        left.iter().try_for_each(|(stamp, frame)| self.sink.write(stamp, frame))
    }
}

impl<A: App> Shard<A> {
    fn burst(
        &mut self,
        burst: &mut Burst<'_>,
        leave: impl FnMut(&Stamp, Port, &[u8]),
    ) -> Result<(), RunError> {
        let start = Instant::now();
        let mut out = Direct::new(leave).exporting(self.exporter.as_ref()).noting(running::word());
        self.half.burst(burst, &mut out)?;
        self.half.report.busy_ns += start.elapsed().as_nanos() as u64;
        Ok(())
    }

    /// The results, with the final state if it is to be written.
    fn end(mut self, now: u64, writes: bool) -> Ended {
        if let Some(exporter) = &self.exporter {
            direct::export_rest(exporter, &mut self.half, now);
        }
        let mut account = account_of(&mut self.half, now, |_| None);
        let entries = account.tables.values().map(|table| table.entries);
        account.sides.host.flows = entries.max().unwrap_or(0);
        account.records = self.exporter.as_ref().map(Exporter::finish);
        account.failures.extend(self.exporter.as_ref().and_then(Exporter::failure));
        let mut pieces: Vec<Piece> = Vec::new();
        if writes {
            each_piece(self.half.engine().app(), now, &mut |state, piece| {
                pieces.push((state, piece.to_vec()));
            });
        }
        let (outcomes, took) = (account.outcomes.clone(), account.took.clone());
        Ended { outcomes, took, account: Some(account), pieces }
    }
}
