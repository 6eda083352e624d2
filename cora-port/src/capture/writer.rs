//! Writes a pcap: little-endian, nanosecond stamps, Ethernet.

use std::fmt;
use std::io::{self, BufWriter, Write};

use super::{ETHERNET, MAX_FRAME, refuse};

/// Writes a capture, frame by frame. End with [`Self::finish`] or [`Self::flush`], or the last
/// frames may be missing.
pub struct Writer<W: Write> {
    sink: BufWriter<W>,
}

impl<W: Write> Writer<W> {
    /// Writes the file header. `sink` needs no buffering.
    pub fn new(sink: W) -> io::Result<Self> {
        let mut sink = BufWriter::with_capacity(256 * 1024, sink);
        let mut header = [0; 24];
        header[0..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
        header[4..6].copy_from_slice(&2_u16.to_le_bytes());
        header[6..8].copy_from_slice(&4_u16.to_le_bytes());
        header[16..20].copy_from_slice(&(MAX_FRAME as u32).to_le_bytes());
        header[20..24].copy_from_slice(&ETHERNET.to_le_bytes());
        sink.write_all(&header)?;
        Ok(Self { sink })
    }

    /// Writes a frame that was captured whole at `time`, in nanoseconds since 1970.
    pub fn write(&mut self, time: u64, frame: &[u8]) -> io::Result<()> {
        self.write_cut(time, frame, frame.len() as u32)
    }

    /// Writes a frame of `original_len` on the wire, with only `bytes` captured.
    pub fn write_cut(&mut self, time: u64, bytes: &[u8], original_len: u32) -> io::Result<()> {
        let (seconds, nanoseconds) = (time / 1_000_000_000, (time % 1_000_000_000) as u32);
        let seconds = u32::try_from(seconds)
            .map_err(|_| refuse("a pcap can't say times after the year 2106"))?;
        if bytes.len() > MAX_FRAME {
            return Err(refuse("the frame is longer than captures hold"));
        }
        let mut header = [0; 16];
        let fields = [seconds, nanoseconds, bytes.len() as u32, original_len];
        for (place, field) in header.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        self.sink.write_all(&header)?;
        self.sink.write_all(bytes)
    }

    /// Writes the buffered bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// Writes the buffered bytes, and returns the sink.
    pub fn finish(self) -> io::Result<W> {
        self.sink.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
