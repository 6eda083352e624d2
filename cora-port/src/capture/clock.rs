//! The clock of a pcapng interface: a unit and an offset, converted to nanoseconds.

/// Nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// The clock of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    unit: Unit,
    /// Seconds to add.
    offset: i64,
}

/// One tick, as nanoseconds multiplied or divided by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Times(u64),
    DividedBy(u64),
    /// A second divided by this power of two.
    Binary(u32),
    /// So short that 64 bits of ticks make no nanosecond.
    Nothing,
}

impl Default for Clock {
    /// Microseconds since 1970.
    fn default() -> Self {
        Self { unit: Unit::Times(1000), offset: 0 }
    }
}

impl Clock {
    /// Returns the clock with the unit of the option `if_tsresol`: a negative power of ten, or of
    /// two with the highest bit set.
    pub(super) fn with_resolution(self, resolution: u8) -> Self {
        let power = u32::from(resolution & 0x7f);
        let unit = match power {
            _ if resolution & 0x80 != 0 => Unit::Binary(power),
            0..=9 => Unit::Times(10_u64.pow(9 - power)),
            _ => 10_u64.checked_pow(power - 9).map_or(Unit::Nothing, Unit::DividedBy),
        };
        Self { unit, ..self }
    }

    /// Returns the clock with the offset of the option `if_tsoffset`, in seconds.
    pub(super) fn with_offset(self, offset: i64) -> Self {
        Self { offset, ..self }
    }

    /// Returns nanoseconds since 1970; `None` if they are negative or too many.
    pub(super) fn nanoseconds(self, ticks: u64) -> Option<u64> {
        let wide = u128::from(ticks);
        let time = match self.unit {
            Unit::Times(factor) => wide * u128::from(factor),
            Unit::DividedBy(divisor) => u128::from(ticks / divisor),
            Unit::Binary(power) => (wide * SECOND) >> power,
            Unit::Nothing => 0,
        };
        if self.offset == 0 {
            return u64::try_from(time).ok();
        }
        let offset = u128::from(self.offset.unsigned_abs()) * SECOND;
        let time = if self.offset < 0 { time.checked_sub(offset)? } else { time + offset };
        u64::try_from(time).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_ten_and_of_two() {
        let clock = |resolution| Clock::default().with_resolution(resolution);
        assert_eq!(Clock::default().nanoseconds(3), Some(3000));
        assert_eq!(clock(0).nanoseconds(3), Some(3_000_000_000));
        assert_eq!(clock(9).nanoseconds(3), Some(3));
        assert_eq!(clock(12).nanoseconds(3999), Some(3));
        assert_eq!(clock(28).nanoseconds(u64::MAX), Some(1));
        assert_eq!(clock(29).nanoseconds(u64::MAX), Some(0));
        assert_eq!(clock(127).nanoseconds(u64::MAX), Some(0));
        assert_eq!(clock(0x8a).nanoseconds(1536), Some(1_500_000_000));
        assert_eq!(clock(0xff).nanoseconds(u64::MAX), Some(0));
        assert_eq!(clock(0).nanoseconds(u64::MAX), None);
        assert_eq!(clock(0x80).nanoseconds(u64::MAX), None);
    }

    #[test]
    fn offsets_go_both_ways() {
        let clock = |offset| Clock::default().with_resolution(9).with_offset(offset);
        assert_eq!(clock(2).nanoseconds(5), Some(2_000_000_005));
        assert_eq!(clock(-2).nanoseconds(2_000_000_005), Some(5));
        assert_eq!(clock(-2).nanoseconds(5), None);
        assert_eq!(clock(i64::MIN).nanoseconds(5), None);
        assert_eq!(clock(i64::MAX).nanoseconds(u64::MAX), None);
    }
}
