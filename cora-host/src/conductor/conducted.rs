//! A conductor at work: asked when it is time, and obeyed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cora_core::app::App;

use super::adaptive::Gauge;
use super::{Conductor, Drift, Moves};
use crate::RunError;
use crate::worker::Worker;

/// Who decides which flows move, and when next.
pub(crate) struct Conducted<K> {
    by: Box<dyn Conductor<K> + Send>,
    start: Instant,
    next: Duration,
    /// How often the NIC tells its load.
    told_every: Duration,
    log: Option<PathBuf>,
}

impl<K> Conducted<K> {
    /// The conductor of the pair with this number, if there is one; `plan` is the plan's JSON.
    pub(crate) fn begin<A: App<Group = K>>(
        moves: &Moves,
        plan: &str,
        pair: usize,
    ) -> Result<Option<Self>, RunError> {
        let (start, next, log) = (Instant::now(), Duration::ZERO, moves.log(pair));
        let told_every = Duration::ZERO;
        let by = moves.conductor::<A>(plan, pair)?;
        Ok(by.map(|by| Self { by, start, next, told_every, log }))
    }

    /// A NIC begins: it is asked to tell its load as often as the conductor wants to know.
    pub(crate) fn watch<A: App<Group = K>>(&self, worker: &mut Worker<A>) {
        worker.watch(self.by.period());
    }

    /// Has flows moved, when it is time for that.
    pub(crate) fn conduct<A: App<Group = K>>(&mut self, worker: &mut Worker<A>) {
        let elapsed = self.start.elapsed();
        if elapsed < self.next {
            return;
        }
        let seen = worker.observe(elapsed.as_nanos() as u64);
        worker.follow(&self.by.conduct(&seen));
        let period = self.by.period();
        self.next = elapsed + period;
        if period != self.told_every {
            self.told_every = period;
            worker.tell_every(period);
        }
    }

    /// How much the sides have to do, as far as the conductor knows.
    pub(crate) fn gauge(&self) -> Option<Gauge> {
        self.by.gauge()
    }

    /// What things cost, against what was expected, as far as the conductor knows.
    pub(crate) fn drift(&self) -> Option<Drift> {
        self.by.drift()
    }

    /// The run ends. An error when a log could not be written.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        let path = self.log.take().unwrap_or_default();
        self.by.finish().map_err(|cause| RunError::File { path, cause })
    }
}
