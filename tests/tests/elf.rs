//! The output of `cargo build --features nic`: static, freestanding aarch64 executables without LSE
//! atomics. They fit the card, and have the size in `tests/golden/text-size.txt`.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::path::Path;

use cora_tests::golden::{blessing, check};
use cora_tests::workshop::{EXAMPLES, nic_half, program, root};

/// Largest change of the size without review.
const TOLERANCE_PERCENT: u64 = 2;

/// Upper bound on code and constants: a core of the card keeps them in its second-level cache
/// beside the entries of flows. Two KiB of it tell the half's counters, and 17 answer an operator,
/// when one asks.
const MOST: u64 = 97 * 1024;

/// Bounds for larger programs: several tables, each compiled for its key and its value; a
/// translator between IP versions, larger by its algorithm; the export of ended entries, and hooks
/// of them; merges of states; and keys made of payloads, which are read at each place that needs
/// the key.
const MOST_OF: [(&str, u64); 12] = [
    ("stateful-firewall", 102 * 1024),
    ("nat", 128 * 1024),
    ("carrier-nat", 115 * 1024),
    ("gateway", 107 * 1024),
    ("connection-limiter", 110 * 1024),
    ("chain", 178 * 1024),
    ("nat64", 106 * 1024),
    ("flow-monitor", 102 * 1024),
    ("syn-proxy", 112 * 1024),
    ("dns-guard", 117 * 1024),
    ("gtp-gateway", 106 * 1024),
    ("ids", 134 * 1024),
];

const EM_AARCH64: u16 = 183;
const ET_EXEC: u16 = 2;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PF_X: u32 = 1;

/// A 64-bit, little-endian ELF file.
struct Elf(Vec<u8>);

impl Elf {
    fn read(path: &Path) -> Self {
        let bytes =
            std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(&bytes[..6], b"\x7fELF\x02\x01", "{} is no such file", path.display());
        Self(bytes)
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(*self.0[at..].first_chunk().unwrap())
    }

    /// Returns type, flags, and bytes of each segment.
    fn segments(&self) -> Vec<(u32, u32, &[u8])> {
        let (table, size, count) = (self.u64(32) as usize, self.u16(54), self.u16(56));
        let segment = |number: u16| {
            let at = table + usize::from(number * size);
            let (offset, length) = (self.u64(at + 8) as usize, self.u64(at + 32) as usize);
            (self.u32(at), self.u32(at + 4), &self.0[offset..offset + length])
        };
        (0..count).map(segment).collect()
    }

    /// Returns whether a panic of core is linked, by the symbol's name. A NIC half checks its input
    /// and has an answer to all of it; handlers index by `get`.
    fn names_a_panic(&self) -> bool {
        let name = b"4core9panicking";
        self.0.windows(name.len()).any(|window| window == name)
    }

    /// Returns the bytes that are loaded and never written: code and constants, the text of `size`.
    fn text_size(&self) -> u64 {
        let (table, size, count) = (self.u64(40) as usize, self.u16(58), self.u16(60));
        let (alloc, write) = (2, 1);
        let section = |number: u16| {
            let at = table + usize::from(number * size);
            let flags = self.u64(at + 8);
            if flags & alloc != 0 && flags & write == 0 { self.u64(at + 32) } else { 0 }
        };
        (0..count).map(section).sum()
    }
}

/// Returns whether a word is an LSE instruction: `CAS`, `CASP`, `SWP`, `LDADD` and their kind (Arm
/// ARM, C4.1, "Compare and swap", "Atomic memory operations").
const fn is_lse(word: u32) -> bool {
    let cas = word & 0x3fa0_7c00 == 0x08a0_7c00;
    let casp = word & 0xbfa0_7c00 == 0x0820_7c00;
    let memory_operation = word & 0x3f20_0c00 == 0x3820_0000;
    cas || casp || memory_operation
}

fn images() -> BTreeMap<&'static str, Elf> {
    EXAMPLES.into_iter().map(|name| (name, Elf::read(&nic_half(program(name))))).collect()
}

#[test]
fn are_static_freestanding_and_of_known_size() {
    let images = images();
    let mut sizes = String::new();
    for (name, elf) in &images {
        assert_eq!((elf.u16(16), elf.u16(18)), (ET_EXEC, EM_AARCH64), "{name}: type and machine");
        for (kind, flags, bytes) in elf.segments() {
            assert!(kind != PT_INTERP && kind != PT_DYNAMIC, "{name} is linked dynamically");
            if flags & PF_X != 0 {
                let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
                let lse = words.filter(|word| is_lse(*word)).count();
                assert_eq!(lse, 0, "{name} has LSE instructions, which a Cortex-A72 lacks");
            }
        }
        assert!(!elf.names_a_panic(), "{name}: something in the NIC half may panic");
        let size = elf.text_size();
        let most = MOST_OF.iter().find(|(of, _)| of == name).map_or(MOST, |(_, most)| *most);
        assert!(size <= most, "{name}: {size} bytes of text, at most {most} are wanted");
        sizes.extend([name, " ", &size.to_string(), "\n"]);
    }
    hold_sizes(&sizes);
}

fn hold_sizes(sizes: &str) {
    if blessing() {
        check("text-size.txt", sizes).unwrap();
    }
    let path = root().join("tests/golden/text-size.txt");
    let kept = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read = |text: &str| -> BTreeMap<String, u64> {
        let line = |line: &str| {
            line.split_once(' ').map(|(name, size)| (name.into(), size.parse().unwrap()))
        };
        text.lines().filter_map(line).collect()
    };
    let (kept, now) = (read(&kept), read(sizes));
    assert_eq!(kept.len(), now.len(), "{kept:?} {now:?}");
    for (name, size) in &now {
        let before = kept[name];
        let off = size.abs_diff(before) * 100 > before * TOLERANCE_PERCENT;
        assert!(
            !off,
            "{name}: {size} bytes of text, were {before}; if that is meant: CORA_BLESS=1 cargo test -p cora-tests --test elf"
        );
    }
}

#[test]
fn knows_lse_when_it_sees_it() {
    // ldadd w0, w1, [x2]; casal x0, x1, [x2]; swp x0, x1, [x2]; casp x0, x1, x2, x3, [x4].
    for lse in [0xb820_0041, 0xc8e0_fc41, 0xf820_8041, 0x4820_7c82] {
        assert!(is_lse(lse), "{lse:08x}");
    }
    // ldxr w0, [x1]; stxr w2, w0, [x1]; ldar x0, [x1]; str x0, [x1, x2]; stp x29, x30, [sp, #-16]!.
    for plain in [0x885f_7c20, 0x8802_7c20, 0xc8df_fc20, 0xf822_6820, 0xa9bf_7bfd] {
        assert!(!is_lse(plain), "{plain:08x}");
    }
}
