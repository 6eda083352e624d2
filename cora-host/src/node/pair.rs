//! A pair of NIC core and host worker, and its connection to the wire.

use std::time::Duration;

use cora_core::app::App;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::region::{
    self, Bell, HashSeed, Identity, Idle, NicStatus, Region, RegionLayout,
};

use crate::ingress::capture::Cable;
use crate::ingress::feed::WireEnd;
use crate::memory::futex::SharedFutex;
use crate::node::back::RING_BYTES;
use crate::node::capture_run::Request;
use crate::node::control_loop::ControlLoop;
use crate::node::merge::Ended;
use crate::node::nic_process::NicProcess;
use crate::node::received::Received;
use crate::node::restart::Revival;
use crate::node::worker::Worker;
use crate::node::{restart as revive, running};
use crate::observe::progress::Progress;
use crate::{Program, RunError};

/// Idle rounds between two checks of the NIC process.
const WATCH_EVERY: u32 = 4096;

/// The layout of a pair's region. It includes payload buffers if the host may get only the heads of
/// frames.
pub fn layout<A: App>() -> RegionLayout {
    match RegionLayout::new(RING_BYTES) {
        Ok(layout) if A::HEADS => layout.with_payloads(),
        Ok(layout) => layout,
        Err(_) => unreachable!("powers of two are sizes of rings"),
    }
}

/// A pair with a NIC.
pub(crate) struct Pair<A: App, C> {
    pub(crate) region: Region,
    pub(crate) process: NicProcess,
    pub(crate) worker: Worker<A>,
    /// The frame I/O.
    pub(crate) wire: WireEnd<C>,
    pub(crate) control: Option<ControlLoop<A::Group>>,
    pub(crate) revival: Revival,
}

impl<A: App, C: Cable> Pair<A, C> {
    /// Starts the NIC of the pair with this number, on a processor of its own if `core` is given.
    pub(crate) fn start(
        program: &Program,
        request: &Request<A::Group>,
        seed: u64,
        half: HostHalf<A>,
        cable: C,
        number: usize,
        core: Option<usize>,
    ) -> Result<Self, RunError> {
        // Before the NIC starts, since its log may be an unwritable file.
        let control = ControlLoop::begin::<A>(&request.controllers, program, number)?;
        let revival = Revival::new::<A>(program, &request.options, core);
        let identity = Identity {
            plan: A::PLAN.hash,
            generation: 1,
            seed: HashSeed(seed),
            resident: false,
            afresh: false,
        };
        let (region, process) = revival.start_nic(identity)?;
        let rings = region.rings();
        let mut worker = Worker::new(half, &rings);
        worker.export_to(request.exporter.clone());
        if A::DURABLE {
            worker.keep_copies();
        }
        Ok(Self { process, worker, revival, wire: WireEnd::new(cable, &rings), region, control })
    }

    /// The bell that wakes the host worker.
    pub(crate) fn bell(&self) -> Bell<SharedFutex> {
        self.region.host_bell(SharedFutex)
    }

    /// Waits until the NIC is ready.
    pub(crate) fn wait_until_ready(&mut self) -> Result<(), RunError> {
        while self.region.nic_status() != Some(NicStatus::Ready) {
            if let Some(error) = self.watch()? {
                return Err(error);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Runs until all frames were handled and sent, and the NIC has sent its account.
    pub(crate) fn run(
        &mut self,
        configured: &[usize],
        mut progress: Progress,
    ) -> Result<(), RunError> {
        self.begin(configured);
        let mut idle = Idle::default();
        let mut rounds = 0_u32;
        loop {
            let busy = match self.round() {
                Err(error) if error.is_nics_fault() && self.revival.may() => {
                    self.replace(error, configured)?;
                    continue;
                }
                busy => busy?,
            };
            if let Some(number) = self.worker.received.arriving.in_force {
                self.wire.in_force(number);
            }
            if let Some(control) = &mut self.control {
                control.step(&mut self.worker);
            }
            if self.worker.received.account.is_some() {
                break;
            }
            let (came, left) = self.wire.cable.packets();
            progress.tell_more(came, left, || self.control.as_ref()?.utilisation());
            region::wake(&self.region.nic_bell(SharedFutex));
            rounds = if busy { 0 } else { rounds + 1 };
            let slept = if busy {
                idle.reset();
                false
            } else {
                match self.rest(&mut idle) {
                    // The next round reports it again.
                    Err(error) if error.is_nics_fault() => false,
                    slept => slept?,
                }
            };
            if (slept || rounds % WATCH_EVERY == WATCH_EVERY - 1)
                && let Some(error) = self.watch()?
            {
                self.revive(error, configured)?;
            }
        }
        // The NIC's account is its last message, so all frames are in the ring by now.
        while self.wire.drain()? {}
        Ok(())
    }

    /// Polls each ring once; returns whether there was any work.
    fn round(&mut self) -> Result<bool, RunError> {
        let mut busy = self.wire.feed()?;
        busy |= self.wire.drain()?;
        busy |= self.worker.poll()?;
        Ok(busy)
    }

    /// Sends the NIC its initial data.
    pub(crate) fn begin(&mut self, configured: &[usize]) {
        self.worker.note_at(running::word());
        self.worker.begin(configured);
        if let Some(control) = &self.control {
            control.watch(&mut self.worker);
        }
    }

    /// Waits for the NIC to end; returns the pair's results and its cable.
    pub(crate) fn end(mut self) -> Result<(Ended<A>, C), RunError> {
        if let Some(control) = &mut self.control {
            control.finish()?;
        }
        let drift = self.control.as_ref().and_then(ControlLoop::drift);
        let now = self.worker.now();
        self.worker.half.report.ring_records = self.worker.ring_records();
        let Worker { half, received, .. } = self.worker;
        let Received { account, contents, left, .. } = received;
        let status = self.process.wait()?;
        // A NIC that has sent everything may have ended in any way: nothing is lost.
        if !(status.success() || self.revival.may() && account.is_some()) {
            return Err(RunError::NicDied { status: status.to_string(), packets: 0 });
        }
        let nic = account.unwrap_or_default();
        let recovered = self.revival.recovered(&half);
        Ok((Ended { half, nic, contents, left, now, recovered, drift }, self.wire.cable))
    }

    /// Waits briefly; finally sleeps, if only the NIC or the wire can provide new work. Returns
    /// whether a sleep timed out.
    fn rest(&mut self, idle: &mut Idle) -> Result<bool, RunError> {
        if !self.wire.is_quiet() || self.worker.waits_for_room() {
            idle.pause(std::thread::yield_now);
            return Ok(false);
        }
        let (worker, wire) = (&mut self.worker, &mut self.wire);
        idle.wait(&self.region.host_bell(SharedFutex), std::thread::yield_now, || {
            Ok(wire.is_quiet() && worker.has_nothing()? && wire.has_nothing()?)
        })
    }

    /// The error if the NIC process is gone; fails if it makes no progress.
    fn watch(&mut self) -> Result<Option<RunError>, RunError> {
        let Some(status) = self.process.watch(&self.region)? else { return Ok(None) };
        // It may have ended in good order, with its last messages still in the rings.
        if status.success() && self.region.nic_status() == Some(NicStatus::Done) {
            return Ok(None);
        }
        let packets = self.on_their_way();
        Ok(Some(RunError::NicDied { status: revive::describe(status), packets }))
    }

    fn on_their_way(&mut self) -> u64 {
        let done = self.worker.half.engine().outcomes.total();
        let (came, left) = self.wire.cable.packets();
        came.saturating_sub(done + left)
    }
}
