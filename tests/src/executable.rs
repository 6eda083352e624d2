//! Files that tests put in place and start.
//!
//! The kernel starts no file that is open for writing (`ETXTBSY`). A process that another test
//! starts has all files of this one open until its `exec`. So a process of its own, `cp`, writes a
//! file that is to be started, and ends before the start.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Copies a program. A replaced program that still runs keeps its file.
///
/// # Panics
/// If the copy fails.
pub fn copy(from: &Path, to: &Path) {
    let fresh = to.with_added_extension("fresh");
    let directory = to.parent().unwrap_or(to);
    let made = fs::create_dir_all(directory);
    made.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let copied = Command::new("cp").arg("--").arg(from).arg(&fresh).status();
    assert!(
        copied.as_ref().is_ok_and(ExitStatus::success),
        "cp {} {}: {copied:?}",
        from.display(),
        fresh.display()
    );
    let allowed = fs::set_permissions(&fresh, Permissions::from_mode(0o755));
    let done = allowed.and_then(|()| fs::rename(&fresh, to));
    done.unwrap_or_else(|error| panic!("{} to {}: {error}", from.display(), to.display()));
}

/// Writes a shell script of this text.
///
/// # Panics
/// If the write fails.
pub fn script(path: &Path, text: &str) {
    let source = path.with_added_extension("sh");
    let written = fs::write(&source, format!("#!/bin/sh\n{text}\n"));
    written.unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    copy(&source, path);
}
