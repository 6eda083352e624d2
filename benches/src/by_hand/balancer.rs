//! The balancer: one service address, many backends, chosen by consistent hashing (Maglev).
//!
//! Packets to the service and answers of a backend share one entry of one line. The key is the
//! client's end: the service is always the same, and the entry names the backend. Other packets
//! pass untouched, and so does ARP. A slow path handles IPv6 (its frames are longer than these),
//! but the entries have room for its addresses.

use super::places::{Place, Places};
use super::rewrite::{End, rewrite};
use super::tuple::{ends_v4, fold, mapped};
use super::{BURST, ByHand, Side, is_arp};

/// In network order.
const SERVICE: u32 = u32::from_ne_bytes([192, 0, 2, 80]);
/// A prime.
const SLOTS: usize = 6_553;
/// Milliseconds.
const IDLE: u32 = 300_000;

/// A client's connection to the service; both directions have this key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
struct Client {
    address: [u64; 2],
    port: u16,
    service_port: u16,
    protocol: u32,
}

/// The backend that a connection stays with: one line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Pin {
    client: Client,
    packets: u64,
    used: u32,
    /// In network order.
    backend: u32,
}

impl Place for Pin {
    #[inline(always)]
    fn used(&self) -> u32 {
        self.used
    }
}

/// The fields that the fast path reads of a frame.
#[derive(Clone, Copy, Debug)]
struct Read {
    client: Client,
    hash: u64,
    /// The source of a packet that does not go to the service: in network order.
    backend: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Balancer {
    pins: Places<Pin>,
    /// In network order.
    backends: Vec<u32>,
    slots: Box<[u8; SLOTS]>,
    seed: u64,
    now: u32,
    read: [Option<Read>; BURST],
}

impl Balancer {
    /// Makes four backends: 10.1.0.1 to 10.1.0.4.
    pub(crate) fn new(flows: u64) -> Self {
        let backends = (1..=4).map(|host| u32::from_ne_bytes([10, 1, 0, host])).collect();
        let mut balancer = Self {
            pins: Places::new(flows, IDLE),
            backends,
            slots: Box::new([0; SLOTS]),
            seed: 0x1234_5678_9abc_def1,
            now: 1,
            read: [None; BURST],
        };
        balancer.populate();
        balancer
    }

    /// Fills the slots by Maglev's population: the backends take turns, and each claims the next
    /// free slot of its own permutation.
    fn populate(&mut self) {
        let mut taken = [false; SLOTS];
        let mut turns: Vec<(usize, usize)> =
            self.backends.iter().map(|b| permutation(*b)).collect();
        for filled in 0..SLOTS {
            let backend = filled % turns.len();
            let (next, skip) = &mut turns[backend];
            while taken[*next] {
                *next = (*next + *skip) % SLOTS;
            }
            taken[*next] = true;
            self.slots[*next] = backend as u8;
        }
    }

    #[inline(always)]
    fn read(&self, frame: &[u8]) -> Option<Read> {
        let (ends, _) = ends_v4(frame)?;
        let protocol = ends.protocol;
        let (client, backend) = if ends.destination == mapped(SERVICE) {
            let (address, port, service_port) = (ends.source, ends.from, ends.to);
            (Client { address, port, service_port, protocol }, None)
        } else {
            let (address, port, service_port) = (ends.destination, ends.to, ends.from);
            let source = (ends.source[1] >> 32) as u32;
            (Client { address, port, service_port, protocol }, Some(source))
        };
        Some(Read { hash: client.hash(self.seed), client, backend })
    }
}

/// Returns whether the packet may pass, rewritten or unchanged.
#[inline(always)]
fn balance(
    pins: &mut Places<Pin>,
    choose: impl Fn(u64) -> u32,
    now: u32,
    frame: &mut [u8],
    read: &Read,
) -> bool {
    let Read { client, hash, backend } = read;
    let found = pins.find(*hash, now, |pin| pin.client == *client);
    if let Some(backend) = backend {
        if let Ok(pin) = found
            && pin.backend == *backend
        {
            pin.used = now;
            pin.packets += 1;
            rewrite(frame, End::Source, SERVICE, client.service_port.to_be());
        }
        return true;
    }
    let backend = match found {
        Ok(pin) => {
            pin.used = now;
            pin.packets += 1;
            pin.backend
        }
        Err(at) => {
            let pin = Pin { client: *client, packets: 1, used: now, backend: choose(*hash) };
            let Some(pin) = pins.fill(at, pin) else { return false };
            pin.backend
        }
    };
    rewrite(frame, End::Destination, backend, client.service_port.to_be());
    true
}

impl Client {
    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        let Self { address, port, service_port, protocol } = *self;
        let ports = u64::from(port) << 16 | u64::from(service_port);
        let address = fold(address[0] ^ 0xa076_1d64_78bd_642f, address[1] ^ seed);
        fold(address, (ports << 32 | u64::from(protocol)) ^ 0x8ebc_6af0_9c88_c6e3)
    }
}

/// Returns the start and the step of a backend's permutation of the slots.
fn permutation(backend: u32) -> (usize, usize) {
    let hash = crate::keys::mix(u64::from(backend));
    (hash as usize % SLOTS, (hash >> 32) as usize % (SLOTS - 1) + 1)
}

impl ByHand for Balancer {
    /// Either side may talk to the service.
    fn burst(&mut self, frames: &mut [&mut [u8]], _: Side) -> u64 {
        for (number, frame) in frames.iter().enumerate().take(BURST) {
            self.read[number] = self.read(frame);
            if let Some(read) = &self.read[number] {
                self.pins.prefetch(read.hash);
            }
        }
        let Self { pins, backends, slots, now, read, .. } = self;
        let choose = |hash: u64| backends[usize::from(slots[(hash >> 32) as usize % SLOTS])];
        let mut left = 0;
        for (frame, read) in frames.iter_mut().zip(&*read) {
            let may_pass = match read {
                Some(read) => balance(pins, choose, *now, frame, read),
                None => is_arp(frame),
            };
            left += u64::from(may_pass);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::super::passes;
    use super::*;
    use crate::traffic::{FRAME, segment, sums_are_right};

    const ACK: u8 = 0x10;
    const AT_SERVICE: ([u8; 4], u16) = ([192, 0, 2, 80], 443);

    /// Returns the frame as it leaves; `None` if it is dropped.
    fn pass(balancer: &mut Balancer, mut frame: [u8; FRAME]) -> Option<[u8; FRAME]> {
        let left = passes(balancer, &mut frame, Side::Outside);
        assert!(sums_are_right(&frame));
        left.then_some(frame)
    }

    #[test]
    fn a_connection_stays_with_its_backend_which_answers_as_the_service() {
        let mut balancer = Balancer::new(256);
        let mut shares = [0; 4];
        for host in 0..=255 {
            let client = ([198, 18, 0, host], 5_000);
            let sent = pass(&mut balancer, segment(client, AT_SERVICE, ACK)).unwrap();
            let backend = [sent[30], sent[31], sent[32], sent[33]];
            assert!(backend[..3] == [10, 1, 0] && (1..=4).contains(&backend[3]));
            assert_eq!(sent, segment(client, (backend, 443), ACK));
            let again = pass(&mut balancer, segment(client, AT_SERVICE, ACK)).unwrap();
            assert_eq!(again, sent);
            let answer = pass(&mut balancer, segment((backend, 443), client, ACK)).unwrap();
            assert_eq!(answer, segment(AT_SERVICE, client, ACK));
            shares[usize::from(backend[3]) - 1] += 1;
        }
        assert!(shares.iter().all(|share| (32..=96).contains(share)), "{shares:?}");
        let late = segment(([198, 18, 1, 0], 5_000), AT_SERVICE, ACK);
        assert_eq!(pass(&mut balancer, late), None, "the table is full");
    }

    #[test]
    fn the_rest_passes_as_it_is() {
        let mut balancer = Balancer::new(4);
        let client = ([198, 18, 0, 1], 5_000);
        for host in 1..=4 {
            let stray = segment(([10, 1, 0, host], 443), client, ACK);
            assert_eq!(pass(&mut balancer, stray), Some(stray), "no client asked");
        }
    }

    #[test]
    fn slots_are_shared_evenly() {
        let balancer = Balancer::new(1);
        let mut shares = [0; 4];
        for backend in balancer.slots.iter() {
            shares[usize::from(*backend)] += 1;
        }
        assert_eq!(shares, [SLOTS / 4 + 1, SLOTS / 4, SLOTS / 4, SLOTS / 4]);
    }
}
