//! The wire's end, which takes transmitted packets from its ring.

use cora_runtime::link::message::Message;
use cora_runtime::link::ring::Consumer;

use crate::result::Results;
use crate::words::Words;

/// The wire's end.
#[derive(Debug)]
pub(super) struct WireEnd {
    ring: Consumer<Words>,
    buffer: Box<[u8]>,
    /// The packets that left.
    pub(super) results: Results,
    /// The packets that handlers made, and that left.
    pub(super) made: Results,
    /// Whether these are no part of [`Self::results`].
    pub(super) keeps_made_apart: bool,
    /// The error, if one occurred.
    pub(super) error: Option<String>,
}

impl WireEnd {
    pub(super) fn new(ring: Consumer<Words>) -> Self {
        let buffer = vec![0; ring.max_record()].into();
        Self {
            ring,
            buffer,
            results: Results::default(),
            made: Results::default(),
            keeps_made_apart: false,
            error: None,
        }
    }

    /// Takes all packets from the ring.
    pub(super) fn drain(&mut self) {
        loop {
            match self.ring.pop(&mut self.buffer) {
                Ok(None) => break,
                Ok(Some(popped)) => {
                    let frame = self.buffer.get_mut(..popped.len);
                    let frame = frame.and_then(|bytes| Message::decode_frame(popped.kind, bytes));
                    match frame {
                        Some((stamp, frame)) => {
                            let is_apart = stamp.is_made() && self.keeps_made_apart;
                            let results = if is_apart { &mut self.made } else { &mut self.results };
                            results.left(stamp.leaves_at().0, frame);
                        }
                        None => self.error = Some("no frame on the wire".to_owned()),
                    }
                }
                Err(error) => {
                    self.error = Some(format!("wire: {error}"));
                    break;
                }
            }
        }
        self.ring.release();
    }

    /// Takes all packets from the ring, and goes on with the ring of another NIC.
    pub(super) fn replug(&mut self, ring: Consumer<Words>) {
        self.drain();
        self.ring = ring;
    }

    /// Returns the number of packets that left.
    pub(super) fn left(&self) -> u64 {
        self.results.frames.values().map(|frames| frames.len() as u64).sum()
    }
}
