//! Requests and answers without a connection: UDP, and ICMP echo.

use super::{Length, MICROSECOND, MILLISECOND, Queue, SECOND, payload, size};
use crate::random::Random;
use crate::wire::{self, Path, UDP};

#[derive(Debug)]
pub(super) struct Udp {
    path: Path,
    left: u32,
    idles: bool,
    /// UDP over IPv4 may go without a checksum.
    summed: bool,
    begun: bool,
}

impl Udp {
    pub(super) fn new(path: Path, length: Length, random: &mut Random) -> Self {
        let summed = path.is_v6() || !random.percent(4);
        Self { path, left: length.packets.max(1), idles: length.idles, summed, begun: false }
    }

    pub(super) fn refill(&mut self, queue: &mut Queue, random: &mut Random) {
        if self.left == 0 {
            return;
        }
        let pause = match (self.begun, self.idles) {
            (false, _) => 0,
            (true, true) => random.between(310, 650) * SECOND,
            (true, false) => random.between(50, 3_000_000) * MICROSECOND,
        };
        self.idles &= !self.begun;
        self.begun = true;
        self.left = self.left.saturating_sub(2);
        let request = self.datagram(&self.path, random);
        queue.push(pause, &self.path, request.clone());
        match random.below(100) {
            0..=4 => return, // no answer
            5..=8 => queue.push(SECOND, &self.path, request),
            _ => {}
        }
        let back = self.path.back();
        let answer = self.datagram(&back, random);
        queue.push(random.between(1, 60) * MILLISECOND, &back, answer);
    }

    fn datagram(&self, path: &Path, random: &mut Random) -> Vec<u8> {
        let length = size(random) - 1;
        wire::frame(path, UDP, &wire::udp(path, &payload(random, length), self.summed))
    }
}

#[derive(Debug)]
pub(super) struct Echo {
    path: Path,
    left: u32,
    sequence: u16,
    idles: bool,
}

impl Echo {
    pub(super) fn new(path: Path, length: Length, _random: &mut Random) -> Self {
        Self { path, left: length.packets.max(1), sequence: 0, idles: length.idles }
    }

    pub(super) fn refill(&mut self, queue: &mut Queue, random: &mut Random) {
        if self.left == 0 {
            return;
        }
        self.left = self.left.saturating_sub(2);
        let pause = match self.sequence {
            0 => 0,
            3 if self.idles => 400 * SECOND,
            _ => SECOND,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let data = payload(random, 56);
        queue.push(pause, &self.path, self.message(&self.path, [[8, 0], [128, 0]], &data));
        if !random.percent(5) {
            let back = self.path.back();
            let answer = self.message(&back, [[0, 0], [129, 0]], &data);
            queue.push(random.between(1, 60) * MILLISECOND, &back, answer);
        }
    }

    fn message(&self, path: &Path, kinds: [[u8; 2]; 2], data: &[u8]) -> Vec<u8> {
        let [a, b] = self.path.from.port.to_be_bytes();
        let [c, d] = self.sequence.to_be_bytes();
        let message = wire::icmp(path, kinds[usize::from(path.is_v6())], [a, b, c, d], data);
        wire::frame(path, wire::icmp_protocol(path), &message)
    }
}
