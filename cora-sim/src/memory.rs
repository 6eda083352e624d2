//! Zeroed memory for the halves, freed after each run: leaks would add up to gigabytes.
#![expect(unsafe_code, reason = "lends memory as `'static`, which the halves ask for")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use cora_core::state::{Line, Memory};

/// Lends memory. It must be dropped after everything that was made in it.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    blocks: Vec<(NonNull<Line>, Layout)>,
}

impl Supply {
    pub(crate) fn lend(&mut self, bytes: usize, seed: u64) -> Memory {
        // Each piece may waste up to a line.
        let lines = bytes.div_ceil(Line::BYTES) + 32;
        let layout = Layout::array::<Line>(lines).expect("no overflow");
        // SAFETY: the layout has a size above 0.
        let block = unsafe { alloc_zeroed(layout) };
        #[expect(clippy::cast_ptr_alignment, reason = "allocated with the alignment of lines")]
        let Some(block) = NonNull::new(block.cast::<Line>()) else { handle_alloc_error(layout) };
        self.blocks.push((block, layout));
        // SAFETY: the block holds `lines` zeroed, aligned lines, is lent once, and lives as long as
        // this supply, which the borrower does not outlive.
        let lines = unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), lines) };
        Memory::new(lines).with_seed(seed)
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        for (block, layout) in self.blocks.drain(..) {
            // SAFETY: allocated above with this layout, and freed once.
            unsafe { dealloc(block.as_ptr().cast(), layout) };
        }
    }
}
