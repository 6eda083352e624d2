//! The report of a run, from the accounts of all its shards.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use cora_runtime::steering::Deal;

use crate::RunError;
use crate::ingress::capture::Files;
use crate::ingress::capture_notes::CaptureNotes;
use crate::ingress::versions::Version;
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;
use crate::observe::account::{Ended, Piece, add, add_words};
use crate::observe::buckets::BucketMoves;
use crate::observe::ipfix::Records;
use crate::observe::messages::Messages;
use crate::observe::print::write_state;
use crate::observe::report::{Filled, Lives, PortsReport, Recovery, RunReport, Sides};
use crate::observe::state::final_state;
use crate::options::{NicMode, RunOptions};

/// What the wire knows at the end.
#[derive(Debug, Default)]
pub(crate) struct WireReport {
    pub(crate) packets: (u64, u64),
    /// Outcomes of packets that no shard got.
    pub(crate) outcomes: BTreeMap<String, u64>,
    pub(crate) capture: CaptureNotes,
    pub(crate) ports: Option<PortsReport>,
    /// Packets that pass leave, too.
    pub(crate) passes_leave: bool,
}

impl WireReport {
    /// Of a capture.
    pub(crate) fn of(files: &Files) -> Self {
        let Files { source, sink, .. } = files;
        Self {
            packets: (source.packets, sink.packets),
            outcomes: some([("too-long", source.too_long), ("cut-when-captured", source.cut.1)]),
            capture: source.notes(),
            ports: None,
            passes_leave: false,
        }
    }
}

/// The outcomes that packets had.
pub(crate) fn some(outcomes: [(&str, u64); 2]) -> BTreeMap<String, u64> {
    let some = outcomes.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(name, count)| (name.to_owned(), count)).collect()
}

/// A run that is over.
pub(crate) struct Over<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) seed: u64,
    /// The version of read-mostly states that it began with, or any later one.
    pub(crate) version: &'a Version,
    pub(crate) wire: WireReport,
    pub(crate) shards: Vec<Ended>,
    /// The shard of each bucket at the end, and the moves of buckets.
    pub(crate) deal: (Deal, Option<BucketMoves>),
    pub(crate) lives: Option<Lives>,
    pub(crate) elapsed: Duration,
}

impl Over<'_> {
    /// The report; writes the final state, if that is requested.
    pub(crate) fn report<A: App>(mut self) -> RunReport {
        let mut faults = Vec::new();
        if let Some(path) = &self.options.state_out {
            match self.write_state::<A>(path) {
                Ok(fault) => faults.extend(fault),
                Err(error) => faults.push(error.to_string()),
            }
        }
        let mut outcomes = std::mem::take(&mut self.wire.outcomes);
        let mut tables: BTreeMap<String, Filled> = BTreeMap::new();
        let (mut sides, mut shards) = (Sides::default(), Vec::new());
        let (mut recovery, mut records) = (Recovery::default(), None::<Records>);
        let mut drift = Vec::new();
        let mut took = Vec::new();
        for shard in self.shards {
            add(&mut outcomes, shard.outcomes);
            add_words(&mut took, &shard.took);
            let Some(account) = shard.account else {
                faults.push("the host half did not come to its end: its account is missing".into());
                continue;
            };
            sides += account.sides;
            shards.push(account.sides);
            for (name, filled) in account.tables {
                *tables.entry(name).or_default() += filled;
            }
            recovery += account.recovery;
            if let Some(more) = account.records {
                *records.get_or_insert_default() += more;
            }
            drift.extend(account.drift);
            faults.extend(account.failures);
        }
        let Self { options, wire, lives, elapsed, deal: (_, buckets), .. } = self;
        let report = RunReport {
            schema: "cora-run/2",
            program: A::NAME,
            plan: format!("{:016x}", A::PLAN.hash),
            plan_name: A::PLAN.name,
            nic: options.nic.name(),
            pages: options.pages.in_force().word(),
            nic_pages: (options.nic == NicMode::Native).then(|| options.pages.of_nic().word()),
            packets_in: wire.packets.0,
            packets_out: wire.packets.1,
            messages: A::MESSAGES
                .then(|| Messages::of(A::TAKERS, &took, wire.packets.0, &outcomes)),
            outcomes,
            faults,
            buckets,
            migrations: sides.nic.offloads + sides.nic.released,
            sides,
            shards: if shards.len() > 1 { shards } else { Vec::new() },
            entries: tables.values().map(|table| table.entries).max().unwrap_or(0),
            capture: wire.capture,
            ports: wire.ports,
            tables,
            lives,
            recovery,
            records,
            drift,
            elapsed_ns: elapsed.as_nanos() as u64,
        };
        report.audited(wire.passes_leave)
    }

    /// Writes the final state of all shards; returns what is wrong with it.
    fn write_state<A: App>(&mut self, path: &Path) -> Result<Option<String>, RunError> {
        // One common time decides which entries have expired.
        let accounts = self.shards.iter().filter_map(|shard| shard.account.as_ref());
        let now = accounts.map(|account| account.now).max().unwrap_or(0);
        let pieces = self.shards.iter_mut().map(|shard| std::mem::take(&mut shard.pieces));
        let pieces: Vec<Vec<Piece>> = pieces.collect();
        let supply = Supply { seed: self.seed, pages: Pages::Small, resident: false };
        let mut app = supply.app::<A>(HostHalf::bytes)?;
        let (state, fault) = final_state(&mut app, self.version, (&pieces, &self.deal.0), now)?;
        write_state(path, &state)?;
        Ok(fault)
    }
}
