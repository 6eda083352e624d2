//! The egress of packets that the host handled, without a NIC between it and the wire.

use std::fmt;

use cora_core::app::App;
use cora_core::packet::Port;
use cora_core::state::table::Ending;
use cora_runtime::channel::PeerOutbox;
use cora_runtime::exec::Wire;
use cora_runtime::host_half::{HostHalf, HostOutbox};
use cora_runtime::link::message::{Frames, Message, Stamp};
use cora_runtime::link::region::note_packet;

use crate::node::running::{UNSEEN, Word};
use crate::observe::ipfix::Exporter;

/// Passes handled packets directly to the sink, without a NIC.
pub struct Direct<'a, F> {
    /// Called for each packet that leaves, with its egress port.
    leave: F,
    exporter: Option<&'a Exporter>,
    /// Stores the number of the packet that the handlers run.
    runs: Word,
}

impl<'a, F> Direct<'a, F> {
    /// Without records of ended entries.
    pub const fn new(leave: F) -> Self {
        Self { leave, exporter: None, runs: &UNSEEN }
    }

    /// Stores the number of the packet that the handlers run in `runs`.
    pub(crate) fn noting(self, runs: Word) -> Self {
        Self { runs, ..self }
    }

    /// Sends records of ended entries to this exporter.
    pub(crate) fn exporting(self, exporter: Option<&'a Exporter>) -> Self {
        Self { exporter, ..self }
    }
}

impl<F> fmt::Debug for Direct<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct").field("exporter", &self.exporter).finish_non_exhaustive()
    }
}

/// Exports records of the last ended entries at a host, and of all entries left there.
pub(crate) fn export_rest<A: App>(exporter: &Exporter, half: &mut HostHalf<A>, now: u64) {
    half.tell_changes(
        &mut Direct::new(|_: &Stamp, _: Port, _: &[u8]| {}).exporting(Some(exporter)),
    );
    for number in A::RECORDED {
        let state = half.engine().app().state(*number);
        state.export(now, &mut |piece| exporter.left(*number as u16, piece, now));
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> Wire for Direct<'_, F> {
    #[inline]
    fn transmit(&mut self, stamp: &Stamp, frame: &[u8]) {
        (self.leave)(stamp, stamp.egress, frame);
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> PeerOutbox for Direct<'_, F> {
    #[inline(always)]
    fn runs(&mut self, number: Option<u64>) {
        note_packet(self.runs, number);
    }

    fn send(&mut self, message: &Message<'_>) {
        if let Message::Frames(Frames::Send { stamp, frame }) = message {
            (self.leave)(stamp, stamp.egress, frame);
        }
    }
}

impl<F: FnMut(&Stamp, Port, &[u8])> HostOutbox for Direct<'_, F> {
    fn ended(&mut self, state: u16, ending: Ending<'_>) {
        if let Some(exporter) = self.exporter {
            exporter.ended(state, ending);
        }
    }

    #[inline]
    fn leave(&mut self, stamp: &Stamp, egress: Port, frame: &[u8]) {
        (self.leave)(stamp, egress, frame);
    }
}
