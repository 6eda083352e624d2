//! The NIC's side: frames from memory, at a stated pace or as fast as they are taken, in the loop
//! of `cora-nic`.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none below zero"
)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::key::Key;
use cora_host::RunError;
use cora_host::parts::Supply;
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::BurstBuffer;
use cora_runtime::link::message::{Kind, Message, Stamp};
use cora_runtime::link::payload::Parking;
use cora_runtime::link::ring::{Consumer, Popped, RingError, SharedMemory};
use cora_runtime::node::{Clock, Filled, Inbox, Ingress, NodeError};

use super::flows::FlowsOf;
use super::host::{Done, Task};
use super::note::Note;
use super::tally::Tally;
use crate::in_memory::{Between, NicEnd, Out, Told, Wire};
use crate::traffic::Traffic;

/// Frames that the wire holds while the NIC takes none: about as many as the ring of a run. More
/// are lost.
const WIRE: u64 = 8_192;

/// Frames that come in at a steady pace, whether they are taken or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    start: Instant,
    /// Nanoseconds between two frames.
    distance: f64,
    /// Frames taken or lost.
    gone: u64,
    pub(super) lost: u64,
}

impl Pace {
    pub(super) fn new(per_second: f64) -> Self {
        Self { start: Instant::now(), distance: 1e9 / per_second, gone: 0, lost: 0 }
    }

    /// Returns the frames that came and were not taken. Frames beyond the wire's room are lost.
    fn waiting(&mut self) -> u64 {
        let came = (self.start.elapsed().as_nanos() as f64 / self.distance) as u64;
        let lost = came.saturating_sub(self.gone + WIRE);
        self.lost += lost;
        self.gone += lost;
        came - self.gone
    }
}

/// Pace of the frames.
#[derive(Debug)]
pub(super) enum Feed {
    /// No frames.
    None,
    /// As fast as they are taken.
    Fast,
    /// At a pace.
    At(Pace),
}

/// The NIC's side.
pub(super) struct Nic<'a, A: App> {
    pub(super) end: NicEnd<A, NotedWire<'a>, NotedMessages<A::Group>, Out<'a, Gone>>,
    note: Rc<RefCell<Note>>,
    tasks: Sender<Task>,
    done: Receiver<Done>,
}

/// Frames from memory, noted as they come in.
pub(super) struct NotedWire<'a> {
    wire: Wire<'a>,
    /// The first frame of all passes but the first.
    warm: usize,
    flow_of_frame: &'a [u32],
    note: Rc<RefCell<Note>>,
    /// Arrival of the next frame, and the time between two (ns), at a pace.
    due: Option<(f64, f64)>,
}

/// The host's messages, noted as they come in.
pub(super) struct NotedMessages<K> {
    back: Consumer<SharedMemory>,
    note: Rc<RefCell<Note>>,
    key: PhantomData<K>,
}

/// The numbers of packets that left since the last look.
#[derive(Default)]
pub(super) struct Gone(Vec<u64>);

impl cora_runtime::exec::Wire for Out<'_, Gone> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, _: &[u8]) {
        self.left.0.push(stamp.number);
    }

    fn payloads(&mut self) -> Option<&mut dyn Parking> {
        Some(&mut self.payloads)
    }
}

impl Ingress for NotedWire<'_> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        self.wire.is_empty()
    }

    fn fill<'b>(
        &mut self,
        frames: &mut BurstBuffer<'b>,
        burst: &mut Burst<'b>,
    ) -> Result<Filled<'b>, NodeError> {
        if self.wire.is_over() {
            self.wire.begin(self.warm);
        }
        let (first, at) = (self.wire.packets, self.wire.at());
        let filled = self.wire.fill(frames, burst);
        let mut note = self.note.borrow_mut();
        if let (Some(tally), Some((due, distance))) = (&mut note.tally, self.due) {
            for (behind, number) in (first..self.wire.packets).enumerate() {
                let flow = self.flow_of_frame.get(at + behind).copied().unwrap_or_default();
                tally.came(number, flow, (due + behind as f64 * distance) as u64);
            }
        }
        filled
    }
}

impl<K: Key> Inbox for NotedMessages<K> {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        self.back.is_empty()
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let mut note = self.note.borrow_mut();
        // The previous message was handled.
        note.arrival();
        let popped = self.back.pop(buffer)?;
        if let Some(Popped { kind, len }) = popped
            && note.tally.is_some()
            && kind != Kind::Send
            && let Some(message) = buffer.get(..len).and_then(|bytes| Message::decode(kind, bytes))
        {
            note.message::<K>(&message);
        }
        Ok(popped)
    }

    fn release(&mut self) {
        self.back.release();
    }
}

/// Reads the clock of this machine.
struct Since(Instant);

impl Clock for Since {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

impl<'a, A: App> Nic<'a, A> {
    pub(super) fn new(
        between: &Between,
        supply: Supply,
        (traffic, warm): (&'a Traffic, usize),
        flows: &'a FlowsOf<A::Group>,
        (told, tasks, done): (&'a Told, Sender<Task>, Receiver<Done>),
    ) -> Result<Self, RunError> {
        let note = Rc::new(RefCell::new(Note::new(&flows.groups)));
        let rings = between.region.rings();
        let wire = NotedWire {
            wire: Wire::new(traffic),
            warm,
            flow_of_frame: &flows.of_frame,
            note: Rc::clone(&note),
            due: None,
        };
        let back = NotedMessages {
            back: Consumer::new(rings.back),
            note: Rc::clone(&note),
            key: PhantomData,
        };
        let end = NicEnd::new((supply, between), (wire, back), Out::new(&rings, told))?;
        Ok(Self { end, note, tasks, done })
    }

    /// Begins a tally of so many flows.
    pub(super) fn notes(&self, flows: usize) {
        self.note.borrow_mut().tally = Some(Tally::new(flows));
    }

    /// Takes the tally, and ends noting.
    pub(super) fn noted(&self) -> Tally {
        self.note.borrow_mut().tally.take().unwrap_or_else(|| Tally::new(0))
    }

    /// Reports the load at this interval, or not at all.
    pub(super) fn watch(&mut self, every: Option<Duration>) {
        let interval = every.map_or(u64::MAX, |every| every.as_nanos() as u64);
        self.end.rounds.report_every(interval);
    }

    /// Gives the host a task.
    pub(super) fn ask(&self, task: Task) -> Result<(), RunError> {
        self.tasks.send(task).map_err(|_over| RunError::RingToNic)
    }

    /// Serves until the host's task is done.
    pub(super) fn until_done(&mut self, feed: &mut Feed) -> Result<Done, RunError> {
        loop {
            self.round(feed)?;
            if let Ok(done) = self.done.try_recv() {
                return Ok(done);
            }
            self.is_served()?;
        }
    }

    /// Serves for this time.
    pub(super) fn serve(&mut self, time: Duration, feed: &mut Feed) -> Result<(), RunError> {
        let start = Instant::now();
        while start.elapsed() < time {
            self.round(feed)?;
            self.is_served()?;
        }
        Ok(())
    }

    /// Runs the first pass over the traffic until all of it has left: entries are made.
    pub(super) fn warm_up(&mut self) -> Result<(), RunError> {
        while !self.end.wire.wire.is_over() {
            self.round(&mut Feed::Fast)?;
            self.is_served()?;
        }
        self.drain()
    }

    /// Waits until every packet was handled and no flow is on its way.
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

    /// Returns the packets that came in.
    pub(super) const fn packets(&self) -> u64 {
        self.end.wire.wire.packets
    }

    /// Returns the time in which either thread was ready without a core.
    pub(super) fn robbed(&self) -> Option<u64> {
        self.end.out.told.robbed_ns()
    }

    /// Returns the host's time with something to do.
    pub(super) fn host_busy_ns(&self) -> u64 {
        self.end.out.told.busy_ns()
    }

    /// Runs a step of the loop. Returns whether there was anything to do.
    pub(super) fn round(&mut self, feed: &mut Feed) -> Result<bool, RunError> {
        let zero = self.note.borrow().zero;
        let wire = &mut self.end.wire;
        wire.due = None;
        wire.wire.open = match feed {
            Feed::None => 0,
            Feed::Fast => u64::MAX,
            Feed::At(pace) => {
                let since = pace.start.duration_since(zero).as_nanos() as f64;
                wire.due = Some((since + pace.gone as f64 * pace.distance, pace.distance));
                pace.waiting()
            }
        };
        let before = wire.wire.packets;
        let any = self.end.step(&Since(zero))?;
        if let Feed::At(pace) = feed {
            pace.gone += self.packets() - before;
        }
        let mut note = self.note.borrow_mut();
        note.arrival();
        note.left(&self.end.out.left.0);
        self.end.out.left.0.clear();
        Ok(any)
    }
}
