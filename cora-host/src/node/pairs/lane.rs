//! A pair's end of the wire, for several pairs.
//!
//! Batches of frames arrive in order. Each is returned with the frames that left meanwhile, and
//! with a mark that tells the wire how far the pair is. Further output returns in batches without
//! the mark.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use cora_runtime::link::message::Stamp;

use crate::RunError;
use crate::ingress::capture::{Cable, Next};
use crate::node::pairs::batch::{Batch, Front};

/// Data from the wire.
pub(crate) enum Steered {
    /// Frames steered to the pair.
    Frames(Batch),
    /// There are no more frames; the time of the wire's last one.
    End(u64),
}

/// Data returned to the wire.
pub(crate) struct Returned {
    /// Output frames.
    pub(crate) batch: Batch,
    pub(crate) mark: Mark,
}

/// The meaning of a returned batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Only output frames.
    None,
    /// An input batch was emptied.
    Emptied,
    /// There is no more output.
    Last,
}

/// A pair's end of the wire.
pub(crate) struct Lane {
    from: Receiver<Steered>,
    to: Sender<Returned>,
    coming: Option<Front>,
    /// Output frames not returned yet.
    leaving: Batch,
    ended: Option<u64>,
    came: u64,
    left: u64,
}

impl Lane {
    pub(super) fn new(from: Receiver<Steered>, to: Sender<Returned>) -> Self {
        let leaving = Batch::new();
        Self { from, to, coming: None, leaving, ended: None, came: 0, left: 0 }
    }

    /// Waits for the next batch, which must be [returned](Self::hand_back). After the last one,
    /// returns the end's time.
    pub(crate) fn receive(&mut self) -> Result<Result<Batch, u64>, RunError> {
        // A wire that disconnected has failed, and reports the cause.
        match self.from.recv().map_err(|_| RunError::Abandoned)? {
            Steered::Frames(batch) => Ok(Ok(batch)),
            Steered::End(now) => Ok(Err(now)),
        }
    }

    /// Returns an emptied batch: it collects the next output, and the output so far goes to the
    /// wire.
    pub(crate) fn hand_back(&mut self, mut batch: Batch) -> Result<(), RunError> {
        batch.clear();
        self.send(batch, Mark::Emptied)
    }

    /// Marks the end of the output.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        self.send(Batch::new(), Mark::Last)
    }

    fn send(&mut self, next: Batch, mark: Mark) -> Result<(), RunError> {
        let batch = std::mem::replace(&mut self.leaving, next);
        self.to.send(Returned { batch, mark }).map_err(|_| RunError::Abandoned)
    }

    /// Polls for another batch; returns whether there was one, or the end.
    fn look(&mut self) -> Result<bool, RunError> {
        match self.from.try_recv() {
            Ok(Steered::Frames(batch)) => self.coming = Some(Front::of(batch)),
            Ok(Steered::End(now)) => self.ended = Some(now),
            Err(TryRecvError::Empty) => return Ok(false),
            Err(TryRecvError::Disconnected) => return Err(RunError::Abandoned),
        }
        Ok(true)
    }
}

impl Cable for Lane {
    fn next(&mut self, buffer: &mut [u8]) -> Result<Next, RunError> {
        loop {
            if let Some(front) = &mut self.coming {
                if let Some((stamp, frame)) = front.peek() {
                    let (stamp, length) = (*stamp, frame.len());
                    buffer[..length].copy_from_slice(frame);
                    front.pass();
                    self.came += 1;
                    return Ok(Next::Frame(stamp, length));
                }
                if let Some(front) = self.coming.take() {
                    self.hand_back(front.into_empty())?;
                }
            }
            if let Some(now) = self.ended {
                return Ok(Next::End(now));
            }
            if !self.look()? {
                return Ok(Next::NotYet);
            }
        }
    }

    fn is_quiet(&mut self) -> bool {
        let nothing = self.coming.is_none() && self.ended.is_none();
        nothing && matches!(self.look(), Ok(false))
    }

    fn write(&mut self, stamp: &Stamp, frame: &[u8]) -> Result<(), RunError> {
        self.left += 1;
        if !self.leaving.push(stamp, frame) {
            self.send(Batch::new(), Mark::None)?;
            // An empty batch has space for any frame.
            self.leaving.push(stamp, frame);
        }
        Ok(())
    }

    fn packets(&self) -> (u64, u64) {
        (self.came, self.left)
    }
}
