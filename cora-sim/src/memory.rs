//! Zeroed memory for the halves, freed after each run: leaks would add up to gigabytes.
#![expect(unsafe_code, reason = "lends memory as `'static`, which the halves ask for")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use cora_core::state::{Line, Memory};

/// A block of so many bytes would be cleared although most of it is never touched: it is
/// taken as one of [`MAPPED`] bytes.
const LARGE: usize = 1 << 20;
/// The allocator maps blocks of this size anew, so that the system clears what is touched of them.
const MAPPED: usize = 40 << 20;
/// An alignment for which the allocator promises zeroes without clearing anything itself.
const ALIGN: usize = 16;

/// Lends memory. It must be dropped after everything that was made in it.
#[derive(Debug, Default)]
pub(crate) struct Supply {
    blocks: Vec<(NonNull<u8>, Layout)>,
}

impl Supply {
    pub(crate) fn lend(&mut self, bytes: usize, seed: u64) -> Memory {
        // Each piece may waste up to a line.
        let lines = bytes.div_ceil(Line::BYTES) + 32;
        let aligned = Layout::array::<Line>(lines).expect("no overflow");
        let layout = if aligned.size() < LARGE {
            aligned
        } else {
            let size = MAPPED.max(aligned.size() + aligned.align());
            Layout::from_size_align(size, ALIGN).expect("no overflow")
        };
        // SAFETY: the layout has a size above 0.
        let block = unsafe { alloc_zeroed(layout) };
        let Some(block) = NonNull::new(block) else { handle_alloc_error(layout) };
        self.blocks.push((block, layout));
        let apart = block.align_offset(aligned.align());
        // SAFETY: a block that is not aligned has the bytes of an alignment more than the lines.
        let lines_at = unsafe { block.add(apart) }.cast::<Line>();
        // SAFETY: the block holds `lines` zeroed, aligned lines, is lent once, and lives as long as
        // this supply, which the borrower does not outlive.
        let lines = unsafe { core::slice::from_raw_parts_mut(lines_at.as_ptr(), lines) };
        Memory::new(lines).with_seed(seed)
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        for (block, layout) in self.blocks.drain(..) {
            // SAFETY: allocated above with this layout, and freed once.
            unsafe { dealloc(block.as_ptr(), layout) };
        }
    }
}
