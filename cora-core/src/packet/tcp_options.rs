//! Options of TCP: what ends agree on by them, and the numbers in those that acknowledge
//! selectively.

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

/// Most bytes of options.
const MOST: usize = 40;

/// The options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Most bytes of a segment that it takes.
    pub mss: Option<u16>,
    /// By how many bits its windows are to be shifted; more than 14 counts as 14 (RFC 7323, 2.3).
    pub window_scale: Option<u8>,
    /// Whether it understands selective acknowledgements.
    pub sack_permitted: bool,
}

/// Calls `each` with the kind, the place and the length of each option's value, as far as they are
/// well-formed.
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

    /// The options of the TCP header; none where [`tcp`](Self::tcp) is `None`. An option that is
    /// not of its length is passed over, and nothing is read behind one that reaches past the
    /// header.
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
                _ => {}
            }
        });
        said
    }

    /// Adds to both edges of every block that is acknowledged selectively; the checksum follows.
    /// Refused as [`set_tcp_seq`](Self::set_tcp_seq); then nothing has changed.
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
        // All of them, since a block may stand at an odd place; options are of whole words.
        let mut change = Change::NONE;
        for (number, word) in new.as_chunks::<4>().0.iter().take(old.len() / 4).enumerate() {
            change = change.and(self.replace(at + 4 * number, word));
        }
        self.apply_transport(&self.layers().outer, change);
        Ok(())
    }
}
