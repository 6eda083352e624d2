//! Counts as numbers with a fraction. All arithmetic of the controller is of the kinds whose
//! results IEEE 754 fixes to the last bit (no powers, no logarithms): a replay decides the same on
//! every machine.

/// A count; beyond 2⁵³ it is rounded.
#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a run are far below 2⁵³")]
pub(super) const fn real(count: u64) -> f64 {
    count as f64
}

/// A number that is not negative, as a count; a fraction is left out.
#[expect(clippy::cast_sign_loss, reason = "what is negative becomes 0")]
pub(super) const fn whole(number: f64) -> u64 {
    number as u64
}

/// What is left after a time of what fades with the time constant: close to e^(−time/constant).
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
