//! Restarts a killed NIC process; the run goes on.
//!
//! All published records of the dead process are handled, and its unread input is fed to the next
//! one. Flows of durable states live on at the host from their replicas. Packets that were inside
//! the NIC are counted by name ([`tally`](crate::ingress::tally)). The next process gets its own
//! region, a generation later.
//!
//! A NIC that broke the protocol is ended and counts as killed; none of its output is read any
//! more. A process that exited by itself has reported the cause: the next one would exit in the
//! same way, so the run ends too.

use std::process::ExitStatus;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::{Identity, Region, RegionLayout};
use rustix::io::Errno;

use crate::ingress::capture::Cable;
use crate::ingress::tally::Losses;
use crate::memory::map;
use crate::node::nic_process::NicProcess;
use crate::node::pair::{Pair, layout};
use crate::observe::report::Recovery;
use crate::options::RunOptions;
use crate::{Program, RunError};

/// Default number of kills in a row, without any packet in between, with durable states.
const TIMES: u16 = 3;

/// Starts NICs, and keeps the losses of earlier ones.
pub(crate) struct Revival {
    program: Program,
    options: RunOptions,
    core: Option<usize>,
    layout: RegionLayout,
    /// Maximum number of restarts in a row, without a packet in between.
    most: u16,
    in_a_row: u16,
    restarts: u64,
    /// Packets that had an outcome at the host when the NIC started.
    handled_before: u64,
    losses: Losses,
}

impl Revival {
    pub(crate) fn new<A: App>(
        program: &Program,
        options: &RunOptions,
        core: Option<usize>,
    ) -> Self {
        Self {
            program: *program,
            options: options.clone(),
            core,
            layout: layout::<A>(),
            most: options.restarts.unwrap_or(if A::DURABLE { TIMES } else { 0 }),
            in_a_row: 0,
            restarts: 0,
            handled_before: 0,
            losses: Losses::default(),
        }
    }

    /// Starts a NIC on a new region.
    pub(crate) fn start_nic(&self, identity: Identity) -> Result<(Region, NicProcess), RunError> {
        let layout = &self.layout;
        let system = |errno: Errno| RunError::System { what: "shared memory", cause: errno.into() };
        let (file, words) = map::shared_memory(layout.bytes()).map_err(system)?;
        let region = Region::create(words, layout, identity).map_err(RunError::Region)?;
        let (program, options) = (&self.program, &self.options);
        let process = NicProcess::start(program, options, &file, layout.bytes(), self.core)?;
        Ok((region, process))
    }

    /// Whether restarts are allowed at all.
    pub(crate) const fn may(&self) -> bool {
        self.most > 0
    }

    /// The recovery counters for the report.
    pub(crate) fn recovered<A: App>(&self, half: &HostHalf<A>) -> (Recovery, Losses) {
        let kept = half.reclaimed();
        let recovery = Recovery {
            restarts: self.restarts,
            flows: kept.flows,
            entries: kept.entries,
            refused: kept.refused,
            cancelled: kept.cancelled,
            half_received: kept.half_received,
            missing: kept.missing,
            uncopied: half.uncopied(),
        };
        (recovery, self.losses)
    }
}

impl<A: App, C: Cable> Pair<A, C> {
    /// Ends a NIC that broke the protocol, as `error` describes, and ignores the contents of its
    /// rings. Continues with another one, as if it had been killed.
    pub(crate) fn replace(
        &mut self,
        error: RunError,
        configured: &[usize],
    ) -> Result<(), RunError> {
        self.process.end();
        self.wire.distrust();
        self.revive(error, configured)
    }

    /// Reads everything that the NIC published before it ended.
    fn read_rest(&mut self) -> Result<(), RunError> {
        while self.wire.drain()? {}
        if self.wire.is_distrusted() {
            return Err(RunError::RingToNic);
        }
        while self.worker.poll()? {}
        Ok(())
    }

    /// Continues with another NIC process after the end of the last one, described by `error`, if
    /// that is sensible.
    pub(crate) fn revive(&mut self, error: RunError, configured: &[usize]) -> Result<(), RunError> {
        let sound = match self.read_rest() {
            Err(error) if error.is_nics_fault() => false,
            read => read.map(|()| true)?,
        };
        if self.worker.received.account.is_some() {
            // It had sent all its results.
            return if self.revival.may() { Ok(()) } else { Err(error) };
        }
        if let Some(number) = self.worker.received.arriving.in_force {
            self.wire.in_force(number);
        }
        let total = self.worker.half.engine().outcomes.total();
        let handled = total - self.revival.handled_before;
        let through = handled + self.wire.tally.from_nic.total();
        self.revival.in_a_row = if through > 0 { 1 } else { self.revival.in_a_row + 1 };
        if self.revival.in_a_row > self.revival.most || !self.process.was_killed() {
            return Err(error);
        }
        let identity = self.region.identity();
        let identity =
            Identity { generation: identity.generation + 1, resident: false, ..identity };
        let (region, process) = self.revival.start_nic(identity)?;
        let rings = region.rings();
        self.wire.follow(&rings)?;
        self.worker.replug(sound.then_some(&self.region.rings()), &rings);
        let tally = std::mem::take(&mut self.wire.tally);
        let sent = self.worker.renew(tally.from_host);
        self.revival.losses.add(&tally, handled, sent);
        self.revival.handled_before = total;
        self.revival.restarts += 1;
        (self.region, self.process) = (region, process);
        self.begin(configured);
        Ok(())
    }
}

/// Describes how the NIC process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}; its own words stand above"),
        None => status.to_string(),
    }
}
