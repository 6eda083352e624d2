//! The first process of an emulated card. It mounts its file systems, starts the NIC half on the
//! window, and ends the card with the half's exit status.
//!
//! The card's memory has no other program, and no file besides this one.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use rustix::mount::{MountFlags, mount};

use crate::{power, window};

/// The argument that makes a program the first process of a card. The bytes of the region follow.
pub const FIRST_COMMAND: &str = "__card";

/// Exit status of a card without a window, or with a program that has no NIC half.
pub const EXIT_UNUSABLE: u8 = 70;
/// Added to the number of the signal that ended the NIC half, as shells do.
const BY_SIGNAL: i32 = 128;

/// Becomes the first process of a card, if the command line says so; `nic_image` is the NIC half.
/// Then it does not return: the card ends with the half.
pub fn begin_if_asked(nic_image: Option<&[u8]>) {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some(FIRST_COMMAND) {
        return;
    }
    // Anywhere else, ending the card would end the machine.
    if std::process::id() != 1 {
        say("only the first process of a card runs this command");
        std::process::exit(i32::from(EXIT_UNUSABLE));
    }
    let status = words
        .next()
        .and_then(|length| length.parse().ok())
        .ok_or_else(|| "the length of the region is missing".to_owned())
        .and_then(|length| run(nic_image, length));
    power::end(status.unwrap_or_else(|why| {
        say(&why);
        EXIT_UNUSABLE
    }))
}

/// Runs the NIC half on the window until it ends; returns its exit status.
fn run(nic_image: Option<&[u8]>, length: usize) -> Result<u8, String> {
    let image = nic_image.ok_or("this program was built without its NIC half")?;
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys")] {
        let mounted = std::fs::create_dir_all(place)
            .and_then(|()| mount(kind, place, kind, MountFlags::empty(), None).map_err(Into::into));
        mounted.map_err(|error| format!("{place} can't be mounted: {error}"))?;
    }
    let window = window::open(std::path::Path::new("/sys/bus/pci/devices"), length)?;
    let half = || {
        let image = file_of(image)?;
        // The half inherits the window, under this number.
        rustix::io::fcntl_setfd(&window, FdFlags::empty())?;
        Command::new(format!("/proc/self/fd/{}", image.as_raw_fd()))
            .args([window.as_raw_fd().to_string(), length.to_string()])
            .status()
    };
    let status = half().map_err(|error| format!("the NIC half doesn't start: {error}"))?;
    Ok(told(status))
}

/// A file without a name, with the NIC half.
fn file_of(image: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("cora-nic", MemfdFlags::CLOEXEC)?);
    file.write_all(image)?;
    // A file that is open for writing can't be executed.
    let read = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    File::open(read)
}

/// The exit status of a card, when its NIC half ended so.
fn told(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// To the card's console, which is the host's standard error.
fn say(what: &str) {
    let _nobody_reads_it = writeln!(std::io::stderr(), "cora card: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_ends_as_its_half_did() {
        let status = ExitStatus::from_raw;
        assert_eq!((told(status(0)), told(status(3 << 8))), (0, 3));
        assert_eq!(told(status(9)), 137, "killed");
        assert_eq!(told(status(0xff << 8)), 255);
    }

    #[test]
    fn a_program_without_a_nic_half_is_no_card() {
        assert!(run(None, 4096).unwrap_err().contains("without its NIC half"));
    }
}
