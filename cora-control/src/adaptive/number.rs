//! Counts as numbers with a fraction. All arithmetic of the controller has results that IEEE 754
//! fixes to the last bit (no powers, no logarithms). So a replay decides the same on every machine.

/// Returns a count as a number; beyond 2⁵³ it is rounded.
#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a run are far below 2⁵³")]
pub(super) const fn real(count: u64) -> f64 {
    count as f64
}

/// Returns a number that is not negative as a count, without its fraction.
#[expect(clippy::cast_sign_loss, reason = "what is negative becomes 0")]
pub(super) const fn whole(number: f64) -> u64 {
    number as u64
}

/// Returns the part left after `time` with this decay constant: close to e^(−time/constant).
pub(super) fn fading(time: f64, constant: f64) -> f64 {
    let eighth = 1.0 / (1.0 + time / (8.0 * constant));
    let quarter = eighth * eighth;
    let half = quarter * quarter;
    half * half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fades_is_near_the_exponential() {
        for tenth in 0..40_u32 {
            let time = f64::from(tenth) / 10.0;
            assert!((fading(time, 1.0) - (-time).exp()).abs() < 0.04, "{time}");
        }
    }
}
