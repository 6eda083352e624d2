//! The flow that leaves a side. A flow with many entries goes in parts, so that others need not
//! wait for it.
//!
//! The number of entries is sent first. A placeholder is sent for each entry that expires
//! meanwhile, so that the number holds.

use cora_core::app::App;

use crate::channel::PeerOutbox;
use crate::link::message::Ownership;
use crate::ownership::entries;
use crate::state_hash::{Say, say_words};

/// Entries that a run loop lets a half send in a row: some tens of microseconds.
pub const AT_ONCE: u32 = 32;

/// A flow with at most this many entries goes at once.
pub(crate) const SMALL: u32 = 4;

/// The flow in handover, and the part of it that is still here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) flow: u32,
    /// Entries promised and not sent yet.
    pub(crate) left: u32,
    /// Entries expired by this time are not sent.
    pub(crate) now: u64,
}

impl Leaving {
    /// Sends the next entries, at most `most`. Returns their bytes.
    #[inline(never)]
    pub(crate) fn send<A: App>(
        &mut self,
        app: &mut A,
        most: u32,
        out: &mut impl PeerOutbox,
    ) -> u64 {
        let mut bytes = 0;
        let most = most.min(self.left);
        let sent = entries::take_out(app, self.flow, self.now, most, &mut |state, piece| {
            bytes += piece.len() as u64;
            out.send(&Ownership::Entry { state, piece }.into());
        });
        for _ in sent..most {
            out.send(&Ownership::Vanished {}.into());
        }
        self.left -= most;
        bytes
    }

    /// Gives the flow that leaves to `say`, if there is one.
    pub(crate) fn hash(leaving: Option<Self>, say: &mut Say<'_>) {
        let words = leaving
            .map_or([u64::MAX, 0, 0], |Self { flow, left, now }| [flow.into(), left.into(), now]);
        say_words(say, &words);
    }
}
