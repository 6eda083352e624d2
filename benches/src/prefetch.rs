//! Asks the cache for a line before it is needed.
#![expect(unsafe_code, reason = "prefetching is an instruction without a safe name")]

/// Asks for the line at the beginning of `place`.
#[inline(always)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and does not fault; SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(
            core::ptr::from_ref(place).cast(),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
