//! Captures: reading pcap and pcapng, and writing pcap.
//!
//! | what | read | written |
//! | --- | --- | --- |
//! | pcap, either byte order, µs or ns stamps | yes | little-endian, ns |
//! | pcapng, either byte order, several sections and interfaces, stamps of any unit | yes | no |
//! | either, packed by gzip or zstd | yes, see [`unpacked`] | no |
//!
//! Frames are of Ethernet, without a check sequence. If they [may be](LinkTypes), headers of
//! Ethernet are made up for raw IP and the like.
//!
//! A capture is input from outside: every length is checked before it is used, no block is kept in
//! memory that is longer than [`MAX_BLOCK`], and what is wrong is an error that names the byte; a
//! capture is never cut short in silence. What is wrong at its very end is an error by itself
//! ([`CaptureError::AtEnd`]), since such captures are many: whoever captured was killed, or the
//! disk was full.
//!
//! The reader is a few frames ahead of the frame that it gives, so that stamps can be judged by
//! those that follow ([`Reader::upcoming`]).

mod clock;
mod error;
mod input;
mod link;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;
mod unpack;
mod writer;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use error::{CaptureError, Fault};
use input::{Input, Order};
pub use link::{DESTINATION, LinkTypes, SOURCE};
use link::{HEADER, Link};
use pcap::Pcap;
use pcapng::Pcapng;
pub use unpack::{Unpacked, unpacked};
pub use writer::Writer;

/// Longest frame, in bytes: the snapshot length that capture programs use by default.
pub const MAX_FRAME: usize = 256 * 1024;

/// Longest pcapng block that is kept in memory, in bytes. Longer ones are skipped when they are of
/// no use here, and refused when they should hold a packet or an interface.
pub const MAX_BLOCK: usize = 1024 * 1024;

/// Frames that are read ahead, at most; fewer at the end, and where frames are huge.
pub const AHEAD: usize = 8;

/// Bytes of frames that are read ahead, at most.
const MAX_HELD: usize = 1024 * 1024;

/// The link type of Ethernet.
const ETHERNET: u32 = 1;
/// Bytes of Ethernet's check sequence.
const CHECK_SEQUENCE: usize = 4;

/// One captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it was captured, in nanoseconds since 1970.
    pub time: u64,
    /// The interface it was captured at, counted from 0 in its section; 0 in a pcap.
    pub interface: u32,
    /// Interfaces that its section had described when its first packet came; 1 in a pcap. Those
    /// that are described later change nothing.
    pub interfaces: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
    /// How long it was on the wire; what was captured may be less.
    pub original_len: u32,
}

/// A frame that lies in the input's buffer.
#[derive(Clone, Copy, Debug)]
struct Located {
    time: u64,
    interface: u32,
    interfaces: u32,
    /// The link type's number, and what it means.
    number: u32,
    link: Link,
    /// Where its bytes begin in the stream, and how many they are.
    at: u64,
    len: usize,
    original_len: u32,
    /// A check sequence was taken off.
    checked: bool,
}

impl Located {
    /// Without the check sequence at its end, as far as that was captured.
    fn without_check_sequence(self) -> Self {
        let original = (self.original_len as usize).max(self.len).saturating_sub(CHECK_SEQUENCE);
        let len = self.len.min(original);
        Self { len, original_len: original as u32, checked: true, ..self }
    }
}

/// What comes next in a capture.
enum Next {
    Frame(Located),
    /// First some of the frames have to go that are held.
    Later,
    End,
}

/// What the reader did to frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Frames with a header of Ethernet that was made up, and the link type of the last one.
    pub made_up: u64,
    /// That link type.
    pub link: u32,
    /// Frames whose check sequence was taken off.
    pub checked: u64,
}

/// Reads a capture from a stream, frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    format: Format,
    /// The frame that was given last.
    given: Option<Located>,
    /// Frames that were read and not given yet.
    ahead: VecDeque<Located>,
    /// What comes behind them, once it is known.
    ended: Option<Result<(), CaptureError>>,
    /// A frame with its header of Ethernet.
    made: Vec<u8>,
    changed: Changed,
    /// Where the last frame that was given ends.
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
    /// Reads the beginning of a capture of Ethernet, which says what it is. `source` needs no
    /// buffering.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        Self::of(source, LinkTypes::Ethernet)
    }

    /// Likewise, of these link types.
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

    /// The next frame, or `None` after the last one, and after an error.
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

    /// The frame that was given last, once more.
    pub fn frame(&self) -> Option<Frame<'_>> {
        let Located { time, interface, interfaces, link, at, len, original_len, .. } = self.given?;
        let bytes = if link == Link::Ethernet { self.input.held(at, len) } else { &self.made };
        let taken_off = link.before() as u32;
        let put_on = if link == Link::Ethernet { 0 } else { HEADER as u32 };
        let original_len = original_len.saturating_sub(taken_off).saturating_add(put_on);
        Some(Frame { time, interface, interfaces, bytes, original_len })
    }

    /// Puts a header of Ethernet in front of a packet, in memory of its own.
    fn make_header(&mut self, located: &Located) {
        self.changed.made_up += 1;
        self.changed.link = located.number;
        let bytes = self.input.held(located.at, located.len);
        self.made.clear();
        self.made.extend(located.link.header(bytes));
        self.made.extend(bytes.get(located.link.before()..).unwrap_or_default());
    }

    /// Reads until enough frames are there, one of which is to be given.
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

    /// Time stamps and interfaces of the frames that come next, [`AHEAD`] of them at most.
    pub fn upcoming(&self) -> impl Iterator<Item = (u64, u32)> + Clone {
        self.ahead.iter().map(|located| (located.time, located.interface))
    }

    /// Bytes of the capture that were passed so far: up to the end of the last frame. Of a packed
    /// one, those of what was unpacked.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What was done to frames so far.
    pub fn changed(&self) -> Changed {
        self.changed
    }
}

/// The name of a link type, or nothing.
pub fn link_name(link: u32) -> &'static str {
    link::name(link)
}
