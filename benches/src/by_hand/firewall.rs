//! The stateful firewall: inside may open, outside may only answer.

use super::ByHand;
use super::tuple::{Parsed, Tuple, parse};
use crate::prefetch::prefetch;
use crate::traffic::FRAME;

/// A connection: one line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Connection {
    tuple: Tuple,
    packets: u64,
    /// When a packet last came, in milliseconds; 0 is an empty place.
    used: u32,
    state: u8,
    /// The opener is the smaller end.
    opened_ahead: bool,
}

const IDLE: u32 = 300_000;

/// Open addressing, half full at most.
#[derive(Debug)]
pub(crate) struct Firewall {
    places: Vec<Connection>,
    mask: usize,
    seed: u64,
    now: u32,
    parsed: [Option<Parsed>; 32],
}

impl Firewall {
    pub(crate) fn new(flows: u64) -> Self {
        let places = (flows as usize * 2).next_power_of_two();
        Self {
            places: vec![Connection::default(); places],
            mask: places - 1,
            seed: 0x1234_5678_9abc_def1,
            now: 1,
            parsed: [None; 32],
        }
    }

    /// Whether the packet may pass.
    #[inline]
    fn judge(&mut self, packet: &Parsed) -> bool {
        let mut at = packet.hash as usize & self.mask;
        loop {
            let place = &mut self.places[at & self.mask];
            if place.used == 0 {
                // All of this traffic comes from inside.
                let (state, used) = (open(packet.flags), self.now);
                let opened_ahead = packet.ahead;
                *place = Connection { tuple: packet.tuple, packets: 1, used, state, opened_ahead };
                return true;
            }
            if place.tuple == packet.tuple {
                if self.now - place.used > IDLE {
                    (place.state, place.packets) = (open(packet.flags), 0);
                    place.opened_ahead = packet.ahead;
                }
                place.used = self.now;
                place.packets += 1;
                if packet.tuple.is_udp() {
                    return true;
                }
                let original = place.opened_ahead == packet.ahead;
                let Some(state) = advance(place.state, packet.flags, original) else {
                    return false;
                };
                place.state = state;
                return true;
            }
            at += 1;
        }
    }
}

impl ByHand for Firewall {
    fn burst(&mut self, frames: &mut [[u8; FRAME]]) -> u64 {
        for (frame, parsed) in frames.iter().zip(&mut self.parsed) {
            *parsed = parse(frame, self.seed);
            if let Some(parsed) = parsed {
                prefetch(&self.places[parsed.hash as usize & self.mask]);
            }
        }
        let mut left = 0;
        for number in 0..frames.len().min(32) {
            if let Some(parsed) = self.parsed[number] {
                left += u64::from(self.judge(&parsed));
            }
        }
        left
    }
}

const NEW: u8 = 0;
const SYN_SENT: u8 = 1;
const SYN_RECEIVED: u8 = 2;
const ESTABLISHED: u8 = 3;
const FIN_WAIT: u8 = 4;
const CLOSE_WAIT: u8 = 5;
const LAST_ACK: u8 = 6;
const TIME_WAIT: u8 = 7;
const CLOSED: u8 = 8;

/// The state after a connection's first segment.
#[inline]
const fn open(flags: u8) -> u8 {
    match flags & 0x17 {
        0x02 => SYN_SENT,
        0x10 => ESTABLISHED,
        0x11 => FIN_WAIT,
        _ => NEW,
    }
}

/// The state after another segment; `None` if it is out of place.
#[inline]
const fn advance(state: u8, flags: u8, original: bool) -> Option<u8> {
    let (syn, fin, rst, ack) = (flags & 2 != 0, flags & 1 != 0, flags & 4 != 0, flags & 0x10 != 0);
    match (state, syn, fin, rst, ack) {
        (_, false, false, true, _) => Some(CLOSED),
        (ESTABLISHED, false, false, false, true) => Some(ESTABLISHED),
        (NEW | SYN_SENT | TIME_WAIT | CLOSED, true, false, false, false) if original => {
            Some(SYN_SENT)
        }
        (SYN_SENT | SYN_RECEIVED, true, false, false, true) if !original => Some(SYN_RECEIVED),
        (SYN_RECEIVED, false, false, false, true) if original => Some(ESTABLISHED),
        (SYN_RECEIVED, false, false, false, true) => Some(SYN_RECEIVED),
        (ESTABLISHED | SYN_RECEIVED, false, true, false, true) => Some(FIN_WAIT),
        (FIN_WAIT | CLOSE_WAIT, false, false, false, true) => Some(CLOSE_WAIT),
        (FIN_WAIT | CLOSE_WAIT, false, true, false, true) => Some(LAST_ACK),
        (LAST_ACK | TIME_WAIT, false, false, false, true)
        | (TIME_WAIT, false, true, false, true) => Some(TIME_WAIT),
        _ => None,
    }
}
