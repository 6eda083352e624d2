//! The subset of the capture format that a generator needs: pcap with nanoseconds, little endian.
//!
//! It is independent of the host runtime's own reader and writer, so that each checks the other.

use std::io::{self, Read, Write};

use crate::TrafficError;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const ETHERNET: u32 = 1;
const LONGEST: u32 = 1 << 18;

/// One frame of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Time, in nanoseconds since 1970.
    pub time: u64,
    /// Octets, from the destination's Ethernet address on.
    pub bytes: Vec<u8>,
}

/// Writes a capture.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Writes the file's header.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC_NANOSECONDS.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?; // version 2.4
        out.write_all(&[0; 8])?; // time zone and accuracy, unused in practice
        out.write_all(&LONGEST.to_le_bytes())?;
        out.write_all(&ETHERNET.to_le_bytes())?;
        Ok(Self { out })
    }

    /// Adds one frame.
    pub fn write(&mut self, time: u64, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u32;
        for word in [(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, length, length] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(bytes)
    }

    /// Flushes the output, and returns it.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Reads a capture, frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    offset: u64,
    nanoseconds_per_tick: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the file's header.
    pub fn new(mut input: R) -> Result<Self, TrafficError> {
        let mut header = [0; 24];
        input.read_exact(&mut header)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        let nanoseconds_per_tick = match word(0) {
            MAGIC_NANOSECONDS => 1,
            MAGIC_MICROSECONDS => 1_000,
            _ => return Err(TrafficError::Capture { offset: 0, what: "not a little-endian pcap" }),
        };
        if word(20) != ETHERNET {
            return Err(TrafficError::Capture {
                offset: 20,
                what: "not a capture of Ethernet frames",
            });
        }
        Ok(Self { input, offset: 24, nanoseconds_per_tick })
    }

    /// Returns the next frame; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Frame>, TrafficError> {
        let mut header = [0; 16];
        let first = self.input.read(&mut header)?;
        if first == 0 {
            return Ok(None);
        }
        self.input.read_exact(&mut header[first..])?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        let length = word(8);
        if length > LONGEST {
            return Err(TrafficError::Capture {
                offset: self.offset,
                what: "a frame too long to be one",
            });
        }
        let mut bytes = vec![0; length as usize];
        self.input.read_exact(&mut bytes)?;
        self.offset += 16 + u64::from(length);
        let ticks = u64::from(word(4)) * self.nanoseconds_per_tick;
        Ok(Some(Frame { time: u64::from(word(0)) * 1_000_000_000 + ticks, bytes }))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Frame, TrafficError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.write(1_700_000_000_123_456_789, &[1, 2, 3]).unwrap();
        writer.write(5, &[]).unwrap();
        let bytes = writer.finish().unwrap();
        let frames: Vec<Frame> = Reader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
        assert_eq!(
            frames,
            [
                Frame { time: 1_700_000_000_123_456_789, bytes: vec![1, 2, 3] },
                Frame { time: 5, bytes: vec![] }
            ]
        );
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(matches!(
            Reader::new(&[0_u8; 24][..]),
            Err(TrafficError::Capture { offset: 0, .. })
        ));
        let mut bytes = Writer::new(Vec::new()).unwrap().finish().unwrap();
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0]);
        assert!(matches!(
            Reader::new(&bytes[..]).unwrap().read(),
            Err(TrafficError::Capture { offset: 24, .. })
        ));
    }
}
