//! How many instructions the calibration's program takes for a packet: the divisor of times.
//!
//! They were counted by callgrind on x86-64, of this code as the pinned compiler builds it for
//! release; the test `calibrate` counts them again where valgrind is installed, and fails when one
//! is off by more than a twentieth. Other machines take a few per cent more or fewer; their time
//! per instruction is then off by as much, the other way, and predictions with it are not, as long
//! as a program's instructions are counted on x86-64 too.

/// Instructions of packets, in one half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    /// A packet of a flow that is there.
    pub(crate) hit: f64,
    /// Branches of it that a simple predictor mispredicts (callgrind's, with `--branch-sim=yes`).
    pub(crate) wrong: f64,
    /// One that ends a flow and one that opens it again, together.
    pub(crate) churn: f64,
}

/// A frame of 60 bytes that is received and sent, by neither half.
pub(crate) const CARRIED: f64 = 44.0;

/// Mispredictions of a packet that may be TCP or UDP, beyond those of one that is known to be
/// TCP: a branch of two, while it is parsed and in the handler.
pub(crate) const MIXED: f64 = 1.0;

/// In the host's half.
pub(crate) const HOST: Counts = Counts { hit: 266.0, wrong: 0.13, churn: 1_852.0 };

/// In the NIC's half, under a plan that runs all of it there.
pub(crate) const NIC: Counts = Counts { hit: 276.0, wrong: 0.13, churn: 1_913.0 };
