//! Source NAT: many inside hosts share one public address.
//!
//! A session is found by the fields of an inside packet; for an answer from outside, by its public
//! port, which is unique. Packets at the inside port are looked up as opening, packets at the
//! outside port as answering. IPv6 and ARP pass. A slow path handles pings, ICMP errors, options
//! and fragments.

use super::rewrite::{End, rewrite};
use super::sessions::{FIRST_PORT, Key, Session, Sessions};
use super::tuple::{ends_v4, fold, is_usual};
use super::{BURST, ByHand, Side, is_arp};

/// In network order.
const PUBLIC: u32 = u32::from_ne_bytes([192, 0, 2, 1]);

/// The fields that the fast path reads of a frame.
#[derive(Clone, Copy, Debug)]
struct Read {
    key: Key,
    /// For an answer, the place of its port's session; otherwise the start of the search.
    at: u16,
    /// The public port of an answer, counted from the first one.
    port: u16,
    flags: u8,
}

#[derive(Debug)]
pub(crate) struct Nat {
    sessions: Sessions,
    seed: u64,
    read: [Option<Read>; BURST],
}

impl Nat {
    pub(crate) fn new() -> Self {
        Self { sessions: Sessions::new(), seed: 0x1234_5678_9abc_def1, read: [None; BURST] }
    }

    #[inline(always)]
    fn read(&self, frame: &[u8], side: Side) -> Option<Read> {
        let (ends, flags) = ends_v4(frame).filter(|_| is_usual(frame))?;
        let (source, destination) =
            ((ends.source[1] >> 32) as u32, (ends.destination[1] >> 32) as u32);
        let (inside_port, remote_port, protocol) = (ends.from, ends.to, ends.protocol);
        if side == Side::Inside {
            let key =
                Key { inside: source, remote: destination, inside_port, remote_port, protocol };
            return Some(Read { key, at: self.home(&key), port: 0, flags });
        }
        let port = ends.to.checked_sub(FIRST_PORT).filter(|_| destination == PUBLIC)?;
        let at = self.sessions.place_of(port);
        let (remote, remote_port) = (source, ends.from);
        Some(Read { key: Key { remote, remote_port, protocol, ..Key::default() }, at, port, flags })
    }

    #[inline]
    fn home(&self, key: &Key) -> u16 {
        let ports = u64::from(key.inside_port) << 16 | u64::from(key.remote_port);
        let addresses = u64::from(key.inside) << 32 | u64::from(key.remote);
        let last = ports << 32 | u64::from(key.protocol);
        fold(addresses ^ 0xa076_1d64_78bd_642f, last ^ self.seed) as u16
    }
}

/// Translates a packet from inside; `None` if it may not pass.
#[inline(always)]
fn originate(sessions: &mut Sessions, frame: &mut [u8], read: &Read) -> Option<()> {
    let mut at = sessions.find(&read.key, read.at);
    if sessions.is_alive(at) {
        sessions.use_by(at, read.flags, true)?;
    } else {
        at = sessions.open(read.key, read.at, read.flags)?;
    }
    sessions.renew(at);
    rewrite(frame, End::Source, PUBLIC, (FIRST_PORT + sessions.at(at).port).to_be());
    Some(())
}

/// Translates a packet from outside; `None` if it may not pass.
#[inline(always)]
fn answer(sessions: &mut Sessions, frame: &mut [u8], read: &Read) -> Option<()> {
    let Session { key, port, .. } = *sessions.at(read.at);
    let Key { inside, inside_port, .. } = key;
    let is_its_own = port == read.port && key == Key { inside, inside_port, ..read.key };
    if !is_its_own || !sessions.is_alive(read.at) {
        return None;
    }
    sessions.use_by(read.at, read.flags, false)?;
    sessions.renew(read.at);
    rewrite(frame, End::Destination, inside, inside_port.to_be());
    Some(())
}

impl ByHand for Nat {
    fn burst(&mut self, frames: &mut [&mut [u8]], side: Side) -> u64 {
        for (number, frame) in frames.iter().enumerate().take(BURST) {
            self.read[number] = self.read(frame, side);
            if let Some(read) = &self.read[number] {
                self.sessions.prefetch(read.at);
            }
        }
        let Self { sessions, read, .. } = self;
        let mut left = 0;
        for (frame, read) in frames.iter_mut().zip(&*read) {
            let may_pass = match (read, side) {
                (Some(read), Side::Inside) => originate(sessions, frame, read).is_some(),
                (Some(read), Side::Outside) => answer(sessions, frame, read).is_some(),
                (None, _) => is_arp(frame) || frame.get(12..14) == Some(&[0x86, 0xdd]),
            };
            left += u64::from(may_pass);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::super::passes;
    use super::super::sessions::{IDLE, LEASE, PORTS};
    use super::*;
    use crate::traffic::{FRAME, segment, sums_are_right};

    const REMOTE: ([u8; 4], u16) = ([198, 18, 0, 1], 443);
    const SYN: u8 = 2;
    const ACK: u8 = 0x10;
    const RST: u8 = 4;

    /// Sends from inside host number `host`, and returns the translated frame, if it may pass.
    fn send(nat: &mut Nat, host: u8, flags: u8) -> Option<[u8; FRAME]> {
        let mut frame = segment(([10, 0, 0, host], 5_000), REMOTE, flags);
        passes(nat, &mut frame, Side::Inside).then_some(frame)
    }

    /// Sends from the remote host to this public port, and returns the translated frame.
    fn answer(nat: &mut Nat, port: u16, flags: u8) -> Option<[u8; FRAME]> {
        let mut frame = segment(REMOTE, ([192, 0, 2, 1], port), flags);
        passes(nat, &mut frame, Side::Outside).then_some(frame)
    }

    /// Returns the public source port of a frame, which must be the NAT's version of a host's
    /// segment.
    fn public_port(frame: &[u8; FRAME], flags: u8) -> u16 {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        assert_eq!(*frame, segment(([192, 0, 2, 1], port), REMOTE, flags));
        assert!(sums_are_right(frame));
        port
    }

    #[test]
    fn translates_both_ways_with_right_checksums() {
        let mut nat = Nat::new();
        let ports = [1, 2].map(|host| public_port(&send(&mut nat, host, SYN).unwrap(), SYN));
        assert_eq!(ports, [FIRST_PORT, FIRST_PORT + 1]);
        let back = answer(&mut nat, ports[1], SYN | ACK).unwrap();
        assert_eq!(back, segment(REMOTE, ([10, 0, 0, 2], 5_000), SYN | ACK));
        assert!(sums_are_right(&back));
        let next = send(&mut nat, 2, ACK).unwrap();
        assert_eq!(public_port(&next, ACK), ports[1]);
        assert_eq!(answer(&mut nat, ports[1] + 1, ACK), None, "nobody has that port");
        assert_eq!(send(&mut nat, 1, ACK), None, "out of place: the SYN was not answered");
    }

    #[test]
    fn every_port_serves_one_session_until_its_lease_is_over() {
        let mut nat = Nat::new();
        let open = |nat: &mut Nat, number: u16| {
            let [high, low] = number.to_be_bytes();
            let mut frame = segment(([10, 1, high, low], 9), REMOTE, ACK);
            passes(nat, &mut frame, Side::Inside).then(|| public_port(&frame, ACK))
        };
        for number in 0..PORTS as u16 {
            assert_eq!(open(&mut nat, number), Some(FIRST_PORT + number));
        }
        assert_eq!(open(&mut nat, 40_000), None, "no port is left");
        nat.sessions.now += LEASE;
        for number in 0..PORTS as u16 {
            assert_eq!(open(&mut nat, 65_535 - number), Some(FIRST_PORT + number));
        }
        let taken = nat.sessions.taken();
        assert_eq!(taken, PORTS, "a port takes its former session along");
    }

    #[test]
    fn leases_of_closed_sessions_end_early() {
        let mut nat = Nat::new();
        send(&mut nat, 1, ACK).unwrap();
        send(&mut nat, 1, RST).unwrap();
        assert_eq!(nat.sessions.leased_until(0), nat.sessions.now + IDLE);
        nat.sessions.now += IDLE;
        assert_eq!(answer(&mut nat, FIRST_PORT, ACK), None, "idle for too long");
        assert_eq!(public_port(&send(&mut nat, 1, ACK).unwrap(), ACK), FIRST_PORT + 1);
    }
}
