//! SYN cookies: a client's offer, under a keyed hash, as the sequence number of the answer.
//!
//! ```text
//! bits 31–8  SipHash-2-4 of ends, the client's sequence number, time and the bits below
//! bit  7     last bit of time in units of 2³⁶ ns (69 s): a cookie is good for one to two of them
//! bits 6–5   the segment size offered, rounded down to one of four
//! bit  4     whether selective acknowledgements were
//! bits 3–0   the window scale offered; 15 for none
//! ```

use cora::prelude::*;

use crate::Settings;
use crate::splice::UNSCALED;

/// A unit of time, as a power of 2 of nanoseconds.
const UNIT: u32 = 36;
const SIZES_V4: [u16; 4] = [536, 1300, 1440, 1460];
const SIZES_V6: [u16; 4] = [1220, 1300, 1420, 1440];

/// A client's offer, as far as a cookie holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) mss: u16,
    pub(crate) sack: bool,
    /// [`UNSCALED`] for none.
    pub(crate) scale: u8,
}

impl Offer {
    fn sizes(flow: &FiveTuple) -> &'static [u16; 4] {
        if flow.source.is_v4() { &SIZES_V4 } else { &SIZES_V6 }
    }

    /// The offer of a SYN, and its bits.
    fn of(flow: &FiveTuple, said: &TcpOptions) -> (Self, u32) {
        let sizes = Self::sizes(flow);
        let most = said.mss.unwrap_or(sizes[0]);
        let fitting = sizes.iter().filter(|size| **size <= most).count();
        let scale = said.window_scale.unwrap_or(UNSCALED);
        let bits = (fitting.saturating_sub(1) as u32) << 5
            | u32::from(said.sack_permitted) << 4
            | u32::from(scale);
        (Self::from_bits(flow, bits), bits)
    }

    /// The offer of the client that was answered with this cookie.
    pub(crate) fn of_cookie(packet: &Packet, cookie: u32) -> Result<Self, Reason> {
        Ok(Self::from_bits(&packet.five_tuple()?, cookie))
    }

    fn from_bits(flow: &FiveTuple, bits: u32) -> Self {
        let [small, medium, large, largest] = *Self::sizes(flow);
        let mss = match bits >> 5 & 3 {
            0 => small,
            1 => medium,
            2 => large,
            _ => largest,
        };
        Self { mss, sack: bits >> 4 & 1 == 1, scale: scale_of(bits) }
    }
}

/// The window scale that the client of this cookie offered.
pub(crate) const fn scale_of(cookie: u32) -> u8 {
    (cookie & 15) as u8
}

/// The hash, which needs the secret.
fn signed(secret: [u64; 2], flow: &FiveTuple, client_seq: u32, unit: u64, bits: u32) -> u32 {
    let [a, b, c, d, e] = flow.words();
    let what = u64::from(client_seq) << 32 | u64::from(bits);
    let hash = sip_hash(secret, &[a, b, c, d, e, what, unit]);
    ((hash >> 40) as u32) << 8 | bits
}

impl Settings {
    /// The cookie for a SYN that comes at `now` (ns), and its content.
    pub(crate) fn cookie(
        &self,
        flow: &FiveTuple,
        client_seq: u32,
        said: &TcpOptions,
        now: u64,
    ) -> (u32, Offer) {
        let (offer, bits) = Offer::of(flow, said);
        let unit = now >> UNIT;
        let bits = bits | (unit as u32 & 1) << 7;
        (signed(self.secret, flow, client_seq, unit, bits), offer)
    }

    /// The client's offer and its sequence number, if the segment acknowledges a cookie of ours.
    pub(crate) fn offered(
        &self,
        flow: &FiveTuple,
        segment: &TcpHeader,
        now: u64,
    ) -> Option<(u32, Offer)> {
        let cookie = segment.ack.wrapping_sub(1);
        let bits = cookie & 0xff;
        // The latest unit with this last bit.
        let this = now >> UNIT;
        let unit = if this & 1 == u64::from(bits >> 7) { this } else { this.checked_sub(1)? };
        // If its acknowledgement was lost, a client asks for its window by one of one number less.
        let next = [segment.seq.wrapping_sub(1), segment.seq];
        let is_ours = |client_seq: &u32| {
            [self.secret, self.previous]
                .iter()
                .any(|secret| signed(*secret, flow, *client_seq, unit, bits) == cookie)
        };
        let client_seq = next.into_iter().find(is_ours)?;
        Some((client_seq, Offer::from_bits(flow, bits)))
    }
}
