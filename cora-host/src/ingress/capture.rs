//! A capture as the wire: reads frames from a file, stamps them and feeds them in; writes the
//! output.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _, Read, Write, stdin, stdout};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, mem};

use cora_core::hash::sip_hash;
use cora_core::packet::{MAX_FRAME, Meta, Packet, Port, has_all_headers};
use cora_runtime::link::message::Stamp;
use cora_runtime::link::payload::Parked;

use crate::RunError;
use crate::ingress::capture_clock::CaptureClock;
use crate::ingress::capture_notes::CaptureNotes;
use crate::ingress::elsewhere::{Counts, PortsThere};
use crate::ingress::inside::Inside;
use crate::ingress::pcap as capture;
use crate::ingress::pcap::{CaptureError, LinkTypes};
use crate::ingress::port_names::FIRST;

/// In place of a capture's name: standard input, or standard output.
pub(crate) const STANDARD: &str = "-";

/// Where frames leave.
pub(crate) trait Out {
    /// Sends a frame.
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError>;
    /// Sends buffered output.
    fn flush(&mut self) -> Result<(), RunError>;
    /// Whether it keeps this frame, which came in a record of this kind, until it may leave. It
    /// leaves, and is counted, later or never.
    fn keeps(&mut self, kind: u16, stamp: &Stamp, frame: &[u8]) -> bool {
        let _ = (kind, stamp, frame);
        false
    }
    /// Where the wire is a card's: what happened there.
    fn hears(&mut self, counts: &Counts) {
        let _ = counts;
    }
    /// The same of its ports.
    fn hears_of_ports(&mut self, there: PortsThere) {
        drop(there);
    }
}

/// Frame I/O of a run: ingress and egress.
pub(crate) trait Cable: Out {
    /// Whether frames come at their own pace. Those without room are then dropped and counted;
    /// other frames wait.
    const LIVE: bool;
    /// Frames wait while a NIC has not taken so many bytes of earlier ones.
    const MOST_AHEAD: usize;
    /// The next frame, which stays the next one until it is [passed](Self::pass).
    fn peek(&mut self) -> Result<Next<'_>, RunError>;
    /// The next frame was taken, or dropped.
    fn pass(&mut self);
    /// While no frame is there: the run time, before which none will come. `None` if time passes by
    /// frames alone.
    fn silent_until(&mut self) -> Option<u64> {
        None
    }
    /// Whether no more frames come.
    fn has_ended(&self) -> bool;
    /// Input and output frames.
    fn packets(&self) -> (u64, u64);
    /// Waits for input, at most for this time.
    fn wait(&self, at_most: Duration);
    /// Called about once per millisecond.
    fn look(&mut self) -> Result<(), RunError>;
    /// The packet with this number, for a message.
    fn describe(&self, number: u64) -> String;
}

/// The next input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// A frame.
    Frame(Stamp, &'a mut [u8]),
    /// None yet.
    NotYet,
    /// The end; the time of the last frame of the whole wire.
    End(u64),
}

/// A wire from one capture to another: a port that ends.
pub(crate) struct Files {
    pub(crate) source: Source,
    pub(crate) sink: Sink,
    buffer: Vec<u8>,
    /// The frame in the buffer: its stamp and length.
    current: Option<(Stamp, usize)>,
    has_ended: bool,
}

impl Files {
    pub(crate) fn new(source: Source, sink: Sink) -> Self {
        Self { source, sink, buffer: vec![0; MAX_FRAME], current: None, has_ended: false }
    }
}

impl Out for Files {
    #[inline]
    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.sink.write(stamp, frame)
    }

    /// A capture is written in larger pieces, and [finished](Sink::finish) at its end.
    fn flush(&mut self) -> Result<(), RunError> {
        Ok(())
    }
}

impl Cable for Files {
    const LIVE: bool = false;
    /// A flow that moves waits for the packets that are on their way. A capture comes as fast as it
    /// is taken: it would fill the ring, and hardly any flow would move before its end.
    const MOST_AHEAD: usize = 16 << 10;

    /// A read of a pipe blocks.
    #[inline]
    fn peek(&mut self) -> Result<Next<'_>, RunError> {
        if self.current.is_none() {
            self.current = self.source.next(&mut self.buffer)?;
        }
        let Some((stamp, length)) = self.current else {
            self.has_ended = true;
            return Ok(Next::End(self.source.now()));
        };
        Ok(Next::Frame(stamp, self.buffer.get_mut(..length).unwrap_or_default()))
    }

    fn pass(&mut self) {
        self.current = None;
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn packets(&self) -> (u64, u64) {
        (self.source.packets, self.sink.packets)
    }

    fn wait(&self, at_most: Duration) {
        std::thread::sleep(at_most);
    }

    fn look(&mut self) -> Result<(), RunError> {
        Ok(())
    }

    fn describe(&self, number: u64) -> String {
        Packets::of(&self.source).describe(number)
    }
}

/// The packets of a capture, for messages.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    path: PathBuf,
    reading: Reading,
}

impl Packets {
    pub(crate) fn of(source: &Source) -> Self {
        Self { path: source.path.clone(), reading: source.reading.clone() }
    }

    /// A packet in readable form: its number from 1 on, and its flow.
    pub(crate) fn describe(&self, number: u64) -> String {
        let flow = self.flow(number).map_or_else(String::new, |flow| format!(" ({flow})"));
        format!("packet {} of {}{flow}", number.saturating_add(1), self.path.display())
    }

    /// Its five-tuple, or why it has none; `None` if the capture can't be read again.
    fn flow(&self, wanted: u64) -> Option<String> {
        let is_file = std::fs::metadata(&self.path).is_ok_and(|found| found.is_file());
        let mut source = is_file.then(|| Source::open(&self.path, self.reading.clone()).ok())??;
        let mut buffer = vec![0; 2 * MAX_FRAME];
        while let Ok(Some((stamp, length))) = source.next(&mut buffer) {
            if stamp.number == wanted {
                let packet = Packet::new(buffer.get_mut(..length)?, stamp.meta);
                return Some(match packet.five_tuple() {
                    Ok(flow) => flow.to_string(),
                    Err(reason) => format!("it has no five-tuple: {}", reason.name()),
                });
            }
        }
        None
    }
}

/// How a capture is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The inside prefixes.
    pub inside: Inside,
    /// No handler reads more than headers, so frames with an incomplete payload are accepted.
    pub heads: bool,
    /// The accepted link types.
    pub link_types: LinkTypes,
    /// A capture truncated at its end is read up to there.
    pub up_to_cut: bool,
}

/// The source of packets.
pub struct Source {
    reader: capture::Reader<capture::Unpacked<Box<dyn Read + Send>>>,
    /// The reader's current frame is the first one: the seed was derived from it, and it was not
    /// returned yet.
    waits: bool,
    path: PathBuf,
    reading: Reading,
    clock: CaptureClock,
    /// Frames read.
    pub packets: u64,
    /// Frames that exceed the maximum length.
    pub too_long: u64,
    /// Frames truncated by the capture; and among these, frames that can't be handled, because more
    /// bytes are needed.
    pub cut: (u64, u64),
    /// Why the capture ended early.
    ends_early: Option<String>,
    /// Returns no frame from this number on, until it changes.
    pub(crate) stop_before: u64,
}

impl Source {
    /// Opens a capture; `-` means standard input.
    ///
    /// # Errors
    /// If it can't be read, or is not a capture.
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

    /// The key of all hashes of a run on this capture, derived from its first frame, which this
    /// waits for. So all runs on one capture, from a file or a pipe and under any plan, end in the
    /// same sketches. No sender knows it before the packets are captured.
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

    /// Bytes of the capture that were read so far.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The run time, so far.
    pub(crate) const fn now(&self) -> u64 {
        self.clock.now()
    }

    /// Irregularities of the capture.
    pub(crate) fn notes(&self) -> CaptureNotes {
        let (ends_early, (cut, _)) = (self.ends_early.clone(), self.cut);
        CaptureNotes::new(ends_early, cut, self.clock.steps, self.reader.changed())
    }

    /// The next frame, copied to the beginning of `buffer`: its stamp and length. Zeros replace
    /// missing bytes.
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

    /// The current frame, if it can be handled.
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
        let meta = Meta { time, now, port, ..Meta::default() };
        let (horizon, egress, parked) = (now, port, Parked::NONE);
        Some((Stamp { meta, number, horizon, egress, parked, missing }, length))
    }

    /// Ends the capture with an error, or records the error for the report if complete frames
    /// suffice.
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

/// The key to derive a seed from a frame, arbitrary.
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

/// Whether two paths refer to one regular file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let metadata = path.metadata().ok().filter(Metadata::is_file)?;
        Some((metadata.dev(), metadata.ino()))
    };
    place(a).is_some_and(|a| place(b) == Some(a))
}

/// A capture that is written.
enum Writer {
    Pcap(capture::Writer<Box<dyn Write + Send>>),
    /// Tells at which port each frame left: by its interface, of the same number.
    Pcapng(capture::PcapngWriter<Box<dyn Write + Send>>),
}

impl Writer {
    /// A pcapng, if the path says so by its extension.
    fn new(path: &Path, stream: Box<dyn Write + Send>) -> io::Result<Self> {
        if path.extension().is_none_or(|extension| extension != "pcapng") {
            return capture::Writer::new(stream).map(Self::Pcap);
        }
        let mut writer = capture::PcapngWriter::new(stream)?;
        FIRST.iter().try_for_each(|name| writer.describe(name))?;
        Ok(Self::Pcapng(writer))
    }

    fn write(&mut self, port: Port, time: u64, bytes: &[u8], original_len: u32) -> io::Result<()> {
        match self {
            Self::Pcap(writer) => writer.write_cut(time, bytes, original_len),
            Self::Pcapng(writer) => {
                while writer.interfaces() <= port.0.into() {
                    writer.describe(&format!("port {}", writer.interfaces()))?;
                }
                writer.write_cut(port.0.into(), time, bytes, original_len)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Pcap(writer) => writer.flush(),
            Self::Pcapng(writer) => writer.flush(),
        }
    }
}

/// The destination of packets.
pub(crate) struct Sink {
    writer: Option<(Writer, PathBuf)>,
    /// Packets that left.
    pub(crate) packets: u64,
}

impl Sink {
    /// Writes to a file, or to standard output for [`STANDARD`]; without a path, packets are only
    /// counted.
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
        let writer = Writer::new(path, stream).map_err(failed)?;
        Ok(Self { writer: Some((writer, path.into())), packets: 0 })
    }

    pub(crate) fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.packets += 1;
        if let Some((writer, path)) = &mut self.writer {
            let failed = |cause| RunError::File { path: path.clone(), cause };
            // Missing bytes are not made up; handlers that read only headers left them unchanged.
            let captured = frame.len().saturating_sub(stamp.missing.into());
            let original_len = frame.len() as u32;
            let (port, time) = (stamp.leaves_at(), stamp.meta.time);
            writer.write(port, time, &frame[..captured], original_len).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes all buffered data.
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

    /// A capture of these frames, with the time of the first.
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
    #[test]
    fn a_pcapng_tells_where_frames_left() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("out.pcapng");
        let mut sink = Sink::create(Some(&path), Path::new("in")).unwrap();
        let left = |number: u64, egress: u8| {
            let (meta, egress) = (Meta { time: number, ..Meta::default() }, Port(egress));
            Stamp { meta, number, horizon: 0, egress, parked: Parked::NONE, missing: 0 }
        };
        // The upper bit marks what a handler made.
        for (number, egress) in [0, 1, 4, 0x83, 0].into_iter().enumerate() {
            sink.write(&left(number as u64, egress), &[egress; 60]).unwrap();
        }
        sink.finish().unwrap();
        let mut source = Source::open(&path, Reading::default()).unwrap();
        let mut buffer = [0; 2048];
        for port in [0, 1, 4, 3, 0] {
            let (stamp, length) = source.next(&mut buffer).unwrap().unwrap();
            assert_eq!((stamp.meta.port, length), (Port(port), 60));
        }
        assert!(source.next(&mut buffer).unwrap().is_none());
    }
}
