//! A live wire: frames come through ports, until the run is told to end.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use cora_core::packet::{MAX_FRAME, Meta, Port as Side};
use cora_port::{Counters, Port, PortError, PortName, Upgrade};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::RunError;
use crate::ingress::capture::{Cable, Next, Out};
use crate::ingress::clock::Clock;
use crate::ingress::elsewhere::{Counts, PortsThere};
use crate::ingress::latency::Latency;
use crate::ingress::port_names::{NamedPort, Ports};
use crate::ingress::port_report::PortReport;
use crate::process::log::{self, Part};

/// Frames that are taken from a port at once.
const BURST: usize = 32;
/// Most frames of a port that are dropped as another run begins: no ring has room for more.
const MOST_WAITING: usize = 1 << 16;

/// A port, and its frames that were not fed in yet.
#[derive(Debug)]
struct End {
    port: Box<dyn Port>,
    /// The port's name, and what it is.
    name: String,
    device: PortName,
    side: Side,
    /// Concatenated frames, and the end offset of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The number of the next one.
    next: usize,
    /// When the burst came, by the wire's clock.
    came_at: u64,
    /// Number of its notes that were logged.
    told: usize,
    /// Its counters as this run began.
    before: Counters,
}

/// A number for each port that the wire could have.
type OfPorts = [u8; Side::LAST.0 as usize + 1];

/// In the place of an end's number: the run does not have the port.
const NONE: u8 = u8::MAX;

/// All ports.
#[derive(Debug)]
pub(crate) struct LiveWire {
    /// The ports that there are, by their numbers.
    ends: Vec<End>,
    /// The end of each port.
    end_of: OfPorts,
    clock: Clock,
    /// The port whose burst is being fed in.
    turn: usize,
    /// The next frame: its port, and its stamp.
    current: Option<(usize, Stamp)>,
    came: u64,
    /// Frames that left at ports of a card.
    left: u64,
    now: u64,
    /// Frames to a port that does not exist, and the port of the first of them until it is logged.
    no_port: u64,
    first_no_port: Option<Side>,
    pub(crate) too_long: u64,
    /// No more frames come.
    pub(crate) stopped: bool,
    /// The ports are a card's: what it told of them.
    elsewhere: Option<PortsThere>,
    latency: Latency,
    /// Packets that pass leave at the opposite port.
    passes_on: bool,
}

impl LiveWire {
    /// Opens the ports, or takes over those in these files.
    pub(crate) fn open(
        ports: &Ports,
        files: &[Option<i32>],
        clock: Clock,
    ) -> Result<Self, RunError> {
        let mut ends = Vec::new();
        for (at, port) in ports.all().iter().enumerate() {
            ends.push(End::open(port, files.get(at).copied().flatten())?);
        }
        Ok(Self::between(ends, ports, clock))
    }

    /// The same between these two, in the place of what is named.
    pub(crate) fn over(ports: &Ports, pair: [Box<dyn Port>; 2], clock: Clock) -> Self {
        let ends = ports.all().iter().zip(pair).map(|(named, port)| End::of(named, port));
        Self::between(ends.collect(), ports, clock)
    }

    fn between(ends: Vec<End>, ports: &Ports, clock: Clock) -> Self {
        let mut end_of = [NONE; _];
        for (at, port) in (0..).zip(ports.all()) {
            if let Some(end) = end_of.get_mut(usize::from(port.number.0)) {
                *end = at;
            }
        }
        Self {
            ends,
            end_of,
            clock,
            turn: 0,
            current: None,
            came: 0,
            left: 0,
            now: 0,
            no_port: 0,
            first_no_port: None,
            too_long: 0,
            stopped: false,
            elsewhere: ports.are_of_card().then(PortsThere::default),
            latency: Latency::default(),
            passes_on: ports.passes_on(),
        }
    }

    /// Another run begins at these ports: its counts begin at zero, and frames that wait since the
    /// run before are dropped. Returns their number.
    pub(crate) fn begin_anew(&mut self) -> Result<u64, RunError> {
        let mut dropped = 0;
        for end in &mut self.ends {
            dropped += end.drop_waiting()?;
        }
        (self.current, self.came, self.left, self.too_long) = (None, 0, 0, 0);
        // The clock of that run may be behind the one before.
        (self.now, self.no_port) = (0, 0);
        self.latency = Latency::default();
        Ok(dropped)
    }

    /// How a successor program gets the ports, by their numbers.
    pub(crate) fn upgrades(&self) -> Vec<Upgrade<'_>> {
        self.ends.iter().map(|end| end.port.upgrade()).collect()
    }

    /// The name of a port that a successor can't take over.
    pub(crate) fn stays(&self) -> Option<String> {
        let stays = |end: &&End| matches!(end.port.upgrade(), Upgrade::Refuse);
        self.ends.iter().find(stays).map(|end| end.device.to_string())
    }

    /// Output frames that the ports dropped, by name. Input frames that they dropped never got
    /// here.
    pub(crate) fn dropped(&self) -> BTreeMap<String, u64> {
        if let Some(there) = &self.elsewhere {
            return there.dropped.clone();
        }
        let mut all = BTreeMap::new();
        for end in &self.ends {
            let counters = end.counters();
            let towards_them = [
                ("link-down", counters.link_down),
                ("transmit-ring-full", counters.transmit_ring_full),
                ("too-long", counters.too_long),
                ("not-taken", counters.not_taken),
                ("not-a-datagram", counters.not_a_datagram),
            ];
            for (name, count) in towards_them {
                *all.entry(name.to_owned()).or_default() += count;
            }
        }
        *all.entry("no-port".to_owned()).or_default() += self.no_port;
        all.retain(|_, count| *count > 0);
        all
    }

    /// The report of each port, by its name.
    pub(crate) fn report(&self) -> BTreeMap<String, PortReport> {
        match &self.elsewhere {
            Some(there) => there.ports.clone(),
            None => self.ends.iter().map(|end| (end.name.clone(), end.report())).collect(),
        }
    }

    /// Whether packets that pass leave at the opposite port.
    pub(crate) fn passes_on(&self) -> bool {
        self.elsewhere.as_ref().map_or(self.passes_on, |there| there.passes_on)
    }

    /// How long frames took from port to port; `None` where the ports are a card's.
    pub(crate) fn latency(&self) -> Option<Latency> {
        self.elsewhere.is_none().then_some(self.latency)
    }

    /// Files that become readable when a frame comes.
    pub(crate) fn handles(&self) -> Vec<BorrowedFd<'_>> {
        self.ends.iter().flat_map(|end| end.port.handles()).collect()
    }

    /// Whether frames came that were not fed in.
    pub(crate) fn holds(&self) -> bool {
        self.current.is_some() || self.ends.iter().any(|end| !end.is_empty())
    }

    /// Another clock goes on, where time passes as it does here.
    pub(crate) const fn go_by(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// The wire's clock.
    pub(crate) const fn clock(&self) -> Clock {
        self.clock
    }

    /// The next frame that is not too long: its port, and its stamp. A burst is fed in as a whole,
    /// so ports without frames are asked once per burst, and not once per frame.
    fn find(&mut self) -> Result<Option<(usize, Stamp)>, RunError> {
        for step in 0..=self.ends.len() {
            if step > 0 {
                let next = self.turn + 1;
                self.turn = if next < self.ends.len() { next } else { 0 };
            }
            let end = &mut self.ends[self.turn];
            if step > 0 {
                end.fill(self.clock)?;
            }
            let (side, came_at) = (end.side, end.came_at);
            while let Some(frame) = end.frame() {
                if frame.len() <= MAX_FRAME {
                    return Ok(Some((self.turn, self.stamp(side, came_at))));
                }
                end.next += 1;
                self.came += 1;
                self.too_long += 1;
            }
        }
        Ok(None)
    }

    /// All frames of a burst were available together, so they get one arrival time, and the clock
    /// is read once.
    fn stamp(&mut self, side: Side, time: u64) -> Stamp {
        // A burst of one port may be older than frames already taken from another.
        self.now = self.now.max(time);
        let number = self.came;
        self.came += 1;
        let meta = Meta { time, now: self.now, port: side, ..Meta::default() };
        let egress = if self.passes_on { side.opposite() } else { side };
        Stamp { meta, number, horizon: self.now, egress, parked: Parked::NONE, missing: 0 }
    }
}

impl End {
    fn open(named: &NamedPort, file: Option<i32>) -> Result<Self, PortError> {
        let NamedPort { name, number, device } = named;
        let port: Box<dyn Port> = match (device, file) {
            (PortName::Tap { interface }, Some(file)) => {
                Box::new(cora_port::tap::Tap::inherited(interface, file)?)
            }
            (PortName::Udp { address }, Some(file)) => {
                Box::new(cora_port::udp::UdpPort::inherited(*address, file)?)
            }
            _ => cora_port::open(device)?,
        };
        log::debug(Part::Ports, format_args!("{name} is {device}, port {}", number.0));
        Ok(Self::of(named, port))
    }

    fn of(named: &NamedPort, port: Box<dyn Port>) -> Self {
        let NamedPort { name, number, device } = named.clone();
        Self {
            port,
            name,
            device,
            side: number,
            bytes: Vec::new(),
            ends: Vec::new(),
            next: 0,
            came_at: 0,
            told: 0,
            before: Counters::default(),
        }
    }

    /// The counters of this run.
    fn counters(&self) -> Counters {
        self.port.counters().since(self.before)
    }

    /// Drops all frames that wait, and returns their number.
    fn drop_waiting(&mut self) -> Result<u64, PortError> {
        let mut dropped = self.ends.len() - self.next;
        self.bytes.clear();
        self.ends.clear();
        self.next = 0;
        while dropped < MOST_WAITING {
            match self.port.receive(BURST, &mut |_| {})? {
                0 => break,
                taken => dropped += taken,
            }
        }
        self.before = self.port.counters();
        Ok(dropped as u64)
    }

    fn is_empty(&self) -> bool {
        self.next == self.ends.len()
    }

    /// Takes the next burst from the port, if the previous one is consumed.
    fn fill(&mut self, clock: Clock) -> Result<(), PortError> {
        if !self.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        self.ends.clear();
        self.next = 0;
        let (bytes, ends) = (&mut self.bytes, &mut self.ends);
        self.port.receive(BURST, &mut |frame| {
            bytes.extend_from_slice(frame);
            ends.push(bytes.len());
        })?;
        if !self.ends.is_empty() {
            self.came_at = clock.now();
        }
        Ok(())
    }

    /// The next frame of the burst.
    fn frame(&mut self) -> Option<&mut [u8]> {
        let end = *self.ends.get(self.next)?;
        let start = self.next.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get_mut(start..end)
    }

    fn report(&self) -> PortReport {
        PortReport::of(self.side, &self.device, &*self.port, self.counters())
    }
}

impl LiveWire {
    /// The next frame leaves where it leaves if it passes, without a copy.
    pub(crate) fn pass_on(&mut self) {
        let Some((from, stamp)) = self.current.take() else { return };
        let to = self.end_of.get(usize::from(stamp.leaves_at().0)).copied().unwrap_or(NONE);
        if let Ok([from, to]) = self.ends.get_disjoint_mut([from, usize::from(to)])
            && let Some(frame) = from.frame()
        {
            to.port.transmit(&[frame]);
        } else {
            self.no_port += 1;
        }
        if let Some(end) = self.ends.get_mut(from) {
            end.next += 1;
        }
    }
}

impl Out for LiveWire {
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        let port = stamp.leaves_at();
        let end = self.end_of.get(usize::from(port.0)).copied().unwrap_or(NONE);
        if let Some(end) = self.ends.get_mut(usize::from(end)) {
            end.port.transmit(&[frame]);
            self.latency.leaves(stamp, self.clock);
        } else {
            if self.no_port == 0 {
                self.first_no_port = Some(port);
            }
            self.no_port += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RunError> {
        for end in &mut self.ends {
            end.port.flush()?;
        }
        Ok(())
    }

    fn hears(&mut self, counts: &Counts) {
        // A card may tell any numbers.
        self.came = self.came.saturating_add(counts.came);
        self.left = self.left.saturating_add(counts.left);
        self.too_long = self.too_long.saturating_add(counts.too_long);
        self.stopped |= counts.has_ended;
    }

    fn hears_of_ports(&mut self, there: PortsThere) {
        if let Some(elsewhere) = &mut self.elsewhere {
            *elsewhere = there;
        }
    }
}

impl Cable for LiveWire {
    const LIVE: bool = true;
    /// The whole ring takes bursts.
    const MOST_AHEAD: usize = usize::MAX;

    fn peek(&mut self) -> Result<Next<'_>, RunError> {
        if self.current.is_none() && !self.stopped && self.elsewhere.is_none() {
            self.current = self.find()?;
        }
        Ok(match self.current {
            Some((port, stamp)) => Next::Frame(stamp, self.ends[port].frame().unwrap_or_default()),
            None if self.stopped => Next::End(self.now),
            None => Next::NotYet,
        })
    }

    fn silent_until(&mut self) -> Option<u64> {
        // Silence is where the packets are.
        if self.elsewhere.is_some() {
            return None;
        }
        self.now = self.now.max(self.clock.now());
        Some(self.now)
    }

    fn pass(&mut self) {
        if let Some((port, _)) = self.current.take() {
            self.ends[port].next += 1;
        }
    }

    fn has_ended(&self) -> bool {
        self.stopped
    }

    fn packets(&self) -> (u64, u64) {
        // A port may drop a frame that it took, so what left is its to say.
        let left = match self.elsewhere {
            Some(_) => self.left,
            None => self.ends.iter().map(|end| end.counters().transmitted).sum(),
        };
        // A frame that waits has not come yet.
        (self.came - u64::from(self.current.is_some()), left)
    }

    fn wait(&self, at_most: Duration) {
        let waits = self.ends.iter().map(|end| end.port.handles());
        let waits: Vec<_> = waits.collect();
        if waits.iter().any(Vec::is_empty) {
            // Such a port can't be waited for, so it is polled.
            return std::thread::yield_now();
        }
        let mut files: Vec<_> = waits
            .iter()
            .flatten()
            .map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN))
            .collect();
        let time = Timespec { tv_sec: 0, tv_nsec: at_most.subsec_nanos().into() };
        // Ready or not, the caller checks again.
        let _ready = poll(&mut files, Some(&time));
    }

    /// Checks all ports for changes, and logs their notes. Stops when all are exhausted.
    fn look(&mut self) -> Result<(), RunError> {
        for end in &mut self.ends {
            end.port.look()?;
            let notes = end.port.notes();
            notes.iter().skip(end.told).for_each(|note| log::info(Part::Ports, note));
            end.told = notes.len();
        }
        if let Some(port) = self.first_no_port.take() {
            log::warn(Part::Ports, no_such_port(port));
        }
        let ended = |end: &End| end.port.is_exhausted() && end.is_empty();
        self.stopped |= self.elsewhere.is_none() && self.ends.iter().all(ended);
        Ok(())
    }

    fn describe(&self, number: u64) -> String {
        // Counted from 1, as in messages about a capture.
        format!("packet {} of this run", number.saturating_add(1))
    }
}

/// What the log says of the first frame to a port that the run does not have.
fn no_such_port(port: Side) -> String {
    let (number, last) = (port.0, Side::LAST.0);
    if port > Side::LAST {
        return format!(
            "a handler sent a frame to port {number}, and a run has none beyond {last}: such frames are dropped \
             as `no-port`"
        );
    }
    format!(
        "a handler sent a frame to port {number}, which this run does not have: such frames are dropped as \
         `no-port`. Add {number}=PORT to --live"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// The wall clock is set forward by a year, back by two, and to 1970: frame times still follow
    /// elapsed time.
    #[test]
    fn frames_are_stamped_by_time_that_passes_alone() {
        static PASSES: AtomicU64 = AtomicU64::new(7 * SECOND);
        static WALL: AtomicU64 = AtomicU64::new(1_800_000_000 * SECOND);
        let clock = Clock::by(|| PASSES.load(Ordering::Relaxed), || WALL.load(Ordering::Relaxed));
        let ports = "inside=mem:flows=1;size=60,outside=mem:flows=1;size=60".parse().unwrap();
        let mut wire = LiveWire::open(&ports, &[], clock).unwrap();
        let mut next = || loop {
            // Bursts taken earlier are consumed first.
            let stamp = match wire.peek().unwrap() {
                Next::Frame(stamp, _) => stamp,
                other => panic!("{other:?}"),
            };
            wire.pass();
            if stamp.number.is_multiple_of(2 * BURST as u64) {
                return stamp.meta;
            }
        };
        let begin = next();
        assert_eq!(begin.now, 1_800_000_000 * SECOND);
        let walls = [1_831_536_000, 1_768_464_000, 0];
        for (seconds, wall) in walls.into_iter().enumerate() {
            WALL.store(wall * SECOND, Ordering::Relaxed);
            PASSES.fetch_add(SECOND, Ordering::Relaxed);
            let meta = next();
            let expected = begin.now + (seconds as u64 + 1) * SECOND;
            assert_eq!((meta.now, meta.time), (expected, expected));
        }
    }
    /// A frame from port 0 to this one.
    fn leaving(egress: u8) -> Stamp {
        let (meta, egress) = (Meta::default(), Side(egress));
        Stamp { meta, number: 0, horizon: 0, egress, parked: Parked::NONE, missing: 0 }
    }

    #[test]
    fn every_frame_leaves_at_its_port_or_is_counted() {
        let port = "mem:flows=1;size=60;count=3";
        let ports = format!("inside={port},5={port},outside={port},dmz={port}").parse().unwrap();
        let mut wire = LiveWire::open(&ports, &[None; 4], Clock::begin()).unwrap();
        for (egress, frames) in
            [(0, 1), (1, 2), (2, 3), (3, 1), (5, 4), (15, 1), (16, 1), (0x7f, 1)]
        {
            for _ in 0..frames {
                wire.write(&leaving(egress), &[0; 60]).unwrap();
            }
        }
        // The upper bit marks what a handler made.
        wire.write(&leaving(0x82), &[0; 60]).unwrap();
        let left: Vec<_> =
            wire.report().into_values().map(|port| (port.number, port.transmitted)).collect();
        assert_eq!(left, [(5, 4), (2, 4), (0, 1), (1, 2)], "by their names");
        assert_eq!(wire.dropped(), [("no-port".to_owned(), 4)].into());
        assert_eq!((wire.packets(), wire.first_no_port), ((0, 11), Some(Side(3))));
        wire.look().unwrap();
        assert_eq!(wire.first_no_port, None);
    }

    #[test]
    fn ports_take_turns_by_bursts_and_the_wire_ends_with_the_last() {
        let ports = "inside=mem:flows=1;size=60;count=40,outside=mem:flows=1;size=60;count=1,\
                     x=mem:flows=1;size=60;count=33"
            .parse()
            .unwrap();
        let mut wire = LiveWire::open(&ports, &[], Clock::begin()).unwrap();
        let mut order: Vec<(u8, usize)> = Vec::new();
        loop {
            match wire.peek().unwrap() {
                Next::Frame(stamp, _) => match order.last_mut() {
                    Some((port, frames)) if *port == stamp.meta.port.0 => *frames += 1,
                    _ => order.push((stamp.meta.port.0, 1)),
                },
                Next::NotYet => break,
                Next::End(_) => panic!("it was not told to end"),
            }
            wire.pass();
        }
        assert_eq!(order, [(1, 1), (2, 32), (0, 32), (2, 1), (0, 8)]);
        wire.look().unwrap();
        assert!(wire.has_ended());
        assert_eq!(wire.packets(), (74, 0));
    }
}
