//! A NIC process that was killed is started anew, and the run goes on.
//!
//! What the dead one published is handled to the last record, what it left unread is fed to the
//! next one, flows of durable states live on at the host by their copies, and packets that were
//! within the NIC are counted by name ([`tally`](crate::tally)). The next one gets a region of its
//! own, a generation later.
//!
//! A NIC that broke the protocol is ended, and counts as one that was killed; nothing of it is read
//! any more. A process that ended by itself said why: another one would end in the same way, so the
//! run ends, too.

use std::process::ExitStatus;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::{Identity, Region, RegionLayout};
use rustix::io::Errno;

use crate::nic_process::NicProcess;
use crate::options::RunOptions;
use crate::pair::{Pair, layout};
use crate::report::Recovery;
use crate::tally::Losses;
use crate::wire::Cable;
use crate::{Program, RunError, map};

/// How often a NIC may be killed without any packet in between, where states are durable.
const TIMES: u16 = 3;

/// How to start a NIC, and what became of those before.
pub(crate) struct Revival {
    program: Program,
    options: RunOptions,
    core: Option<usize>,
    layout: RegionLayout,
    /// How often in a row, without a packet in between.
    most: u16,
    in_a_row: u16,
    restarts: u64,
    /// Packets that had an outcome at the host when the NIC began.
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

    /// Whether a NIC may be started anew at all.
    pub(crate) const fn may(&self) -> bool {
        self.most > 0
    }

    /// What to tell of it at the end.
    pub(crate) fn recovered<A: App>(&self, half: &HostHalf<A>) -> (Recovery, Losses) {
        let kept = half.reclaimed;
        let recovery = Recovery {
            restarts: self.restarts,
            flows: kept.flows,
            entries: kept.entries,
            refused: kept.refused,
            cancelled: kept.cancelled,
            half_received: kept.half_received,
            missing: kept.missing,
            uncopied: half.uncopied,
        };
        (recovery, self.losses)
    }
}

impl<A: App, C: Cable> Pair<A, C> {
    /// The NIC broke the protocol, as `error` says: it is ended, and what is on its rings is not
    /// read any more. Goes on with another one, as if it had been killed.
    pub(crate) fn replace(
        &mut self,
        error: RunError,
        configured: &[usize],
    ) -> Result<(), RunError> {
        self.process.end();
        self.wire.distrust();
        self.revive(error, configured)
    }

    /// Reads what the NIC published before it ended.
    fn read_rest(&mut self) -> Result<(), RunError> {
        while self.wire.drain()? {}
        if self.wire.is_distrusted() {
            return Err(RunError::RingToNic);
        }
        while self.worker.poll()? {}
        Ok(())
    }

    /// The NIC process is gone, as `error` says: goes on with another one, if that makes sense.
    pub(crate) fn revive(&mut self, error: RunError, configured: &[usize]) -> Result<(), RunError> {
        let sound = match self.read_rest() {
            Err(error) if error.is_nics_fault() => false,
            read => read.map(|()| true)?,
        };
        if self.worker.account.is_some() {
            // It had told all.
            return if self.revival.may() { Ok(()) } else { Err(error) };
        }
        if let Some(number) = self.worker.arriving.in_force {
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

/// How the NIC process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}; its own words stand above"),
        None => status.to_string(),
    }
}
