//! Captures: reading and writing pcap and pcapng.
//!
//! | format | read | written |
//! | --- | --- | --- |
//! | pcap, either byte order, µs or ns stamps | yes | little-endian, ns |
//! | pcapng, either byte order, several sections and interfaces, any unit of time | yes | as pcap |
//! | either, packed by gzip or zstd | yes, see [`unpacked`] | no |
//!
//! Frames are Ethernet, without a check sequence. If [allowed](LinkTypes), Ethernet headers are
//! made up for raw IP and similar link types.
//!
//! A capture is input from outside: every length is checked before use, and no block longer than
//! [`MAX_BLOCK`] is kept in memory. A fault is an error that names the byte; a capture is never cut
//! short in silence. A fault at the very end has its own error ([`CaptureError::AtEnd`]), since
//! such captures are common: the capturing program was killed, or the disk was full.
//!
//! The reader reads a few frames ahead, so that a stamp can be judged by the following ones
//! ([`Reader::upcoming`]).

mod clock;
mod error;
mod input;
mod link;
mod pcap;
mod pcapng;
mod pcapng_writer;
#[cfg(test)]
mod tests;
mod unpack;
mod writer;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub use error::{CaptureError, Fault};
use input::{Input, Order};
pub use link::{DESTINATION, LinkTypes, SOURCE};
use link::{HEADER, Link};
use pcap::Pcap;
use pcapng::Pcapng;
pub use pcapng_writer::PcapngWriter;
pub use unpack::{Unpacked, unpacked};
pub use writer::Writer;

/// Longest frame, in bytes: the snapshot length that capture programs use by default.
pub const MAX_FRAME: usize = 256 * 1024;

/// Longest pcapng block that is kept in memory, in bytes. Longer ones are skipped if they have no
/// use here, and refused if they should hold a packet or an interface.
pub const MAX_BLOCK: usize = 1024 * 1024;

/// Most frames that are read ahead; fewer at the end, and where frames are huge.
pub const AHEAD: usize = 8;

/// Most bytes of frames that are read ahead.
const MAX_HELD: usize = 1024 * 1024;

/// The link type of Ethernet.
const ETHERNET: u32 = 1;
/// Bytes of Ethernet's check sequence.
const CHECK_SEQUENCE: usize = 4;

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The time of capture, in nanoseconds since 1970.
    pub time: u64,
    /// The interface of capture, counted from 0 in its section; 0 in a pcap.
    pub interface: u32,
    /// Interfaces that its section described before its first packet; 1 in a pcap. Later
    /// descriptions change nothing.
    pub interfaces: u32,
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// Its length on the wire; the captured bytes may be fewer.
    pub original_len: u32,
}

/// A frame in the input's buffer.
#[derive(Clone, Copy, Debug)]
struct Located {
    time: u64,
    interface: u32,
    interfaces: u32,
    /// The link type's number, and its meaning.
    number: u32,
    link: Link,
    /// The offset of its bytes in the stream, and their number.
    at: u64,
    len: usize,
    original_len: u32,
    /// A check sequence was taken off.
    checked: bool,
}

impl Located {
    /// Returns the frame without the check sequence at its end, as far as that was captured.
    fn without_check_sequence(self) -> Self {
        let original = (self.original_len as usize).max(self.len).saturating_sub(CHECK_SEQUENCE);
        let len = self.len.min(original);
        Self { len, original_len: original as u32, checked: true, ..self }
    }
}

/// The next item of a capture.
enum Next {
    Frame(Located),
    /// Some of the held frames must be released first.
    Later,
    End,
}

/// The reader's changes to frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Frames with a made-up Ethernet header.
    pub made_up: u64,
    /// The link type of the last such frame.
    pub link: u32,
    /// Frames that lost their check sequence here.
    pub checked: u64,
}

/// Reads a capture from a stream, frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    format: Format,
    /// The frame that was returned last.
    given: Option<Located>,
    /// Frames that were read and not returned yet.
    ahead: VecDeque<Located>,
    /// The end or error behind them, once it is known.
    ended: Option<Result<(), CaptureError>>,
    /// A frame with its made-up Ethernet header.
    made: Vec<u8>,
    changed: Changed,
    /// The end of the last frame that was returned.
    offset: u64,
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Reader<Unpacked<File>> {
    /// Opens the capture at `path`, packed or not. The errors don't repeat the path.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|source| CaptureError::Open { source })?;
        let source = unpacked(file).map_err(|source| CaptureError::Read { offset: 0, source })?;
        Self::new(source)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the beginning of an Ethernet capture, which tells its format. `source` needs no
    /// buffering.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        Self::of(source, LinkTypes::Ethernet)
    }

    /// Reads the beginning of a capture of the allowed link types.
    pub fn of(source: R, allowed: LinkTypes) -> Result<Self, CaptureError> {
        let mut input = Input::new(source);
        let have = input.ensure(4)?;
        let Some(magic) = input.peek().first_chunk::<4>().copied() else {
            let needs = 4;
            return Err(input.fault(match have {
                _ if input.is_cut() => Fault::CutPacking,
                0 => Fault::Empty,
                _ => Fault::Truncated { what: "the capture's magic number", has: have, needs },
            }));
        };
        let mut pcap = |order, unit| Pcap::new(&mut input, order, unit, allowed).map(Format::Pcap);
        let format = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => pcap(Order::Little, 1000)?,
            [0xa1, 0xb2, 0xc3, 0xd4] => pcap(Order::Big, 1000)?,
            [0x4d, 0x3c, 0xb2, 0xa1] => pcap(Order::Little, 1)?,
            [0xa1, 0xb2, 0x3c, 0x4d] => pcap(Order::Big, 1)?,
            pcapng::SECTION_HEADER_BYTES => Format::Pcapng(Pcapng::new(allowed)),
            _ => return Err(input.fault(Fault::NotACapture { magic })),
        };
        Ok(Self {
            offset: input.offset(),
            input,
            format,
            given: None,
            ahead: VecDeque::with_capacity(AHEAD + 1),
            ended: None,
            made: Vec::new(),
            changed: Changed::default(),
        })
    }

    /// Returns the next frame; `None` after the last one, and after an error.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        self.given = None;
        self.read_ahead();
        let Some(located) = self.ahead.pop_front() else {
            return match self.ended.replace(Ok(())) {
                Some(Err(error)) => Err(self.input.judged(error)),
                _ => Ok(None),
            };
        };
        self.given = Some(located);
        self.offset = located.at + located.len as u64;
        self.changed.checked += u64::from(located.checked);
        if located.link != Link::Ethernet {
            self.make_header(&located);
        }
        Ok(self.frame())
    }

    /// Returns the last frame once more.
    pub fn frame(&self) -> Option<Frame<'_>> {
        let Located { time, interface, interfaces, link, at, len, original_len, .. } = self.given?;
        let bytes = if link == Link::Ethernet { self.input.held(at, len) } else { &self.made };
        let taken_off = link.before() as u32;
        let put_on = if link == Link::Ethernet { 0 } else { HEADER as u32 };
        let original_len = original_len.saturating_sub(taken_off).saturating_add(put_on);
        Some(Frame { time, interface, interfaces, bytes, original_len })
    }

    /// Copies a packet behind a made-up Ethernet header.
    fn make_header(&mut self, located: &Located) {
        self.changed.made_up += 1;
        self.changed.link = located.number;
        let bytes = self.input.held(located.at, located.len);
        self.made.clear();
        self.made.extend(located.link.header(bytes));
        self.made.extend(bytes.get(located.link.before()..).unwrap_or_default());
    }

    /// Reads until enough frames are there, including the one to be returned.
    fn read_ahead(&mut self) {
        while self.ended.is_none() && self.ahead.len() <= AHEAD {
            match self.ahead.front() {
                Some(first) => self.input.hold(first.at),
                None => self.input.hold_nothing(),
            }
            if self.input.holds() > MAX_HELD {
                break;
            }
            let next = match &mut self.format {
                Format::Pcap(pcap) => pcap.next(&mut self.input),
                Format::Pcapng(pcapng) => pcapng.next(&mut self.input),
            };
            match next {
                Ok(Next::Frame(located)) => self.ahead.push_back(located),
                Ok(Next::Later) => break,
                Ok(Next::End) if self.input.is_cut() => {
                    let (offset, fault) = (self.input.offset(), Fault::CutPacking);
                    self.ended = Some(Err(CaptureError::AtEnd { offset, fault }));
                }
                Ok(Next::End) => self.ended = Some(Ok(())),
                Err(error) => self.ended = Some(Err(error)),
            }
        }
    }

    /// Returns the time stamps and interfaces of the next frames, at most [`AHEAD`].
    pub fn upcoming(&self) -> impl Iterator<Item = (u64, u32)> + Clone {
        self.ahead.iter().map(|located| (located.time, located.interface))
    }

    /// Returns the bytes of the capture up to the end of the last frame. In a packed capture, these
    /// are unpacked bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the changes to frames so far.
    pub fn changed(&self) -> Changed {
        self.changed
    }
}

/// Returns the name of a link type, or an empty text.
pub fn link_name(link: u32) -> &'static str {
    link::name(link)
}

fn refuse(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
