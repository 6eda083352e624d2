//! A run on a capture, with a NIC.

use std::time::Instant;

use cora_core::app::App;

use crate::ingress::capture::{Cable as _, Files, Sink, Source};
use crate::observe::progress::Progress;
use crate::observe::report::RunReport;
use crate::options::Run;
use crate::run::finish::{Over, WireReport};
use crate::run::prepared::{Particulars, Prepared, check};
use crate::supervisor::Supervisor;
use crate::{Program, RunError};

/// Runs the program on a capture.
pub(super) fn run<A: App>(program: &Program, run: &Run) -> Result<RunReport, RunError> {
    check::<A>(&run.options, false)?;
    let (seed, source) = open::<A>(run)?;
    let particulars =
        Particulars { seed, version: 1, epoch: None, resident: false, follows: false };
    let Prepared { common, configuration, changes, dealer, .. } =
        Prepared::of::<A>(program, run, particulars)?;
    let sink = Sink::create(run.options.output.as_deref(), input(run))?;
    let files = Files::new(source, sink);
    let mut supervisor = Supervisor::start(&common, files, configuration, dealer, (1, Vec::new()))?;
    supervisor.intake.door.will_change(&changes);
    for shard in &mut supervisor.shards {
        shard.will_change(changes.clone());
    }
    let mut start = None;
    let mut progress = Progress::new();
    supervisor.run::<A>(|supervisor| {
        if start.is_none() && supervisor.all_work() {
            start = Some(Instant::now());
        }
        for shard in &mut supervisor.shards {
            let in_force = shard.page.version();
            shard.wire.in_force(u32::try_from(in_force).unwrap_or(0));
        }
        let (came, left) = supervisor.cable.packets();
        let first = supervisor.shards.first();
        progress.tell_more(came, left, || first?.page.utilisation());
        Ok(())
    })?;
    supervisor.cable.sink.finish()?;
    drop(progress);
    let elapsed = start.map(|start| start.elapsed()).unwrap_or_default();
    let lives = supervisor.lives(0);
    let version = supervisor.configuration.version().clone();
    let (shards, deal, files) = supervisor.end(common.deal);
    let over = Over {
        options: &run.options,
        seed,
        version: &version,
        deal,
        wire: WireReport::of(&files),
        shards,
        lives: Some(lives),
        elapsed,
    };
    Ok(over.report::<A>())
}

/// The capture, and the seed that follows from it.
pub(super) fn open<A: App>(run: &Run) -> Result<(u64, Source), RunError> {
    let mut source = Source::open(input(run), run.options.reading::<A>())?;
    Ok((source.seed()?, source))
}

/// Options were checked: there is a capture.
pub(super) fn input(run: &Run) -> &std::path::Path {
    run.options.input.as_deref().unwrap_or(std::path::Path::new(""))
}
