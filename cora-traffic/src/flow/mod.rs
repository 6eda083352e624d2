//! One conversation: its frames, their senders, and the pauses before them.
//!
//! A script refills the flow's empty queue with one exchange (a handshake, a request and its
//! answer, a close), until the script ends.

mod broken;
mod noise;
mod once;
mod tcp;
mod udp;

use std::collections::VecDeque;

use crate::random::Random;
use crate::wire::{self, Path, Tags};

pub(crate) use broken::broken;
pub(crate) use noise::noise;
pub(crate) use once::{expired, flood, fragments, half_open, intrusion, refused, unreachable};

pub(crate) const MICROSECOND: u64 = 1_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A frame, and the time to wait after its predecessor.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) wait: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) sound: bool,
}

/// The next frames of a flow.
#[derive(Debug, Default)]
pub(crate) struct Queue(VecDeque<Planned>);

impl Queue {
    /// Adds a well-formed frame. Frames from outside are padded, as Ethernet pads received frames.
    pub(crate) fn push(&mut self, wait: u64, path: &Path, mut bytes: Vec<u8>) {
        if bytes.len() < 60 && !crate::is_inside(path.from.address) {
            bytes.resize(60, 0);
        }
        self.0.push_back(Planned { wait, bytes, sound: true });
    }

    /// Adds a frame that is wrong on purpose.
    pub(crate) fn push_broken(&mut self, wait: u64, bytes: Vec<u8>) {
        self.0.push_back(Planned { wait, bytes, sound: false });
    }

    fn swap_last_two(&mut self) {
        if let Some(last) = self.0.len().checked_sub(1).filter(|&last| last > 0) {
            self.0.swap(last, last - 1);
        }
    }
}

/// Continuation of a flow with an empty queue.
#[derive(Debug)]
enum Script {
    Tcp(tcp::Tcp),
    Udp(udp::Udp),
    Echo(udp::Echo),
    /// The flow ends with its queue.
    Over,
}

/// Length of a flow, with its pauses and reuses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Packets, roughly; `u32::MAX` is more than any capture holds.
    pub(crate) packets: u32,
    /// Whether it pauses for longer than tables keep entries, and resumes.
    pub(crate) idles: bool,
    /// Number of reuses of the same addresses and ports.
    pub(crate) again: u32,
}

/// One conversation.
#[derive(Debug)]
pub(crate) struct Flow {
    queue: Queue,
    script: Script,
    again: u32,
    /// Number of conversations begun so far.
    pub(crate) opened: u32,
}

impl Flow {
    pub(crate) fn tcp(path: Path, length: Length, random: &mut Random) -> Self {
        Self::new(Script::Tcp(tcp::Tcp::new(path, length, random)), length.again)
    }

    pub(crate) fn udp(path: Path, length: Length, random: &mut Random) -> Self {
        Self::new(Script::Udp(udp::Udp::new(path, length, random)), length.again)
    }

    pub(crate) fn echo(path: Path, length: Length, random: &mut Random) -> Self {
        Self::new(Script::Echo(udp::Echo::new(path, length, random)), length.again)
    }

    /// Creates a conversation that ends with this queue.
    pub(crate) fn once(queue: Queue) -> Self {
        Self { queue, script: Script::Over, again: 0, opened: 1 }
    }

    fn new(script: Script, again: u32) -> Self {
        Self { queue: Queue::default(), script, again, opened: 1 }
    }

    pub(crate) fn next(&mut self, random: &mut Random) -> Option<Planned> {
        if self.queue.0.is_empty() {
            self.refill(random);
        }
        self.queue.0.pop_front()
    }

    fn refill(&mut self, random: &mut Random) {
        match &mut self.script {
            Script::Tcp(tcp) => tcp.refill(&mut self.queue, random),
            Script::Udp(udp) => udp.refill(&mut self.queue, random),
            Script::Echo(echo) => echo.refill(&mut self.queue, random),
            Script::Over => return,
        }
        if self.queue.0.is_empty() && self.again > 0 {
            self.again -= 1;
            self.opened += 1;
            if let Script::Tcp(tcp) = &mut self.script {
                tcp.reopen(random);
                tcp.refill(&mut self.queue, random);
            }
        }
    }
}

/// Makes octets of a pattern that shows their origin.
fn payload(random: &mut Random, length: u64) -> Vec<u8> {
    let first = random.next();
    (0..length).map(|at| (first ^ at) as u8).collect()
}

/// Draws a realistic size: many small, many full, some between.
fn size(random: &mut Random) -> u64 {
    match random.below(100) {
        0..=44 => random.between(1, 120),
        45..=69 => random.between(121, 1_100),
        _ => 1_400,
    }
}

/// Returns a frame's IP packet, as an ICMP error quotes it: header and eight octets, or more.
fn quote<'a>(path: &Path, frame: &'a [u8], generous: bool) -> &'a [u8] {
    let start = match path.tags {
        Tags::None => 14,
        Tags::One(_) => 18,
        Tags::Two(..) => 22,
    };
    let least = match (path.is_v6(), path.options) {
        (false, false) => 28,
        (false, true) => 32,
        (true, false) => 48,
        (true, true) => 56,
    };
    let packet = &frame[start..];
    &packet[..packet.len().min(if generous { 540 } else { least })]
}

/// Makes an ICMP error about `frame` on `path`, from a router with `hop`, else from the far end.
fn error(
    path: &Path,
    frame: &[u8],
    kinds: [[u8; 2]; 2],
    word: [u8; 4],
    hop: bool,
) -> (Path, Vec<u8>) {
    let mut back = path.back();
    back.options = false;
    if hop {
        back.from.address = if path.is_v6() {
            std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0xff, 0, 0, 0, 1).into()
        } else {
            std::net::Ipv4Addr::new(203, 0, 113, 254).into()
        };
    }
    let kind = kinds[usize::from(path.is_v6())];
    let message =
        wire::icmp(&back, kind, word, quote(path, frame, path.is_v6() || path.id & 1 == 0));
    let bytes = wire::frame(&back, wire::icmp_protocol(&back), &message);
    (back, bytes)
}
