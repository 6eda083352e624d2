//! The file of a program that is to run confined: a 64-bit ELF file for this machine that needs no
//! loader. A loader opens files, which a confined process must not.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// Offsets and sizes: `elf.h`, for 64-bit files.
const HEADER: usize = 64;
const MACHINE: usize = 18;
const SEGMENTS: usize = 32;
const SEGMENT_BYTES: usize = 54;
const SEGMENT_COUNT: usize = 56;
/// A segment that names a loader.
const INTERPRETER: u32 = 3;
/// Most segments that are looked at; programs have about ten.
const MOST_SEGMENTS: usize = 64;

/// This machine, as ELF files name it.
const OWN_MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// Whether this file can run confined.
///
/// # Errors
/// A sentence.
pub(super) fn check(file: &File) -> Result<(), String> {
    let there = file.metadata().map_err(|cause| format!("the program's file: {cause}"))?;
    if !there.is_file() {
        return Err("the program is no file".to_owned());
    }
    if there.mode() & 0o001 == 0 {
        return Err(
            "the program's file is not for all to execute, and a confined process is nobody's: \
             `chmod o+x` it"
                .to_owned(),
        );
    }
    let mut header = [0; HEADER];
    let read = file.read_exact_at(&mut header, 0);
    if read.is_err() || !header.starts_with(b"\x7fELF\x02\x01") {
        return Err("the program's file is no 64-bit ELF file".to_owned());
    }
    let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if word(MACHINE) != OWN_MACHINE {
        return Err(format!(
            "the program is for another machine than the agent's (ELF machine {}, not {OWN_MACHINE})",
            word(MACHINE)
        ));
    }
    let begin = header[SEGMENTS..].first_chunk().map_or(0, |it| u64::from_le_bytes(*it));
    let (size, count) = (u64::from(word(SEGMENT_BYTES)), usize::from(word(SEGMENT_COUNT)));
    for number in 0..count.min(MOST_SEGMENTS) as u64 {
        let mut kind = [0; 4];
        let at = number.checked_mul(size).and_then(|offset| begin.checked_add(offset));
        if at.is_none_or(|at| file.read_exact_at(&mut kind, at).is_err()) {
            return Err("the program's file is cut".to_owned());
        }
        if u32::from_le_bytes(kind) == INTERPRETER {
            return Err(
                "the program needs a loader, which a confined process can't have: attach a static \
                 one; `cargo cora attach --program PACKAGE` builds it"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn refused(bytes: &[u8]) -> String {
        use std::os::unix::fs::PermissionsExt as _;

        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("it is written");
        let permissions = std::fs::Permissions::from_mode(0o755);
        file.as_file().set_permissions(permissions).expect("it is ours");
        check(file.as_file()).expect_err("it is no program")
    }

    #[test]
    fn a_program_with_a_loader_is_told_how_to_do_without() {
        let own = File::open("/bin/true").expect("it is there");
        let why = check(&own).expect_err("it needs a loader");
        assert!(why.contains("static") && why.contains("cargo cora attach"), "{why}");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(refused(b"#!/bin/sh\n").contains("no 64-bit ELF"));
        assert!(refused(&[]).contains("no 64-bit ELF"));
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(refused(&header).contains("another machine"));
        header[MACHINE..MACHINE + 2].copy_from_slice(&OWN_MACHINE.to_le_bytes());
        header[SEGMENT_COUNT] = 3;
        header[SEGMENT_BYTES] = 56;
        header[SEGMENTS..SEGMENTS + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(refused(&header).contains("is cut"));
        let directory = File::open("/").expect("it is there");
        assert!(check(&directory).expect_err("a directory").contains("no file"));
    }
}
