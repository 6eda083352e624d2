//! Irregularities of an input capture.

use std::fmt;

use cora_port::capture::{Changed, link_name};
use serde::Serialize;

use crate::ingress::capture_clock::Steps;

/// Irregularities of the input capture; usually none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureNotes {
    /// Where and how it ends early; all complete frames were handled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_early: Option<String>,
    /// Frames truncated by the capture.
    pub cut_frames: u64,
    /// Time stamps before that of the previous frame.
    pub stamps_back: u64,
    /// How often the clock of the stamps was set back by more than a second.
    pub clock_set_back: u64,
    /// Outlier stamps, far from the stamps after them, which are ignored.
    pub stray_stamps: u64,
    /// Frames with a synthesised Ethernet header.
    pub made_up_headers: u64,
    /// The link type of those frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_type: Option<&'static str>,
    /// Frames with a check sequence, which was removed.
    pub check_sequences: u64,
}

impl CaptureNotes {
    pub(crate) fn new(
        ends_early: Option<String>,
        cut_frames: u64,
        steps: Steps,
        changed: Changed,
    ) -> Self {
        let Steps { back, set_back, strays } = steps;
        let Changed { made_up, link, checked } = changed;
        Self {
            ends_early,
            cut_frames,
            stamps_back: back,
            clock_set_back: set_back,
            stray_stamps: strays,
            made_up_headers: made_up,
            link_type: (made_up > 0).then(|| link_name(link)),
            check_sequences: checked,
        }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for CaptureNotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.ends_early {
            writeln!(f, "the capture ends early, and all that is whole was handled: {why}")?;
        }
        let link = self.link_type.unwrap_or_default();
        let counts = [
            (self.cut_frames, "frames were cut when captured; their lengths are those of the wire"),
            (self.stamps_back, "time stamps step back"),
            (self.clock_set_back, "times the clock was set back; time went on from there"),
            (self.stray_stamps, "time stamps stand far from those that follow: not gone by"),
            (self.check_sequences, "frames ended in a check sequence, which was taken off"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            writeln!(f, "{count} {what}")?;
        }
        if self.made_up_headers > 0 {
            let count = self.made_up_headers;
            writeln!(f, "{count} Ethernet headers were made up: the link type is {link}")?;
        }
        Ok(())
    }
}
