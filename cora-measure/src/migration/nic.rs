//! The NIC's side: frames from memory, at a stated pace or as fast as they are taken, and what
//! `cora-nic` does between the two.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none below zero"
)]

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_host::RunError;
use cora_host::parts::Supply;
use cora_runtime::exec::burst::{BURST, BURST_BYTES, BurstBuffer};
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::link::message::{Load, Stamp};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::region::Region;
use cora_runtime::ownership::EntryPace;

use super::flows::FlowsOf;
use super::host::{Done, Task};
use super::note::Note;
use crate::in_memory::{BACK_BURST, NicEnd, Out, Told};
use crate::traffic::{Pass, Traffic};

/// Frames that the wire holds while the NIC takes none: about what the ring of a run does. More are
/// lost.
const WIRE: u64 = 8_192;

/// Frames that come in at a steady pace, whether they are taken or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    start: Instant,
    /// Nanoseconds between two.
    distance: f64,
    /// Taken, or lost.
    gone: u64,
    pub(super) lost: u64,
}

impl Pace {
    pub(super) fn new(per_second: f64) -> Self {
        Self { start: Instant::now(), distance: 1e9 / per_second, gone: 0, lost: 0 }
    }

    /// Frames that came by now and were not taken; what the wire can't hold is lost.
    fn waiting(&mut self) -> u64 {
        let came = (self.start.elapsed().as_nanos() as f64 / self.distance) as u64;
        let lost = came.saturating_sub(self.gone + WIRE);
        self.lost += lost;
        self.gone += lost;
        came - self.gone
    }
}

/// How frames come in.
#[derive(Debug)]
pub(super) enum Feed {
    /// Not at all.
    None,
    /// As fast as they are taken.
    Fast,
    /// At a pace.
    At(Pace),
}

/// The NIC's side.
pub(super) struct Nic<'a, A: App> {
    pub(super) end: NicEnd<A, Out<'a, Gone>>,
    buffer: Vec<u8>,
    frames: Source<'a>,
    flows: &'a FlowsOf<A::Group>,
    pub(super) note: Note,
    /// As in `cora-nic`.
    pace: EntryPace,
    /// The load is told so often, and next at.
    pub(super) watch: Option<(Duration, Instant)>,
    tasks: Sender<Task>,
    done: Receiver<Done>,
}

/// Where the next frame comes from: one pass over the traffic after another, in which time goes on.
struct Source<'a> {
    traffic: &'a Traffic,
    from: usize,
    pass: Pass<'a>,
    /// The next frame's number in the traffic.
    at: usize,
    later: u64,
    now: u64,
    /// Packets that came in.
    packets: u64,
}

/// The numbers of packets that left since the last look.
#[derive(Default)]
pub(super) struct Gone(Vec<u64>);

impl Wire for Out<'_, Gone> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, _: &[u8]) {
        self.left.0.push(stamp.number);
    }

    fn lots(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.lots)
    }
}

impl<'a, A: App> Nic<'a, A> {
    pub(super) fn new(
        region: &Region,
        supply: Supply,
        (traffic, warm): (&'a Traffic, usize),
        flows: &'a FlowsOf<A::Group>,
        (told, tasks, done): (&'a Told, Sender<Task>, Receiver<Done>),
    ) -> Result<Self, RunError> {
        let (at, later, now, packets) = (0, 0, 0, 0);
        let pass = traffic.pass(0);
        Ok(Self {
            end: NicEnd::new(region, supply, |rings| Out::new(rings, told))?,
            buffer: vec![0; BURST_BYTES],
            frames: Source { traffic, from: warm, pass, at, later, now, packets },
            flows,
            note: Note::new(&flows.groups),
            pace: EntryPace::default(),
            watch: None,
            tasks,
            done,
        })
    }

    /// Has the host do something.
    pub(super) fn ask(&self, task: Task) -> Result<(), RunError> {
        self.tasks.send(task).map_err(|_over| RunError::RingToNic)
    }

    /// Serves until what the host was asked for is done.
    pub(super) fn until_done(&mut self, feed: &mut Feed) -> Result<Done, RunError> {
        loop {
            self.round(feed)?;
            if let Ok(done) = self.done.try_recv() {
                return Ok(done);
            }
            self.is_served()?;
        }
    }

    /// Serves for so long.
    pub(super) fn serve(&mut self, time: Duration, feed: &mut Feed) -> Result<(), RunError> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.round(feed)?;
            self.is_served()?;
        }
        Ok(())
    }

    /// The first pass over the traffic, and until all of it has left: entries are made.
    pub(super) fn warm_up(&mut self) -> Result<(), RunError> {
        while self.frames.later == 0 {
            self.round(&mut Feed::Fast)?;
            self.is_served()?;
        }
        self.drain()
    }

    /// Waits until every packet was handled and every flow is somewhere.
    pub(super) fn drain(&mut self) -> Result<(), RunError> {
        loop {
            let report = &self.end.half.report;
            let at_host = report.passed_on + report.punts;
            let done = self.end.out.told.packets() == at_host;
            if !self.round(&mut Feed::None)? && done && self.end.half.is_drained() {
                return Ok(());
            }
            self.is_served()?;
        }
    }

    fn is_served(&self) -> Result<(), RunError> {
        if self.end.out.told.is_over() { Err(RunError::RingToNic) } else { Ok(()) }
    }

    /// Packets that came in.
    pub(super) const fn packets(&self) -> u64 {
        self.frames.packets
    }

    /// How long either thread was ready and had no core.
    pub(super) fn robbed(&self) -> Option<u64> {
        self.end.out.told.robbed_ns()
    }

    /// The host's time with something to do.
    pub(super) fn host_busy_ns(&self) -> u64 {
        self.end.out.told.busy_ns()
    }

    /// A look at both rings; whether the host had sent anything.
    pub(super) fn round(&mut self, feed: &mut Feed) -> Result<bool, RunError> {
        let any = self.read_back()?;
        if self.end.half.is_handing_over() && self.end.out.has_room_for_entries() {
            self.end.half.hand_over(self.pace.entries(), &mut self.end.out);
        }
        let most = match feed {
            Feed::None => 0,
            Feed::Fast => u64::MAX,
            Feed::At(pace) => pace.waiting(),
        };
        let takes = most > 0 && self.end.half.takes_packets();
        let taken = if takes { self.read_wire(most, feed) } else { 0 };
        self.pace.read(taken == BURST as u64);
        if let Feed::At(pace) = feed {
            pace.gone += taken;
        }
        let published = self.end.out.publish();
        self.note.left(&self.end.out.left.0);
        self.end.out.left.0.clear();
        self.tell_load();
        published.map(|()| any)
    }

    fn tell_load(&mut self) {
        let Some((every, next)) = &mut self.watch else { return };
        let now = Instant::now();
        if now >= *next {
            *next = now + *every;
            self.end.half.tell(&Load::default(), &mut self.end.out);
        }
    }

    /// A burst from the wire; how many packets that were.
    fn read_wire(&mut self, most: u64, feed: &Feed) -> u64 {
        let mut buffer = std::mem::take(&mut self.buffer);
        let taken = self.burst(most, feed, &mut BurstBuffer::new(&mut buffer));
        self.buffer = buffer;
        taken
    }

    fn burst(&mut self, most: u64, feed: &Feed, frames: &mut BurstBuffer<'_>) -> u64 {
        let mut burst = Burst::new();
        let due = match feed {
            Feed::At(pace) => {
                let since = pace.start.duration_since(self.note.zero).as_nanos() as f64;
                Some((since + pace.gone as f64 * pace.distance, pace.distance))
            }
            Feed::None | Feed::Fast => None,
        };
        while !burst.is_full() && (burst.len() as u64) < most {
            let place = (burst.len() as f64, self.frames.packets, self.frames.at);
            if !self.frames.next(frames, &mut burst) {
                break;
            }
            let (behind, number, at) = place;
            if let (Some(tally), Some((first, distance))) = (&mut self.note.tally, due) {
                let at = if at < self.flows.of_frame.len() { at } else { self.frames.from };
                let flow = self.flows.of_frame.get(at).copied().unwrap_or_default();
                tally.came(number, flow, (first + behind * distance) as u64);
            }
        }
        let taken = burst.len() as u64;
        self.end.half.burst(&mut burst, &mut self.end.out);
        taken
    }

    /// Handles some of what the host sent; whether there was anything.
    fn read_back(&mut self) -> Result<bool, RunError> {
        let note = &mut self.note;
        self.end.read_back(BACK_BURST, self.pace.entries(), |half, out, message| {
            note.message::<A::Group>(message);
            half.message(message, out)?;
            note.arrival();
            Ok(())
        })
    }
}

impl Source<'_> {
    /// Adds the next frame to the burst; `false` when there is no room for it.
    fn next<'b>(&mut self, frames: &mut BurstBuffer<'b>, burst: &mut Burst<'b>) -> bool {
        if self.pass.is_over() {
            // The first frame of the next pass follows the last one of this.
            self.later = self.now.saturating_sub(self.traffic.begins(self.from)) + 1;
            (self.pass, self.at) = (self.traffic.pass(self.from), self.from);
        }
        let Self { pass, later, now, packets, .. } = self;
        let received = pass.receive(frames, |mut stamp, frame| {
            for time in [&mut stamp.meta.time, &mut stamp.meta.now, &mut stamp.horizon] {
                *time += *later;
            }
            *now = stamp.meta.now;
            stamp.number = *packets;
            // There is room: the caller's condition.
            burst.push_roomy(stamp, frame);
        });
        self.packets += u64::from(received);
        self.at += usize::from(received);
        received
    }
}
