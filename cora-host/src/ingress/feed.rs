//! The wire's end of a region: feeds frames to the half that they come in at, and takes the output
//! of both.

use std::collections::VecDeque;

use cora_core::packet::Meta;
use cora_core::state::commutative::epoch_end;
use cora_runtime::channel::ProtocolError;
use cora_runtime::link::message::{Frames, Hooks, Kind, MAX_MESSAGE, Merges, Message, Stamp};
use cora_runtime::link::region::Rings;
use cora_runtime::link::ring::{Consumer, Popped, Producer, PushError, SharedMemory};

use crate::RunError;
use crate::ingress::capture::Out;
use crate::ingress::crossing::Crossing;
use crate::ingress::door::Services;
use crate::ingress::elsewhere::{COUNTS, Counts, Elsewhere, PORTS, SETUP};
use crate::ingress::entrance::{Entrance, Heard};
use crate::ingress::offers::Offers;
use crate::ingress::tally::Tally;
use crate::ingress::versions::{Change, Changes};
use crate::memory::cache_padded as apart;
use crate::memory::cache_padded::Bytes;

/// Frames moved over a wire ring before the others are polled.
const BURST: usize = 64;

/// So many records wait for a NIC before epochs are left out.
const MOST_EPOCHS: usize = 1 << 12;

/// The wire's ends of the rings of an entrance.
pub(crate) struct WireEnd {
    entrance: Entrance,
    /// The memory of the rings.
    rings: Rings,
    wire_in: Producer<SharedMemory>,
    wire_out: Consumer<SharedMemory>,
    buffer: Bytes<MAX_MESSAGE>,
    fed_all: bool,
    /// Records to be fed in first: those that a NIC left unread on its ring, and changes of
    /// read-mostly states.
    first: VecDeque<(u16, Vec<u8>)>,
    /// Changes to be placed before later packets.
    pub(crate) changes: Changes,
    /// Changes that were fed in, and may not be in force at both sides yet.
    on_their_way: VecDeque<Change>,
    /// The latest time of a frame that was fed in.
    latest: u64,
    /// The run time that the NIC was last told, by a frame or in a silence.
    told: u64,
    /// The end of the latest epoch that was told; 0 if none was.
    epoch_ends: u64,
    /// The NIC broke the protocol, and nothing more is read from it.
    distrusted: bool,
    /// How many frames NICs left unread so far.
    pub(crate) fed_again: u64,
    /// Records about buckets that move, which came behind all output so far.
    pub(crate) said: Vec<(u16, Vec<u8>)>,
    /// Packets that left.
    pub(crate) tally: Tally,
    /// Frames that were offered.
    pub(crate) offers: Offers,
    /// Messages for flows of other shards, and from there.
    pub(crate) crossing: Crossing,
    /// Packets come in at a card, which tells of them.
    elsewhere: Option<Elsewhere>,
}

/// The record of an epoch that begins for all shards.
fn turn(ends: u64) -> (u16, Vec<u8>) {
    encoded(&Merges::Turn { ends, follows: 0 }.into())
}

/// A message as a record: its kind, and its bytes.
pub(crate) fn encoded(message: &Message<'_>) -> (u16, Vec<u8>) {
    message.encode(|kind, parts| (kind, parts.concat()))
}

/// What a card tells of its wire; the error: it tells what makes no sense.
fn told(
    elsewhere: &mut Elsewhere,
    kind: u16,
    bytes: &[u8],
    cable: &mut impl Out,
) -> Result<Counts, RunError> {
    let nonsense = || RunError::from(ProtocolError::undecodable(kind));
    match kind {
        COUNTS => {
            let counts = elsewhere.heard(bytes).ok_or_else(nonsense)?;
            cable.hears(&counts);
            Ok(counts)
        }
        PORTS => {
            cable.hears_of_ports(serde_json::from_slice(bytes).map_err(|_| nonsense())?);
            Ok(Counts::default())
        }
        _ => Err(nonsense()),
    }
}

impl WireEnd {
    pub(crate) fn new(rings: &Rings, entrance: Entrance) -> Self {
        let (wire_in, wire_out) = entrance.rings(rings);
        Self {
            entrance,
            rings: *rings,
            wire_in: Producer::new(wire_in),
            wire_out: Consumer::new(wire_out),
            buffer: apart::bytes(),
            fed_all: false,
            first: VecDeque::new(),
            changes: Changes::new(),
            on_their_way: VecDeque::new(),
            latest: 0,
            told: 0,
            epoch_ends: 0,
            distrusted: false,
            fed_again: 0,
            said: Vec::new(),
            tally: Tally::default(),
            offers: Offers::default(),
            crossing: Crossing::default(),
            elsewhere: None,
        }
    }

    /// The same for packets that come in at a card: instead of frames it tells counts. These are
    /// the services at the beginning.
    pub(crate) fn of_card(rings: &Rings, services: &Services) -> Self {
        Self { elsewhere: Some(Elsewhere::with(services)), ..Self::new(rings, Entrance::Nic) }
    }

    /// Another card, or the same in another session, tells from now on, and hears this time first.
    pub(crate) fn begin_session(&mut self, now: u64) {
        if let Some(elsewhere) = &mut self.elsewhere {
            self.first.retain(|(kind, _)| *kind != SETUP);
            self.first.push_front(elsewhere.begins(now));
        }
    }

    /// Continues with the rings of another region, once the NIC has left this one. Its output is
    /// sent, and its unread input is fed in there. From a NIC that broke the protocol nothing more
    /// is read.
    pub(crate) fn follow(&mut self, rings: &Rings, cable: &mut impl Out) -> Result<(), RunError> {
        loop {
            match self.drain(cable) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if !error.is_nics_fault() => return Err(error),
                Err(_) => {
                    self.distrusted = true;
                    break;
                }
            }
        }
        self.leave();
        self.join(rings);
        Ok(())
    }

    /// The NIC has left its region, or is gone: what it left unread is to be fed in again.
    pub(crate) fn leave(&mut self) {
        let mut left_behind = if self.distrusted { Vec::new() } else { self.left_behind() };
        let frame = self.entrance.kind_of_frame();
        self.fed_again += left_behind.iter().filter(|(kind, _)| *kind == frame).count() as u64;
        left_behind.extend(std::mem::take(&mut self.first));
        self.first = self.with_whole_changes(left_behind);
        self.tell_epoch_again();
    }

    /// Goes on with the rings of a region.
    pub(crate) fn join(&mut self, rings: &Rings) {
        let (wire_in, wire_out) = self.entrance.rings(rings);
        self.wire_in = Producer::new(wire_in);
        self.wire_out = Consumer::new(wire_out);
        self.rings = *rings;
        self.fed_all = false;
        self.distrusted = false;
    }

    /// Marks that the NIC broke the protocol: the contents of its rings are ignored from now on.
    pub(crate) const fn distrust(&mut self) {
        self.distrusted = true;
    }

    /// The unread input of a NIC that is gone. It could write there until it ended: invalid frames
    /// are not fed in again, and times of frames are limited to past ones.
    fn left_behind(&self) -> Vec<(u16, Vec<u8>)> {
        let (wire_in, _) = self.entrance.rings(&self.rings);
        let mut rest = Consumer::new(wire_in);
        let mut buffer = vec![0; MAX_MESSAGE];
        let mut left = Vec::new();
        while let Ok(Some(Popped { kind, len })) = rest.pop(&mut buffer) {
            let bytes = buffer.get_mut(..len).unwrap_or_default();
            if Kind::is_of_change(kind) || Kind::is_of_deal(kind) || kind == SETUP {
                left.push((kind, bytes.to_vec()));
            } else if let Some(Message::Merges(Merges::Turn { ends, .. })) =
                Message::decode(kind, bytes)
            {
                left.push(turn(ends.min(self.epoch_ends)));
            } else if let Some((stamp, frame)) = Message::decode_frame(kind, bytes) {
                let Stamp { mut meta, horizon, .. } = stamp;
                (meta.time, meta.now) = (meta.time.min(self.latest), meta.now.min(self.latest));
                let stamp = Stamp { meta, horizon: horizon.min(self.latest), ..stamp };
                left.push(encoded(&self.entrance.frame(stamp, frame)));
            }
        }
        left
    }

    /// The records, with all changes complete that may not be in force: each at its beginning, or
    /// in front if the previous NIC had read its beginning.
    fn with_whole_changes(&self, records: Vec<(u16, Vec<u8>)>) -> VecDeque<(u16, Vec<u8>)> {
        let mut begun: Vec<&Change> = self.on_their_way.iter().collect();
        let mut rest = VecDeque::new();
        for record in records {
            if !Kind::is_of_change(record.0) {
                rest.push_back(record);
            } else if let Some(number) = Change::begins(record.0, &record.1)
                && let Some(at) = begun.iter().position(|change| change.number == number)
            {
                rest.extend(begun.remove(at).records());
            }
        }
        let mut all: VecDeque<_> = begun.into_iter().flat_map(Change::records).collect();
        all.append(&mut rest);
        all
    }

    /// For a program with several shards: an epoch of merges begins for all of them.
    pub(crate) fn epoch_begins(&mut self, ends: u64) {
        self.epoch_ends = ends;
        // Behind a NIC that is away for long, the latest ones are enough.
        if self.first.len() >= MOST_EPOCHS
            && let Some(last) = self.first.back_mut().filter(|(kind, _)| *kind == Kind::Turn)
        {
            *last = turn(ends);
        } else {
            self.first.push_back(turn(ends));
        }
    }

    /// Another NIC may not have been told the epoch of the first record.
    fn tell_epoch_again(&mut self) {
        if self.epoch_ends == 0 {
            return;
        }
        let mut records = self.first.iter().filter(|(kind, _)| !Kind::is_of_change(*kind));
        let ends = match records.next().map(|(kind, bytes)| Message::decode(*kind, bytes)) {
            Some(Some(Message::Frames(
                Frames::Frame { stamp, .. } | Frames::Punt { stamp, .. },
            ))) => epoch_end(stamp.meta.now).min(self.epoch_ends),
            Some(_) => return,
            None => self.epoch_ends,
        };
        self.first.push_front(turn(ends));
    }

    /// Places a record behind the frames so far.
    pub(crate) fn place(&mut self, record: (u16, Vec<u8>)) {
        self.first.push_back(record);
    }

    /// Passes a packet on that came to another shard.
    pub(crate) fn pass_on(&mut self, stamp: Stamp, frame: &[u8]) {
        self.first.push_back(encoded(&self.entrance.frame(stamp, frame)));
    }

    /// A message comes from another shard. Without room for it, it is dropped, and counted.
    pub(crate) fn comes_over(&mut self, stamp: Stamp, frame: &[u8]) {
        if self.crossing.comes(self.first.len()) {
            self.latest = self.latest.max(stamp.meta.now);
            self.pass_on(stamp, frame);
        }
    }

    /// Keeps those of the packets that are fed in first for which `takes` says so, by their marks,
    /// times and lengths. The others are lost with the half that left them unread.
    pub(crate) fn keep_unread(&mut self, mut takes: impl FnMut(&Meta, usize) -> bool) {
        let fed_again = &mut self.fed_again;
        self.first.retain(|(kind, bytes)| match Message::decode(*kind, bytes) {
            Some(Message::Frames(
                Frames::Frame { stamp, frame } | Frames::Punt { stamp, frame },
            )) => {
                let is_kept = takes(&stamp.meta, frame.len());
                *fed_again = fed_again.saturating_sub(u64::from(!is_kept));
                is_kept
            }
            _ => true,
        });
    }

    /// The half at the entrance is a new one: these records are its first, and those for the half
    /// before are void.
    pub(crate) fn deal_anew(&mut self, records: Vec<(u16, Vec<u8>)>) {
        self.first.retain(|(kind, _)| !Kind::is_of_deal(*kind));
        for record in records.into_iter().rev() {
            self.first.push_front(record);
        }
    }

    /// Places a change of the version on the wire.
    pub(crate) fn change(&mut self, change: Change) {
        if let Some(elsewhere) = &mut self.elsewhere {
            self.first.push_back(elsewhere.change(&change.services));
        }
        self.first.extend(change.records());
        self.on_their_way.push_back(change);
    }

    /// Removes changes up to this version, which is in force at both sides.
    pub(crate) fn in_force(&mut self, number: u32) {
        while self.on_their_way.front().is_some_and(|change| change.number <= number) {
            self.on_their_way.pop_front();
        }
    }

    /// Sends all changes in transfer again, completely: parts of them may have been lost with the
    /// host.
    pub(crate) fn change_again(&mut self) {
        self.first.retain(|(kind, _)| !Kind::is_of_change(*kind));
        self.first.extend(self.elsewhere.as_ref().map(Elsewhere::services_again));
        self.first.extend(self.on_their_way.iter().flat_map(Change::records));
    }

    /// The time of the latest frame that was fed in.
    pub(crate) const fn latest(&self) -> u64 {
        self.latest
    }

    /// Places the changes that are due before the packet with this number.
    fn change_before(&mut self, number: u64) {
        while let Some((_, change)) = self.changes.pop_front_if(|(before, _)| *before <= number) {
            self.change(change);
        }
    }

    /// Feeds a frame to the NIC; returns whether there was space. What must come before is fed in
    /// first.
    pub(crate) fn feed(&mut self, stamp: Stamp, frame: &[u8]) -> Result<bool, RunError> {
        self.change_before(stamp.number);
        if !self.push(&self.entrance.frame(stamp, frame))? {
            return Ok(false);
        }
        let Meta { time, now, .. } = stamp.meta;
        self.latest = self.latest.max(time).max(now).max(stamp.horizon);
        self.told = now;
        Ok(true)
    }

    /// Tells the NIC that time passes, while no frame comes, if it heard nothing for `every` (ns).
    pub(crate) fn feed_silence(&mut self, now: u64, every: u64) -> Result<bool, RunError> {
        if now < self.told.saturating_add(every) {
            return Ok(false);
        }
        let fed = self.push(&Hooks::Reached { now }.into())?;
        if fed {
            self.told = now;
        }
        Ok(fed)
    }

    /// Whether the NIC has not taken more than `most` bytes yet.
    pub(crate) fn is_ahead(&mut self, most: usize) -> bool {
        // Its own index is read only if it matters.
        self.wire_in.occupancy() > most && {
            self.wire_in.free_bytes();
            self.wire_in.occupancy() > most
        }
    }

    /// Bytes that the NIC has not taken yet, in percent of `most`, or of the ring if it is smaller.
    pub(crate) fn fill(&mut self, most: usize) -> u8 {
        // This updates its own index, too.
        let free = self.wire_in.free_bytes();
        let used = self.wire_in.occupancy();
        let whole = free.saturating_add(used).min(most).max(1);
        (used.min(whole) as u64 * 100 / whole as u64) as u8
    }

    /// Whether records wait to be fed in before frames.
    pub(crate) fn holds(&self) -> bool {
        !self.first.is_empty()
    }

    /// Whether no output is there, once more before its reader sleeps.
    pub(crate) fn has_nothing(&mut self) -> Result<bool, RunError> {
        Ok(self.distrusted || self.wire_out.is_empty_indeed()?)
    }

    /// Tells the NIC, once, that no more frames come; returns whether it did now.
    pub(crate) fn feed_end(&mut self, now: u64) -> Result<bool, RunError> {
        if self.fed_all || self.distrusted {
            return Ok(false);
        }
        self.change_before(u64::MAX);
        self.fed_all = self.push(&self.entrance.end(now))?;
        Ok(self.fed_all)
    }

    fn push(&mut self, message: &Message<'_>) -> Result<bool, RunError> {
        if self.distrusted {
            return Ok(false);
        }
        self.feed_first()?;
        if !self.first.is_empty() {
            return Ok(false);
        }
        match message.push(&mut self.wire_in) {
            Ok(()) => Ok(true),
            Err(PushError::Full) => Ok(false),
            Err(PushError::TooLong | PushError::Failed(_)) => Err(RunError::RingToNic),
        }
    }

    /// Makes what was fed in visible to the NIC.
    pub(crate) fn publish(&mut self) {
        self.wire_in.publish();
    }

    /// Feeds in what comes before all frames; returns whether there was space.
    pub(crate) fn feed_first(&mut self) -> Result<bool, RunError> {
        if self.distrusted {
            return Ok(false);
        }
        let mut fed = false;
        while let Some((kind, bytes)) = self.first.front() {
            match self.wire_in.push(*kind, &[bytes]) {
                Ok(()) => {}
                Err(PushError::Full) => break,
                Err(PushError::TooLong | PushError::Failed(_)) => return Err(RunError::RingToNic),
            }
            self.first.pop_front();
            fed = true;
        }
        Ok(fed)
    }

    /// Sends the NIC's output; returns whether there was any.
    pub(crate) fn drain(&mut self, cable: &mut impl Out) -> Result<bool, RunError> {
        if self.distrusted {
            return Ok(false);
        }
        let mut any = false;
        let buffer = &mut self.buffer.0;
        for _ in 0..BURST {
            let Some(popped) = self.wire_out.pop(buffer)? else { break };
            any = true;
            let bytes = buffer.get_mut(..popped.len).unwrap_or_default();
            if Kind::is_of_deal(popped.kind) {
                self.said.push((popped.kind, bytes.to_vec()));
                continue;
            }
            if let Some(elsewhere) = &mut self.elsewhere {
                let counts = told(elsewhere, popped.kind, bytes, cable)?;
                self.offers.add(&counts);
                self.tally += counts.tally;
                continue;
            }
            let Some((stamp, frame)) = Message::decode_frame(popped.kind, bytes) else {
                if self.crossing.hears(popped.kind, bytes) {
                    continue;
                }
                match self.entrance.heard(popped.kind) {
                    Heard::Nothing => {}
                    Heard::Asks => self.first.push_back(encoded(&Entrance::counts())),
                    Heard::Nonsense => return Err(ProtocolError::undecodable(popped.kind).into()),
                }
                continue;
            };
            if self.crossing.takes(&stamp, frame) {
                self.tally.left(popped.kind, &stamp);
            } else if !cable.keeps(popped.kind, &stamp, frame) {
                self.tally.left(popped.kind, &stamp);
                cable.write(&stamp, frame)?;
            }
        }
        self.wire_out.release();
        if any {
            cable.flush()?;
        }
        Ok(any)
    }
}
