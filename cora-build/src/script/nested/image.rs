//! The output of the second cargo.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The executable built from `root`, according to cargo's messages.
pub(super) fn executable(messages: &str, root: &Path) -> Option<PathBuf> {
    messages.lines().filter_map(|line| serde_json::from_str(line).ok()).find_map(
        |message: serde_json::Value| {
            let executable = message.get("executable")?.as_str()?;
            let source = message.get("target")?.get("src_path")?.as_str()?;
            same_file(Path::new(source), root).then(|| PathBuf::from(executable))
        },
    )
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Whether these are the bytes of a static executable for 64-bit Arm.
pub(super) fn check(bytes: &[u8]) -> Result<(), &'static str> {
    const STATIC: u16 = 2;
    const AARCH64: u16 = 183;
    const ELF_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
    let half = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]]))
    };
    if !bytes.starts_with(ELF_64_LITTLE) {
        return Err("is not a 64-bit little-endian ELF file");
    }
    if half(18) != Some(AARCH64) {
        return Err("is not for aarch64");
    }
    if half(16) != Some(STATIC) {
        return Err("is not linked at a fixed address: something sets `relocation-model`");
    }
    Ok(())
}

/// The files on the right of a Makefile rule, with `\ ` for a space in a name.
pub(super) fn dependencies(rules: &str) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for line in rules.lines() {
        let Some((_, right)) = line.split_once(": ") else { continue };
        let mut name = String::new();
        for word in right.split(' ') {
            if let Some(start) = word.strip_suffix('\\') {
                name.push_str(start);
                name.push(' ');
                continue;
            }
            name.push_str(word);
            if !name.is_empty() {
                files.insert(PathBuf::from(std::mem::take(&mut name)));
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(kind: u8, machine: u8) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[16] = kind;
        bytes[18] = machine;
        bytes
    }

    #[test]
    fn only_a_static_arm_executable_will_do() {
        assert_eq!(check(&elf(2, 183)), Ok(()));
        assert!(check(&elf(3, 183)).is_err(), "position-independent");
        assert!(check(&elf(2, 62)).is_err(), "x86-64");
        assert!(check(b"\x7fELF\x02\x01").is_err(), "cut off");
        assert!(check(b"#!/bin/sh").is_err(), "a script");
    }

    #[test]
    fn the_executable_is_that_of_the_root() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnot json\n\
            {\"executable\":\"/t/other\",\"target\":{\"src_path\":\"/p/src/bin/other.rs\"}}\n\
            {\"executable\":\"/t/nat\",\"target\":{\"src_path\":\"/p/src/main.rs\"}}\n";
        let root = Path::new("/p/src/main.rs");
        assert_eq!(executable(messages, root), Some(PathBuf::from("/t/nat")));
        assert_eq!(executable("", root), None);
    }

    #[test]
    fn names_with_spaces_stay_whole() {
        let files = dependencies("/t/nat: /p/src/main.rs /p/my\\ dir/a.rs\n");
        assert_eq!(
            files.into_iter().collect::<Vec<_>>(),
            ["/p/my dir/a.rs", "/p/src/main.rs"].map(PathBuf::from)
        );
    }
}
