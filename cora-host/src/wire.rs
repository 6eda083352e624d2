//! The capture at the wire: frames are read from a file, stamped, and fed in; what leaves is
//! written.

use std::fmt;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cora_core::message::{MAX_FRAME, Stamp};
use cora_core::packet::Meta;
use cora_core::region::Parked;

use crate::RunError;
use crate::capture::{self, CaptureError};
use crate::inside::Inside;

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
        Ok(next.map_or(Next::End(self.source.now), |(stamp, length)| Next::Frame(stamp, length)))
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

/// Where packets come from.
pub struct Source {
    reader: capture::Reader<File>,
    path: PathBuf,
    inside: Inside,
    /// Latest time so far: what states expire by never runs backwards.
    pub(crate) now: u64,
    /// Frames read.
    pub packets: u64,
    /// Frames that are longer than any frame may be.
    pub too_long: u64,
    /// None comes from the frame with this number on, until it is another.
    pub(crate) stop_before: u64,
}

impl Source {
    /// Opens a capture.
    ///
    /// # Errors
    /// When it can't be read, or is none.
    pub fn open(path: &Path, inside: Inside) -> Result<Self, RunError> {
        let file = File::open(path).map_err(|cause| RunError::File { path: path.into(), cause })?;
        let reader = capture::Reader::new(file)
            .map_err(|cause| RunError::Capture { path: path.into(), cause })?;
        Ok(Self {
            reader,
            path: path.into(),
            inside,
            now: 0,
            packets: 0,
            too_long: 0,
            stop_before: u64::MAX,
        })
    }

    /// Bytes of the capture that were passed so far.
    pub fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// The next frame, copied to the beginning of `buffer`: its stamp and length.
    pub fn next(&mut self, buffer: &mut [u8]) -> Result<Option<(Stamp, usize)>, RunError> {
        while self.packets < self.stop_before {
            let damaged =
                |cause: CaptureError| RunError::Capture { path: self.path.clone(), cause };
            let Some(frame) = self.reader.next_frame().map_err(damaged)? else { return Ok(None) };
            let number = self.packets;
            self.packets += 1;
            if frame.bytes.len() > MAX_FRAME {
                self.too_long += 1;
                continue;
            }
            let (time, interface) = (frame.time, frame.interface);
            let bytes = &mut buffer[..frame.bytes.len()];
            bytes.copy_from_slice(frame.bytes);
            self.now = self.now.max(time);
            let port = self.inside.port(bytes, interface, self.reader.interfaces());
            let meta = Meta { time, now: self.now, port };
            let stamp =
                Stamp { meta, number, horizon: self.now, egress: port, parked: Parked::NONE };
            return Ok(Some((stamp, bytes.len())));
        }
        Ok(None)
    }
}

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
    writer: Option<(capture::Writer<File>, PathBuf)>,
    /// Packets that left.
    pub(crate) packets: u64,
}

impl Sink {
    /// Writes to a file; without one, packets are counted only.
    pub(crate) fn create(path: Option<&Path>, input: &Path) -> Result<Self, RunError> {
        let Some(path) = path else { return Ok(Self { writer: None, packets: 0 }) };
        let failed = |cause| RunError::File { path: path.into(), cause };
        if is_same_file(path, input) {
            return Err(RunError::SameFile { path: path.into() });
        }
        let file = File::create(path).map_err(failed)?;
        let writer = capture::Writer::new(file).map_err(failed)?;
        Ok(Self { writer: Some((writer, path.into())), packets: 0 })
    }

    pub(crate) fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.packets += 1;
        if let Some((writer, path)) = &mut self.writer {
            let failed = |cause| RunError::File { path: path.clone(), cause };
            writer.write(stamp.meta.time, frame).map_err(failed)?;
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
