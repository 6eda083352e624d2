//! A capture from a seed: conversations that begin over time, with interleaved packets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

use crate::flow::{self, Flow, Length, MICROSECOND, Planned, SECOND};
use crate::pcap::Writer;
use crate::profile::{Kind, Profile};
use crate::random::Random;
use crate::world::World;
use crate::zipf::Zipf;
use crate::{Summary, TrafficError};

/// Start of captures: 14 November 2023.
pub(crate) const BEGIN: u64 = 1_700_000_000 * SECOND;

/// Reuses of a pair of ends in the profile `closing`.
const AGAIN: u32 = 7;

/// A generated frame, and whether it is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Its time stamp, in nanoseconds since 1970. Mostly rising: a few are equal, a few step back.
    pub time: u64,
    /// The frame.
    pub bytes: Vec<u8>,
    /// False if it is broken on purpose; then lengths or checksums are wrong.
    pub sound: bool,
}

/// Makes the frames of a capture one by one; the same arguments make the same frames everywhere.
#[derive(Debug)]
pub struct Generator {
    profile: Profile,
    random: Random,
    world: World,
    packets: u64,
    flows: u64,
    emitted: u64,
    opened: u64,
    clock: u64,
    last_stamp: u64,
    next_arrival: u64,
    running: Running,
}

/// The choice of the next sender: the flow that is due, or the one drawn by Zipf's law.
#[derive(Debug)]
enum Running {
    ByTime {
        due: BinaryHeap<Reverse<(u64, u64)>>,
        waiting: Vec<Option<(Flow, Planned)>>,
        free: Vec<u64>,
    },
    ByRank {
        zipf: Box<Zipf>,
        flows: Vec<Option<Flow>>,
    },
}

impl Generator {
    /// Creates a generator of `packets` frames in at least `flows` flows, if the packets suffice.
    pub fn new(profile: Profile, seed: u64, packets: u64, flows: u64) -> Self {
        let flows = flows.max(1);
        let running = if profile == Profile::Zipf {
            let ranks = flows.min(1 << 24);
            Running::ByRank {
                zipf: Box::new(Zipf::new(ranks, 1_100)),
                flows: (0..ranks).map(|_| None).collect(),
            }
        } else {
            Running::ByTime { due: BinaryHeap::new(), waiting: Vec::new(), free: Vec::new() }
        };
        Self {
            profile,
            random: Random::new(seed ^ crate::random::mix(profile as u64)),
            world: World::new(flows),
            packets,
            flows,
            emitted: 0,
            opened: 0,
            clock: BEGIN,
            last_stamp: BEGIN,
            next_arrival: BEGIN,
            running,
        }
    }

    /// Returns the number of conversations that have begun so far.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    fn open(&mut self) -> Flow {
        let kind = self.profile.kind(&mut self.random);
        self.opened += u64::from(kind.is_flow());
        let length = self.length();
        let random = &mut self.random;
        let world = &mut self.world;
        let queue = match kind {
            Kind::Tcp => {
                let port = [80, 443, 443, 22, 8080][random.below(5) as usize];
                return Flow::tcp(world.deal(random, port), length, random);
            }
            Kind::Udp => {
                let port = [53, 53, 443, 123, 5_000][random.below(5) as usize];
                return Flow::udp(world.deal(random, port), length, random);
            }
            Kind::Echo => {
                let mut path = world.deal(random, 0);
                path.to.port = path.from.port;
                return Flow::echo(path, length, random);
            }
            Kind::HalfOpen => flow::half_open(&world.deal(random, 443), random),
            Kind::Refused => flow::refused(&world.deal(random, 8_443), random),
            Kind::Unreachable => flow::unreachable(&world.deal(random, 161), random),
            Kind::Expired => flow::expired(&world.deal(random, 33_434), random),
            Kind::Fragments => flow::fragments(&world.deal(random, 2_049), random),
            Kind::Intrusion | Kind::FloodIn => flow::intrusion(&world.intrude(random), random),
            Kind::Noise => flow::noise(&world.deal(random, 1), random),
            Kind::Broken => flow::broken(&world.deal(random, 80), random),
            Kind::FloodOut => flow::flood(&world.flooder(random), random),
        };
        Flow::once(queue)
    }

    /// Draws a heavy-tailed length around the mean for `flows`; a short one if too few have begun.
    fn length(&mut self) -> Length {
        let mean = self.packets / self.flows;
        let behind = u128::from(self.opened) * u128::from(self.packets)
            < u128::from(self.emitted) * u128::from(self.flows);
        let packets = match (self.profile, self.random.below(100)) {
            (Profile::Zipf, _) => u64::from(u32::MAX),
            (Profile::Churn, _) => self.random.below(4),
            _ if behind => 1,
            (_, 0..=49) => mean / 3,
            (_, 50..=84) => mean,
            (_, 85..=97) => 3 * mean,
            _ => 12 * mean,
        };
        Length {
            packets: packets.min(u64::from(u32::MAX)) as u32,
            idles: self.profile == Profile::Mix && self.random.percent(6),
            again: if self.profile == Profile::Closing { AGAIN } else { 0 },
        }
    }

    fn next_by_time(&mut self) -> Planned {
        loop {
            let due = match &self.running {
                Running::ByTime { due, .. } => due.peek().map(|&Reverse((time, _))| time),
                Running::ByRank { .. } => None,
            };
            if due.is_none_or(|due| self.next_arrival <= due) {
                self.arrive();
            } else if let Some(planned) = self.take_due() {
                return planned;
            }
        }
    }

    fn arrive(&mut self) {
        let begun = self.next_arrival;
        let conversations = if self.profile == Profile::Closing { 1 + AGAIN } else { 1 };
        let mean = self.profile.seconds() * SECOND / self.flows * u64::from(conversations);
        self.next_arrival += 1 + self.random.below(2 * mean.max(1));
        let mut flow = self.open();
        let Some(first) = flow.next(&mut self.random) else { return };
        let time = begun + first.wait;
        let Running::ByTime { due, waiting, free } = &mut self.running else { return };
        let slot = free.pop().unwrap_or_else(|| {
            waiting.push(None);
            waiting.len() as u64 - 1
        });
        waiting[slot as usize] = Some((flow, first));
        due.push(Reverse((time, slot)));
    }

    /// Takes the frame that is due now, and plans the flow's next one.
    fn take_due(&mut self) -> Option<Planned> {
        let Running::ByTime { due, waiting, free } = &mut self.running else { return None };
        let Reverse((time, slot)) = due.pop()?;
        let (mut flow, planned) = waiting.get_mut(slot as usize)?.take()?;
        self.clock = time;
        let before = flow.opened;
        if let Some(next) = flow.next(&mut self.random) {
            self.opened += u64::from(flow.opened - before);
            due.push(Reverse((time + next.wait, slot)));
            waiting[slot as usize] = Some((flow, next));
        } else {
            free.push(slot);
        }
        Some(planned)
    }

    fn next_by_rank(&mut self) -> Option<Planned> {
        let mean = self.profile.seconds() * SECOND / self.packets.max(1);
        self.clock += 1 + self.random.below(2 * mean.max(1));
        let Running::ByRank { zipf, .. } = &self.running else { return None };
        let rank = zipf.draw(&mut self.random) as usize;
        self.with_ranked(rank)
    }

    fn with_ranked(&mut self, rank: usize) -> Option<Planned> {
        let Running::ByRank { flows, .. } = &mut self.running else { return None };
        let mut flow = match flows.get_mut(rank)?.take() {
            Some(flow) => flow,
            None => self.open(),
        };
        let planned = flow.next(&mut self.random);
        if let Running::ByRank { flows, .. } = &mut self.running {
            flows[rank] = Some(flow);
        }
        planned
    }

    /// Returns a time stamp. Clocks of captures are not perfect: one in a hundred frames has its
    /// predecessor's stamp, one in two hundred an earlier one.
    fn stamp(&mut self) -> u64 {
        let stamp = match self.random.below(200) {
            0 | 1 => self.last_stamp,
            2 => self.last_stamp.saturating_sub(self.random.between(1, 20) * MICROSECOND),
            _ => self.clock.max(self.last_stamp),
        };
        self.last_stamp = self.last_stamp.max(stamp);
        stamp
    }
}

impl Iterator for Generator {
    type Item = Generated;

    fn next(&mut self) -> Option<Generated> {
        if self.emitted == self.packets {
            return None;
        }
        let planned = match self.running {
            Running::ByTime { .. } => self.next_by_time(),
            Running::ByRank { .. } => self.next_by_rank()?,
        };
        self.emitted += 1;
        Some(Generated { time: self.stamp(), bytes: planned.bytes, sound: planned.sound })
    }
}

/// Writes a capture of `packets` frames in about `flows` flows.
///
/// Packets from outside are addressed to the inside host itself, as without a NAT. Replies for a
/// NAT are derived from its own output, by [`readdress`](crate::readdress) or
/// [`answer`](crate::answer).
pub fn generate(
    profile: Profile,
    seed: u64,
    packets: u64,
    flows: u64,
    out: impl Write,
) -> Result<Summary, TrafficError> {
    write_frames(Generator::new(profile, seed, packets, flows), out)
}

/// Writes frames as a capture, and counts them.
pub(crate) fn write_frames(
    frames: impl Iterator<Item = Generated>,
    out: impl Write,
) -> Result<Summary, TrafficError> {
    let mut writer = Writer::new(out)?;
    let mut summary = Summary::default();
    for frame in frames {
        writer.write(frame.time, &frame.bytes)?;
        summary.count(&frame);
    }
    writer.finish()?;
    Ok(summary)
}
