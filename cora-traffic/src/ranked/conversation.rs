//! One conversation of a rank, and its next frame. All of it follows from a few numbers, so that
//! millions of flows fit.

use super::{Cookies, Form, Ranked, dns, ends, segment, tunnel};
use crate::random::mix;
use crate::wire::{self, Path, TCP, UDP};

/// The shortest frame that Ethernet carries, without its check sequence.
pub(super) const SHORTEST: usize = 60;

/// The current conversation of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conversation {
    /// Number of conversations before it.
    pub(super) before: u32,
    /// Number of its packets so far.
    said: u32,
}

impl Conversation {
    /// Replaces it by another one.
    pub(super) fn replace(&mut self) {
        *self = Self { before: self.before.wrapping_add(1), said: 0 };
    }

    /// Returns its next frame.
    pub(super) fn say(&mut self, rank: u64, ranked: &Ranked, cookies: &Cookies) -> Vec<u8> {
        let mut frame = match ranked.form {
            Form::Handshakes => self.handshake(rank, ranked, cookies),
            form => {
                let is_answer = !form.is_one_way() && self.said % 2 == 1;
                let path = self.path(rank, ranked, is_answer);
                match form {
                    Form::Connections => {
                        let opening = self.opening(rank);
                        let payload = payload(ranked.bytes, &path, 20, rank);
                        let step = segment::Step { said: self.said, is_answer, shift: 0 };
                        wire::frame(&path, TCP, &step.segment(&path, opening, &payload))
                    }
                    Form::Dns => dns::frame(&path, self.opening(rank), is_answer, ranked.bytes),
                    Form::Gtp if !is_answer => {
                        let inner = datagram(&path, ranked.bytes, rank);
                        tunnel::from_station(rank % ends::hosts(ranked), &inner)
                    }
                    Form::Tunnelled if is_answer => {
                        tunnel::from_gateway(&path, &padded(datagram(&path, ranked.bytes, rank)))
                    }
                    _ => datagram(&path, ranked.bytes, rank),
                }
            }
        };
        self.said = self.said.wrapping_add(1);
        if frame.len() < SHORTEST {
            frame.resize(SHORTEST, 0);
        }
        frame
    }

    fn path(self, rank: u64, ranked: &Ranked, is_answer: bool) -> Path {
        let id = self.said as u16;
        let path = ends::path(rank, self.before, ranked, is_answer);
        Path { id: if is_answer { id ^ 0x5a5a } else { id }, ..path }
    }

    /// Both ends' first sequence numbers, or what else makes a conversation different from others.
    fn opening(self, rank: u64) -> u64 {
        mix(rank ^ u64::from(self.before) << 32)
    }

    /// Makes the next segment at a SYN proxy: SYNs, or if the proxy answered the client with a
    /// cookie, the rest of the connection.
    fn handshake(self, rank: u64, ranked: &Ranked, cookies: &Cookies) -> Vec<u8> {
        let opening = self.opening(rank);
        let client = ends::path(rank, self.before, ranked, false).from;
        let cookie = cookies.get(&(client.address, client.port));
        let step = segment::Step::at_proxy(self.said, opening, cookie.copied());
        let path = self.path(rank, ranked, step.is_answer);
        let payload = payload(ranked.bytes, &path, 20, rank);
        wire::frame(&path, TCP, &step.segment(&path, opening, &payload))
    }
}

fn padded(mut frame: Vec<u8>) -> Vec<u8> {
    frame.resize(frame.len().max(SHORTEST), 0);
    frame
}

/// Makes a datagram in a frame of `bytes`, or of the headers alone if they are longer.
fn datagram(path: &Path, bytes: u16, rank: u64) -> Vec<u8> {
    wire::frame(path, UDP, &wire::udp(path, &payload(bytes, path, 8, rank), true))
}

/// Makes the part of a frame behind its headers, of which the transport's has this length.
fn payload(bytes: u16, path: &Path, transport: u16, rank: u64) -> Vec<u8> {
    let headers = 14 + if path.is_v6() { 40 } else { 20 } + transport;
    vec![mix(rank) as u8; usize::from(bytes.saturating_sub(headers))]
}
