//! The first process of an emulated card. It mounts file systems, and starts the NIC half on the
//! window, or becomes the agent at the end of a wire. It ends the card with the half's exit status.
//!
//! The card's memory has no other program, and no file besides this one.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::fs::MemfdFlags;
use rustix::io::{Errno, FdFlags};
use rustix::mount::{MountFlags, mount};

use crate::{power, window};

/// The argument that makes a program the first process of a card. The joint with the host follows.
pub const FIRST_COMMAND: &str = "__card";
/// A window, and the bytes of the region in it.
pub(crate) const WINDOW: &str = "window";
/// A wire.
pub(crate) const WIRE: &str = "wire";
/// The wire's interface at the card.
const INTERFACE: &str = "eth0";

/// Exit status of a card without a window, or with a program that has no NIC half.
pub const EXIT_UNUSABLE: u8 = 70;
/// How long an interface may take to appear.
const INTERFACE_COMES: Duration = Duration::from_secs(5);

/// Becomes the first process of a card, if the command line says so; `nic_image` is the NIC half.
/// Behind a wire, `agent` serves the interface of this name until it can't go on, and says why.
/// This function does not return then: the card ends.
pub fn begin_if_asked(nic_image: Option<&[u8]>, agent: impl FnOnce(&str) -> String) {
    let mut words = std::env::args().skip(1);
    if words.next().as_deref() != Some(FIRST_COMMAND) {
        return;
    }
    // Anywhere else, ending the card would end the machine.
    if std::process::id() != 1 {
        say("only the first process of a card runs this command");
        std::process::exit(i32::from(EXIT_UNUSABLE));
    }
    let joint = (words.next(), words.next().and_then(|bytes| bytes.parse().ok()));
    let status = mount_all().and_then(|()| match joint {
        (Some(joint), Some(length)) if joint == WINDOW => on_window(nic_image, length),
        (Some(joint), None) if joint == WIRE => {
            load_modules(Path::new("/modules"))?;
            switch_on(Path::new("/sys/class/net"), INTERFACE)?;
            Err(agent(INTERFACE))
        }
        _ => Err("this is no joint of a card and its host".to_owned()),
    });
    power::end(status.unwrap_or_else(|why| {
        say(&why);
        EXIT_UNUSABLE
    }))
}

fn mount_all() -> Result<(), String> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys")] {
        let mounted = std::fs::create_dir_all(place)
            .and_then(|()| mount(kind, place, kind, MountFlags::empty(), None).map_err(Into::into));
        mounted.map_err(|error| format!("{place} can't be mounted: {error}"))?;
    }
    Ok(())
}

/// Loads the kernel's modules in this directory, in the order of their names.
fn load_modules(directory: &Path) -> Result<(), String> {
    let failed =
        |what: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", what.display());
    let modules = directory.read_dir().map_err(|error| failed(directory, &error))?;
    let mut modules: Vec<_> = modules.filter_map(Result::ok).map(|it| it.path()).collect();
    modules.sort_unstable();
    for module in modules {
        let file = File::open(&module).map_err(|error| failed(&module, &error))?;
        match rustix::system::finit_module(&file, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(failed(&module, &errno)),
        }
    }
    Ok(())
}

/// Switches an interface on.
fn switch_on(interfaces: &Path, name: &str) -> Result<(), String> {
    /// `IFF_UP`.
    const UP: &str = "1";
    let flags = interfaces.join(name).join("flags");
    // Drivers may look for their devices a little later.
    let begun = Instant::now();
    while !flags.exists() && begun.elapsed() < INTERFACE_COMES {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::write(&flags, UP).map_err(|error| format!("{}: {error}", flags.display()))
}

/// Runs the NIC half on the window until it ends; returns its exit status.
fn on_window(nic_image: Option<&[u8]>, length: usize) -> Result<u8, String> {
    let image = nic_image.ok_or("this program was built without its NIC half")?;
    let window = window::open(Path::new("/sys/bus/pci/devices"), length)?;
    let half = || {
        let image = file_of(image)?;
        // The half inherits the window, under this number.
        rustix::io::fcntl_setfd(&window, FdFlags::empty())?;
        Command::new(format!("/proc/self/fd/{}", image.as_raw_fd()))
            .args([window.as_raw_fd().to_string(), length.to_string()])
            .status()
    };
    let status = half().map_err(|error| format!("the NIC half doesn't start: {error}"))?;
    Ok(power::status_of(status))
}

/// A file without a name, with the NIC half.
fn file_of(image: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("cora-nic", MemfdFlags::CLOEXEC)?);
    file.write_all(image)?;
    // A file that is open for writing can't be executed.
    let read = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    File::open(read)
}

/// To the card's console, which is the host's standard error.
fn say(what: &str) {
    let _nobody_reads_it = writeln!(std::io::stderr(), "cora card: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_nic_half_is_no_card() {
        assert!(on_window(None, 4096).unwrap_err().contains("without its NIC half"));
    }
}
