//! A TCP connection: handshake, data both ways, losses, and one of several closes.

use super::{Length, MICROSECOND, MILLISECOND, Queue, SECOND, error, payload, size};
use crate::random::Random;
use crate::wire::{self, ACK, FIN, PSH, Path, RST, SYN, Segment, TCP};

/// MSS 1460, window scale 7, selective acknowledgements.
const OPENING_OPTIONS: [u8; 12] = [2, 4, 5, 0xb4, 1, 3, 3, 7, 1, 1, 4, 2];

#[derive(Debug)]
enum Stage {
    Opening,
    Talking,
    Closed,
}

#[derive(Debug)]
pub(super) struct Tcp {
    /// From the client to the server.
    path: Path,
    client: u32,
    server: u32,
    /// Packets still to send before it closes.
    left: u32,
    full: u32,
    /// Number of packets left at which it pauses.
    idles_at: Option<u32>,
    stage: Stage,
    pause: u64,
    round_trip: u64,
}

impl Tcp {
    pub(super) fn new(path: Path, length: Length, random: &mut Random) -> Self {
        let left = length.packets.saturating_sub(6);
        Self {
            path,
            client: random.next() as u32,
            server: random.next() as u32,
            left,
            full: left,
            idles_at: length.idles.then_some(left / 2),
            stage: Stage::Opening,
            pause: 0,
            round_trip: random.between(1, 80) * MILLISECOND,
        }
    }

    /// Opens the same addresses and ports again: soon, after TIME_WAIT, or long after.
    pub(super) fn reopen(&mut self, random: &mut Random) {
        let waits = [MILLISECOND, 300 * MILLISECOND, 2 * SECOND, 70 * SECOND, 330 * SECOND];
        self.pause = waits[random.weighted(&[2, 4, 6, 3, 1])] + random.below(MILLISECOND);
        self.client = self.client.wrapping_add(random.between(64_000, 1 << 24) as u32);
        self.server = random.next() as u32;
        self.left = self.full;
        self.stage = Stage::Opening;
    }

    pub(super) fn refill(&mut self, queue: &mut Queue, random: &mut Random) {
        match self.stage {
            Stage::Opening => self.open(queue, random),
            Stage::Talking if self.left > 0 => self.talk(queue, random),
            Stage::Talking => self.close(queue, random),
            Stage::Closed => {}
        }
    }

    fn open(&mut self, queue: &mut Queue, random: &mut Random) {
        self.stage = Stage::Talking;
        let syn = self.client_says(SYN, &[]);
        queue.push(self.pause, &self.path, syn.clone());
        if random.percent(2) {
            queue.push(SECOND, &self.path, syn);
        }
        self.client = self.client.wrapping_add(1);
        let answer = self.server_says(SYN | ACK, &[]);
        queue.push(self.round_trip, &self.path.back(), answer);
        self.server = self.server.wrapping_add(1);
        let third = self.client_says(ACK, &[]);
        queue.push(40 * MICROSECOND, &self.path, third);
    }

    fn talk(&mut self, queue: &mut Queue, random: &mut Random) {
        let pause = self.pause(random);
        let data = {
            let length = size(random);
            payload(random, length)
        };
        let used = match random.below(100) {
            0..=42 => self.ask(queue, pause, &data),
            43..=84 => self.serve(queue, pause, &data),
            85..=90 => self.lose(queue, pause, &data),
            91..=95 => self.overtake(queue, pause, &data),
            96..=97 if data.len() > 200 => self.shrink(queue, pause, &data),
            _ => self.keep_alive(queue, pause),
        };
        self.left = self.left.saturating_sub(used);
    }

    /// Adds client data, acknowledged.
    fn ask(&mut self, queue: &mut Queue, pause: u64, data: &[u8]) -> u32 {
        self.send(queue, pause, data);
        let answer = self.server_says(ACK, &[]);
        queue.push(self.round_trip, &self.path.back(), answer);
        2
    }

    /// Adds server data in two segments, acknowledged.
    fn serve(&mut self, queue: &mut Queue, pause: u64, data: &[u8]) -> u32 {
        self.answer(queue, pause, data);
        self.answer(queue, 12 * MICROSECOND, data);
        let thanks = self.client_says(ACK, &[]);
        queue.push(30 * MICROSECOND, &self.path, thanks);
        3
    }

    /// Adds client data that is lost behind the capture point, and sent again.
    fn lose(&mut self, queue: &mut Queue, pause: u64, data: &[u8]) -> u32 {
        let segment = self.client_says(PSH | ACK, data);
        queue.push(pause, &self.path, segment);
        self.send(queue, 4 * self.round_trip, data);
        let answer = self.server_says(ACK, &[]);
        queue.push(self.round_trip, &self.path.back(), answer);
        3
    }

    /// Adds server data in two segments; the second overtakes the first.
    fn overtake(&mut self, queue: &mut Queue, pause: u64, data: &[u8]) -> u32 {
        let used = self.serve(queue, pause, data);
        let last = queue.0.pop_back();
        queue.swap_last_two();
        queue.0.extend(last);
        used
    }

    /// Adds a segment too long for a router, the router's error, and a shorter segment.
    fn shrink(&mut self, queue: &mut Queue, pause: u64, data: &[u8]) -> u32 {
        let segment = self.client_says(PSH | ACK, data);
        let kinds = [[3, 4], [2, 0]];
        let (back, complaint) = error(&self.path, &segment, kinds, [0, 0, 5, 0], true);
        queue.push(pause, &self.path, segment);
        queue.push(self.round_trip / 2, &back, complaint);
        2 + self.ask(queue, 50 * MICROSECOND, &data[..200])
    }

    fn keep_alive(&mut self, queue: &mut Queue, pause: u64) -> u32 {
        self.client = self.client.wrapping_sub(1);
        let probe = self.client_says(ACK, &[]);
        self.client = self.client.wrapping_add(1);
        queue.push(pause, &self.path, probe);
        let answer = self.server_says(ACK, &[]);
        queue.push(self.round_trip, &self.path.back(), answer);
        2
    }

    fn close(&mut self, queue: &mut Queue, random: &mut Random) {
        self.stage = Stage::Closed;
        let back = self.path.back();
        let pause = self.pause(random);
        match random.below(100) {
            0..=39 => self.finish(queue, pause),
            40..=64 => {
                // The server closes first, and the client sends a little more.
                let end = self.server_says(FIN | ACK, &[]);
                self.server = self.server.wrapping_add(1);
                queue.push(pause, &back, end);
                self.send(queue, 90 * MICROSECOND, b"the rest");
                let end = self.client_says(FIN | ACK, &[]);
                self.client = self.client.wrapping_add(1);
                queue.push(20 * MICROSECOND, &self.path, end);
                let last = self.server_says(ACK, &[]);
                queue.push(self.round_trip, &back, last);
            }
            65..=79 => {
                let reset = self.client_says(RST | ACK, &[]);
                queue.push(pause, &self.path, reset);
            }
            80..=91 => {
                let reset = self.server_says(RST, &[]);
                queue.push(pause, &back, reset);
                if random.percent(40) {
                    // A segment that was under way when the reset came.
                    self.send(queue, 10 * MICROSECOND, b"too late");
                }
            }
            _ => {} // one side has vanished
        }
    }

    fn finish(&mut self, queue: &mut Queue, pause: u64) {
        let back = self.path.back();
        let end = self.client_says(FIN | ACK, &[]);
        self.client = self.client.wrapping_add(1);
        queue.push(pause, &self.path, end);
        let end = self.server_says(FIN | ACK, &[]);
        self.server = self.server.wrapping_add(1);
        queue.push(self.round_trip, &back, end);
        let last = self.client_says(ACK, &[]);
        queue.push(25 * MICROSECOND, &self.path, last);
    }

    /// Draws a pause; idling connections once pause for longer than any table keeps entries.
    fn pause(&mut self, random: &mut Random) -> u64 {
        if self.idles_at.is_some_and(|at| self.left <= at) {
            self.idles_at = None;
            return random.between(310, 700) * SECOND;
        }
        match random.below(100) {
            0..=69 => random.between(5, 900) * MICROSECOND,
            70..=97 => random.between(1, 900) * MILLISECOND,
            _ => random.between(1, 40) * SECOND,
        }
    }

    fn send(&mut self, queue: &mut Queue, wait: u64, data: &[u8]) {
        let segment = self.client_says(PSH | ACK, data);
        self.client = self.client.wrapping_add(data.len() as u32);
        queue.push(wait, &self.path, segment);
    }

    fn answer(&mut self, queue: &mut Queue, wait: u64, data: &[u8]) {
        let segment = self.server_says(PSH | ACK, data);
        self.server = self.server.wrapping_add(data.len() as u32);
        queue.push(wait, &self.path.back(), segment);
    }

    fn client_says(&mut self, flags: u8, data: &[u8]) -> Vec<u8> {
        self.path.id = self.path.id.wrapping_add(1);
        segment(&self.path, flags, self.client, self.server, data)
    }

    fn server_says(&self, flags: u8, data: &[u8]) -> Vec<u8> {
        segment(&self.path.back(), flags, self.server, self.client, data)
    }
}

pub(super) fn segment(path: &Path, flags: u8, sequence: u32, other: u32, data: &[u8]) -> Vec<u8> {
    let acknowledgement = if flags & ACK == 0 { 0 } else { other };
    let options: &[u8] = if flags & SYN == 0 { &[] } else { &OPENING_OPTIONS };
    let segment = Segment { flags, sequence, acknowledgement, options, payload: data };
    wire::frame(path, TCP, &wire::tcp(path, &segment))
}
