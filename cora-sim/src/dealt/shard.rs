//! A shard: a real half in its run loop, with the queue of what comes from the wire and the queue
//! of what it says to it. Both are in order, as rings are.

use std::collections::VecDeque;

use cora_runtime::channel::{PeerOutbox, ProtocolError};
use cora_runtime::exec::burst::BurstBuffer;
use cora_runtime::exec::{Burst, Wire};
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Deals, Frames, Kind, Merges, Message, Stamp};
use cora_runtime::link::ring::{Popped, RingError};
use cora_runtime::node::{Egress, Filled, Inbox, Ingress, NodeError};

use crate::apps::SimApp;
use crate::halves;
use crate::memory::Supply;
use crate::nic_core::NicCore;
use crate::result::Results;
use crate::story;
use crate::traffic::Record;

/// A half.
enum Half<A: SimApp> {
    Nic(Box<NicCore<A>>),
    Host(Box<HostHalf<A>>),
}

/// What a run does with the half of a shard.
macro_rules! each_half {
    ($half:expr, $of:ident => $what:expr) => {
        match $half {
            Half::Nic(core) => {
                let $of = &mut core.half;
                $what
            }
            Half::Host($of) => $what,
        }
    };
}

/// A shard.
pub(super) struct Shard<A: SimApp> {
    /// `None` while it is dead.
    half: Option<Half<A>>,
    pub(super) is_nic: bool,
    pub(super) inbox: VecDeque<Record>,
    pub(super) outbox: VecDeque<Record>,
    /// Frames that the half took.
    taken: u64,
    name: String,
}

/// What a half left behind when it died.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Remains {
    /// Packets that it took, and that have no outcome.
    pub(super) held: u64,
    /// Packets with an outcome that would have left, but did not.
    pub(super) unsent: u64,
}

/// The half's output.
struct Out<'a>(&'a mut VecDeque<Record>);

impl PeerOutbox for Out<'_> {
    fn send(&mut self, message: &Message<'_>) {
        self.0.push_back(message.encode(|kind, parts| (kind, parts.concat())));
    }
}

impl HostOutbox for Out<'_> {}

impl Wire for Out<'_> {
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        self.send(&Frames::Frame { stamp: *stamp, frame }.into());
    }

    fn tell(&mut self, message: Deals<'_>) {
        self.send(&message.into());
    }
}

impl Egress for Out<'_> {
    fn publish(&mut self) {}
}

/// The next records of a queue, at most `left`.
struct Inlet<'a> {
    records: &'a mut VecDeque<Record>,
    left: usize,
    taken: &'a mut u64,
    name: &'a str,
}

impl Inlet<'_> {
    fn next(&mut self) -> Option<Record> {
        let left = self.left.checked_sub(1)?;
        let (kind, bytes) = self.records.pop_front()?;
        self.left = left;
        *self.taken += u64::from(is_frame(kind));
        if let Some(message) = Message::decode(kind, &bytes) {
            story::takes(self.name, &message);
        }
        Some((kind, bytes))
    }
}

impl Ingress for Inlet<'_> {
    fn is_empty(&mut self) -> Result<bool, NodeError> {
        Ok(self.left == 0 || self.records.is_empty())
    }

    fn fill<'b>(
        &mut self,
        frames: &mut BurstBuffer<'b>,
        burst: &mut Burst<'b>,
    ) -> Result<Filled<'b>, NodeError> {
        while !burst.is_full()
            && let Some(room) = frames.room()
            && let Some((kind, bytes)) = self.next()
        {
            room[..bytes.len()].copy_from_slice(&bytes);
            let kept = frames.keep(bytes.len());
            if Kind::is_of_deal(kind) {
                return Ok(Filled::Deal(kind, kept));
            }
            if let Some(Message::Merges(Merges::Turn { ends, .. })) = Message::decode(kind, &bytes)
            {
                return Ok(Filled::Epoch(ends));
            }
            let frame = Message::decode_roomy(kind, kept);
            let (stamp, frame) = frame.ok_or(ProtocolError::undecodable(kind))?;
            burst.push_roomy(stamp, frame);
        }
        Ok(Filled::Burst)
    }
}

impl Inbox for Inlet<'_> {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        Ok(self.left == 0 || self.records.is_empty())
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let Some((kind, bytes)) = self.next() else { return Ok(None) };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(Some(Popped { kind, len: bytes.len() }))
    }

    fn release(&mut self) {}
}

/// Whether a record is a frame that comes in, leaves, or came to the wrong shard.
pub(super) fn is_frame(kind: u16) -> bool {
    kind == Kind::Frame || kind == Kind::Punt || kind == Kind::Send
}

impl<A: SimApp> Shard<A> {
    /// A shard at the NIC, or at the host. Its half holds `hold` bytes of packets at the NIC.
    pub(super) fn new(
        supply: &mut Supply,
        seed: u64,
        hold: usize,
        is_nic: bool,
        number: usize,
    ) -> Self {
        let mut shard = Self {
            half: None,
            is_nic,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            taken: 0,
            name: format!("shard {number}"),
        };
        shard.start(supply, seed, hold);
        shard
    }

    /// Starts a half, which has no entry and owns nothing before it is told.
    pub(super) fn start(&mut self, supply: &mut Supply, seed: u64, hold: usize) {
        self.taken = 0;
        self.half = Some(if self.is_nic {
            let half = halves::nic::<A>(supply, seed, hold, None);
            let core = NicCore::begun(half, &mut Out(&mut VecDeque::new()));
            Half::Nic(Box::new(core))
        } else {
            let mut half = halves::host::<A>(supply, seed, true);
            half.receive();
            Half::Host(Box::new(half))
        });
    }

    pub(super) const fn is_dead(&self) -> bool {
        self.half.is_none()
    }

    /// Whether the half has work.
    pub(super) fn is_busy(&self) -> bool {
        let gives = match &self.half {
            None => return false,
            Some(Half::Nic(core)) => core.half.is_handing_over(),
            Some(Half::Host(half)) => half.is_handing_over(),
        };
        gives || !self.inbox.is_empty()
    }

    /// Whether it has no part in a move and holds no packet.
    pub(super) fn is_drained(&self) -> bool {
        match &self.half {
            None => false,
            Some(Half::Nic(core)) => core.half.is_drained(),
            Some(Half::Host(half)) => half.is_drained(),
        }
    }

    /// An epoch begins, and ends then (ns of packet time).
    pub(super) fn epoch_begins(&mut self, ends: u64) {
        let turn = Message::from(Merges::Turn { ends, follows: 0 });
        self.inbox.push_back(turn.encode(|kind, parts| (kind, parts.concat())));
    }

    /// The frame as the half takes it from the wire.
    pub(super) fn frame(&self, stamp: Stamp, frame: &[u8]) -> Record {
        let message = if self.is_nic {
            Message::Frames(Frames::Frame { stamp, frame })
        } else {
            Message::Frames(Frames::Punt { stamp, frame })
        };
        message.encode(|kind, parts| (kind, parts.concat()))
    }

    /// Takes at most `most` records.
    pub(super) fn work(&mut self, most: usize, buffer: &mut [u8]) -> Result<(), String> {
        let Self { half, inbox, outbox, taken, name, .. } = self;
        let mut inlet = Inlet { records: inbox, left: most, taken, name };
        let mut out = Out(outbox);
        let worked = match half {
            None => Ok(()),
            Some(Half::Nic(core)) => core.read(&mut inlet, &mut out),
            Some(Half::Host(half)) => {
                if half.is_handing_over() {
                    half.hand_over(u32::MAX, &mut out).map_err(|error| error.to_string())?;
                }
                halves::serve(half, &mut inlet, &mut out, (buffer, most))
            }
        };
        worked.map_err(|error| format!("{name}: {error}"))
    }

    /// The half dies amid its work: the last records that it said were not shown, but for
    /// `shown` of them. Returns what is lost with it, and adds its outcomes to `results`.
    pub(super) fn die(
        &mut self,
        results: &mut Results,
        (before, shown): (usize, usize),
    ) -> Remains {
        let Some(mut half) = self.half.take() else { return Remains::default() };
        let (outcomes, report) = each_half!(&mut half, half => {
            (half.engine().outcomes.clone(), half.report)
        });
        results.count(&outcomes);
        // A stray went back to the wire, and is there or lost on its way.
        let held = self.taken - outcomes.total() - report.passed_on;
        let mut remains = Remains { held, unsent: 0 };
        for record in self.outbox.split_off(before + shown) {
            remains.lose(&record);
        }
        remains
    }

    /// No packet before this time is to come: what it brings about happens.
    pub(super) fn pass_time(&mut self, now: u64) {
        let mut out = Out(&mut self.outbox);
        match &mut self.half {
            None => {}
            Some(Half::Nic(core)) => core.half.silence(now, &mut out),
            Some(Half::Host(half)) => half.pass_time(now, &mut out),
        }
    }

    /// The program; `None` while the half is dead.
    pub(super) fn app(&mut self) -> Option<&mut A> {
        Some(each_half!(self.half.as_mut()?, half => half.engine().app()))
    }

    /// Adds the outcomes of its packets.
    pub(super) fn count(&mut self, results: &mut Results) {
        if let Some(half) = &mut self.half {
            each_half!(half, half => results.count(&half.engine().outcomes));
        }
    }
}

impl Remains {
    /// A record of the half was lost on its way.
    pub(super) fn lose(&mut self, (kind, _): &Record) {
        self.held += u64::from(*kind == Kind::Stray);
        self.unsent += u64::from(is_frame(*kind));
    }
}
