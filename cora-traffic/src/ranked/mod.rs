//! Captures of flows with rates by a law: equal ones, or Zipf's.
//!
//! [`generate()`](crate::generate()) makes odd traffic; this makes traffic with a known
//! distribution. Each packet is of the flow of rank `k` with a probability in proportion to `k^-s`;
//! all frames have one [form](Form) and length. Flows are assigned in turn, in the order of their
//! rank, to hosts (a host for each eight flows) and servers (one for each thirty-two). In most
//! forms packets of a flow go both ways in turn, the first one from the client. With churn, a new
//! flow between the same addresses may replace any flow.

mod conversation;
mod dns;
mod ends;
mod form;
mod name;
mod neighbours;
mod segment;
mod tunnel;

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::net::IpAddr;

use crate::generate::{BEGIN, Generated, write_frames};
use crate::pcap::Reader;
use crate::random::Random;
use crate::view::View;
use crate::wire::{ACK, SYN, TCP};
use crate::zipf::Zipf;
use crate::{Summary, TrafficError};
use conversation::Conversation;

pub use form::Form;

/// Maximum number of flows.
pub const MOST_FLOWS: u64 = 1 << 24;

/// A million: churn is counted per million packets.
const MILLION: u64 = 1_000_000;

/// Flows with rates by a law. Parsed from a name such as
/// `zipf:flows=1000000,s=0.99,bytes=64,churn=0.01` or `uniform:flows=32000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Concurrent flows, 1 to [`MOST_FLOWS`].
    pub flows: u64,
    /// Exponent of Zipf's law in thousandths, at most 3000: 0 for equal flows. 1000 is taken as
    /// 1001.
    pub exponent: u16,
    /// Length of frames without a tunnel, 60 to 1514. Handshakes are shorter; headers of IPv6 and
    /// messages of the DNS have 62 and 64 at least.
    pub bytes: u16,
    /// Flows that are replaced per million packets.
    pub churn: u32,
    /// The kind of packets.
    pub form: Form,
    /// Packets per second, 1 or more.
    pub rate: u64,
}

/// Sequence numbers by which a SYN proxy answered clients, by their addresses and ports.
type Cookies = BTreeMap<(IpAddr, u16), u32>;

impl Default for Ranked {
    /// A hundred thousand flows, Zipf's law with exponent 1.1, UDP of 64 bytes at a million packets
    /// a second.
    fn default() -> Self {
        Self {
            flows: 100_000,
            exponent: 1_100,
            bytes: 64,
            churn: 0,
            form: Form::Datagrams,
            rate: MILLION,
        }
    }
}

impl Ranked {
    /// Returns the frames, without end; the same arguments make the same ones everywhere.
    pub fn frames(&self, seed: u64) -> RankedFrames {
        let flows = self.flows.clamp(1, MOST_FLOWS);
        RankedFrames {
            ranked: Self { flows, ..*self },
            random: Random::new(seed ^ 0x7a6e_6b65_6400_0000),
            zipf: (self.exponent > 0).then(|| Box::new(Zipf::new(flows, self.exponent))),
            conversations: vec![Conversation::default(); flows as usize],
            clock: BEGIN,
            opening: 0,
            told: VecDeque::new(),
            tells_at: (self.form == Form::Routed).then_some(BEGIN),
            cookies: Cookies::new(),
        }
    }

    /// Writes a capture of `packets` frames.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, seed: u64, packets: u64, out: impl Write) -> Result<Summary, TrafficError> {
        self.frames(seed).write(packets, out)
    }
}

/// The frames of [`Ranked`] flows.
#[derive(Debug)]
pub struct RankedFrames {
    ranked: Ranked,
    random: Random,
    /// `None` if all flows are equal.
    zipf: Option<Box<Zipf>>,
    /// The current conversation of each rank.
    conversations: Vec<Conversation>,
    clock: u64,
    /// Number of frames that are still to come of each flow in turn.
    opening: u64,
    /// What a router's neighbours are about to tell.
    told: VecDeque<Vec<u8>>,
    /// When they tell it next (ns), if there is a router.
    tells_at: Option<u64>,
    cookies: Cookies,
}

impl RankedFrames {
    /// Has each flow send `rounds` frames, in turn, before frames are drawn; no flow is replaced
    /// meanwhile. Returns the number of frames before the first drawn one.
    pub fn open(&mut self, rounds: u32) -> u64 {
        self.opening = self.ranked.flows * u64::from(rounds);
        let told = self.tells_at.map_or(0, |_| self.neighbours().len());
        told as u64 + self.opening
    }

    /// Reads a SYN proxy's answers to the SYNs of the same flows, from its output. A client that
    /// was answered acknowledges that, and its connection goes on. Clients' numbers depend on the
    /// profile alone; the proxy's secret must not change between two runs, and a capture should be
    /// no longer than its cookies are good for.
    ///
    /// # Errors
    /// If the capture can't be read.
    pub fn heed(&mut self, output: impl Read) -> Result<(), TrafficError> {
        for frame in Reader::new(output)? {
            let frame = frame?.bytes;
            let Some(view) = View::of(&frame).filter(|view| view.protocol == TCP) else { continue };
            let header = frame.get(view.transport..view.end).and_then(<[u8]>::first_chunk::<14>);
            let (Some(header), Some((.., to, to_port))) = (header, view.tuple(&frame)) else {
                continue;
            };
            if header[13] == SYN | ACK {
                let [_, _, _, _, a, b, c, d, ..] = *header;
                self.cookies.insert((to, to_port), u32::from_be_bytes([a, b, c, d]));
            }
        }
        Ok(())
    }

    /// Writes a capture of the next `packets` frames.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&mut self, packets: u64, out: impl Write) -> Result<Summary, TrafficError> {
        write_frames(self.take(packets as usize), out)
    }

    fn neighbours(&self) -> Vec<Vec<u8>> {
        neighbours::advertisements(ends::hosts(&self.ranked))
    }

    /// Returns what a router's neighbours tell now; at the beginning there is a pause behind it.
    fn tell(&mut self) -> Option<Vec<u8>> {
        if self.tells_at.is_some_and(|at| at <= self.clock) {
            self.told = self.neighbours().into();
            self.tells_at = Some(self.clock + neighbours::EVERY);
        }
        let told = self.told.pop_front()?;
        if self.told.is_empty() && self.clock == BEGIN {
            self.clock += neighbours::KNOWN_AFTER;
        }
        Some(told)
    }

    /// Returns the next frame of a flow: of each in turn at first, then of a drawn one.
    fn say(&mut self) -> Vec<u8> {
        let mean = crate::flow::SECOND / self.ranked.rate.max(1);
        self.clock += self.random.below(2 * mean + 1);
        let is_drawn = self.opening == 0;
        let rank = if is_drawn { self.rank() } else { self.next_in_turn() };
        let bytes = self.conversations[rank as usize].say(rank, &self.ranked, &self.cookies);
        if is_drawn {
            self.churn();
        }
        bytes
    }

    fn next_in_turn(&mut self) -> u64 {
        let flows = self.ranked.flows;
        // Rounds are whole, so the first of a round has a multiple of all flows before it.
        let rank = (flows - self.opening % flows) % flows;
        self.opening -= 1;
        rank
    }

    fn rank(&mut self) -> u64 {
        match &self.zipf {
            Some(zipf) => zipf.draw(&mut self.random),
            None => self.random.below(self.ranked.flows),
        }
    }

    fn churn(&mut self) {
        if self.ranked.churn > 0 && self.random.below(MILLION) < u64::from(self.ranked.churn) {
            let replaced = self.random.below(self.ranked.flows) as usize;
            self.conversations[replaced].replace();
        }
    }
}

impl Iterator for RankedFrames {
    type Item = Generated;

    fn next(&mut self) -> Option<Generated> {
        // What neighbours tell first has the time before the pause behind it.
        let time = self.clock;
        let (time, bytes) = if let Some(bytes) = self.tell() {
            (time, bytes)
        } else {
            let bytes = self.say();
            (self.clock, bytes)
        };
        Some(Generated { time, bytes, sound: true })
    }
}
