//! The host's process: its half, on its ends of the rings, as in production. Messages that find no
//! room on the ring to the NIC wait in memory, so the host never waits for the NIC.

use std::collections::VecDeque;

use cora_control::{Ledger, Move, Observation, Seen};
use cora_core::message::SENT;
use cora_core::plain::Plain as _;
use cora_core::state::table::Ending;
use cora_runtime::channel::PeerOutbox;
use cora_runtime::durability::{Reclaimed, ReplicaStore};
use cora_runtime::exec::burst::BURST_BYTES;
use cora_runtime::exec::reassemble::reassemble;
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Control, Load, Message, Ownership, Questions, Telemetry};
use cora_runtime::link::ring::{Consumer, Popped, Producer, PushError, RingError};
use cora_runtime::node::{Inbox, NodeError, serve_punts};
use cora_runtime::ownership::Order;
use cora_runtime::telemetry::{TALKERS, Talker};

use super::lies::Lies;
use super::nic::Rings;
use super::planted::Planted;
use crate::apps::SimApp;
use crate::history;
use crate::replicas::Replicas;
use crate::result::Ended;
use crate::story;
use crate::words::{Life, Words};

/// The kind of `Message::Send`.
const SEND: u16 = 11;

/// Whether a handled packet is a message for the NIC.
fn is_message(bytes: &[u8]) -> bool {
    Message::decode_sent(SEND, bytes).is_some_and(|(stamp, _)| stamp.leaves_at() == SENT)
}

/// The output to the NIC.
#[derive(Debug)]
struct Back {
    ring: Producer<Words>,
    waiting: VecDeque<(u16, Vec<u8>)>,
    /// Number of messages that found the ring full.
    waits: u64,
    broken: bool,
    replicas: Replicas,
    life: Life,
    /// The flows that changed sides, for a controller.
    ledger: Option<Ledger>,
    /// The lies, if the host lies.
    lies: Option<Lies>,
    /// Entries of recorded states that ended.
    ended: Vec<Ended>,
    /// Pieces of an incoming change of read-mostly states.
    arriving: Vec<(u16, Vec<u8>)>,
    /// A planted mistake.
    planted: Option<Planted>,
}

impl Back {
    fn push(&mut self, kind: u16, parts: &[&[u8]]) {
        if self.waiting.is_empty() {
            match self.ring.push(kind, parts) {
                Ok(()) => return,
                Err(PushError::Full) => self.waits += 1,
                Err(PushError::TooLong | PushError::Failed(_)) => self.broken = true,
            }
        }
        self.waiting.push_back((kind, parts.concat()));
    }

    fn flush(&mut self) {
        while let Some((kind, bytes)) = self.waiting.front() {
            match self.ring.push(*kind, &[bytes]) {
                Ok(()) => drop(self.waiting.pop_front()),
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => {
                    self.broken = true;
                    break;
                }
            }
        }
        self.ring.publish();
    }
}

impl PeerOutbox for Back {
    fn now_ns(&self) -> u64 {
        history::worked()
    }

    fn send(&mut self, message: &Message<'_>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.sent(message);
        }
        message.encode(|kind, parts| {
            let Some(lies) = &mut self.lies else { return self.push(kind, parts) };
            for (kind, bytes) in lies.instead(kind, parts.concat()) {
                self.push(kind, &[&bytes]);
            }
        });
    }

    fn show(&mut self) {
        self.ring.publish();
    }
}

impl HostOutbox for Back {
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        if self.planted != Some(Planted::LosesRecords) {
            self.ended.push(Ended::new(state, ending));
        }
    }

    fn replicas(&mut self) -> Option<&mut dyn ReplicaStore> {
        // A dead process stores no replicas.
        if self.life.is_over() { None } else { Some(&mut self.replicas) }
    }
}

/// The ring from the NIC. Messages taken from it are logged.
struct Heard<'a> {
    punt: &'a mut Consumer<Words>,
    /// Whether room is given back when that is asked for, and not later.
    releases: bool,
}

impl Inbox for Heard<'_> {
    fn is_empty(&mut self) -> Result<bool, RingError> {
        self.punt.is_empty()
    }

    fn pop(&mut self, buffer: &mut [u8]) -> Result<Option<Popped>, RingError> {
        let popped = self.punt.pop(buffer)?;
        if let Some(Popped { kind, len }) = popped
            && let Some(message) = Message::decode(kind, &buffer[..len])
        {
            story::takes("host", &message);
        }
        Ok(popped)
    }

    fn release(&mut self) {
        if self.releases {
            self.punt.release();
        }
    }
}

/// An error, in words.
struct Broken(String);

impl From<NodeError> for Broken {
    fn from(error: NodeError) -> Self {
        Self(match error {
            NodeError::Ring(error) => format!("host's ring: {error}"),
            NodeError::Protocol(error) => format!("host: {error}"),
            NodeError::Broken => "the ring to the NIC is broken".to_owned(),
        })
    }
}

/// Handles a message that is no packet.
fn other<A: SimApp>(
    half: &mut HostHalf<A>,
    back: &mut Back,
    seen: &mut Seen<A::Group>,
    message: &Message<'_>,
) -> Result<(), Broken> {
    match *message {
        Message::Telemetry(Telemetry::Load { load }) => {
            half.count_at_nic(load.counts.flows as u32);
            *seen = Seen { load: Some(load), talkers: Vec::new() };
        }
        Message::Telemetry(Telemetry::Talker { count, error, group }) => {
            let key = A::Group::get(group).ok_or(Broken("no key of a talker".to_owned()))?;
            if seen.talkers.len() < TALKERS {
                seen.talkers.push(Talker { key, count, error });
            }
        }
        Message::Control(Control::Change { .. }) if A::READ_MOSTLY => back.arriving.clear(),
        Message::Control(Control::Piece { state, piece }) if A::READ_MOSTLY => {
            back.arriving.push((state, piece.to_vec()));
        }
        Message::Control(Control::Changed { pieces, .. }) if A::READ_MOSTLY => {
            let arrived = std::mem::take(&mut back.arriving);
            if arrived.len() != pieces as usize {
                return Err(Broken(format!("{} of {pieces} pieces of a change", arrived.len())));
            }
            let torn = usize::from(back.planted == Some(Planted::TearsVersions));
            for (state, piece) in arrived.into_iter().skip(torn) {
                let merged = half.engine().app().state(state.into()).merge(&piece);
                merged.map_err(|_| Broken("a piece of a version is refused".to_owned()))?;
            }
        }
        // An operator hears them.
        Message::Questions(_) => {}
        // Only a host with replicas needs to know its flows.
        Message::Ownership(Ownership::Owned { .. } | Ownership::AllOwned { .. }) if !A::DURABLE => {
        }
        _ => {
            if let Some(ledger) = &mut back.ledger {
                ledger.received(message);
            }
            half.message(message, back).map_err(NodeError::from)?;
        }
    }
    Ok(())
}

/// The host's process.
pub(super) struct HostSide<A: SimApp> {
    pub(super) half: HostHalf<A>,
    punt: Consumer<Words>,
    back: Back,
    buffer: Box<[u8]>,
    pub(super) life: Life,
    /// The NIC's latest load report.
    nic_seen: Seen<A::Group>,
    /// The error, if one occurred.
    pub(super) error: Option<String>,
}

impl<A: SimApp> HostSide<A> {
    pub(super) fn new(
        half: HostHalf<A>,
        rings: &Rings,
        life: Life,
        mut replicas: Replicas,
    ) -> Self {
        if replicas.are_endangered() {
            replicas.endanger(&life);
        }
        let Rings { punt, back, .. } = rings;
        let ring = back.producer(&life);
        let waiting = VecDeque::new();
        let back = Back {
            ring,
            waiting,
            waits: 0,
            broken: false,
            replicas,
            life: life.clone(),
            ledger: None,
            lies: None,
            ended: Vec::new(),
            arriving: Vec::new(),
            planted: None,
        };
        let buffer = vec![0; BURST_BYTES].into();
        Self {
            half,
            punt: punt.consumer(&life),
            back,
            buffer,
            life,
            nic_seen: Seen::default(),
            error: None,
        }
    }

    /// Takes the entries of recorded states that ended so far.
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.back.ended)
    }

    /// Tells the NIC to begin.
    pub(super) fn begin(&mut self) {
        self.back.send(&Control::Begin {}.into());
        self.back.flush();
    }

    /// Plants this mistake from now on.
    pub(super) const fn err(&mut self, planted: Option<Planted>) {
        self.back.planted = planted;
    }

    /// Loses one replica of three from now on.
    pub(super) const fn lose_copies(&mut self) {
        self.back.replicas.lose_some();
    }

    /// From now on, the host may die between two changes of its replicas.
    pub(super) fn endanger_copies(&mut self) {
        self.back.replicas.endanger(&self.life);
        if self.back.planted == Some(Planted::EffectFirst) {
            self.back.replicas.lag();
        }
    }

    /// Makes the host lie from now on.
    pub(super) fn lie(&mut self, lies: Lies) {
        self.back.lies = Some(lies);
    }

    /// Returns the number of lies told.
    pub(super) fn lies(&self) -> u64 {
        self.back.lies.as_ref().map_or(0, |lies| lies.told)
    }

    /// Returns whether it has work.
    pub(super) fn is_busy(&mut self) -> bool {
        let works = self.half.is_handing_over() || self.half.has_mail();
        !self.back.waiting.is_empty() || works || self.has_mail()
    }

    /// Returns whether the NIC has sent a message.
    pub(super) fn has_mail(&mut self) -> bool {
        match self.punt.is_empty_indeed() {
            Ok(empty) => !empty,
            Err(error) => {
                self.error = Some(format!("host's ring: {error}"));
                false
            }
        }
    }

    /// Returns the number of messages that found the ring full.
    pub(super) const fn waits(&self) -> u64 {
        self.back.waits
    }

    /// Handles at most `most` messages.
    pub(super) fn poll(&mut self, most: usize) {
        if let Err(Broken(error)) = self.try_poll(most)
            && !self.life.is_over()
        {
            self.error = Some(error);
        }
    }

    fn try_poll(&mut self, most: usize) -> Result<(), Broken> {
        self.back.flush();
        if self.half.is_handing_over() {
            self.half.hand_over(most as u32, &mut self.back).map_err(NodeError::from)?;
        }
        self.half.round(&mut self.back);
        let Self { half, punt, back, buffer, nic_seen, .. } = self;
        // More follows on the hook then, so that the host may end behind it.
        let most = if back.planted == Some(Planted::ReleasesLate) { usize::MAX } else { most };
        let releases = back.planted != Some(Planted::ReleasesLate);
        let mut heard = Heard { punt, releases };
        serve_punts(half, &mut heard, back, (buffer, most), |half, back, message| {
            other(half, back, nic_seen, message)
        })?;
        punt.release();
        self.back.flush();
        if self.back.broken { Err(NodeError::Broken.into()) } else { Ok(()) }
    }

    /// Takes all that the NIC sent, and runs the hooks that are due by `now`.
    pub(super) fn end_hooks(&mut self, now: u64) {
        while self.error.is_none() && self.has_mail() {
            self.poll(usize::MAX);
        }
        self.half.pass_time(now, &mut self.back);
        self.back.flush();
    }

    /// Follows an order to move flows, as far as possible.
    pub(super) fn follow(&mut self, order: &Order<A::Group>) {
        self.half.follow(order, &mut self.back);
        self.back.flush();
    }

    /// Asks the NIC something for an operator.
    pub(super) fn ask(&mut self, question: Questions<'_>) {
        self.back.send(&question.into());
        self.back.flush();
    }

    /// Removes an entry for an operator.
    pub(super) fn remove(&mut self, state: u16, name: &[u8]) {
        self.half.remove(state, name, &mut self.back);
        self.back.flush();
    }

    /// Records the flows that change sides from now on.
    pub(super) fn watch(&mut self) {
        self.back.ledger = Some(Ledger::new());
    }

    /// Returns the flows that changed sides since the last call.
    pub(super) fn moved(&mut self) -> Vec<Move<A::Group>> {
        self.back.ledger.as_mut().map(Ledger::take).unwrap_or_default()
    }

    /// Returns the controller's observation, without the flows that moved.
    pub(super) fn observe(&mut self, time: u64) -> Observation<A::Group> {
        let mut talkers = Vec::new();
        let load = self.half.load(|talker| talkers.push(*talker));
        let (wire_ring, peer_ring) =
            (self.punt.occupancy() as u64, self.back.ring.occupancy() as u64);
        let load = Load { time, wire_ring, peer_ring, ..load };
        let (host, nic) = (Seen { load: Some(load), talkers }, self.nic_seen.clone());
        Observation { host, nic, moved: Vec::new() }
    }

    /// Handles the end of the NIC: handles all messages that it published, goes on with the rings
    /// of another NIC, and reclaims the flows of the dead one. Finished packets that the dead NIC
    /// did not take leave by the new one.
    pub(super) fn replug(&mut self, old: &Rings, rings: &Rings) -> Result<Reclaimed, String> {
        while self.error.is_none() && self.has_mail() {
            self.poll(usize::MAX);
        }
        self.back.ring.publish();
        let mut rest = old.back.consumer(&Life::endless());
        let mut buffer = vec![0; rest.max_record()];
        let mut done = VecDeque::new();
        let failed = |error: RingError| format!("the ring to the dead NIC: {error}");
        while let Some(popped) = rest.pop(&mut buffer).map_err(failed)? {
            done.push_back((popped.kind, buffer[..popped.len].to_vec()));
        }
        done.append(&mut self.back.waiting);
        // Messages are lost with the NIC: the half counts them. The new one has no flow.
        done.retain(|(kind, bytes)| *kind == SEND && !is_message(bytes));
        // A head without its payload is an error, and is not sent.
        done.retain_mut(|(kind, bytes)| {
            match reassemble(*kind, bytes, Some(&old.payloads), &mut buffer) {
                Ok(whole) => *bytes = whole.encode(|_, parts| parts.concat()),
                Err(error) => {
                    self.error = Some(format!("the dead NIC's payload buffers: {error}"));
                    return false;
                }
            }
            true
        });
        self.back.ring = rings.back.producer(&self.life);
        self.begin();
        self.back.waiting = done;
        self.punt = rings.punt.consumer(&self.life);
        if self.life.is_over() {
            return Ok(Reclaimed::default());
        }
        let reclaimed = self.reclaim();
        self.back.flush();
        Ok(reclaimed)
    }

    /// Reclaims the flows that the dead NIC owned.
    pub(super) fn reclaim(&mut self) -> Reclaimed {
        self.half.nic_lost(&mut self.back.replicas)
    }

    /// Returns the number of finished packets that wait here for the NIC, without those that
    /// handlers made.
    pub(super) fn done(&self) -> usize {
        let sent = self.back.waiting.iter();
        let sent = sent.filter_map(|(kind, bytes)| Message::decode_sent(*kind, bytes));
        sent.filter(|(stamp, _)| !stamp.is_made()).count()
    }

    /// Starts a new host in place of a dead one: with new rings, the replicas of the dead host, and
    /// the wire's time `now`.
    pub(super) fn succeed(
        &mut self,
        half: HostHalf<A>,
        [old, rings]: [&Rings; 2],
        spilled: &[(u16, Vec<u8>)],
        now: u64,
    ) -> Result<Reclaimed, String> {
        let (replicas, planted) = (std::mem::take(&mut self.back.replicas), self.back.planted);
        let punt = old.punt.consumer(&Life::endless());
        *self = Self::new(half, rings, Life::endless(), replicas);
        self.back.planted = planted;
        self.catch_up(punt, spilled)?;
        self.begin();
        self.half.restore_singletons(&self.back.replicas, &mut |_| {});
        Ok(self.half.take_over(now, &mut self.back.replicas, !A::RESTS_ON.is_empty()))
    }

    /// Catches up on the messages that the dead host did not take.
    fn catch_up(
        &mut self,
        mut punt: Consumer<Words>,
        spilled: &[(u16, Vec<u8>)],
    ) -> Result<(), String> {
        let mut rest = Vec::new();
        let failed = |error: RingError| format!("the dead host's ring: {error}");
        while let Some(popped) = punt.pop(&mut self.buffer).map_err(failed)? {
            rest.push((popped.kind, self.buffer[..popped.len].to_vec()));
        }
        for (kind, bytes) in rest.iter().chain(spilled) {
            let message = Message::decode(*kind, bytes);
            let message = message.ok_or("no message on the dead host's ring")?;
            story::takes("new host", &message);
            self.half.catch_up(&message, &mut self.back.replicas);
        }
        Ok(())
    }
}
