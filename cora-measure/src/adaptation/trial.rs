//! Both sides under a controller: the side that is behind in its own time takes its turn.

use std::path::PathBuf;
use std::time::Duration;

use cora_control::Controller;
use cora_core::app::App;
use cora_host::parts::{Supply, Worker};
use cora_host::{AnyController, Controllers, RunError};
use cora_runtime::ownership::{Admission, Order};
use serde::Serialize;

use super::card::Card;
use super::clock::Stopwatch;
use super::oracle::Oracle;
use super::trace::Trace;
use crate::in_memory;
use crate::random_moves::random_moves;

/// A side that found less than a burst looks again after this time (ns).
const LOOK: u64 = 4_000;

/// Shortest interval between load reports, once traffic runs.
const TOLD: Duration = Duration::from_millis(1);

/// Flows recalled at a time, before the first phase.
const RECALLED: usize = 16;

/// Settings that all trials share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub(super) room: u32,
    pub(super) slower: f64,
    pub(super) slice: u64,
    pub(super) configurations: &'a [(String, PathBuf)],
}

/// Events in a slice of time. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Slice {
    /// Packets that came in.
    packets: u64,
    /// Packets that the NIC handled alone.
    at_nic: u64,
    host_busy: u64,
    /// Part of it spent on choosing flows to move.
    deciding: u64,
    nic_busy: u64,
    /// Flows that moved to the NIC, and back.
    offloads: u64,
    released: u64,
    declined: u64,
    /// Time that the oldest packet at the wire had waited at the slice's end.
    behind: u64,
}

impl Slice {
    fn since(self, before: Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            at_nic: self.at_nic - before.at_nic,
            host_busy: self.host_busy - before.host_busy,
            deciding: self.deciding - before.deciding,
            nic_busy: self.nic_busy - before.nic_busy,
            offloads: self.offloads - before.offloads,
            released: self.released - before.released,
            declined: self.declined - before.declined,
            behind: self.behind,
        }
    }
}

/// The result of a trial.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    controller: String,
    slices: Vec<Slice>,
    came: u64,
    left: u64,
}

/// A trial under way.
pub(super) struct Trial<'a, A: App> {
    trace: &'a Trace,
    card: Card<'a, A>,
    worker: Worker<A>,
    /// The time of each side.
    nic_time: u64,
    host_time: u64,
    stopwatch: Stopwatch,
    setting: Setting<'a>,
    /// Admission without single orders, from the first phase on.
    admission: Admission,
    controller: Option<AnyController<A::Group>>,
    next: u64,
    /// Whether the sides report their loads and sample flows.
    watched: bool,
    /// Flows that are at the NIC before the first phase.
    guests: std::slice::Iter<'a, A::Group>,
    busy: u64,
    deciding: u64,
    slices: Vec<Slice>,
    before: Slice,
    ends: u64,
}

impl<'a, A: App> Trial<'a, A> {
    /// Creates a trial with all flows at the host; `keys` are theirs.
    pub(super) fn new(
        trace: &'a Trace,
        frames: &'a [Vec<u8>],
        keys: &'a [A::Group],
        supply: Supply,
        setting: &Setting<'a>,
    ) -> Result<Self, RunError> {
        let between = in_memory::between::<A>(supply)?;
        let mut worker = in_memory::worker::<A>(&between, supply, setting.configurations)?;
        // All go to the NIC once and come back before the first phase, so that both sides have
        // touched their memory.
        worker
            .follow(&[Order::Admit(Admission { most: u32::MAX, ..Admission::of_plan(&A::PLAN) })]);
        let scarce = (setting.room, setting.slower);
        Ok(Self {
            trace,
            card: Card::new(&between, supply, frames, trace.arrivals(), scarce)?,
            worker,
            nic_time: 0,
            host_time: 0,
            stopwatch: Stopwatch::new(),
            setting: *setting,
            admission: Admission::NONE,
            controller: None,
            next: trace.start(),
            watched: true,
            guests: keys.iter(),
            busy: 0,
            deciding: 0,
            slices: Vec::new(),
            before: Slice::default(),
            ends: trace.start(),
        })
    }

    /// Sets the controller. `plan`: the first flows that fit; `flow-only`: a fixed share of flows,
    /// as many as fit; `state-only`: no flow moves, and the NIC has no room for all; `unwatched`:
    /// the same without load reports; `oracle`; or one of `run --moves`.
    pub(super) fn control_by(&mut self, name: &str, keys: &[A::Group]) -> Result<(), String>
    where
        A::Group: Send + 'static,
    {
        let room = self.setting.room;
        let plan = Admission { most: room, ..Admission::of_plan(&A::PLAN) };
        match name {
            "plan" => self.admission = plan,
            "flow-only" => {
                let share = 1_024 * room as usize / self.trace.most_flows().max(1);
                self.admission = Admission { share: share as u16, ..plan };
            }
            "state-only" => {}
            "unwatched" => self.watched = false,
            "oracle" => self.controller = Some(Box::new(Oracle::new(self.trace, room, keys))),
            other => {
                let controllers = Controllers::new(&other.parse()?, &[random_moves()])?;
                self.controller = controllers.make::<A>("", 0).map_err(|why| why.to_string())?;
                self.admission = plan;
            }
        }
        Ok(())
    }

    /// Advances until both sides' times are `until`.
    pub(super) fn advance(&mut self, until: u64) -> Result<(), RunError> {
        while self.nic_time < until || self.host_time < until {
            if self.nic_time <= self.host_time {
                self.nic()?;
            } else {
                self.host()?;
            }
        }
        Ok(())
    }

    fn nic(&mut self) -> Result<(), RunError> {
        while self.nic_time >= self.ends {
            self.cut();
        }
        let (took, more) = self.card.turn(self.nic_time, self.stopwatch)?;
        let settles = self.nic_time < self.trace.start();
        self.nic_time += if more && !settles {
            took
        } else if settles {
            LOOK
        } else {
            took.max(LOOK)
        };
        Ok(())
    }

    /// Runs a turn before the first phase. Time does not count: it touches new memory.
    fn settle(&mut self) -> Result<(), RunError> {
        self.worker.poll()?;
        if self.host_time >= self.trace.recall() {
            if self.card.tightens() {
                self.worker.follow(&[Order::Admit(Admission::NONE)]);
            }
            let some: Vec<_> = self.guests.by_ref().take(RECALLED).copied().collect();
            self.worker.follow(&some.into_iter().map(Order::Recall).collect::<Vec<_>>());
        }
        self.host_time += LOOK;
        Ok(())
    }

    fn host(&mut self) -> Result<(), RunError> {
        if self.host_time < self.trace.start() {
            return self.settle();
        }
        let decides = self.host_time >= self.next;
        if !decides && self.worker.has_nothing()? && !self.worker.waits_for_room() {
            self.host_time += LOOK;
            return Ok(());
        }
        let stopwatch = self.stopwatch;
        let (polled, took) = stopwatch.time(|| self.worker.poll());
        polled?;
        let deciding = if decides { stopwatch.time(|| self.decide()).1 } else { 0 };
        self.busy += took + deciding;
        self.deciding += deciding;
        // In the place of wall time.
        self.worker.half.report.busy_ns = self.busy;
        let more = !self.worker.has_nothing()?;
        let took = took + deciding;
        self.host_time += if more { took } else { took.max(LOOK) };
        Ok(())
    }

    fn decide(&mut self) {
        if self.next == self.trace.start() {
            self.worker.follow(&[Order::Admit(self.admission)]);
            // Baselines see the number of the NIC's flows, too: they keep to its room.
            let every = self.controller.as_ref().map(|by| by.period());
            if self.watched {
                self.worker.watch(every.unwrap_or(TOLD));
            }
        }
        let Some(controller) = &mut self.controller else {
            self.next = u64::MAX;
            return;
        };
        // A controller with a shorter period gets no more reports for that.
        let told = |by: &dyn Controller<A::Group>| by.period().max(TOLD);
        let before = told(controller.as_ref());
        let seen = self.worker.observe(self.host_time);
        self.worker.follow(&controller.decide(&seen));
        let period = controller.period();
        self.next = self.host_time + period.as_nanos() as u64;
        let every = told(controller.as_ref());
        if every != before {
            self.worker.tell_every(every);
        }
    }

    /// Ends a slice.
    fn cut(&mut self) {
        let report = &self.card.end.half.report;
        let now = Slice {
            packets: self.card.packets(),
            at_nic: report.packets,
            host_busy: self.busy,
            deciding: self.deciding,
            nic_busy: report.busy_ns,
            offloads: report.offloads,
            released: report.released,
            declined: report.declined,
            behind: self.card.behind(self.ends),
        };
        // Work before the first phase belongs to no slice.
        if self.ends > self.trace.start() {
            self.slices.push(now.since(self.before));
        }
        self.before = now;
        self.ends += self.setting.slice;
    }

    /// Lets everything on its way arrive. Returns the result.
    pub(super) fn finish(&mut self, name: &str) -> Result<Told, RunError> {
        let slices = std::mem::take(&mut self.slices);
        self.controller = None;
        self.worker.half.close();
        self.next = u64::MAX;
        while !(self.card.is_drained() && self.worker.half.is_drained()) {
            self.advance(self.nic_time.max(self.host_time) + LOOK)?;
        }
        // The host's last messages are on the ring.
        for _ in 0..2 {
            self.advance(self.nic_time.max(self.host_time) + LOOK)?;
        }
        let (came, left) = (self.card.packets(), self.card.left());
        Ok(Told { controller: name.to_owned(), slices, came, left })
    }
}
