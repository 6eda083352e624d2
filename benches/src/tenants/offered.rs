//! Ports in memory: packets for tenants by a schedule, and the latencies of their answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cora_port::{Checksums, Counters, OnReceive, OnTransmit, Port, PortError, Upgrade};

use super::attached::SERVERS;

/// Where clients are.
const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 9, 0, 1), 4_000);
/// Where a UDP datagram's contents begin.
const PAYLOAD: usize = 42;
/// Packets whose times are known: more are not under way.
const KNOWN: usize = 1 << 20;

/// Packets for a tenant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    tenant: usize,
    per_second: f64,
    rounds: u32,
}

impl Offer {
    /// So many packets a second at random times, each for so many rounds of work.
    pub(super) const fn to(tenant: usize, per_second: f64, rounds: u32) -> Self {
        Self { tenant, per_second, rounds }
    }
}

/// Packets that are offered, and answers so far.
#[derive(Debug)]
pub(super) struct Offered {
    begun: Instant,
    offers: Vec<Offer>,
    frames: Vec<Vec<u8>>,
    /// When the next packet of each is due (ns).
    due: BinaryHeap<Reverse<(u64, usize)>>,
    random: u64,
    /// The number of the next packet; those before this one are of earlier offers.
    number: u64,
    first: u64,
    /// When each of the last packets was due, and whose it was.
    known: Vec<(u64, u32)>,
    latencies: Vec<Vec<u32>>,
}

impl Offered {
    /// To tenants with these ports.
    pub(super) fn of(offers: Vec<Offer>, ports: &[u16]) -> Self {
        let frames = offers.iter().map(|offer| question(ports[offer.tenant], offer.rounds));
        Self {
            begun: Instant::now(),
            frames: frames.collect(),
            due: (0..offers.len()).map(|at| Reverse((0, at))).collect(),
            random: 1,
            number: 0,
            first: 0,
            known: vec![(0, 0); KNOWN],
            latencies: vec![Vec::new(); offers.len()],
            offers,
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Time between two packets, from an exponential distribution (ns).
    fn gap(&mut self, per_second: f64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let uniform = ((self.random >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        #[expect(clippy::cast_sign_loss, reason = "the logarithm of a part of one is negative")]
        let gap = (-uniform.ln() * 1e9 / per_second) as u64;
        gap
    }

    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> usize {
        let now = self.now();
        let mut taken = 0;
        while taken < most
            && let Some(Reverse((due, at))) = self.due.peek().copied()
            && due <= now
        {
            self.due.pop();
            let gap = self.gap(self.offers[at].per_second);
            self.due.push(Reverse((due + gap, at)));
            let number = self.number;
            self.number += 1;
            self.known[number as usize % KNOWN] = (due, at as u32);
            let frame = &mut self.frames[at];
            frame[PAYLOAD..PAYLOAD + 8].copy_from_slice(&number.to_le_bytes());
            each(frame);
            taken += 1;
        }
        taken
    }

    fn answered(&mut self, frame: &[u8]) {
        let number = frame.get(PAYLOAD..).and_then(|it| it.first_chunk());
        let Some(number) = number.map(|it| u64::from_le_bytes(*it)) else { return };
        // Answers to earlier offers may still come.
        if !(self.first..self.number).contains(&number) {
            return;
        }
        let (due, at) = self.known[number as usize % KNOWN];
        let took = self.now().saturating_sub(due);
        self.latencies[at as usize].push(u32::try_from(took).unwrap_or(u32::MAX));
    }
}

/// What is offered now, for the port and for who measures.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside(Arc<Mutex<Option<Offered>>>);

impl Outside {
    fn with<T>(&self, work: impl FnOnce(&mut Option<Offered>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Offers these from now on.
    pub(super) fn begin(&self, mut offered: Offered) {
        self.with(|now| {
            if let Some(before) = now.as_ref() {
                (offered.number, offered.first) = (before.number, before.number);
            }
            *now = Some(offered);
        });
    }

    /// Offers no more.
    pub(super) fn stop(&self) {
        self.with(|now| now.iter_mut().for_each(|it| it.due.clear()));
    }

    /// The latencies of each tenant's answers (ns).
    pub(super) fn end(&self) -> Vec<Vec<u32>> {
        self.with(|now| {
            now.as_mut().map(|it| std::mem::take(&mut it.latencies)).unwrap_or_default()
        })
    }
}

/// A port in memory.
#[derive(Debug)]
struct InMemory {
    offered: Option<Outside>,
    counters: Counters,
}

impl Port for InMemory {
    fn receive(&mut self, most: usize, each: &mut dyn FnMut(&[u8])) -> Result<usize, PortError> {
        let Some(offered) = &self.offered else { return Ok(0) };
        let taken =
            offered.with(|now| now.as_mut().map_or(0, |offered| offered.receive(most, each)));
        self.counters.received += taken as u64;
        Ok(taken)
    }

    fn transmit(&mut self, frames: &[&[u8]]) -> usize {
        if let Some(offered) = &self.offered {
            offered.with(|now| {
                if let Some(offered) = now {
                    for frame in frames {
                        offered.answered(frame);
                    }
                }
            });
        }
        self.counters.transmitted += frames.len() as u64;
        frames.len()
    }

    fn mtu(&self) -> usize {
        1_500
    }

    fn checksums(&self) -> Checksums {
        Checksums { on_receive: OnReceive::AsTheyCame, on_transmit: OnTransmit::AsGiven }
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn upgrade(&self) -> Upgrade<'_> {
        Upgrade::Refuse
    }
}

/// The ports inside and outside, and what is offered at the latter.
pub(super) fn ports() -> (Box<dyn Port>, Box<dyn Port>, Outside) {
    let offered = Outside::default();
    let port = |offered| Box::new(InMemory { offered, counters: Counters::default() });
    (port(None), port(Some(offered.clone())), offered)
}

/// A question of `echoes` in a frame.
fn question(port: u16, rounds: u32) -> Vec<u8> {
    let mut frame =
        vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17];
    frame.extend([0, 0]);
    frame.extend(CLIENT.0.octets());
    frame.extend(SERVERS.octets());
    let words = frame[14..34].chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum: u32 = words.sum();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(CLIENT.1.to_be_bytes());
    frame.extend(port.to_be_bytes());
    frame.extend([0, 20, 0, 0]);
    frame.extend([0; 8]);
    frame.extend(rounds.to_le_bytes());
    frame.resize(60, 0);
    frame
}

/// So many percent of all are this, or less.
pub(super) fn percentile(mut all: Vec<u32>, percent: usize) -> f64 {
    all.sort_unstable();
    let at = all.len().saturating_sub(1) * percent / 100;
    all.get(at).copied().map_or(f64::NAN, f64::from)
}
