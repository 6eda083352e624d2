//! Sizes of blocks: four per doubling, so that a block is at most a quarter larger than asked for.

/// Bytes of a unit, of which blocks consist.
pub(super) const UNIT: usize = 16;
/// Bytes of a page: all blocks in it are of one size.
pub(super) const PAGE: usize = 64 << 10;
/// Units of a page.
pub(super) const PAGE_UNITS: u32 = (PAGE / UNIT) as u32;
/// Bytes of the largest block.
pub(super) const LARGEST: usize = 16 << 10;
/// Number of sizes.
pub(super) const CLASSES: usize = 33;

/// Units of the smallest block.
const SMALLEST: u32 = 4;

/// Units of a block, by class.
const UNITS: [u32; CLASSES] = {
    let mut units = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        units[class] = (4 + class as u32 % 4) << (class / 4);
        class += 1;
    }
    assert!(units[CLASSES - 1] as usize * UNIT == LARGEST, "the last class is the largest block");
    units
};

/// Blocks of a page, by class.
const BLOCKS: [u32; CLASSES] = {
    let mut blocks = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        blocks[class] = PAGE_UNITS / UNITS[class];
        class += 1;
    }
    blocks
};

/// The class of the smallest blocks with so many bytes; `None` if no block is so large.
#[inline]
pub(super) const fn class_of(bytes: usize) -> Option<usize> {
    if bytes > LARGEST {
        return None;
    }
    let units = bytes.div_ceil(UNIT) as u32;
    let units = if units < SMALLEST { SMALLEST } else { units };
    // Rounded up to two bits behind the first.
    let shift = units.ilog2() - 2;
    let quarters = (units + (1 << shift) - 1) >> shift;
    Some((shift * 4 + quarters - 4) as usize)
}

/// Units of a block of this class.
#[inline]
pub(super) const fn units(class: usize) -> u32 {
    UNITS[class % CLASSES]
}

/// Blocks of this class in a page.
#[inline]
pub(super) const fn blocks(class: usize) -> u32 {
    BLOCKS[class % CLASSES]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_at_most_a_quarter_larger_than_asked_for() {
        for bytes in 1..=LARGEST {
            let class = class_of(bytes).unwrap();
            let given = units(class) as usize * UNIT;
            assert!(given >= bytes, "{bytes} in {given}");
            let least = bytes.next_multiple_of(UNIT).max(64);
            assert!(given * 4 <= least * 5 + 3 * UNIT, "{bytes} in {given}");
            assert!(class == 0 || (units(class - 1) as usize * UNIT) < bytes.max(49), "{bytes}");
        }
        assert_eq!(class_of(LARGEST + 1), None);
    }

    #[test]
    fn a_page_is_nearly_full_of_blocks() {
        for class in 0..CLASSES {
            let used = blocks(class) * units(class);
            assert!(used <= PAGE_UNITS && used * 8 >= PAGE_UNITS * 7, "class {class}: {used}");
        }
    }
}
