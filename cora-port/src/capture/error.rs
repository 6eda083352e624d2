//! Faults of a capture, in words and with the byte of the fault.

use std::io;

use thiserror::Error;

use super::link::{self, Link};
use super::{MAX_BLOCK, MAX_FRAME};

/// Why a capture can't be read (further).
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The file does not open.
    #[error("the file does not open: {source}")]
    Open {
        /// The system's error.
        source: io::Error,
    },
    /// The system fails to read on.
    #[error("reading the capture failed at byte {offset}: {source}")]
    Read {
        /// Bytes read before.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The bytes are not a valid capture.
    #[error("at byte {offset}: {fault}")]
    Corrupt {
        /// The start of the wrong header, record or block.
        offset: u64,
        /// The fault.
        fault: Fault,
    },
    /// The last record or block is cut or can't be read; nothing follows it. All frames before it
    /// were read.
    #[error("the last part can't be read, at byte {offset}: {fault}")]
    AtEnd {
        /// Its start.
        offset: u64,
        /// The fault.
        fault: Fault,
    },
}

/// A fault in the bytes of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The capture has no bytes.
    #[error("the capture is empty, without even a header")]
    Empty,
    /// The capture begins with no known magic number.
    #[error("neither pcap nor pcapng: it begins with {}{}", hex(*magic), hint(*magic))]
    NotACapture {
        /// The first four bytes.
        magic: [u8; 4],
    },
    /// A pcap or pcapng of another version.
    #[error("version {major}.{minor} of the format is not one that can be read")]
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// Frames of another link layer.
    #[error("the link type is {link}{}, and not Ethernet (1): {}", link_name(*link), instead(*link))]
    LinkType {
        /// The number in the capture.
        link: u32,
    },
    /// The capture ends too early.
    #[error("the capture ends within {what}: {has} bytes where {needs} should be")]
    Truncated {
        /// The missing part.
        what: &'static str,
        /// Bytes that are there.
        has: usize,
        /// Bytes that the part needs.
        needs: usize,
    },
    /// The packed stream around the capture ends too early, after a whole record.
    #[error("the gzip or zstd stream that the capture is packed in is cut")]
    CutPacking,
    /// A frame longer than possible.
    #[error("a packet claims {len} captured bytes; more than {MAX_FRAME} can't be right")]
    FrameTooLong {
        /// Its length.
        len: u32,
    },
    /// A block longer than is kept in memory.
    #[error("a block of type {kind} claims {len} bytes; more than {MAX_BLOCK} can't be right")]
    BlockTooLong {
        /// Its type.
        kind: u32,
        /// Its length.
        len: u32,
    },
    /// A block length that no block has.
    #[error("a block of type {kind:#x} claims {len} bytes, which is {}", odd_length(*len))]
    BlockLength {
        /// Its type.
        kind: u32,
        /// Its length.
        len: u32,
    },
    /// The two lengths of a block differ.
    #[error("a block's length is {first} at its beginning and {last} at its end")]
    LengthsDiffer {
        /// At the beginning.
        first: u32,
        /// At the end.
        last: u32,
    },
    /// A section header without the mark that tells its byte order.
    #[error("the section's byte-order mark is {mark:#010x}, not 0x1a2b3c4d in either order")]
    ByteOrder {
        /// The bytes found there.
        mark: u32,
    },
    /// A packet at an interface that was not described.
    #[error("a packet names interface {interface}, but the section has described {described}")]
    NoSuchInterface {
        /// Its number.
        interface: u32,
        /// Interfaces described before.
        described: usize,
    },
    /// More interfaces than are kept in memory.
    #[error("the section describes more than {max} interfaces")]
    TooManyInterfaces {
        /// The number that is kept.
        max: usize,
    },
    /// A part of a block reaches beyond it.
    #[error("{what} takes {len} bytes where its block has {room}")]
    BeyondBlock {
        /// The part.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The bytes left for it.
        room: usize,
    },
    /// A time stamp beyond 64 bits of nanoseconds since 1970.
    #[error("a time stamp lies before 1970 or after 2554")]
    Time,
}

fn hex(magic: [u8; 4]) -> String {
    let [a, b, c, d] = magic;
    format!("{a:02x} {b:02x} {c:02x} {d:02x}")
}

/// Returns a hint at another format that begins with these bytes.
fn hint(magic: [u8; 4]) -> &'static str {
    match magic {
        [0x1f, 0x8b, ..] => " (gzip: unpack it first)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack it first)",
        [0xfd, b'7', b'z', b'X'] => " (xz: unpack it first)",
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => " (a pcap with patched records)",
        _ => "",
    }
}

fn link_name(link: u32) -> String {
    let name = link::name(link);
    if name.is_empty() { String::new() } else { format!(" ({name})") }
}

fn instead(link: u32) -> &'static str {
    if Link::can_be_made_up(link) {
        "`--make-ethernet` puts an Ethernet header in front of each packet"
    } else {
        "it can't be read"
    }
}

fn odd_length(len: u32) -> &'static str {
    if len.is_multiple_of(4) { "shorter than such a block" } else { "no multiple of 4" }
}
