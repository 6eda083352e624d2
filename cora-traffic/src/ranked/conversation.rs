//! One conversation of a rank: its ends, and its next frame. All of it follows from a few numbers,
//! so that millions of flows fit.

use std::net::Ipv4Addr;

use super::{Ranked, Transport};
use crate::random::mix;
use crate::wire::{self, ACK, End, PSH, Path, SYN, Segment, TCP, Tags, UDP};

const FLOWS_PER_HOST: u64 = 8;
const FLOWS_PER_SERVER: u64 = 32;

/// The shortest frame that Ethernet carries, without its check sequence.
const SHORTEST: usize = 60;

/// Number of client ports, from 1024 on: a multiple of the flows per host.
const PORTS: u64 = 64_512;

/// The current conversation of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conversation {
    /// Number of conversations before it.
    before: u32,
    /// Number of its packets so far.
    said: u32,
}

impl Conversation {
    /// Replaces it by another one.
    pub(super) fn replace(&mut self) {
        *self = Self { before: self.before.wrapping_add(1), said: 0 };
    }

    /// Returns its next frame.
    pub(super) fn say(&mut self, rank: u64, ranked: &Ranked) -> Vec<u8> {
        let there = self.path(rank, ranked);
        let is_answer = self.said % 2 == 1;
        let path = if is_answer { there.back() } else { there };
        let mut frame = match ranked.transport {
            Transport::Udp => {
                let payload = payload(ranked.bytes, 14 + 20 + 8, rank);
                wire::frame(&path, UDP, &wire::udp(&path, &payload, true))
            }
            Transport::Tcp => {
                let payload = payload(ranked.bytes, 14 + 20 + 20, rank);
                wire::frame(&path, TCP, &self.segment(&path, rank, is_answer, &payload))
            }
        };
        self.said = self.said.wrapping_add(1);
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST, 0);
        }
        frame
    }

    /// Returns the path from the client inside to the server outside.
    fn path(self, rank: u64, ranked: &Ranked) -> Path {
        let hosts = ranked.flows.div_ceil(FLOWS_PER_HOST);
        let servers = ranked.flows.div_ceil(FLOWS_PER_SERVER);
        let (host, server) = (rank % hosts, rank % servers);
        // A host's flows take ports in turn, so none has the port of another.
        let port = (rank / hosts + u64::from(self.before) * FLOWS_PER_HOST) % PORTS;
        let [_, a, b, c] = (host as u32 + 1).to_be_bytes();
        let server_port = if ranked.transport == Transport::Tcp { 443 } else { 53 };
        Path {
            from: End {
                mac: [2, 0, 0x0a, a, b, c],
                address: Ipv4Addr::new(10, a, b, c).into(),
                port: 1_024 + port as u16,
            },
            to: End { mac: [2, 0, 0, 0, 0, 1], address: server_address(server), port: server_port },
            tags: Tags::None,
            hops: 64,
            id: self.said as u16,
            options: false,
        }
    }

    /// Makes the next segment: a handshake of three; then data from the server and the client in
    /// turn, each acknowledging the other's.
    fn segment(self, path: &Path, rank: u64, is_answer: bool, payload: &[u8]) -> Vec<u8> {
        let opening = mix(rank ^ u64::from(self.before) << 32);
        let length = payload.len() as u32;
        let said = self.said;
        // Segments with data before this one: the server's are number 3, 5, 7 …, the client's 4, 6,
        // 8 …
        let after_opening = |first: u32| {
            let data = said.saturating_sub(first).div_ceil(2);
            1_u32.wrapping_add(data.wrapping_mul(length))
        };
        let client = (opening as u32).wrapping_add(if said == 0 { 0 } else { after_opening(4) });
        let server =
            ((opening >> 32) as u32).wrapping_add(if said < 2 { 0 } else { after_opening(3) });
        let (sequence, acknowledgement) =
            if is_answer { (server, client) } else { (client, server) };
        let (flags, payload): (u8, &[u8]) = match said {
            0 => (SYN, &[]),
            1 => (SYN | ACK, &[]),
            2 => (ACK, &[]),
            _ => (PSH | ACK, payload),
        };
        let acknowledgement = if flags & ACK == 0 { 0 } else { acknowledgement };
        wire::tcp(path, &Segment { flags, sequence, acknowledgement, options: &[], payload })
    }
}

/// Returns an address of 100.64.0.0/10 (RFC 6598), a shared range that is large enough.
fn server_address(server: u64) -> std::net::IpAddr {
    let [_, a, b, c] = (server as u32 + 1).to_be_bytes();
    Ipv4Addr::new(100, 64 | a, b, c).into()
}

/// Makes the part of a frame behind its headers.
fn payload(bytes: u16, headers: u16, rank: u64) -> Vec<u8> {
    vec![mix(rank) as u8; usize::from(bytes.saturating_sub(headers))]
}
