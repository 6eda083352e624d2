//! How long frames are, and how much of them crosses where long ones go to the host as their heads.
//!
//! That is so for programs whose handlers all take headers alone. Which frames go as heads is
//! decided at the NIC, one by one; here it goes by their length. Frames that go whole although they
//! are long (with tags, options, fragments; with no place left for their rest) are known of a
//! capture only.

use super::Class;
use super::class::Cell;

/// Bytes of a frame from which on its head goes alone: as `cora_runtime::exec::LONG`.
pub const LONG: f64 = 512.0;
/// Bytes of a head: as `cora_core::packet::HEAD`.
pub const HEAD: f64 = 128.0;
/// Bytes of the longest frame of which the head goes alone: a longer one's rest has no place to
/// wait at.
pub const LONGEST: f64 = 2176.0;

/// Bytes of a frame of this length that cross. Of a mean length it is what crosses if all frames
/// have that; of a mix of short and long ones with this mean it may be less or more.
pub(super) fn crossing(length: f64) -> f64 {
    if (LONG..=LONGEST).contains(&length) { HEAD } else { length }
}

/// Mean length of these classes' frames, and how much of it crosses where long ones go as their
/// heads, in bytes.
pub fn mean_bytes(classes: &[Class]) -> [f64; 2] {
    let mean = |of: fn(&Class) -> f64| classes.iter().map(|class| class.share * of(class)).sum();
    [mean(|class| class.mean_bytes), mean(|class| class.head_bytes)]
}

/// Means of a traffic's frames, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frames {
    mean: f64,
    /// What doesn't cross of them.
    rest: f64,
}

impl Frames {
    /// All of one length, or nothing is known but their mean.
    pub(super) fn alike(bytes: f64) -> Self {
        Self::mixed(&[(bytes, 1.0)])
    }

    /// So long each, and how many of them there are.
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

    /// The bytes of packets with this share of all.
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
        // The mean alone would have it that nothing is long.
        assert_eq!(Frames::alike(423.5).of(1.0).rests, 0.0);
    }
}
