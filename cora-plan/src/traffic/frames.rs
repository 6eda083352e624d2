//! Lengths of frames, and the bytes that cross under header split.
//!
//! Header split applies to programs with only handlers that take headers. The NIC decides it for
//! each frame; here the length decides. Long frames that cross whole (with tags, options,
//! fragments; without a free payload buffer) are known only for a capture.

use super::Class;
use super::class::Cell;

/// Minimum bytes of a long frame, which crosses as its head: as `cora_runtime::exec::LONG`.
pub const LONG: f64 = 512.0;
/// Bytes of a head: as `cora_core::packet::HEAD`.
pub const HEAD: f64 = 128.0;
/// Maximum bytes of a frame that crosses as its head: the rest of a longer one exceeds a payload
/// buffer.
pub const LONGEST: f64 = 2176.0;

/// Bytes that cross for a frame of this length. For a mean length, it is exact only if all frames
/// have that length; for a mix of short and long frames it may be less or more.
pub(super) fn crossing(length: f64) -> f64 {
    if (LONG..=LONGEST).contains(&length) { HEAD } else { length }
}

/// Mean length of these classes' frames, and the bytes that cross under header split.
pub fn mean_bytes(classes: &[Class]) -> [f64; 2] {
    let mean = |of: fn(&Class) -> f64| classes.iter().map(|class| class.share * of(class)).sum();
    [mean(|class| class.mean_bytes), mean(|class| class.head_bytes)]
}

/// Means of a traffic's frames, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frames {
    mean: f64,
    /// Bytes of them that don't cross.
    rest: f64,
}

impl Frames {
    /// Frames of one length, or with only their mean known.
    pub(super) fn alike(bytes: f64) -> Self {
        Self::mixed(&[(bytes, 1.0)])
    }

    /// Frames by length, each with its weight.
    pub(super) fn mixed(frames: &[(f64, f64)]) -> Self {
        let mean = |of: &dyn Fn(f64) -> f64| {
            let sum: f64 = frames.iter().map(|(length, weight)| weight * of(*length)).sum();
            sum / frames.iter().map(|(_, weight)| weight).sum::<f64>()
        };
        Self { mean: mean(&|length| length), rest: mean(&|length| length - crossing(length)) }
    }

    /// Mean length.
    pub(super) fn mean(self) -> f64 {
        self.mean
    }

    /// The bytes of packets with this share of all packets.
    pub(super) fn of(self, share: f64) -> Cell {
        Cell { bytes: share * self.mean, rests: share * self.rest, ..Cell::default() }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums of whole numbers")]
mod tests {
    use super::*;

    #[test]
    fn frames_of_512_to_2176_bytes_cross_as_128() {
        let lengths = [60.0, 511.0, 512.0, 1514.0, 2176.0, 2177.0];
        assert_eq!(lengths.map(crossing), [60.0, 511.0, 128.0, 128.0, 128.0, 2177.0]);
    }

    #[test]
    fn of_a_mix_each_length_counts_by_itself() {
        let mix = Frames::mixed(&[(60.0, 3.0), (1514.0, 1.0)]);
        assert_eq!((mix.mean(), mix.of(1.0).rests), (423.5, 346.5));
        // By the mean alone, no frame would be long.
        assert_eq!(Frames::alike(423.5).of(1.0).rests, 0.0);
    }
}
