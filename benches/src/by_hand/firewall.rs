//! The stateful firewall: inside may open, outside may only answer.

use super::places::{Place, Places};
use super::tuple::{Parsed, Tuple, is_usual, parse};
use super::{BURST, ByHand, Side, tcp};

/// A connection: one line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Connection {
    tuple: Tuple,
    packets: u64,
    used: u32,
    state: u8,
    /// Whether the opener is the smaller end.
    opened_ahead: bool,
}

impl Place for Connection {
    #[inline(always)]
    fn used(&self) -> u32 {
        self.used
    }
}

const IDLE: u32 = 300_000;

#[derive(Debug)]
pub(crate) struct Firewall {
    connections: Places<Connection>,
    seed: u64,
    now: u32,
    parsed: [Option<Parsed>; BURST],
}

impl Firewall {
    pub(crate) fn new(flows: u64) -> Self {
        Self {
            connections: Places::new(flows, IDLE),
            seed: 0x1234_5678_9abc_def1,
            now: 1,
            parsed: [None; BURST],
        }
    }
}

/// Returns whether the packet may pass.
#[inline(always)]
fn judge(connections: &mut Places<Connection>, now: u32, packet: &Parsed, side: Side) -> bool {
    let Parsed { tuple, flags, .. } = packet;
    match connections.find(packet.hash, now, |place| place.tuple == *tuple) {
        Ok(place) => {
            place.used = now;
            place.packets += 1;
            if tuple.is_udp() {
                return true;
            }
            let original = place.opened_ahead == packet.ahead;
            let Some(state) = tcp::advance(place.state, *flags, original) else {
                return false;
            };
            place.state = state;
            true
        }
        Err(at) if side == Side::Inside => {
            let (tuple, opened_ahead) = (*tuple, packet.ahead);
            let opened = if tuple.is_udp() { Some(tcp::NEW) } else { tcp::open(*flags) };
            let Some(state) = opened else { return false };
            let connection = Connection { tuple, packets: 1, used: now, state, opened_ahead };
            connections.fill(at, connection).is_some()
        }
        Err(_) => false,
    }
}

impl ByHand for Firewall {
    fn burst(&mut self, frames: &mut [&mut [u8]], side: Side) -> u64 {
        let Self { connections, seed, now, parsed } = self;
        for (frame, parsed) in frames.iter().zip(&mut *parsed) {
            *parsed = parse(frame, *seed).filter(|_| is_usual(frame));
            if let Some(parsed) = parsed {
                connections.prefetch(parsed.hash);
            }
        }
        let mut left = 0;
        for parsed in parsed.iter().take(frames.len()).flatten() {
            left += u64::from(judge(connections, *now, parsed, side));
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::segment;

    const INSIDE: ([u8; 4], u16) = ([10, 0, 0, 1], 5_000);
    const OUTSIDE: ([u8; 4], u16) = ([198, 18, 0, 1], 443);
    const SYN: u8 = 2;
    const ACK: u8 = 0x10;

    /// Returns whether a segment of this connection may pass.
    fn passes(firewall: &mut Firewall, side: Side, flags: u8) -> bool {
        let mut frame = match side {
            Side::Inside => segment(INSIDE, OUTSIDE, flags),
            Side::Outside => segment(OUTSIDE, INSIDE, flags),
        };
        super::super::passes(firewall, &mut frame, side)
    }

    fn connection(firewall: &mut Firewall) -> Option<Connection> {
        let parsed = parse(&segment(INSIDE, OUTSIDE, SYN), firewall.seed)?;
        let wanted = |place: &Connection| place.tuple == parsed.tuple;
        firewall.connections.find(parsed.hash, firewall.now, wanted).ok().copied()
    }

    #[test]
    fn follows_a_connection_that_inside_opens() {
        let mut firewall = Firewall::new(4);
        assert!(!passes(&mut firewall, Side::Outside, SYN), "outside may not open");
        assert!(!passes(&mut firewall, Side::Inside, ACK), "nothing but a SYN opens");
        let mut martian = segment(([127, 0, 0, 1], 5_000), OUTSIDE, SYN);
        assert!(!super::super::passes(&mut firewall, &mut martian, Side::Inside));
        let steps = [
            (Side::Inside, SYN, true, tcp::SYN_SENT),
            (Side::Inside, ACK, false, tcp::SYN_SENT),
            (Side::Outside, SYN | ACK, true, 3),
            (Side::Inside, ACK, true, tcp::ESTABLISHED),
            (Side::Outside, ACK, true, tcp::ESTABLISHED),
            (Side::Outside, SYN, false, tcp::ESTABLISHED),
            (Side::Inside, SYN, true, tcp::ESTABLISHED),
            (Side::Inside, ACK | 1, true, tcp::FIN_WAIT),
            (Side::Outside, ACK | 1, true, 7),
            (Side::Inside, ACK, true, 8),
        ];
        for (number, (side, flags, may_pass, state)) in (1..).zip(steps) {
            assert_eq!(passes(&mut firewall, side, flags), may_pass, "step {number}");
            let connection = connection(&mut firewall).unwrap();
            assert_eq!((connection.state, connection.packets), (state, number));
        }
    }

    #[test]
    fn forgets_what_was_idle_and_refuses_what_has_no_room() {
        let mut firewall = Firewall::new(1);
        assert!(passes(&mut firewall, Side::Inside, SYN));
        let mut other = segment(([10, 0, 0, 2], 1), OUTSIDE, SYN);
        assert_eq!(firewall.burst(&mut [&mut other], Side::Inside), 0, "the table is full");
        firewall.now += IDLE;
        assert!(!passes(&mut firewall, Side::Outside, SYN | ACK));
        assert!(passes(&mut firewall, Side::Inside, SYN));
        assert_eq!(connection(&mut firewall).unwrap().packets, 1);
    }
}
