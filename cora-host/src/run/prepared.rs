//! Prepares a run with a NIC before a port is opened or a half started. Everything that can be
//! refused is refused here, once.

use std::sync::Arc;

use cora_core::app::{App, Sides};
use cora_core::state::Kind;
use cora_runtime::exec::Took;
use cora_runtime::host_half::HostHalf;
use cora_runtime::steering::Deal;

use crate::control::configuration::Configuration;
use crate::durability::carried::replica_bytes;
use crate::durability::layout::Layout;
use crate::ingress::door::Services;
use crate::ingress::versions::{Changes, changes};
use crate::memory::pages::Pages;
use crate::memory::room::Need;
use crate::memory::supply::Supply;
use crate::node::board;
use crate::node::half::layout_of_run;
use crate::observe::ipfix::Exporter;
use crate::options::{Moves, NicMode, Run, RunOptions};
use crate::process::inquiry::Inquiry;
use crate::supervisor::{Common, Dealer, SharedFile};
use crate::{Program, RunError};

/// Default number of kills in a row on a capture, without any packet in between, with durable
/// states.
const RESTARTS: u16 = 3;

/// What is particular to a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Particulars {
    /// The seed of all hashes.
    pub(super) seed: u64,
    /// The number of the first version of read-mostly states.
    pub(super) version: u32,
    /// When the clock of a live wire began.
    pub(super) epoch: Option<u64>,
    /// Whether pages are allocated before the first packet.
    pub(super) resident: bool,
    /// Whether it follows another program, whose host halves had all buckets.
    pub(super) follows: bool,
}

/// A run that can begin.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) common: Common,
    /// Where each side receives its own buckets.
    pub(super) dealer: Option<Dealer>,
    /// States with entries that end with the program, if an upgrade carries none over.
    pub(super) forgotten: Vec<&'static str>,
    pub(super) configuration: Configuration,
    /// Changes of read-mostly states, before packets with these numbers.
    pub(super) changes: Changes,
}

impl Prepared {
    /// The error describes the fault.
    pub(super) fn of<A: App>(
        program: &Program,
        run: &Run,
        particulars: Particulars,
    ) -> Result<Self, RunError> {
        let Particulars { seed, version, epoch, resident, follows } = particulars;
        let options = &run.options;
        let supply = Supply { seed, pages: Pages::Small, resident: false };
        let mut app = supply.app::<A>(HostHalf::bytes)?;
        let configuration = Configuration::begin(&options.configurations, version, &mut app)?;
        let services = Services::of(&mut app);
        let changes = changes(&mut app, configuration.version(), &options.changes)?;
        let entries = Layout::of(&mut app);
        let layout = layout_of_run::<A>(options);
        // What the NIC half may read is beside the memory of the host half.
        let items = if options.nic == NicMode::Off { 0 } else { A::ITEMS };
        let half = A::MEMORY + HostHalf::bytes(&mut app);
        if resident {
            Need {
                half,
                regions: 2 * layout.bytes(),
                shards: A::PLAN.sides.shards(options.shards).into(),
                pages: options.pages,
            }
            .check()?;
        }
        let shards = A::PLAN.sides.shards(options.shards);
        let board = (A::MERGED && shards > 1)
            .then(|| SharedFile::create(board::bytes(&mut app, shards)))
            .transpose()?;
        let common = Common {
            program: *program,
            inquiry: options.peer().map(|_| Inquiry::new()).transpose()?,
            lines: (options.control.is_some() || options.metrics.is_some()).then(Arc::default),
            plan: A::PLAN.hash,
            run: run.clone(),
            deal: Deal::of_plan(&A::PLAN, options.shards),
            shards,
            seed,
            layout,
            half,
            board,
            items,
            replicas: replica_bytes(&mut app, &entries),
            entries,
            took_words: Took::words_of::<A>(),
            rests_on: A::RESTS_ON,
            resident,
            epoch,
            services,
            restarts: options.restarts.unwrap_or(if A::DURABLE { RESTARTS } else { 0 }),
        };
        let forgotten = forgotten(&mut app, &common.entries);
        let dealer = (A::PLAN.sides == Sides::Dealt)
            .then(|| Dealer::new(&mut app, options.shards, &options.moves, follows))
            .transpose()
            .map_err(RunError::Dealer)?;
        Ok(Self { common, dealer, forgotten, configuration, changes })
    }
}

/// Refuses options that the program does not allow, and opens the files that the run writes at its
/// end, or that its processes continue, whichever dies. A run that `continues` a previous program
/// continues its files, too.
pub(super) fn check<A: App>(options: &RunOptions, continues: bool) -> Result<(), RunError> {
    if options.shards > 1 && !A::PLAN.one_shard.is_empty() {
        return Err(RunError::OneShard { shards: options.shards, states: A::PLAN.one_shard });
    }
    if options.agent.is_some() && A::MARKED {
        return Err(RunError::NeedsMarks { program: A::NAME });
    }
    if A::PLAN.sides == Sides::Dealt && matches!(options.moves, Moves::Adapt(Some(_))) {
        return Err(RunError::NothingToLog);
    }
    if options.messages.is_some() && !A::MESSAGES {
        return Err(RunError::TakesNoMessages { program: A::NAME });
    }
    if let Some(path) = options.state_out.as_ref().filter(|_| !continues) {
        // Its old content stays until it is replaced.
        let opened = std::fs::File::options().create(true).append(true).open(path);
        opened.map_err(|cause| RunError::File { path: path.clone(), cause })?;
    }
    if let Some(name) = &options.ipfix {
        Exporter::open::<A>(name, 0, continues)?;
    }
    Ok(())
}

/// The tables of a program, if none of them is durable.
fn forgotten<A: App>(app: &mut A, entries: &Layout) -> Vec<&'static str> {
    if !entries.is_empty() {
        return Vec::new();
    }
    let names = A::PLACES.iter().enumerate();
    let tables = names.filter(|(number, _)| app.state(*number).kind() == Kind::Keyed);
    tables.map(|(_, (name, _))| *name).collect()
}
