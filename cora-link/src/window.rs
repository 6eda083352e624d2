//! The sender: frames that are not acknowledged yet, each in its place of a ring of frames.
//!
//! ```text
//!        acknowledged        sent          closed       filled by the next records
//!   ─────────┼────────────────┼───────────────┼──────────────┼─────────
//!            acked            sent            open           acked + window
//! ```

use std::hash::{Hash as _, Hasher};

use crate::frame::HEADER;
use crate::pack::{self, LONGEST_RECORD, Parts};
use crate::settings::Settings;

/// Frames on their way.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Bytes of a whole frame, and frames of the ring.
    frame: usize,
    frames: u64,
    bytes: Box<[u8]>,
    lengths: Box<[usize]>,
    /// The oldest number that is not acknowledged.
    pub(crate) acked: u64,
    /// The next number to be sent, and the first that never was.
    sent: u64,
    never_sent: u64,
    /// The number of the frame that records are put into.
    open: u64,
    /// Numbers below may be sent: the peer's.
    limit: u64,
    /// The peer asked for this number, and it was sent again for that.
    answered: Option<u64>,
    /// The oldest frame went again alone: the rest waits until the peer has it.
    alone: bool,
    patience: u64,
    again_at: Option<u64>,
}

impl Window {
    pub(crate) fn new(settings: &Settings) -> Self {
        let Settings { frame, window, patience, .. } = *settings;
        let frames = usize::from(window);
        Self {
            frame,
            frames: window.into(),
            bytes: vec![0; frame * frames].into_boxed_slice(),
            lengths: vec![HEADER; frames].into_boxed_slice(),
            acked: 0,
            sent: 0,
            never_sent: 0,
            open: 0,
            limit: 0,
            answered: None,
            alone: false,
            patience: patience.0,
            again_at: None,
        }
    }

    /// As in the beginning: a session begins.
    pub(crate) fn clear(&mut self, settings: &Settings) {
        self.lengths.fill(HEADER);
        (self.acked, self.sent, self.never_sent, self.open, self.limit) = (0, 0, 0, 0, 0);
        (self.answered, self.alone) = (None, false);
        (self.patience, self.again_at) = (settings.patience.0, None);
    }

    fn slot(&self, number: u64) -> usize {
        (number % self.frames) as usize
    }

    /// Whole frames that records can still be put into, the open one not counted.
    fn free(&self) -> u64 {
        self.frames - 1 - (self.open - self.acked)
    }

    /// Puts a record into the open frame, and into further ones; whether there was room for all of
    /// it.
    pub(crate) fn push(&mut self, kind: u16, parts: &[&[u8]]) -> bool {
        let mut parts = Parts::new(parts);
        let room = self.frame - self.lengths[self.slot(self.open)];
        let whole = pack::fitting(LONGEST_RECORD, self.frame - HEADER);
        let beside = parts.left.saturating_sub(pack::fitting(parts.left, room));
        let needed = beside.div_ceil(whole) as u64;
        // A record without bytes has a header, too.
        let needed = needed.max(u64::from(room < pack::RECORD_HEADER));
        if needed > self.free() || parts.left > LONGEST_RECORD {
            return false;
        }
        loop {
            let slot = self.slot(self.open);
            let (length, begin) = (self.lengths[slot], slot * self.frame);
            let room = self.frame - length;
            let bytes = pack::fitting(parts.left, room);
            if room >= pack::RECORD_HEADER && (bytes > 0 || parts.left == 0) {
                let more = bytes < parts.left;
                let to = &mut self.bytes[begin + length..begin + self.frame];
                parts.take(pack::begin(to, kind, bytes, more));
                self.lengths[slot] = length + pack::packed(bytes);
                if !more {
                    return true;
                }
            }
            self.close();
        }
    }

    /// Nothing more is put into the open frame.
    pub(crate) fn close(&mut self) {
        if self.lengths[self.slot(self.open)] > HEADER && self.free() > 0 {
            self.open += 1;
            let slot = self.slot(self.open);
            self.lengths[slot] = HEADER;
        }
    }

    /// Whether records wait in the open frame.
    pub(crate) fn is_filling(&self) -> bool {
        self.lengths[self.slot(self.open)] > HEADER
    }

    /// The next frame to be sent, and its number.
    pub(crate) fn next(&mut self) -> Option<(u64, &mut [u8])> {
        let may = self.sent < self.open && self.sent < self.limit;
        if !may || (self.alone && self.sent > self.acked) {
            return None;
        }
        let (number, slot) = (self.sent, self.slot(self.sent));
        let begin = slot * self.frame;
        Some((number, &mut self.bytes[begin..begin + self.lengths[slot]]))
    }

    /// The frame that [`Self::next`] gave was sent; whether it had been sent before.
    pub(crate) fn was_sent(&mut self, now: u64) -> bool {
        self.sent += 1;
        let again = self.sent <= self.never_sent;
        self.never_sent = self.never_sent.max(self.sent);
        if self.again_at.is_none() {
            self.again_at = Some(now.saturating_add(self.patience));
        }
        again
    }

    /// The number of the next new frame.
    pub(crate) fn number(&self) -> u64 {
        self.never_sent
    }

    /// All that was pushed is in frames with numbers below this.
    pub(crate) fn pushed(&self) -> u64 {
        self.open + u64::from(self.is_filling())
    }

    /// The peer has all numbers below `next`, misses that one or not, and allows those below
    /// `limit`. `false` if it can't have them, because they were never sent.
    pub(crate) fn acknowledge(
        &mut self,
        (next, gap, limit): (u64, bool, u64),
        settings: &Settings,
        now: u64,
    ) -> bool {
        if next > self.never_sent {
            return false;
        }
        self.limit = self.limit.max(limit);
        if next > self.acked {
            self.acked = next;
            self.sent = self.sent.max(next);
            (self.alone, self.answered) = (false, None);
            self.patience = settings.patience.0;
            let waits = self.acked < self.never_sent;
            self.again_at = waits.then(|| now.saturating_add(self.patience));
        }
        // A lost frame is sent once for each time the peer advances. If it is lost again, time
        // tells.
        if gap && next == self.acked && next < self.sent && self.answered != Some(next) {
            (self.sent, self.answered) = (next, Some(next));
        }
        true
    }

    /// Goes back to the oldest frame, if it was waited for long enough.
    pub(crate) fn look(&mut self, settings: &Settings, now: u64) {
        if self.again_at.is_none_or(|when| now < when) {
            return;
        }
        (self.sent, self.alone, self.answered) = (self.acked, true, None);
        self.patience = self.patience.saturating_mul(2).min(settings.patience.1);
        self.again_at = None;
    }

    /// When [`Self::look`] has something to do.
    pub(crate) const fn due(&self) -> Option<u64> {
        self.again_at
    }

    /// Gives all that decides what happens next to an explorer of all schedules.
    pub(crate) fn digest(&self, hasher: &mut impl Hasher) {
        let Self {
            acked, sent, never_sent, open, limit, answered, alone, patience, again_at, ..
        } = self;
        (acked, sent, never_sent, open, limit).hash(hasher);
        (answered, alone, patience, again_at).hash(hasher);
        for number in *acked..=*open {
            let (slot, length) = (self.slot(number), self.lengths[self.slot(number)]);
            // The header is written when a frame is sent.
            self.bytes[slot * self.frame + HEADER..slot * self.frame + length].hash(hasher);
        }
    }

    /// Frames that wait to be sent or acknowledged.
    pub(crate) fn waiting(&self) -> u64 {
        self.open - self.acked + u64::from(self.is_filling())
    }
}
