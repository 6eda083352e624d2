//! Packed captures: gzip (RFC 1952) and zstd (RFC 8878), in one stream or several in a row.
//!
//! Memory has a bound: a window of 32 KiB for gzip, of [`MAX_WINDOW`] for zstd. A cut stream fails
//! with [`ErrorKind::UnexpectedEof`] behind all bytes that could be unpacked.

use std::fmt;
use std::io::{BufRead as _, BufReader, Chain, Cursor, Error, ErrorKind, Read, Result};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window of zstd, which `zstd -d` also accepts by default.
const MAX_WINDOW: u64 = 1 << 27;

/// Bytes of packed input that are read at a time.
const PACKED: usize = 64 * 1024;

/// The beginning, which was inspected, and the rest.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// A stream, unpacked if it was packed.
pub struct Unpacked<R: Read>(Kind<R>);

enum Kind<R: Read> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Whole<R>>>>),
    Zstd(Box<Zstd<R>>),
}

/// Returns the stream, unpacked if its first bytes are those of gzip or zstd.
///
/// # Errors
/// When these bytes can't be read.
pub fn unpacked<R: Read>(mut source: R) -> Result<Unpacked<R>> {
    let mut magic = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut magic)?;
    let (gzip, zstd) = (magic.starts_with(&[0x1f, 0x8b]), magic == [0x28, 0xb5, 0x2f, 0xfd]);
    let whole = Cursor::new(magic).chain(source);
    Ok(Unpacked(if gzip {
        let packed = BufReader::with_capacity(PACKED, whole);
        Kind::Gzip(Box::new(MultiGzDecoder::new(packed)))
    } else if zstd {
        Kind::Zstd(Box::new(Zstd::new(whole)))
    } else {
        Kind::Plain(whole)
    }))
}

impl<R: Read> Unpacked<R> {
    /// Returns the packing of the stream, if any.
    pub const fn packing(&self) -> Option<&'static str> {
        match self.0 {
            Kind::Plain(_) => None,
            Kind::Gzip(_) => Some("gzip"),
            Kind::Zstd(_) => Some("zstd"),
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match &mut self.0 {
            Kind::Plain(stream) => stream.read(buffer),
            Kind::Gzip(stream) => stream.read(buffer),
            Kind::Zstd(stream) => stream.read(buffer),
        }
    }
}

impl<R: Read> fmt::Debug for Unpacked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacked").field("packing", &self.packing()).finish_non_exhaustive()
    }
}

/// Frames of zstd, one after the other.
struct Zstd<R> {
    packed: BufReader<Whole<R>>,
    decoder: FrameDecoder,
    /// A frame was begun and not read to its end.
    begun: bool,
    /// Why no more can be unpacked; the bytes before come first.
    failed: Option<Error>,
}

/// An empty last block and a checksum. They end a frame with a missing rest, so that the decoder
/// releases its bytes of the frame.
const END_OF_FRAME: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: Read> Zstd<R> {
    fn new(whole: Whole<R>) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self {
            packed: BufReader::with_capacity(PACKED, whole),
            decoder,
            begun: false,
            failed: None,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if !self.begun && !self.begin()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.packed, one) {
                    let error = self.why(error);
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    let ended = self.decoder.decode_blocks(&END_OF_FRAME[..], one);
                    self.failed = Some(error);
                    if ended.is_err() {
                        break;
                    }
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            self.begun = false;
            let (said, found) =
                (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if said.is_some() && said != found {
                return Err(Error::new(ErrorKind::InvalidData, "zstd: the checksum is wrong"));
            }
        }
    }

    /// Begins a frame, past skippable ones; returns whether there is one.
    fn begin(&mut self) -> Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => {
                    self.begun = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.packed.by_ref().take(length.into());
                    std::io::copy(&mut skipped, &mut std::io::sink())?;
                }
                Err(error) => return Err(self.why(error)),
            }
        }
        Ok(false)
    }

    /// Returns the cause: only the stream's end if it has ended.
    fn why(&mut self, error: FrameDecoderError) -> Error {
        match self.packed.fill_buf() {
            Ok([]) => ErrorKind::UnexpectedEof.into(),
            Ok(_) => Error::new(ErrorKind::InvalidData, error),
            Err(error) => error,
        }
    }
}
