//! The ports of a card: packets go between them and the NIC half, and only counts go to the host.
//!
//! A program with durable states answers only for records that the host has: a packet leaves once
//! the host has all that the NIC half said before it. A card that loses its power takes the rest
//! along, and nobody was told of that.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_link::mirror::{CardMirror, Regions};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::{HashSeed, NicStatus, wake};
use cora_runtime::steering::Deal;

use crate::ingress::capture::{Cable, Out};
use crate::ingress::clock::Clock;
use crate::ingress::door::{Door, Services};
use crate::ingress::elsewhere::{Counts, PortsThere};
use crate::ingress::entrance::Entrance;
use crate::ingress::feed::WireEnd;
use crate::ingress::intake::{Intake, Takes};
use crate::ingress::news::{Heard, NewsEnd};
use crate::ingress::offers::{Offered, Offers};
use crate::ingress::port_names::Ports;
use crate::ingress::ports::LiveWire;
use crate::ingress::tally::Tally;
use crate::process::log::{self, Part};
use crate::{RunError, SharedFutex};

/// Most bytes of packets that wait for the host. Behind them the NIC half waits.
const MOST_HELD: usize = 1 << 20;

/// How often the ports are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A card's ports, and their end of its NIC half's wire.
pub(super) struct Front {
    cable: LiveWire,
    intake: Intake,
    wire: CardWire,
    held: Held,
    /// Where host and card tell each other of the wire, and the generation of the region there.
    news: NewsEnd,
    generation: u64,
    /// The counts before this session.
    before: Counts,
    looked: Instant,
    /// There is a session.
    is_on: bool,
    /// The host of this session has told the time.
    has_time: bool,
    /// The run of the latest session, by its seed.
    run: Option<HashSeed>,
}

/// The wire's end of the NIC half.
struct CardWire {
    end: WireEnd,
    works: bool,
    is_leaving: bool,
}

/// Packets that wait until the host has all that they rest on.
#[derive(Debug, Default)]
struct Held {
    packets: VecDeque<(u64, Kept)>,
    bytes: usize,
    /// The number that the host must have reached for those that come now; zero: they leave at
    /// once.
    for_now: u64,
}

/// Such a packet: the kind of its record, its stamp and its frame.
#[derive(Debug)]
struct Kept(u16, Stamp, Vec<u8>);

/// Where packets leave: at the ports, or into the hands of [`Held`].
struct Leaving<'a> {
    ports: &'a mut LiveWire,
    held: &'a mut Held,
}

impl Out for Leaving<'_> {
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.ports.write(stamp, frame)
    }

    fn keeps(&mut self, kind: u16, stamp: &Stamp, frame: &[u8]) -> bool {
        let Held { packets, bytes, for_now } = &mut *self.held;
        if *for_now == 0 {
            return false;
        }
        *bytes += frame.len();
        packets.push_back((*for_now, Kept(kind, *stamp, frame.to_vec())));
        true
    }

    fn flush(&mut self) -> Result<(), RunError> {
        self.ports.flush()
    }
}

impl Held {
    /// Lets those go that need wait no longer, and counts them; returns whether there were any.
    fn release(
        &mut self,
        there: u64,
        (ports, tally): (&mut LiveWire, &mut Tally),
    ) -> Result<bool, RunError> {
        let mut any = false;
        while let Some((_, Kept(kind, stamp, frame))) =
            self.packets.pop_front_if(|(needs, _)| *needs <= there)
        {
            self.bytes -= frame.len();
            tally.left(kind, &stamp);
            ports.write(&stamp, &frame)?;
            any = true;
        }
        if any {
            ports.flush()?;
        }
        Ok(any)
    }
}

impl Takes for CardWire {
    fn offer<C: Cable>(
        &mut self,
        stamp: Stamp,
        frame: &[u8],
        is_alone: bool,
    ) -> Result<Offered, RunError> {
        let is_open = !self.is_leaving && !self.end.is_ahead(C::MOST_AHEAD);
        if is_open && self.end.feed(stamp, frame)? {
            return Ok(self.end.offers.took());
        }
        Ok(self.end.offers.did_not_take(is_open, self.works, is_alone))
    }

    fn feed_silence(&mut self, now: u64, every: u64) -> Result<bool, RunError> {
        if self.is_leaving || !self.works { Ok(false) } else { self.end.feed_silence(now, every) }
    }

    fn epoch_begins(&mut self, ends: u64) {
        self.end.epoch_begins(ends);
    }
}

impl Front {
    /// Opens the ports, for the first session.
    pub(super) fn open(ports: &Ports, regions: &Regions) -> Result<Self, RunError> {
        let end = WireEnd::new(&regions.nic.rings(), Entrance::Nic);
        let mut front = Self {
            cable: LiveWire::open(ports, &[], Clock::begin())?,
            intake: Intake::new(Door::new(0, Deal::even(1), &Services::default())),
            wire: CardWire { end, works: false, is_leaving: false },
            held: Held::default(),
            news: NewsEnd::of(&regions.wire_rings()),
            generation: regions.nic.identity().generation,
            before: Counts::default(),
            looked: Instant::now(),
            is_on: false,
            has_time: false,
            run: None,
        };
        front.begin(regions)?;
        Ok(front)
    }

    /// A session begins, in these regions.
    pub(super) fn begin(&mut self, regions: &Regions) -> Result<(), RunError> {
        let seed = regions.nic.identity().seed;
        self.intake = Intake::new(Door::new(seed.0, Deal::even(1), &Services::default()));
        match self.run.replace(seed) {
            Some(before) if before != seed => self.begin_anew(regions)?,
            _ => self.wire.end.join(&regions.nic.rings()),
        }
        self.news = NewsEnd::of(&regions.wire_rings());
        self.generation = regions.nic.identity().generation;
        self.cable.stopped = false;
        self.before = self.counts();
        (self.is_on, self.has_time) = (true, false);
        Ok(())
    }

    /// The session is the first one of another run. It gets nothing that the run before left.
    fn begin_anew(&mut self, regions: &Regions) -> Result<(), RunError> {
        self.wire.end = WireEnd::new(&regions.nic.rings(), Entrance::Nic);
        let dropped = self.cable.begin_anew()?;
        if dropped > 0 {
            log::warn(
                Part::Ports,
                format_args!(
                    "another run begins: {dropped} frames that had waited at the ports are dropped"
                ),
            );
        }
        Ok(())
    }

    /// The session is over, if there is one, and its NIC half with it. Packets that wait for the
    /// host are lost with the NIC half.
    pub(super) fn end(&mut self) {
        if std::mem::replace(&mut self.is_on, false) {
            self.wire.end.leave();
            self.held = Held::default();
        }
    }

    /// Packets go both ways; returns whether there were any. Before the mirror's step.
    pub(super) fn turn<A: App>(
        &mut self,
        mirror: &CardMirror<SharedFutex>,
    ) -> Result<bool, RunError> {
        let Some(regions) = mirror.regions() else { return Ok(false) };
        let region = regions.nic;
        let generation = region.identity().generation;
        if generation != self.generation {
            // The NIC half is in the next region, and so is its mirror.
            let Self { wire, cable, held, .. } = self;
            wire.end.follow(&region.rings(), &mut Leaving { ports: cable, held })?;
            self.news.replug(&regions.wire_rings());
            self.generation = generation;
        }
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.cable.look()?;
        }
        let heard = self.hear()?;
        let status = region.nic_status();
        self.wire.works = matches!(status, Some(NicStatus::Ready | NicStatus::Running));
        self.wire.is_leaving = mirror.is_leaving();
        // Packets have times of the run, so they wait until the host has told it.
        let feeds = self.has_time && !self.wire.is_leaving;
        let fed = feeds && self.feed::<A>()?;
        if fed {
            wake(&region.nic_bell(SharedFutex));
        }
        let drained = self.drain::<A>(mirror)?;
        if drained {
            // There is room again. A NIC half without news sleeps on: it would ring back.
            wake(&region.nic_bell(SharedFutex));
        }
        self.tell();
        Ok(heard || fed || drained)
    }

    /// Feeds the NIC half.
    fn feed<A: App>(&mut self) -> Result<bool, RunError> {
        let Self { cable, intake, wire, .. } = self;
        let mut any = wire.end.feed_first()?;
        any |= intake.feed::<A, LiveWire>(cable, std::slice::from_mut(wire), None)?;
        if let Some(now) = intake.ended() {
            any |= wire.end.feed_end(now)?;
        }
        wire.end.publish();
        Ok(any)
    }

    /// Sends the NIC half's packets, and those that waited for the host.
    fn drain<A: App>(&mut self, mirror: &CardMirror<SharedFutex>) -> Result<bool, RunError> {
        let Self { cable, held, wire, .. } = self;
        let mut any = held.release(mirror.there(), (cable, &mut wire.end.tally))?;
        if held.bytes < MOST_HELD {
            // The NIC half told the host first, and then the wire: the next cut has all of that.
            held.for_now = if A::DURABLE { mirror.so_far() } else { 0 };
            any |= wire.end.drain(&mut Leaving { ports: cable, held })?;
        }
        Ok(any)
    }

    /// Whether everything that the NIC half said to the wire has left, after its end.
    pub(super) fn is_drained<A: App>(
        &mut self,
        mirror: &CardMirror<SharedFutex>,
    ) -> Result<bool, RunError> {
        let any = self.drain::<A>(mirror)?;
        Ok(!any && self.held.packets.is_empty())
    }

    /// Tells the host the last counts, and how the ports were; returns whether there was room.
    pub(super) fn tell_all(&mut self) -> bool {
        self.tell();
        let Self { cable, news, .. } = self;
        news.tell_ports(|| PortsThere {
            ports: cable.report(),
            dropped: cable.dropped(),
            passes_on: cable.passes_on(),
        })
    }

    /// Files that become readable when a packet comes.
    pub(super) fn handles(&self) -> Vec<BorrowedFd<'_>> {
        self.cable.handles()
    }

    /// Whether packets that came wait for room at the NIC half.
    pub(super) fn holds(&self) -> bool {
        self.is_on && (self.cable.holds() || self.wire.end.holds())
    }

    /// Whether the NIC half has said nothing to the wire that can leave.
    pub(super) fn has_nothing(&mut self) -> Result<bool, RunError> {
        // Behind packets that wait for the host it waits, too.
        if !self.is_on || self.held.bytes >= MOST_HELD {
            return Ok(true);
        }
        self.wire.end.has_nothing()
    }

    /// Takes the host's records about the wire.
    fn hear(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        while let Some(heard) = self.news.hear()? {
            any = true;
            match heard {
                Heard::Setup(setup) => {
                    if let Some(now) = setup.now {
                        let passed = Clock::since(0).now();
                        self.cable.go_by(Clock::since(now.saturating_sub(passed)));
                        self.has_time = true;
                    }
                    self.intake.door.change(&setup.services);
                }
                Heard::Change(record) => self.wire.end.place(record),
                Heard::End => self.cable.stopped = true,
            }
        }
        Ok(any)
    }

    fn counts(&self) -> Counts {
        let (came, left) = self.cable.packets();
        let WireEnd { offers: Offers { taken, nic_away, .. }, tally, .. } = self.wire.end;
        let (too_long, has_ended) = (self.cable.too_long, self.cable.stopped);
        Counts { came, left, taken, nic_away, too_long, tally, has_ended }
    }

    /// Tells the host the counts, if they are new: before all that a NIC half says of the packets.
    fn tell(&mut self) {
        self.news.tell(self.counts().since(self.before).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use cora_core::packet::{Meta, Port};
    use cora_runtime::link::message::Kind;
    use cora_runtime::link::payload::Parked;

    use super::*;

    fn stamp(number: u64) -> Stamp {
        let (meta, egress) = (Meta::default(), Port(1));
        Stamp { meta, number, horizon: 0, egress, parked: Parked::NONE, missing: 0 }
    }

    fn ports() -> LiveWire {
        let port = "mem:flows=1;size=60";
        let ports = format!("inside={port},outside={port}").parse().expect("ports");
        LiveWire::open(&ports, &[], Clock::begin()).expect("they open")
    }

    #[test]
    fn a_packet_leaves_when_the_host_has_all_before_it() {
        let (mut ports, mut held, mut tally) = (ports(), Held::default(), Tally::default());
        for (number, needs) in [(0, 3), (1, 3), (2, 5)] {
            held.for_now = needs;
            let mut leaving = Leaving { ports: &mut ports, held: &mut held };
            assert!(leaving.keeps(Kind::Frame.number(), &stamp(number), &[0; 60]));
        }
        let mut left = |there| {
            let any = held.release(there, (&mut ports, &mut tally)).expect("it leaves");
            (any, ports.packets().1, tally.from_nic.total(), held.bytes)
        };
        assert_eq!(left(2), (false, 0, 0, 180));
        assert_eq!(left(3), (true, 2, 2, 60));
        assert_eq!(left(4), (false, 2, 2, 60));
        assert_eq!(left(9), (true, 3, 3, 0));
    }

    #[test]
    fn a_packet_that_rests_on_nothing_is_not_kept() {
        let (mut ports, mut held) = (ports(), Held::default());
        let mut leaving = Leaving { ports: &mut ports, held: &mut held };
        assert!(!leaving.keeps(Kind::Frame.number(), &stamp(0), &[0; 60]));
        assert_eq!(held.packets.len(), 0);
    }
}
