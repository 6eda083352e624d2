//! TCP options: the values negotiated by them, and the sequence numbers in selective
//! acknowledgements.

use super::Headers;
use super::checksum::Change;
use super::transport::TCP_HEADER;
use crate::verdict::Reason;

/// Kinds of options (RFC 9293, 3.1; RFC 7323; RFC 2018).
const END: u8 = 0;
const NOTHING: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Maximum length of options in bytes.
const MOST: usize = 40;

/// Time stamps of a segment (RFC 7323, 3), in the sender's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpTimestamps {
    /// The sender's clock.
    pub value: u32,
    /// The last value that the sender received; valid with the ACK flag.
    pub echo: u32,
}

/// Options of a segment. A SYN negotiates the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size that the sender accepts.
    pub mss: Option<u16>,
    /// Shift of its windows in bits; more than 14 counts as 14 (RFC 7323, 2.3).
    pub window_scale: Option<u8>,
    /// Whether the sender supports selective acknowledgements.
    pub sack_permitted: bool,
    /// The time stamps of the segment.
    pub timestamps: Option<TcpTimestamps>,
}

/// Calls `each` with kind, offset and length of each option's value, up to the first malformed
/// option.
fn walk(options: &[u8], mut each: impl FnMut(u8, usize, usize)) {
    let mut at = 0;
    while let Some(kind) = options.get(at).copied().filter(|kind| *kind != END) {
        if kind == NOTHING {
            at += 1;
            continue;
        }
        let length = usize::from(options.get(at + 1).copied().unwrap_or(0));
        if length < 2 || at + length > options.len() {
            return;
        }
        each(kind, at + 2, length - 2);
        at += length;
    }
}

impl Headers<'_> {
    /// The bytes between the fixed TCP header and the payload.
    fn tcp_option_bytes(&self) -> &[u8] {
        let range = self.tcp_at().map(|at| at + TCP_HEADER..self.payload_range().start);
        range.and_then(|range| self.frame.get(range)).unwrap_or_default()
    }

    /// The options of the TCP header; none if [`tcp`](Self::tcp) is `None`. An option of an
    /// unexpected length is skipped. Nothing is read after an option that exceeds the header.
    #[inline(never)]
    pub fn tcp_options(&self) -> TcpOptions {
        let bytes = self.tcp_option_bytes();
        let mut said = TcpOptions::default();
        walk(bytes, |kind, at, length| {
            let byte = |place: usize| bytes.get(at + place).copied().unwrap_or(0);
            match (kind, length) {
                (MSS, 2) => said.mss = Some(u16::from_be_bytes([byte(0), byte(1)])),
                (WINDOW_SCALE, 1) => said.window_scale = Some(byte(0).min(14)),
                (SACK_PERMITTED, 0) => said.sack_permitted = true,
                (TIMESTAMPS, 8) => {
                    let word =
                        |from| u32::from_be_bytes([0, 1, 2, 3].map(|at: usize| byte(from + at)));
                    said.timestamps = Some(TcpTimestamps { value: word(0), echo: word(4) });
                }
                _ => {}
            }
        });
        said
    }

    /// Adds `by` to both edges of every selectively acknowledged block and updates the checksum.
    /// Refused as [`set_tcp_seq`](Self::set_tcp_seq), with the packet unchanged.
    #[inline(never)]
    pub fn shift_sack(&mut self, by: u32) -> Result<(), Reason> {
        let at = self.tcp_start()? + TCP_HEADER;
        let old = self.tcp_option_bytes();
        let mut new = [0; MOST];
        new.iter_mut().zip(old).for_each(|(new, old)| *new = *old);
        walk(old, |kind, at, length| {
            let blocks = new.get_mut(at..at + length).filter(|_| kind == SACK);
            for edge in blocks.unwrap_or_default().as_chunks_mut::<4>().0 {
                *edge = u32::from_be_bytes(*edge).wrapping_add(by).to_be_bytes();
            }
        });
        // Replaces all words, since a block may begin at an odd offset. Options are whole words.
        let mut change = Change::NONE;
        for (number, word) in new.as_chunks::<4>().0.iter().take(old.len() / 4).enumerate() {
            change = change.and(self.replace(at + 4 * number, word));
        }
        self.apply_transport(&self.layers().outer, change);
        Ok(())
    }
}
