//! Another build of the program takes the place of the running one, and its connections live on.
//!
//! The supervisor lets both halves end in good order, so that nothing is on its way, and becomes the new program by
//! `exec`: the same process, which keeps the interfaces and the memory with the copies of durable entries. The new
//! host carries these over ([`layout`](super::layout)) before the first packet. Frames wait in the interfaces meanwhile.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use rustix::io::FdFlags;

use super::layout::Layout;
use crate::RunError;

/// The argument under which a program tells how its durable entries are encoded.
pub(crate) const LAYOUT_COMMAND: &str = "__layout";

/// What the program before left to this one, as its command line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// Files of the interfaces inside and outside.
    pub(super) taps: [i32; 2],
    /// File of the standby memory, and its bytes.
    pub(super) standby: (i32, usize),
    /// The last region's generation.
    pub(super) generation: u64,
    /// How often the program has been replaced.
    pub(super) upgrades: u64,
}

impl FromStr for Legacy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        let wrong = || {
            format!(
                "`{text}` is nothing that a program leaves behind: it is for `run --live` alone"
            )
        };
        let [inside, outside, standby, bytes, generation, upgrades] =
            numbers.map_err(|_| wrong())?.try_into().map_err(|_| wrong())?;
        let file = |number: u64| i32::try_from(number).map_err(|_| wrong());
        Ok(Self {
            taps: [file(inside)?, file(outside)?],
            standby: (file(standby)?, bytes as usize),
            generation,
            upgrades,
        })
    }
}

impl Legacy {
    fn argument(&self) -> String {
        let Self { taps: [inside, outside], standby: (standby, bytes), generation, upgrades } =
            self;
        format!("{inside},{outside},{standby},{bytes},{generation},{upgrades}")
    }
}

/// Whether the program in this file can take over entries of this layout; why not.
pub(super) fn check(program: &Path, old: &Layout) -> Result<(), String> {
    let output = Command::new(program).arg(LAYOUT_COMMAND).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let new: Layout = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{} is no program of Cora's with live runs", program.display()))?;
    new.conversion(old).map(drop)
}

/// Becomes the program in this file; comes back only with an error.
pub(super) fn become_program(
    program: &Path,
    files: [BorrowedFd<'_>; 2],
    legacy: Legacy,
) -> RunError {
    let failed = |cause| RunError::Start { program: program.display().to_string(), cause };
    for file in files {
        if let Err(errno) = rustix::io::fcntl_setfd(file, FdFlags::empty()) {
            return failed(errno.into());
        }
    }
    let taps = files.map(|file| file.as_fd().as_raw_fd());
    let legacy = Legacy { taps, ..legacy };
    let mut words: Vec<_> = std::env::args_os().collect();
    let name = if words.is_empty() { program.into() } else { words.remove(0) };
    if let Some(at) = words.iter().position(|word| word == "--legacy") {
        words.drain(at..(at + 2).min(words.len()));
    }
    let mut command = Command::new(program);
    command.arg0(name).args(words).arg("--legacy").arg(legacy.argument());
    failed(command.exec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_is_told_by_an_argument() {
        let legacy = Legacy { taps: [3, 4], standby: (5, 8192), generation: 7, upgrades: 1 };
        assert_eq!(legacy.argument().parse(), Ok(legacy));
        for wrong in ["", "1,2,3", "1,2,3,4,5,x", "99999999999,1,2,3,4,5"] {
            assert!(wrong.parse::<Legacy>().is_err(), "{wrong}");
        }
    }
}
