//! Lines that go past the caches.
//!
//! An ordinary store needs its line: where the other core has read it a lap before, that takes as
//! long as a line takes from core to core, and stores leave in order, so behind it waits all that
//! this core writes meanwhile, its own tables too. Of a store with the hint of a string of stores
//! (`movntdq`) nothing waits: the line is put together beside the caches, taken from whoever has
//! it, and goes to memory, from where the consumer reads it.
//!
//! It pays where many lines go together. What was streamed becomes visible in any order, so whoever
//! shows it has to wait until all of it has arrived ([`settle`]), which takes as long as ten lines
//! do. And it depends on the processor: see
//! [`when_faster`].
//!
//! To the memory model, streamed words are relaxed stores that happen at some moment before
//! [`settle`] returns. Nobody may look at them before a header tells of them, whose release store
//! comes behind that; so nobody can tell that they came later than others that were written after
//! them. An asm block may do what Rust code with the same effect may. And no store takes effect
//! before a load that comes ahead of it (Intel SDM, volume 3, "Memory Ordering"; AMD APM, volume 2,
//! "Write Ordering"), so none before the load that said that the consumer is done with the line.
#![expect(unsafe_code, reason = "stores past the caches have no safe name")]

use core::arch::x86_64::{__cpuid, __cpuid_count, __m128i};
use core::sync::atomic::AtomicU64;

use crate::link::ring::memory::Streaming;
use crate::link::ring::record::LINE_WORDS;

/// Words of a batch from which on the next one's are streamed.
///
/// On an AMD EPYC (Zen 4) two bare loops that do nothing else take, with batches of 8, 16, 32 and
/// 64 lines, 25, 14, 9 and 7 ns a line in place of 11, 10 to 11, 9 to 11 and 9 to 10 where both
/// cores share a third-level cache; 36, 19, 12 and 12 in place of 43, 42, 33 to 40 and 34 where
/// they don't. Beside other work most of what settling takes is hidden.
pub(super) const LONG_BATCH: u64 = 16 * LINE_WORDS;

/// Ticks that a line takes to come from a core that is far away, and not from one that shares a
/// cache with this: on a Zen 5 whose clock makes 2.6 in a ns, 350 to 400 and 110 to 145 (48 to 80
/// from one core's other thread), with what it takes to read the clock.
const FAR: u64 = 256;

/// Words between two looks at how far the consumer is. A look waits for what was read before it,
/// and then for a line: far away 200 ns, where so many words take 100 µs and more.
const LOOKS_EVERY: u64 = 16384 * LINE_WORDS;

/// When this processor gains by it, in a ring with these data.
///
/// - A Zen 4, always.
/// - A Zen 5, where the cores are far from each other: 7 ns a line in place of 12. Where they share
///   a cache it loses: 7 in place of 3.
/// - A Zen 3, which is of a Zen 4's family and has no AVX-512, loses where both cores share a
///   cache: 13 to 17 ns a line in place of 9 to 12; a pair at work that passes short packets on
///   gains little or nothing. Not measured far away.
/// - An Intel Xeon (Emerald Rapids) loses far away: 17 ns a line in place of 11.
///
/// On others it was not measured, and so is not done.
pub(super) fn when_faster(data: &[AtomicU64]) -> Option<Streaming> {
    // The instruction takes no places but such.
    if !data.as_ptr().addr().is_multiple_of(64) {
        return None;
    }
    let trip = trip_from(amd_family_with_avx512()?)?;
    Some(Streaming { batch: LONG_BATCH, trip, looks_every: LOOKS_EVERY })
}

/// Families as CPUID has them. Of the first, Zen 3 is another.
const ZEN_4: u32 = 0x19;
const ZEN_5: u32 = 0x1a;

/// How long a line takes to come, at least, where a processor of this family with AVX-512 gains.
const fn trip_from(family: u32) -> Option<u64> {
    match family {
        ZEN_4 => Some(0),
        ZEN_5 => Some(FAR),
        _ => None,
    }
}

/// The family of a processor of AMD's that has AVX-512 (AMD APM, volume 3, "CPUID", functions 0, 1
/// and 7).
fn amd_family_with_avx512() -> Option<u32> {
    const AVX512F: u32 = 1 << 16;
    let vendor = __cpuid(0);
    let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
    if name.as_flattened() != b"AuthenticAMD" || vendor.eax < 7 {
        return None;
    }
    let version = __cpuid(1).eax;
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    (__cpuid_count(7, 0).ebx & AVX512F != 0).then_some(family)
}

/// The processor's clock: loads before it have been served, and those behind it wait (AMD APM,
/// volume 3, "RDTSC").
#[inline(always)]
pub(super) fn clock() -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: every processor of this kind has both instructions, and neither touches memory. The
    // compiler moves no access to it across the block.
    unsafe {
        core::arch::asm!(
            "lfence",
            "rdtsc",
            "lfence",
            out("rax") low,
            out("rdx") high,
            options(nostack, preserves_flags)
        );
    }
    high << 32 | low
}

/// Streams two words; [`settle`] comes before whatever tells of them.
///
/// # Safety
///
/// `place` is at a multiple of 16 bytes.
#[inline(always)]
pub(super) unsafe fn stream_pair(place: &[AtomicU64; 2], words: [u64; 2]) {
    // SAFETY: both are sixteen bytes, and all bit patterns are valid for each.
    let value: __m128i = unsafe { core::mem::transmute(words) };
    // SAFETY: sixteen bytes at `place` are writable through a shared reference, being two atomic
    // words, and aligned, as the caller says; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movntdq [{place}], {value}",
            place = in(reg) place,
            value = in(xmm_reg) value,
            options(nostack, preserves_flags)
        );
    }
}

/// All that was streamed is there for whoever sees a later store.
#[inline(always)]
pub(super) fn settle() {
    // SAFETY: a fence touches nothing. The compiler moves no access to memory across the block.
    unsafe { core::arch::asm!("sfence", options(nostack, preserves_flags)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::ring::{RingMemory, SharedMemory};

    #[repr(align(64))]
    struct Lines([AtomicU64; 32 + 64]);

    #[test]
    fn what_is_streamed_stands_where_it_was_sent() {
        static LINES: Lines = Lines([const { AtomicU64::new(9) }; 96]);
        let mut memory = SharedMemory::new(&LINES.0).unwrap();
        memory.streaming = Some(Streaming { batch: LONG_BATCH, trip: 0, looks_every: 0 });
        for index in [8, 10, 12, 14, 64 + 20] {
            // SAFETY: the words begin at a line, so it may say that it streams, on every processor
            // of this kind.
            unsafe { memory.stream_pair(index, [index as u64, !0]) };
        }
        memory.settle();
        let seen =
            std::thread::spawn(move || (0..64).map(|at| memory.load(at)).collect::<Vec<_>>());
        let seen = seen.join().unwrap();
        for (at, word) in seen.into_iter().enumerate() {
            let expected = match at {
                8 | 10 | 12 | 14 => at as u64,
                20 => 84,
                9 | 11 | 13 | 15 | 21 => !0,
                _ => 9,
            };
            assert_eq!(word, expected, "{at}");
        }
    }

    #[test]
    fn nothing_is_streamed_to_words_beside_lines() {
        static LINES: Lines = Lines([const { AtomicU64::new(0) }; 96]);
        let beside = SharedMemory::new(&LINES.0[8 - 1..][..32 + 32]).unwrap();
        assert_eq!(beside.streaming(), None);
    }
}
