//! With NEON, which all supported NIC cores have: one instruction compares eight lanes.
#![expect(unsafe_code, reason = "comparing many lanes is an instruction that must be asked for")]

use core::arch::aarch64::{
    vceqq_u16, vcombine_u64, vcreate_u64, vdupq_n_u16, vget_lane_u64, vreinterpret_u64_u8,
    vreinterpretq_u8_u16, vreinterpretq_u16_u8, vreinterpretq_u16_u64, vshrn_n_u16, vuzp1q_u8,
};

/// One bit of four for each slot. The lanes above are counters, and unused.
const SLOTS: u64 = 0x11_1111_1111;

/// The slots with this mark.
#[inline(always)]
pub(in super::super) fn matches(words: &[u64; 8], mark: u16) -> u64 {
    // SAFETY: this module is compiled only for machines with NEON, which these instructions
    // require.
    let lanes = unsafe { compare(words, mark) };
    lanes & SLOTS
}

/// Four bits for each lane: all set, or none.
#[inline]
#[target_feature(enable = "neon")]
fn compare(words: &[u64; 8], mark: u16) -> u64 {
    let marks = vdupq_n_u16(mark);
    let first = vcombine_u64(vcreate_u64(words[0]), vcreate_u64(words[1]));
    let last = vcombine_u64(vcreate_u64(words[2]), vcreate_u64(0));
    let first = vceqq_u16(vreinterpretq_u16_u64(first), marks);
    let last = vceqq_u16(vreinterpretq_u16_u64(last), marks);
    // Narrows each lane to one byte, and each byte to a half: no instruction narrows to a bit.
    let bytes = vuzp1q_u8(vreinterpretq_u8_u16(first), vreinterpretq_u8_u16(last));
    let halves = vshrn_n_u16::<4>(vreinterpretq_u16_u8(bytes));
    vget_lane_u64::<0>(vreinterpret_u64_u8(halves))
}

/// The first slot of a set.
#[inline(always)]
pub(in super::super) const fn slot(matches: u64) -> usize {
    (matches.trailing_zeros() / 4) as usize
}
