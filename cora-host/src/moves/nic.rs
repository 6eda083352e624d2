//! The NIC's side: frames from memory, at a stated pace or as fast as they are taken, and what `cora-nic` does between
//! the two.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and nanoseconds of a few seconds, none below zero"
)]

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_core::key::Key as _;
use cora_core::message::{MAX_MESSAGE, Message, Stamp};
use cora_core::migration::burst::{BURST_BYTES, Frames};
use cora_core::migration::nic::Wire;
use cora_core::migration::{AT_ONCE, Burst, NicHalf, Outbox, ProtocolError};
use cora_core::monitor::Load;
use cora_core::plain::Plain as _;
use cora_core::region::Region;
use cora_core::ring::{Consumer, Producer, PushError, SharedMemory};

use super::flows::FlowsOf;
use super::host::{Done, Task, Told};
use super::tally::Tally;
use crate::RunError;
use crate::bench::{Pass, Traffic};
use crate::punts::Patience;
use crate::supply::Supply;
use crate::throughput::robbed;

/// Messages taken from the host between two bursts from the wire, as in `cora-nic`.
const BACK_BURST: usize = 64;
/// Frames that the wire holds while the NIC takes none: about what the ring of a run does. More are lost.
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

/// The NIC's half.
pub(super) struct Nic<'a, A: App> {
    pub(super) half: NicHalf<A>,
    pub(super) out: Out<'a>,
    back: Consumer<SharedMemory>,
    message: Vec<u8>,
    buffer: Vec<u8>,
    frames: Source<'a>,
    flows: &'a FlowsOf<A::Group>,
    numbers: HashMap<[u64; 5], u32>,
    pub(super) tally: Option<Tally>,
    /// Where the times in the tally begin.
    zero: Instant,
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

/// Where the NIC's messages and packets go.
pub(super) struct Out<'a> {
    punt: Producer<SharedMemory>,
    /// Packets that left, and the numbers of those since the last look.
    pub(super) left: u64,
    gone: Vec<u64>,
    broken: bool,
    told: &'a Told,
}

impl Out<'_> {
    #[inline(never)]
    fn push(&mut self, kind: u16, parts: &[&[u8]]) -> bool {
        let first = self.punt.push(kind, parts);
        if !matches!(first, Err(PushError::Full)) {
            return first.is_ok();
        }
        self.punt.publish();
        let mut patience = Patience::default();
        loop {
            match self.punt.push(kind, parts) {
                Err(PushError::Full) if !self.told.ended.load(Ordering::Relaxed) => patience.wait(),
                last => return last.is_ok(),
            }
        }
    }
}

impl Outbox for Out<'_> {
    #[inline]
    fn send(&mut self, message: &Message<'_>) {
        self.broken |= !message.encode(|kind, parts| self.push(kind, parts));
    }
}

impl Wire for Out<'_> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, _: &[u8]) {
        self.left += 1;
        self.gone.push(stamp.number);
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
        let mut app = supply.app::<A>(NicHalf::bytes)?;
        let mut memory = supply.memory(NicHalf::bytes(&mut app))?;
        let rings = region.rings();
        let punt = Producer::new(rings.punt);
        let numbers = flows.groups.iter().zip(0..).map(|(key, number)| (key.words(), number));
        let (at, later, now, packets) = (0, 0, 0, 0);
        let pass = traffic.pass(0);
        Ok(Self {
            half: NicHalf::create(app, &mut memory).map_err(RunError::Memory)?,
            out: Out { punt, left: 0, gone: Vec::new(), broken: false, told },
            back: Consumer::new(rings.back),
            message: vec![0; MAX_MESSAGE],
            buffer: vec![0; BURST_BYTES],
            frames: Source { traffic, from: warm, pass, at, later, now, packets },
            flows,
            numbers: numbers.collect(),
            tally: None,
            zero: Instant::now(),
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
        let told = self.out.told;
        loop {
            let report = &self.half.report;
            let at_host = report.passed_on + report.punts;
            let done = told.packets.load(Ordering::Acquire) == at_host;
            if !self.round(&mut Feed::None)? && done && self.half.is_drained() {
                return Ok(());
            }
            self.is_served()?;
        }
    }

    fn is_served(&self) -> Result<(), RunError> {
        let ended = self.out.told.ended.load(Ordering::Relaxed);
        if ended { Err(RunError::RingToNic) } else { Ok(()) }
    }

    /// Packets that came in.
    pub(super) const fn packets(&self) -> u64 {
        self.frames.packets
    }

    /// How long either thread was ready and had no core.
    pub(super) fn robbed(&self) -> Option<u64> {
        let host = self.out.told.thread.load(Ordering::Relaxed);
        let (here, there) = robbed("thread-self").zip(robbed(&format!("self/task/{host}")))?;
        Some(here + there)
    }

    /// The host's time with something to do.
    pub(super) fn host_busy_ns(&self) -> u64 {
        self.out.told.busy_ns.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }

    /// A look at both rings; whether the host had sent anything.
    pub(super) fn round(&mut self, feed: &mut Feed) -> Result<bool, RunError> {
        let any = self.read_back()?;
        self.half.hand_over(AT_ONCE, &mut self.out);
        let most = match feed {
            Feed::None => 0,
            Feed::Fast => u64::MAX,
            Feed::At(pace) => pace.waiting(),
        };
        if most > 0 && self.half.takes_packets() {
            let taken = self.read_wire(most, feed);
            if let Feed::At(pace) = feed {
                pace.gone += taken;
            }
        }
        self.out.punt.publish();
        self.count_gone();
        self.tell_load();
        if self.out.broken { Err(RunError::RingToNic) } else { Ok(any) }
    }

    fn count_gone(&mut self) {
        if let Some(tally) = self.tally.as_mut().filter(|_| !self.out.gone.is_empty()) {
            let now = self.zero.elapsed().as_nanos() as u64;
            self.out.gone.iter().for_each(|number| tally.left(*number, now));
        }
        self.out.gone.clear();
    }

    fn tell_load(&mut self) {
        let Some((every, next)) = &mut self.watch else { return };
        let now = Instant::now();
        if now >= *next {
            *next = now + *every;
            self.half.tell(&Load::default(), &mut self.out);
        }
    }

    /// A burst from the wire; how many packets that were.
    fn read_wire(&mut self, most: u64, feed: &Feed) -> u64 {
        let mut buffer = std::mem::take(&mut self.buffer);
        let taken = self.burst(most, feed, &mut Frames::new(&mut buffer));
        self.buffer = buffer;
        taken
    }

    fn burst(&mut self, most: u64, feed: &Feed, frames: &mut Frames<'_>) -> u64 {
        let mut burst = Burst::new();
        let due = match feed {
            Feed::At(pace) => {
                let since = pace.start.duration_since(self.zero).as_nanos() as f64;
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
            if let (Some(tally), Some((first, distance))) = (&mut self.tally, due) {
                let at = if at < self.flows.of_frame.len() { at } else { self.frames.from };
                let flow = self.flows.of_frame.get(at).copied().unwrap_or_default();
                tally.came(number, flow, (first + behind * distance) as u64);
            }
        }
        let taken = burst.len() as u64;
        self.half.burst(&mut burst, &mut self.out);
        taken
    }

    /// Handles some of what the host sent; whether there was anything.
    fn read_back(&mut self) -> Result<bool, RunError> {
        if self.back.is_empty()? {
            return Ok(false);
        }
        let mut buffer = std::mem::take(&mut self.message);
        for _ in 0..BACK_BURST {
            let Some(popped) = self.back.pop(&mut buffer)? else { break };
            let bytes = buffer.get(..popped.len).unwrap_or_default();
            let undecodable = ProtocolError::Undecodable(popped.kind);
            let message = Message::decode(popped.kind, bytes).ok_or(undecodable)?;
            self.note(&message);
            self.half.message(&message, &mut self.out)?;
            self.note_arrival();
        }
        self.message = buffer;
        self.back.release();
        Ok(true)
    }

    fn note(&mut self, message: &Message<'_>) {
        if self.tally.is_none() {
            return;
        }
        let now = self.now();
        let Some(tally) = &mut self.tally else { return };
        let number = |group| Some(*self.numbers.get(&A::Group::get(group)?.words())?);
        match *message {
            Message::Offer { ticket, group, .. } => {
                if let Some(flow) = number(group) {
                    tally.offered(ticket, flow, now);
                }
            }
            Message::Recall(group) => {
                if let Some(flow) = number(group) {
                    tally.recalled(flow);
                }
            }
            Message::Transfer { ticket, entries } => tally.transfer(ticket, entries, now),
            Message::Entry(_, piece) => tally.entry(piece.len(), now),
            Message::Withdraw(ticket) => tally.end_of(ticket, None),
            _ => {}
        }
    }

    fn note_arrival(&mut self) {
        let now = self.tally.as_ref().is_some_and(Tally::is_whole).then(|| self.now());
        if let Some((tally, now)) = self.tally.as_mut().zip(now) {
            tally.arrived(now);
        }
    }
}

impl Source<'_> {
    /// Adds the next frame to the burst; `false` when there is no room for it.
    fn next<'b>(&mut self, frames: &mut Frames<'b>, burst: &mut Burst<'b>) -> bool {
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
            burst.push(stamp, frame);
        });
        self.packets += u64::from(received);
        self.at += usize::from(received);
        received
    }
}
