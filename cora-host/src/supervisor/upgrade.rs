//! Another build of the program takes the place of the running one, and its connections live on.
//!
//! The supervisor lets both halves end in good order, so that nothing is on its way, and becomes
//! the new program by `exec`: the same process, which keeps TAP interfaces and the memory with the
//! copies of durable entries. The new host carries these over ([`layout`](super::layout)) before
//! the first packet. Frames wait in TAP interfaces meanwhile; other interfaces are opened anew, and
//! what comes by them in between is lost.

use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use cora_port::Upgrade;
use rustix::io::FdFlags;

use super::layout::Layout;
use crate::RunError;

/// The argument under which a program tells how its durable entries are encoded.
pub(crate) const LAYOUT_COMMAND: &str = "__layout";

/// What the program before left to this one, as its command line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Legacy {
    /// Files of the ports inside and outside, for those that are inherited: the others are opened
    /// anew.
    pub(super) ports: [Option<i32>; 2],
    /// File of the standby memory, and its bytes.
    pub(super) standby: (i32, usize),
    /// The last region's generation.
    pub(super) generation: u64,
    /// How often the program has been replaced.
    pub(super) upgrades: u64,
    /// The last version of read-mostly states.
    pub(super) version: u32,
}

impl FromStr for Legacy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is nothing that a program leaves behind: it is for `run --live` alone"
            )
        };
        let words: [&str; 7] =
            text.split(',').collect::<Vec<_>>().try_into().map_err(|_| wrong())?;
        let [inside, outside, standby, bytes, generation, upgrades, version] = words;
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        let file = |word| i32::try_from(number(word)?).map_err(|_| wrong());
        let port = |word| if word == "-" { Ok(None) } else { file(word).map(Some) };
        let (bytes, generation, upgrades) =
            (number(bytes)?, number(generation)?, number(upgrades)?);
        Ok(Self {
            ports: [port(inside)?, port(outside)?],
            standby: (file(standby)?, bytes as usize),
            generation,
            upgrades,
            version: u32::try_from(number(version)?).map_err(|_| wrong())?,
        })
    }
}

impl Legacy {
    fn argument(&self) -> String {
        let Self { ports, standby: (standby, bytes), generation, upgrades, version } = self;
        let [inside, outside] =
            ports.map(|file| file.map_or_else(|| "-".to_owned(), |file| file.to_string()));
        format!("{inside},{outside},{standby},{bytes},{generation},{upgrades},{version}")
    }
}

/// Whether the program in this file can take over entries of this layout; why not.
pub(super) fn check(program: &Path, old: &Layout) -> Result<(), String> {
    let output = Command::new(program).arg(LAYOUT_COMMAND).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let new: Layout = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{} is not a program of Cora with live runs", program.display()))?;
    new.conversion(old).map(drop)
}

/// Becomes the program in this file; comes back only with an error.
pub(super) fn become_program(program: &Path, ports: [Upgrade<'_>; 2], legacy: Legacy) -> RunError {
    let failed = |cause| RunError::Start { program: program.display().to_string(), cause };
    let mut files = [None; 2];
    for (place, port) in files.iter_mut().zip(ports) {
        let Upgrade::Inherit(file) = port else { continue };
        if let Err(errno) = rustix::io::fcntl_setfd(file, FdFlags::empty()) {
            return failed(errno.into());
        }
        *place = Some(file.as_raw_fd());
    }
    let legacy = Legacy { ports: files, ..legacy };
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
        for ports in [[Some(3), Some(4)], [None, Some(4)], [None, None]] {
            let legacy =
                Legacy { ports, standby: (5, 8192), generation: 7, upgrades: 1, version: 3 };
            assert_eq!(legacy.argument().parse(), Ok(legacy));
        }
        for wrong in ["", "1,2,3", "1,2,3,4,5,6,x", "99999999999,1,2,3,4,5,6", "1,2,-,3,4,5,6"] {
            assert!(wrong.parse::<Legacy>().is_err(), "{wrong}");
        }
    }
}
