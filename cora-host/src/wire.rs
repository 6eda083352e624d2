//! The capture at the wire: frames are read from a file, stamped, and fed in; what leaves is
//! written.

use std::fs::{File, Metadata};
use std::io::{IsTerminal as _, Read, Write, stdin, stdout};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fmt, mem};

use cora_core::hash::sip_hash;
use cora_core::packet::{MAX_FRAME, Meta, has_all_headers};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::Parked;

use crate::RunError;
use crate::capture::{self, CaptureError, LinkTypes};
use crate::capture_clock::CaptureClock;
use crate::capture_notes::CaptureNotes;
use crate::inside::Inside;

/// In the place of a capture's name: standard input, or standard output.
pub(crate) const STANDARD: &str = "-";

/// What a pair of NIC core and host worker is plugged into: frames come in by it and leave by it.
pub(crate) trait Cable {
    /// The next frame, copied to the beginning of `buffer`. Behind the end there is the end again.
    fn next(&mut self, buffer: &mut [u8]) -> Result<Next, RunError>;
    /// Whether nothing comes before somebody rings the pair's bell.
    fn is_quiet(&mut self) -> bool;
    /// A frame leaves.
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError>;
    /// Sends what was written and waits, at a cable that sends in bursts.
    fn flush(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// Frames that came in, and frames that left.
    fn packets(&self) -> (u64, u64);
}

/// What comes in next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A frame: its stamp and length.
    Frame(Stamp, usize),
    /// Nothing yet.
    NotYet,
    /// Nothing any more; the time of the last frame of the whole wire.
    End(u64),
}

/// The wire of a single pair: from one capture to another.
pub(crate) struct Files {
    pub(crate) source: Source,
    pub(crate) sink: Sink,
}

impl Cable for Files {
    #[inline]
    fn next(&mut self, buffer: &mut [u8]) -> Result<Next, RunError> {
        let next = self.source.next(buffer)?;
        Ok(next.map_or(Next::End(self.source.now()), |(stamp, length)| Next::Frame(stamp, length)))
    }

    /// A file never says so: reading it waits.
    fn is_quiet(&mut self) -> bool {
        false
    }

    #[inline]
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.sink.write(stamp, frame)
    }

    fn packets(&self) -> (u64, u64) {
        (self.source.packets, self.sink.packets)
    }
}

/// How a capture is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What comes from inside.
    pub inside: Inside,
    /// No handler reads more than headers, so that frames will do whose rest was not captured.
    pub heads: bool,
    /// Which link types are read.
    pub link_types: LinkTypes,
    /// A capture that is cut at its end is read up to there.
    pub up_to_cut: bool,
}

/// Where packets come from.
pub struct Source {
    reader: capture::Reader<capture::Unpacked<Box<dyn Read + Send>>>,
    /// The reader's frame is the first one, which made the seed and is still to be given.
    waits: bool,
    path: PathBuf,
    reading: Reading,
    clock: CaptureClock,
    /// Frames read.
    pub packets: u64,
    /// Frames that are longer than any frame may be.
    pub too_long: u64,
    /// Frames that were cut when captured, and of these, frames that can't be handled: more than
    /// was captured is needed.
    pub cut: (u64, u64),
    /// Why the capture ended early.
    ends_early: Option<String>,
    /// None comes from the frame with this number on, until it is another.
    pub(crate) stop_before: u64,
}

impl Source {
    /// Opens a capture, or standard input if that is asked for by `-`.
    ///
    /// # Errors
    /// When it can't be read, or is none.
    pub fn open(path: &Path, reading: Reading) -> Result<Self, RunError> {
        let failed = |cause| RunError::File { path: path.into(), cause };
        let stream: Box<dyn Read + Send> = if path == Path::new(STANDARD) {
            if stdin().is_terminal() {
                return Err(RunError::Terminal { option: "--in" });
            }
            Box::new(stdin())
        } else {
            Box::new(File::open(path).map_err(failed)?)
        };
        let stream = capture::unpacked(stream).map_err(failed)?;
        let reader = capture::Reader::of(stream, reading.link_types)
            .map_err(|cause| RunError::Capture { path: path.into(), cause })?;
        Ok(Self {
            reader,
            waits: false,
            path: path.into(),
            reading,
            clock: CaptureClock::default(),
            packets: 0,
            too_long: 0,
            cut: (0, 0),
            ends_early: None,
            stop_before: u64::MAX,
        })
    }

    /// The key of all hashes of a run on this capture: made of its first frame, for which this
    /// waits. So two runs on one capture, from a file or a pipe and under whatever plan, end in the
    /// same sketches, and no sender knows it before the packets are captured.
    pub(crate) fn seed(&mut self) -> Result<u64, RunError> {
        if let Err(cause) = self.reader.next_frame() {
            self.ended::<()>(cause)?;
        }
        let Some(first) = self.reader.frame() else { return Ok(0) };
        self.waits = true;
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        let words = first.bytes.chunks(8).map(word);
        let length = first.bytes.len() as u64;
        let words: Vec<u64> = [first.time, length].into_iter().chain(words).collect();
        Ok(sip_hash(SEED, &words))
    }

    /// Bytes of the capture that were passed so far.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The run's time, so far.
    pub(crate) const fn now(&self) -> u64 {
        self.clock.now()
    }

    /// What there is to say of the capture.
    pub(crate) fn notes(&self) -> CaptureNotes {
        let (ends_early, (cut, _)) = (self.ends_early.clone(), self.cut);
        CaptureNotes::new(ends_early, cut, self.clock.steps, self.reader.changed())
    }

    /// The next frame, copied to the beginning of `buffer`: its stamp and length. Zeros stand in
    /// the place of what was not captured.
    pub fn next(&mut self, buffer: &mut [u8]) -> Result<Option<(Stamp, usize)>, RunError> {
        while self.packets < self.stop_before {
            if !mem::take(&mut self.waits) {
                match self.reader.next_frame() {
                    Ok(Some(_)) => {}
                    Ok(None) => return Ok(None),
                    Err(cause) => return self.ended(cause),
                }
            }
            let number = self.packets;
            self.packets += 1;
            if let Some(found) = self.take(number, buffer) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The frame that was read, if it can be handled.
    fn take(&mut self, number: u64, buffer: &mut [u8]) -> Option<(Stamp, usize)> {
        let frame = self.reader.frame()?;
        let (time, interface, interfaces) = (frame.time, frame.interface, frame.interfaces);
        let now = self.clock.at(time, interface, self.reader.upcoming());
        let captured = frame.bytes.len();
        let length = captured.max(frame.original_len as usize);
        if length > MAX_FRAME {
            self.too_long += 1;
            return None;
        }
        let missing = u16::try_from(length - captured).ok();
        if missing != Some(0) {
            self.cut.0 += 1;
        }
        let will_do = missing == Some(0) || (self.reading.heads && has_all_headers(frame.bytes));
        let Some(missing) = missing.filter(|_| will_do) else {
            self.cut.1 += 1;
            return None;
        };
        let bytes = &mut buffer[..length];
        let (head, rest) = bytes.split_at_mut(captured);
        head.copy_from_slice(frame.bytes);
        rest.fill(0);
        let port = self.reading.inside.port(bytes, interface, interfaces);
        let meta = Meta { time, now, port };
        let (horizon, egress, parked) = (now, port, Parked::NONE);
        Some((Stamp { meta, number, horizon, egress, parked, missing }, length))
    }

    /// The capture ends with an error, which is told later if all that is whole should do.
    fn ended<T>(&mut self, cause: CaptureError) -> Result<Option<T>, RunError> {
        let at_end = matches!(cause, CaptureError::AtEnd { .. });
        let error = RunError::Capture { path: self.path.clone(), cause };
        if !at_end || !self.reading.up_to_cut {
            return Err(error);
        }
        self.ends_early = Some(error.to_string());
        Ok(None)
    }
}

/// Makes a seed of a frame: any number will do.
const SEED: [u64; 2] = [0x636f_7261, 0x7365_6564];

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, packets) = (&self.path, self.packets);
        f.debug_struct("Source")
            .field("path", path)
            .field("packets", &packets)
            .finish_non_exhaustive()
    }
}

/// Whether two paths lead to one regular file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    };
    place(a).is_some_and(|a| place(b) == Some(a))
}

/// Where packets go.
pub(crate) struct Sink {
    writer: Option<(capture::Writer<Box<dyn Write + Send>>, PathBuf)>,
    /// Packets that left.
    pub(crate) packets: u64,
}

impl Sink {
    /// Writes to a file, or to standard output if that is asked for by [`STANDARD`]; without one,
    /// packets are counted only.
    pub(crate) fn create(path: Option<&Path>, input: &Path) -> Result<Self, RunError> {
        let Some(path) = path else { return Ok(Self { writer: None, packets: 0 }) };
        let failed = |cause| RunError::File { path: path.into(), cause };
        if is_same_file(path, input) {
            return Err(RunError::SameFile { path: path.into() });
        }
        let stream: Box<dyn Write + Send> = if path == Path::new(STANDARD) {
            if stdout().is_terminal() {
                return Err(RunError::Terminal { option: "--out" });
            }
            Box::new(stdout())
        } else {
            Box::new(File::create(path).map_err(failed)?)
        };
        let writer = capture::Writer::new(stream).map_err(failed)?;
        Ok(Self { writer: Some((writer, path.into())), packets: 0 })
    }

    pub(crate) fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.packets += 1;
        if let Some((writer, path)) = &mut self.writer {
            let failed = |cause| RunError::File { path: path.clone(), cause };
            // What was not captured is not made up: handlers that saw headers alone kept it.
            let captured = frame.len().saturating_sub(stamp.missing.into());
            let original_len = frame.len() as u32;
            writer.write_cut(stamp.meta.time, &frame[..captured], original_len).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes what is still in memory.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        if let Some((writer, path)) = &mut self.writer {
            writer.flush().map_err(|cause| RunError::File { path: path.clone(), cause })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of these frames, and the time of the first.
    fn capture(time: u64, frames: &[&[u8]]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = capture::Writer::new(file.reopen().unwrap()).unwrap();
        for (number, frame) in (0..).zip(frames) {
            writer.write(time + number, frame).unwrap();
        }
        writer.flush().unwrap();
        file
    }

    fn open(file: &tempfile::NamedTempFile) -> Source {
        Source::open(file.path(), Reading::default()).unwrap()
    }

    #[test]
    fn a_captures_first_frame_makes_its_seed_and_comes_all_the_same() {
        let frames: [&[u8]; 3] = [&[1; 60], &[2; 61], &[3; 62]];
        let file = capture(1_000, &frames);
        let (mut asked, mut plain) = (open(&file), open(&file));
        let seed = asked.seed().unwrap();
        assert_eq!(open(&file).seed().unwrap(), seed);
        let mut buffers = [[0; 2048]; 2];
        loop {
            let [one, other] = &mut buffers;
            let both = [asked.next(one).unwrap(), plain.next(other).unwrap()];
            assert_eq!(both[0], both[1]);
            assert_eq!(one, other);
            if both[0].is_none() {
                break;
            }
        }
        assert_eq!((asked.packets, asked.now()), (3, 1_002));
        // Other captures have other seeds.
        let changed: [&[u8]; 1] = [&[9; 60]];
        let other = [capture(1_001, &frames), capture(1_000, &changed), capture(1_000, &[])];
        for other in other {
            assert_ne!(open(&other).seed().unwrap(), seed);
        }
    }
}
