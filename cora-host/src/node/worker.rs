//! The host's half of the protocol, on its ends of the rings.

use std::fmt;
use std::time::{Duration, Instant};

use cora_control::{Ledger, Observation, Seen};
use cora_core::app::App;
use cora_runtime::channel::PeerOutbox;
use cora_runtime::classes::Limits;
use cora_runtime::durability::ReplicaStore;
use cora_runtime::exec::burst::{BURST, BURST_BYTES};
use cora_runtime::exec::reassemble::reassemble;
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::{
    Answer, Control, Load, MAX_MESSAGE, Message, Questions, Telemetry,
};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};
use cora_runtime::node::serve_punts;
use cora_runtime::ownership::{AT_ONCE, Order};
use cora_runtime::tap::TapOrder;
use cora_runtime::telemetry::Counters;

use crate::RunError;
use crate::memory::cache_padded as apart;
use crate::memory::cache_padded::Bytes;
use crate::node::back::{Back, Tapped, is_message, left_unread, taken};
use crate::node::exchange::Exchange;
use crate::node::host_page::HostPage;
use crate::node::received::Received;
use crate::observe::ipfix::Exporter;

/// The host's half at work.
pub struct Worker<A: App> {
    /// Its half of the program.
    pub half: HostHalf<A>,
    punt: Consumer<SharedMemory>,
    back: Back,
    buffer: Option<Bytes<BURST_BYTES>>,
    /// The NIC's other messages.
    pub(crate) received: Received<A>,
    /// The exchange of merges with other shards, for a program that reads them.
    exchange: Option<Exchange>,
    /// Which of how many shards it is, and the run's seed, for a program with messages.
    shard: Option<Message<'static>>,
    /// Where counts are told.
    counters: Option<Counters>,
}

impl<A: App> fmt::Debug for Worker<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("back", &self.back).finish_non_exhaustive()
    }
}

impl<A: App> Worker<A> {
    /// A worker that has handled nothing, at its ends of these rings.
    pub fn new(half: HostHalf<A>, rings: &Rings) -> Self {
        Self {
            half,
            punt: Consumer::new(rings.punt),
            back: Back::new(rings.back),
            buffer: Some(apart::bytes()),
            received: Received::default(),
            exchange: None,
            shard: None,
            counters: None,
        }
    }

    /// Exchanges merges with the other shards.
    pub(crate) fn join(&mut self, exchange: Exchange) {
        self.half.join_shards();
        self.exchange = Some(exchange);
    }

    /// Publishes all that was sent.
    fn flush(&mut self) {
        if A::MESSAGES
            && let Some(counters) = self.counters
        {
            counters.tell_took(self.half.took());
        }
        self.back.flush();
    }

    /// This is the shard with this number, of so many, in the run with this seed. Messages for
    /// flows of the others leave. The NIC hears it, too.
    pub(crate) fn is_shard(&mut self, (number, of): (u16, u16), seed: u64) {
        if A::MESSAGES && of > 1 && self.half.is_shard((number, of), seed) {
            self.shard = Some(Control::Shard { number, of, seed }.into());
        }
    }

    /// The other shards get no merge from this one any more.
    pub(crate) fn leave_shards(&self) {
        if let Some(exchange) = &self.exchange {
            exchange.leave();
        }
    }

    /// Takes over the entries of the previous host from their replicas, or begins `afresh`;
    /// replicas are kept in `replicas` from now on.
    pub(crate) fn take_over(
        &mut self,
        mut replicas: Box<dyn ReplicaStore + Send>,
        now: u64,
        afresh: bool,
    ) {
        self.half.take_over(now, replicas.as_mut(), afresh);
        self.back.replicas = Some(replicas);
    }

    /// Continues with the rings of another region and its NIC, once the previous NIC ended and all
    /// that it published was handled. Finished packets that the old NIC did not take are sent
    /// through the new one, but for messages, which are lost. Without `old` rings (after a protocol
    /// violation), packets that the NIC
    /// may have changed are dropped.
    pub(crate) fn replug(&mut self, old: Option<&Rings>, rings: &Rings) {
        self.back.ring.publish();
        let mut done = old.map(left_unread).unwrap_or_default();
        let payloads = old.and_then(|old| old.payloads.as_ref());
        let mut buffer = vec![0; MAX_MESSAGE];
        done.append(&mut self.back.waiting);
        done.retain_mut(|(kind, bytes)| {
            // The half counts messages that went to the old NIC as lost. The new one has no flow.
            if A::MESSAGES && is_message(*kind, bytes) {
                return false;
            }
            // A head without a valid payload buffer is no longer a packet.
            let whole = reassemble(*kind, bytes, payloads, &mut buffer)
                .map(|whole| whole.encode(|_, parts| parts.concat()));
            whole.is_ok_and(|whole| {
                *bytes = whole;
                true
            })
        });
        self.back.waiting_bytes = done.iter().map(|(_, bytes)| taken(bytes)).sum();
        self.back.waiting = done;
        (self.back.stuck_since, self.back.broken) = (None, false);
        self.back.ring = Producer::new(rings.back);
        self.punt = Consumer::new(rings.punt);
        self.received.forget();
        // The host half of a run has replicas, if only of no state.
        if let Some(replicas) = &mut self.back.replicas {
            self.half.nic_lost(replicas.as_mut());
        }
    }

    /// After [`Self::replug`], avoids sending packets twice: `left` of this host's had already left
    /// through the old NIC.
    pub(crate) fn renew(&mut self, left: u64) {
        let Back { waiting, waiting_bytes, sent, .. } = &mut self.back;
        let doubled = (left + waiting.len() as u64).saturating_sub(*sent);
        // They left in order, so they are the first ones.
        for (_, bytes) in waiting.drain(..waiting.len().min(doubled as usize)) {
            *waiting_bytes -= taken(&bytes);
        }
        *sent = waiting.len() as u64;
    }

    /// Sends records of ended entries to this exporter.
    pub(crate) fn export_to(&mut self, exporter: Option<Exporter>) {
        self.back.exporter = exporter;
    }

    /// Called when idle: sends waiting records.
    pub(crate) fn tick(&self) {
        if let Some(exporter) = &self.back.exporter {
            exporter.tick();
        }
    }

    /// Stores on this page the number of the packet that the handlers run, and counts of messages.
    /// These are told before what was sent is published: so each message that came anywhere is
    /// known of a host that ends.
    pub(crate) fn note_on(&mut self, page: HostPage) {
        (self.back.runs, self.counters) = (page.packet_word(), Some(page.counters()));
    }

    /// Sends the NIC the versions of read-mostly states and the limits of messages, and tells it to
    /// begin.
    pub fn begin(&mut self, configured: &[usize], limits: Option<Limits>) {
        for number in configured {
            let back = &mut self.back;
            let home = self.half.engine().app().state(*number);
            home.export(0, &mut |piece| {
                back.send(&Control::Piece { state: *number as u16, piece }.into());
            });
        }
        if let Some(shard) = &self.shard {
            self.back.send(shard);
        }
        self.back.send(&Control::Begin {}.into());
        if let Some(limits) = limits {
            self.limit_classes(limits);
        }
        self.back.flush();
    }

    /// Passes an operator's question on to the NIC, which may tell so many entries.
    pub(super) fn ask_nic(&mut self, question: &Questions<'_>, entries: u32) {
        self.received.nic_answers.expect(entries);
        self.back.send(&(*question).into());
    }

    /// Removes the entry with this name, as a handler does.
    pub(super) fn remove(&mut self, state: u16, name: &[u8]) -> Answer {
        self.half.remove(state, name, &mut self.back)
    }

    /// Offers this flow to the NIC, or recalls it.
    pub(super) fn move_flow(&mut self, to_nic: bool, group: &[u8]) -> Answer {
        self.half.move_flow(to_nic, group, &mut self.back)
    }

    /// Taps packets of both halves as an operator says. The NIC does not answer.
    pub(super) fn tap(&mut self, question: &Questions<'_>, has_nic: bool) {
        let order = TapOrder::of(question);
        self.back.tapped = Tapped { is_on: order.points != 0, ..Tapped::default() };
        self.half.tap(order);
        if has_nic {
            self.back.send(&(*question).into());
        }
    }

    /// Tapped packets, on their way to the operator.
    pub(super) const fn tapped(&mut self) -> &mut Tapped {
        &mut self.back.tapped
    }

    /// Shows the NIC what was sent so far.
    pub(super) fn show_nic(&mut self) {
        self.flush();
    }

    /// Handles the NIC's messages; returns whether there were any.
    pub fn poll(&mut self) -> Result<bool, RunError> {
        self.flush();
        if self.back.broken {
            return Err(RunError::RingToNic);
        }
        if self.back.is_over_full()? {
            return Ok(false);
        }
        let handed = self.hand_over()? | self.exchange() | self.round();
        if self.punt.is_empty()? {
            let anything = self.answer() || self.finish() || handed;
            if !anything {
                self.back.ring.rest();
            }
            return Ok(anything);
        }
        let start = Instant::now();
        let mut buffer = self.buffer.take().unwrap_or_else(apart::bytes);
        let Self { half, punt, back, received, .. } = self;
        let handled =
            serve_punts(half, punt, back, (&mut buffer.0, BURST), |half, back, message| {
                received.message(half, back, message)
            });
        self.buffer = Some(buffer);
        handled?;
        self.exchange();
        self.flush();
        self.half.report.busy_ns += start.elapsed().as_nanos() as u64;
        Ok(true)
    }

    /// Sends entries during the handover of a flow with many, as far as the ring has space and
    /// nothing waits. Returns whether there were any.
    fn hand_over(&mut self) -> Result<bool, RunError> {
        if !self.half.is_handing_over() || !self.back.waiting.is_empty() {
            return Ok(false);
        }
        let start = Instant::now();
        self.half.hand_over(AT_ONCE, &mut self.back)?;
        self.flush();
        self.half.report.busy_ns += start.elapsed().as_nanos() as u64;
        Ok(true)
    }

    /// A round over messages that wait, where the NIC sends nothing. Returns whether any waited.
    fn round(&mut self) -> bool {
        let any = self.half.has_mail();
        if any {
            self.half.round(&mut self.back);
            self.flush();
        }
        any
    }

    /// Exchanges merges with the other shards. Returns whether there was anything.
    fn exchange(&mut self) -> bool {
        let Self { half, back, exchange, .. } = self;
        let any = exchange.as_mut().is_some_and(|exchange| exchange.step(half, back));
        if any {
            self.flush();
        }
        any
    }

    /// Whether a merge lacks parts of other shards, which nobody announces.
    pub(crate) const fn lacks_parts(&self) -> bool {
        self.half.epoch_to_collect().is_some()
    }

    /// Tells the NIC that the host is drained, once the NIC has no packet left and no offload is in
    /// progress.
    fn finish(&mut self) -> bool {
        if self.received.drained.is_none() || self.received.answered {
            return false;
        }
        self.half.close();
        if !self.half.is_drained() {
            return false;
        }
        // What is due by then may bring about messages for the NIC.
        self.half.pass_time(self.now(), &mut self.back);
        if !self.half.is_drained() {
            self.flush();
            return false;
        }
        self.received.answered = true;
        self.back.send(&Control::Drained { now: self.half.now() }.into());
        self.flush();
        true
    }

    /// Answers the wire's question whether all is quiet, once nothing is left of what came before
    /// it.
    fn answer(&mut self) -> bool {
        let Some(wave) = self.received.wave else { return false };
        self.half.close();
        if !self.half.is_drained() {
            return false;
        }
        self.received.wave = None;
        self.back.send(&Control::Quiet { wave }.into());
        self.flush();
        true
    }

    /// Sets what messages may cost before their class waits behind the bursts, at both sides. A
    /// program without messages has no classes.
    fn limit_classes(&mut self, limits: Limits) {
        if const { A::MESSAGES } {
            let Limits { tail, round, mean } = limits;
            self.half.limit_classes(limits);
            self.back.send(&Telemetry::Limit { tail, round, mean }.into());
        }
    }

    /// Requests load reports from the NIC with this period.
    pub fn watch(&mut self, every: Duration) {
        self.back.ledger = Some(Ledger::new());
        self.half.watch();
        self.tell_every(every);
    }

    /// Sets the period of the NIC's load reports.
    pub fn tell_every(&mut self, every: Duration) {
        self.back.send(&Telemetry::Watch { every: every.as_nanos() as u64 }.into());
        self.flush();
    }

    /// The load of both sides, as far as it is known here.
    pub fn observe(&mut self, now_ns: u64) -> Observation<A::Group> {
        let mut talkers = Vec::new();
        let load = self.half.load(|talker| talkers.push(*talker));
        let load = Load {
            time: now_ns,
            wire_ring: self.punt.occupancy() as u64,
            peer_ring: self.back.occupancy() as u64,
            ..load
        };
        let moved = self.back.ledger.as_mut().map(Ledger::take).unwrap_or_default();
        Observation {
            host: Seen { load: Some(load), talkers },
            nic: self.received.seen.clone(),
            moved,
        }
    }

    /// Executes the controller's orders, as far as possible.
    pub fn follow(&mut self, orders: &[Order<A::Group>]) {
        for order in orders {
            self.half.follow(order, &mut self.back);
        }
        self.flush();
    }

    /// Whether a message waits for space in the ring to the NIC.
    pub fn waits_for_room(&self) -> bool {
        !self.back.is_clear() || self.half.is_handing_over()
    }

    /// Whether the NIC has sent nothing, and its ring is sound.
    pub fn has_nothing(&mut self) -> Result<bool, RunError> {
        Ok(self.punt.is_empty_indeed()?)
    }

    /// Number of records received from the NIC.
    pub(crate) fn ring_records(&self) -> u64 {
        self.punt.records()
    }

    /// The end of the run time.
    pub(crate) fn now(&self) -> u64 {
        self.half.now().max(self.received.drained.unwrap_or(0))
    }
}
