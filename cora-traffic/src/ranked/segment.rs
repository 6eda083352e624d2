//! Segments of a connection by their number: a handshake of three; then data from the server and
//! the client in turn, each acknowledging the other's.

use crate::wire::{self, ACK, PSH, Path, SYN, Segment};

/// The place of a segment in its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Number of segments before it, from the SYN on.
    pub(super) said: u32,
    /// Whether it is the server's.
    pub(super) is_answer: bool,
    /// What the client knows the server's numbers by, less the server's own.
    pub(super) shift: u32,
}

impl Step {
    /// Returns the step of packet number `said` where a SYN proxy stands between: the client
    /// acknowledges the proxy's cookie, and the server answers behind that. Without a cookie the
    /// client sends its SYN again and again.
    pub(super) fn at_proxy(said: u32, opening: u64, cookie: Option<u32>) -> Self {
        let Some(cookie) = cookie else { return Self { said: 0, is_answer: false, shift: 0 } };
        let shift = cookie.wrapping_sub((opening >> 32) as u32);
        match said {
            0 => Self { said: 0, is_answer: false, shift },
            // The acknowledgement that becomes the server's SYN.
            1 => Self { said: 2, is_answer: false, shift },
            _ => Self { said: said - 1, is_answer: said.is_multiple_of(2), shift },
        }
    }

    /// Makes the segment; `opening` has both ends' first sequence numbers.
    pub(super) fn segment(self, path: &Path, opening: u64, payload: &[u8]) -> Vec<u8> {
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
        let (sequence, acknowledgement) = if self.is_answer {
            (server, client)
        } else {
            (client, server.wrapping_add(self.shift))
        };
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
