//! What is written: as many names as the example's own client has, with names and values of the
//! greatest length that the example takes.

/// Names that are written in turn.
const NAMES: u64 = 1_000;
/// Bytes of a name, and of a value.
pub(super) const NAME: usize = 32;
pub(super) const VALUE: usize = 128;
/// Puts that are outstanding.
pub(super) const WINDOWS: [usize; 3] = [1, 16, 64];
/// The most of them.
pub(super) const MOST: usize = 64;

/// The name and the value of this put.
pub(super) fn put(number: u64) -> ([u8; NAME], [u8; VALUE]) {
    let (mut name, mut value) = ([b'n'; NAME], [b'v'; VALUE]);
    // Drawn: whichever numbers a client gives its puts, all names are written equally often.
    let drawn = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % NAMES;
    name[NAME - 8..].copy_from_slice(format!("{drawn:08}").as_bytes());
    value[..16].copy_from_slice(format!("{number:016x}").as_bytes());
    (name, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_written_however_puts_are_numbered_and_no_value_twice() {
        for step in [1, 64] {
            let puts: Vec<_> = (0..20_000).map(|number| put(number * step)).collect();
            let names: BTreeSet<_> = puts.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len() as u64, NAMES, "each {step}th number");
            let values: BTreeSet<_> = puts.iter().map(|(_, value)| value).collect();
            assert_eq!(values.len(), puts.len());
        }
    }
}
