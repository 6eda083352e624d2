//! Asks the cache for a line before it is needed.
#![expect(unsafe_code, reason = "prefetching is an instruction without a safe name")]

/// Asks for the line at the beginning of `place`.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    at(core::ptr::from_ref(place).cast());
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn at(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and does not fault; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn at(address: *const u8) {
    // SAFETY: a prefetch reads nothing and does not fault.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}
