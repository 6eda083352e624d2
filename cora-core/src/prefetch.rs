//! Asks the cache for a line before it is needed.
#![expect(unsafe_code, reason = "prefetching is an instruction without a safe name")]

/// Asks for the line at the beginning of `place`, to read and write it. Changes nothing else. On
/// machines other than x86-64 and aarch64 it does nothing.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    at(core::ptr::from_ref(place).cast());
}

/// Likewise of the place at this address, or of none.
#[inline(always)]
pub fn prefetch_at<T>(place: *const T) {
    at(place.cast());
}

/// Asks for the line at the beginning of `place`, to write it: nobody else has it then. Changes
/// nothing else.
#[inline(always)]
pub fn prefetch_to_write<T>(place: &T) {
    own(core::ptr::from_ref(place).cast());
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn own(address: *const u8) {
    // SAFETY: a prefetch does not fault, whatever the address; where it is not known, it does
    // nothing.
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

/// Asks for the first two lines that `place`, or none, covers: all of it, when it is no longer than
/// 65 bytes.
#[inline(always)]
pub(crate) fn prefetch_both<T>(place: *const T) {
    let begin: *const u8 = place.cast();
    at(begin);
    if size_of::<T>() > 8 {
        // Another line only when the value crosses into it; asking for the same one again costs
        // little.
        at(begin.wrapping_add(size_of::<T>().min(65) - 1));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn at(address: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and does not fault, whatever the address; SSE is part of
    // x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline(always)]
fn at(address: *const u8) {
    // SAFETY: a prefetch reads nothing and does not fault, whatever the address.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
}

/// Other machines look nothing up ahead.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
fn at(_: *const u8) {}
