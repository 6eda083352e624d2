//! Non-temporal stores: lines that bypass the caches.
//!
//! An ordinary store needs its line. If the other core read it a lap before, fetching it takes a
//! core-to-core transfer. Stores leave in order, so all later stores of this core wait behind it,
//! even those to its own tables. Nothing waits for a non-temporal store (`movntdq`). Its line is
//! put together beside the caches, taken from any core that has it, and goes to memory, where the
//! consumer reads it.
//!
//! It pays if many lines go together. Streamed lines become visible in any order, so the producer
//! must wait until all have arrived ([`settle`]) before it publishes them. That takes as long as
//! ten lines do. The gain also depends on the processor: see [`when_faster`].
//!
//! To the memory model, streamed words are relaxed stores that happen at some moment before
//! [`settle`] returns. Nobody may read them before a header announces them, and the release store
//! of that header comes after [`settle`]. So nobody can observe that they came later than stores
//! made after them. An asm block may do anything that Rust code with the same effect may. No store
//! takes effect before an earlier load (Intel SDM, volume 3, "Memory Ordering"; AMD APM, volume 2,
//! "Write Ordering"). So none does before the load that showed that the consumer is done with the
//! line.
#![expect(unsafe_code, reason = "stores past the caches have no safe name")]

use core::arch::x86_64::{__cpuid, __cpuid_count, __m128i};
use core::sync::atomic::AtomicU64;

use crate::link::ring::policy::Streaming;
use crate::link::ring::record::LINE_WORDS;

/// Shortest batch, in words, after which the next one is streamed.
///
/// Measured on an AMD EPYC (Zen 4) with two bare loops that do nothing else, for batches of 8, 16,
/// 32 and 64 lines. If both cores share a third-level cache, a line takes 25, 14, 9 and 7 ns
/// instead of 11, 10 to 11, 9 to 11 and 9 to 10. If they don't, it takes 36, 19, 12 and 12 ns
/// instead of 43, 42, 33 to 40 and 34. Other work hides most of the time for settling.
pub(super) const LONG_BATCH: u64 = 16 * LINE_WORDS;

/// Ticks of a line's trip that separate a far core from one that shares a cache with this. On a Zen
/// 5 with 2.6 ticks per ns, a trip takes 350 to 400 from a far core, and 110 to 145 from a near one
/// (48 to 80 from one core's other thread). These include the reading of the clock.
const FAR: u64 = 256;

/// Words between two measurements of the consumer's distance. A measurement waits for earlier
/// loads, and then for a line: 200 ns from a far core, while this many words take 100 µs and more.
const LOOKS_EVERY: u64 = 16384 * LINE_WORDS;

/// Conditions under which streaming is faster on this processor, in a ring with these data.
///
/// - A Zen 4: always.
/// - A Zen 5: if the cores are far from each other, with 7 ns per line instead of 12. If they share
///   a cache it loses, with 7 ns instead of 3.
/// - A Zen 3 (of a Zen 4's family, without AVX-512) loses if both cores share a cache: 13 to 17 ns
///   per line instead of 9 to 12. A working pair that passes short packets on gains little or
///   nothing. Not measured with far cores.
/// - An Intel Xeon (Emerald Rapids) loses with far cores: 17 ns per line instead of 11.
///
/// Other processors were not measured, so they don't stream.
pub(super) fn when_faster(data: &[AtomicU64]) -> Option<Streaming> {
    // The instruction requires aligned addresses.
    if !data.as_ptr().addr().is_multiple_of(64) {
        return None;
    }
    let trip = trip_from(amd_family_with_avx512()?)?;
    Some(Streaming { batch: LONG_BATCH, trip, looks_every: LOOKS_EVERY })
}

/// Processor families in CPUID. Zen 3 also has the first.
const ZEN_4: u32 = 0x19;
const ZEN_5: u32 = 0x1a;

/// The shortest trip of a line with which a processor of this family with AVX-512 gains.
const fn trip_from(family: u32) -> Option<u64> {
    match family {
        ZEN_4 => Some(0),
        ZEN_5 => Some(FAR),
        _ => None,
    }
}

/// The family of an AMD processor with AVX-512 (AMD APM, volume 3, "CPUID", functions 0, 1 and 7).
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

/// The processor's clock. Earlier loads have completed, and later ones wait (AMD APM, volume 3,
/// "RDTSC").
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

/// Streams two words; [`settle`] must come before the store that announces them.
///
/// # Safety
///
/// `place` is at a multiple of 16 bytes.
#[inline(always)]
pub(super) unsafe fn stream_pair(place: &[AtomicU64; 2], words: [u64; 2]) {
    // SAFETY: both are sixteen bytes, and all bit patterns are valid for each.
    let value: __m128i = unsafe { core::mem::transmute(words) };
    // SAFETY: sixteen bytes at `place` are writable through a shared reference, being two atomic
    // words, and aligned, as the caller guarantees; nothing else is touched.
    unsafe {
        core::arch::asm!(
            "movntdq [{place}], {value}",
            place = in(reg) place,
            value = in(xmm_reg) value,
            options(nostack, preserves_flags)
        );
    }
}

/// Makes all streamed words visible to any reader of a later store.
#[inline(always)]
pub(super) fn settle() {
    // SAFETY: a fence touches nothing. The compiler moves no access to memory across the block.
    unsafe { core::arch::asm!("sfence", options(nostack, preserves_flags)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::ring::{RingMemory as _, SharedMemory, StorePolicy as _};

    #[repr(align(64))]
    struct Lines([AtomicU64; 32 + 64]);

    #[test]
    fn what_is_streamed_stands_where_it_was_sent() {
        static LINES: Lines = Lines([const { AtomicU64::new(9) }; 96]);
        let mut memory = SharedMemory::new(&LINES.0).unwrap();
        memory.streaming = Some(Streaming { batch: LONG_BATCH, trip: 0, looks_every: 0 });
        for index in [8, 10, 12, 14, 64 + 20] {
            // SAFETY: the words begin at a cache line, so streaming is safe on every processor of
            // this kind.
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
