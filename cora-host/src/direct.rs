//! Where packets go that the host handled, if there is no NIC between it and the wire.

use std::fmt;
use std::sync::atomic::Ordering;

use cora_core::packet::Port;
use cora_core::state::table::Ending;
use cora_runtime::channel::Outbox;
use cora_runtime::exec::Wire;
use cora_runtime::link::message::{Message, Stamp};

use crate::ipfix::Exporter;
use crate::running::{UNSEEN, Word};

/// Takes a handled packet to the sink, where there is no NIC between.
pub struct Direct<'a, F> {
    /// Called with each packet that leaves, and the port where.
    leave: F,
    exporter: Option<&'a Exporter>,
    /// Which packet the handlers run.
    runs: Word,
}

impl<'a, F> Direct<'a, F> {
    /// Without records of entries that ended.
    pub const fn new(leave: F) -> Self {
        Self { leave, exporter: None, runs: &UNSEEN }
    }

    /// The number of the packet that the handlers run is noted there.
    pub(crate) fn noting(self, runs: Word) -> Self {
        Self { runs, ..self }
    }

    /// Records of entries that ended go there.
    pub(crate) fn exporting(self, exporter: Option<&'a Exporter>) -> Self {
        Self { exporter, ..self }
    }
}

impl<F> fmt::Debug for Direct<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct").field("exporter", &self.exporter).finish_non_exhaustive()
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> Wire for Direct<'_, F> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        (self.leave)(stamp, stamp.egress, frame);
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> Outbox for Direct<'_, F> {
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        if let Some(exporter) = self.exporter {
            exporter.ended(state, ending);
        }
    }

    #[inline(always)]
    fn runs(&mut self, number: u64) {
        self.runs.store(number, Ordering::Relaxed);
    }

    fn send(&mut self, message: &Message<'_>) {
        if let Message::Send(stamp, frame) = message {
            (self.leave)(stamp, stamp.egress, frame);
        }
    }

    #[inline]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        (self.leave)(stamp, egress, frame);
    }
}
