//! Writes a pcapng of one section: little-endian, nanosecond stamps, Ethernet. Its frames tell
//! their interfaces, which a pcap can't.

use std::fmt;
use std::io::{self, BufWriter, Write};

use super::pcapng::{BEFORE, BEHIND, BYTE_ORDER_MARK, ENHANCED_PACKET, INTERFACE, SECTION};
use super::{ETHERNET, MAX_FRAME, refuse};

/// Writes a capture, frame by frame. End with [`Self::flush`], or the last frames may be missing.
pub struct PcapngWriter<W: Write> {
    sink: BufWriter<W>,
    interfaces: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the section header. `sink` needs no buffering.
    pub fn new(sink: W) -> io::Result<Self> {
        let sink = BufWriter::with_capacity(256 * 1024, sink);
        let mut writer = Self { sink, interfaces: 0 };
        let (mark, version) = (BYTE_ORDER_MARK.to_le_bytes(), 1_u16.to_le_bytes());
        // The section's length is not known.
        writer.block(SECTION, &[&mark, &version, &[0; 2], &[0xff; 8]])?;
        Ok(writer)
    }

    /// Returns the number of described interfaces: frames may be of these.
    pub const fn interfaces(&self) -> u32 {
        self.interfaces
    }

    /// Describes the next interface, by a name of at most 255 bytes.
    pub fn describe(&mut self, name: &str) -> io::Result<()> {
        const NAME: u16 = 2;
        const RESOLUTION: u16 = 9;
        let length = u8::try_from(name.len()).map_err(|_| refuse("the name is too long"))?;
        let link = ETHERNET.to_le_bytes();
        let snap = (MAX_FRAME as u32).to_le_bytes();
        let option = |code: u16, length: u8| {
            let [low, high] = code.to_le_bytes();
            [low, high, length, 0]
        };
        let padding = &[0; 3][..name.len().next_multiple_of(4) - name.len()];
        self.block(
            INTERFACE,
            &[
                &link,
                &snap,
                &option(NAME, length),
                name.as_bytes(),
                padding,
                &option(RESOLUTION, 1),
                // A stamp counts units of 10⁻⁹ s.
                &[9, 0, 0, 0],
                &option(0, 0),
            ],
        )?;
        self.interfaces += 1;
        Ok(())
    }

    /// Writes a frame of `original_len` on the wire, with only `bytes` captured, of a described
    /// interface; `time` is in nanoseconds since 1970.
    pub fn write_cut(
        &mut self,
        interface: u32,
        time: u64,
        bytes: &[u8],
        original_len: u32,
    ) -> io::Result<()> {
        self.write_noted(interface, time, bytes, original_len, "")
    }

    /// The same, with a comment of at most 65,535 bytes, if it is not empty.
    pub fn write_noted(
        &mut self,
        interface: u32,
        time: u64,
        bytes: &[u8],
        original_len: u32,
        comment: &str,
    ) -> io::Result<()> {
        const COMMENT: u16 = 1;
        let length = u16::try_from(comment.len()).map_err(|_| refuse("the comment is too long"))?;
        if bytes.len() > MAX_FRAME {
            return Err(refuse("the frame is longer than captures hold"));
        }
        if interface >= self.interfaces {
            return Err(refuse("the frame's interface was not described"));
        }
        let fields =
            [interface, (time >> 32) as u32, time as u32, bytes.len() as u32, original_len];
        let mut head = [0; 20];
        for (place, field) in head.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        let padding = |bytes: &[u8]| &[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()];
        if comment.is_empty() {
            return self.block(ENHANCED_PACKET, &[&head, bytes, padding(bytes)]);
        }
        let comment = comment.as_bytes();
        let (code, length) = (COMMENT.to_le_bytes(), length.to_le_bytes());
        self.block(
            ENHANCED_PACKET,
            &[&head, bytes, padding(bytes), &code, &length, comment, padding(comment), &[0; 4]],
        )
    }

    /// Writes a block whose parts fill whole words.
    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let length = ((BEFORE + body + BEHIND) as u32).to_le_bytes();
        self.sink.write_all(&kind.to_le_bytes())?;
        self.sink.write_all(&length)?;
        parts.iter().try_for_each(|part| self.sink.write_all(part))?;
        self.sink.write_all(&length)
    }

    /// Writes the buffered bytes.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

impl<W: Write> fmt::Debug for PcapngWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PcapngWriter").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Reader;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        let mut writer = PcapngWriter::new(&mut bytes).unwrap();
        writer.write_cut(0, 0, &[1; 60], 60).expect_err("nothing is described");
        let names = ["inside", "outside", "a"];
        for name in names {
            writer.describe(name).unwrap();
        }
        let frames: [(u32, u64, usize, u32); 4] =
            [(0, 1, 60, 60), (2, u64::MAX >> 1, 61, 1514), (1, 1 << 33, 62, 62), (2, 7, 63, 63)];
        for (number, (interface, time, length, original)) in (0..).zip(frames) {
            writer.write_cut(interface, time, &vec![number; length], original).unwrap();
        }
        writer.write_cut(3, 0, &[1; 60], 60).expect_err("it was not described");
        // An interface that comes later counts all the same, where there are two before.
        writer.describe("late").unwrap();
        writer.write_cut(3, 9, &[4; 60], 60).unwrap();
        writer.flush().unwrap();
        drop(writer);
        assert!(names.iter().all(|name| bytes.windows(name.len()).any(|at| at == name.as_bytes())));
        let mut reader = Reader::new(&*bytes).unwrap();
        let all = frames.into_iter().chain([(3, 9, 60, 60)]);
        for (number, (interface, time, length, original)) in (0..).zip(all) {
            let frame = reader.next_frame().unwrap().unwrap();
            assert_eq!((frame.interface, frame.interfaces, frame.time), (interface, 3, time));
            assert_eq!((frame.bytes, frame.original_len), (&*vec![number; length], original));
        }
        assert_eq!(reader.next_frame().unwrap(), None);
    }
}
