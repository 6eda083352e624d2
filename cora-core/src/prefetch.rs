//! Prefetches cache lines before they are needed.
#![expect(unsafe_code, reason = "prefetching is an instruction without a safe name")]

/// Prefetches the cache line at the beginning of `place`, for reading and writing. No other effect.
/// It does nothing on machines other than x86-64 and aarch64.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    at(core::ptr::from_ref(place).cast());
}

/// The same for an address, which may be invalid.
#[inline(always)]
pub fn prefetch_at<T>(place: *const T) {
    at(place.cast());
}

/// Prefetches the cache line at the beginning of `place` in exclusive state, for writing. No other
/// effect.
#[inline(always)]
pub fn prefetch_to_write<T>(place: &T) {
    own(core::ptr::from_ref(place).cast());
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn own(address: *const u8) {
    // SAFETY: a prefetch never faults, for any address. Processors without it execute a no-op.
    unsafe {
        core::arch::asm!("prefetchw [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn own(address: *const u8) {
    at(address);
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
fn own(_: *const u8) {}

/// Prefetches the first two cache lines of `place`, which may be invalid: the whole value if it has
/// at most 65 bytes.
#[inline(always)]
pub(crate) fn prefetch_both<T>(place: *const T) {
    let begin: *const u8 = place.cast();
    at(begin);
    if size_of::<T>() > 8 {
        // A second line only if the value crosses into it; a repeated prefetch of the same line is
        // cheap.
        at(begin.wrapping_add(size_of::<T>().min(65) - 1));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn at(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and never faults, for any address; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn at(address: *const u8) {
    // SAFETY: a prefetch reads nothing and never faults, for any address.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

/// No prefetch on other machines.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
fn at(_: *const u8) {}
