//! Captures: reading pcap and pcapng, and writing pcap.
//!
//! | what | read | written |
//! | --- | --- | --- |
//! | pcap, either byte order, µs or ns stamps | yes | little-endian, ns |
//! | pcapng, either byte order, several sections and interfaces, stamps of any unit | yes | no |
//!
//! Only Ethernet frames. A capture is input from outside: every length is checked before it is
//! used, no block is kept in memory that is longer than [`MAX_BLOCK`], and what is wrong is an
//! error that names the byte; a capture is never cut short in silence.

mod clock;
mod error;
mod input;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use error::{CaptureError, Fault};
use input::{Input, Order};
use pcap::Pcap;
use pcapng::Pcapng;
pub use writer::Writer;

/// Longest frame, in bytes: the snapshot length that capture programs use by default.
pub const MAX_FRAME: usize = 256 * 1024;

/// Longest pcapng block that is kept in memory, in bytes. Longer ones are skipped when they are of
/// no use here, and refused when they should hold a packet or an interface.
pub const MAX_BLOCK: usize = 1024 * 1024;

/// The link type of Ethernet.
const ETHERNET: u32 = 1;

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured, in nanoseconds since 1970.
    pub time: u64,
    /// The interface it was captured at, counted from 0 in its section; 0 in a pcap.
    pub interface: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// How long it was on the wire.
    pub original_len: u32,
}

/// A frame that lies in the input's buffer.
struct Located {
    time: u64,
    interface: u32,
    /// Where its bytes begin, before the input's place, and how many they are.
    back: usize,
    len: usize,
    original_len: u32,
}

/// Reads a capture from a stream, frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    format: Format,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Reader<File> {
    /// Opens the capture at `path`. The errors don't repeat the path.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|source| CaptureError::Open { source })?;
        Self::new(file)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of a capture, which says what it is. `source` needs no buffering.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        let mut input = Input::new(source);
        let have = input.ensure(4)?;
        let Some(magic) = input.peek().first_chunk::<4>().copied() else {
            let needs = 4;
            return Err(input.fault(match have {
                0 => Fault::Empty,
                _ => Fault::Truncated { what: "the capture's magic number", has: have, needs },
            }));
        };
        let format = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => Format::Pcap(Pcap::new(&mut input, Order::Little, 1000)?),
            [0xa1, 0xb2, 0xc3, 0xd4] => Format::Pcap(Pcap::new(&mut input, Order::Big, 1000)?),
            [0x4d, 0x3c, 0xb2, 0xa1] => Format::Pcap(Pcap::new(&mut input, Order::Little, 1)?),
            [0xa1, 0xb2, 0x3c, 0x4d] => Format::Pcap(Pcap::new(&mut input, Order::Big, 1)?),
            pcapng::SECTION_HEADER_BYTES => Format::Pcapng(Pcapng::new()),
            _ => return Err(input.fault(Fault::NotACapture { magic })),
        };
        Ok(Self { input, format })
    }

    /// The next frame, or `None` after the last. After an error, what else it returns means
    /// nothing.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let located = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.input),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.input),
        };
        let Some(Located { time, interface, back, len, original_len }) = located? else {
            return Ok(None);
        };
        let bytes = self.input.behind(back, len);
        Ok(Some(Frame { time, interface, bytes, original_len }))
    }

    /// Bytes of the capture that were passed so far.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Interfaces that the capture has described so far, in this section: always 1 in a pcap.
    pub fn interfaces(&self) -> u32 {
        match &self.format {
            Format::Pcap(_) => 1,
            Format::Pcapng(pcapng) => pcapng.interfaces(),
        }
    }
}
