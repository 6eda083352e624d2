//! The processes that are a NIC half, or in the place of one.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::memory::map;
use crate::process::child;
use crate::process::log::{self, Source};
use crate::{Program, RunError};

/// The argument that turns the host binary into its own native NIC half.
pub(crate) const NIC_COMMAND: &str = "__nic";

/// The argument that turns a program into the host's end of the link to a card.
pub(crate) const RELAY_COMMAND: &str = "__relay";

/// The argument that turns a program into one that asks a card whether it would serve.
pub(crate) const ASK_COMMAND: &str = "__ask";

/// The argument that turns a program into the process that holds the connection to an agent.
pub(crate) const STUB_COMMAND: &str = "__attached";

/// The argument that turns a program into its NIC half at an agent.
pub(crate) const CONFINED_COMMAND: &str = "__confined";

/// The argument that turns a program into a process with many of its NIC halves at an agent.
pub(crate) const ROOMS_COMMAND: &str = "__rooms";

/// The argument that turns a program into the agent of a local card.
pub(crate) const LOCAL_COMMAND: &str = "__local-card";

/// Exit status of a relay with a card that is gone, or knows no such session: another one may
/// follow.
pub(crate) const EXIT_OVER: u8 = 6;
/// A half on a card that ended by a signal: its number is added to this, as shells do.
pub(crate) const BY_SIGNAL: i32 = 128;

/// How a process is a NIC half on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NicKind {
    /// This program.
    Native,
    /// The aarch64 image, under qemu-aarch64.
    Emulated,
    /// The aarch64 image, on this machine's own cores.
    Image,
}

impl Default for NicKind {
    fn default() -> Self {
        if cfg!(target_arch = "aarch64") { Self::Image } else { Self::Native }
    }
}

/// A file, and its bytes.
pub(crate) type Shared<'a> = (BorrowedFd<'a>, usize);

/// The command of a NIC half on the regions in this file, its only memory besides the items of the
/// host that it may read. Also returns files that must stay open until the process runs.
pub(crate) fn nic_process(
    kind: NicKind,
    program: &Program,
    (regions, bytes): Shared<'_>,
    items: Option<Shared<'_>>,
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let (mut command, image) = match kind {
        NicKind::Native => (child::own(NIC_COMMAND), None),
        NicKind::Emulated => {
            let emulator = find_emulator().ok_or(RunError::NoEmulator)?;
            let image = image(program)?;
            let mut command = Command::new(emulator);
            command.args(["-cpu", "cortex-a72"]).arg(path(&image)).stdout(Stdio::null());
            (command, Some(image))
        }
        NicKind::Image => {
            // A file that is open for writing can't be executed.
            let failed = |cause| RunError::System { what: "a file for the NIC image", cause };
            let image = File::open(path(&image(program)?)).map_err(failed)?;
            let mut command = Command::new(path(&image));
            command.stdout(Stdio::null());
            (command, Some(image))
        }
    };
    // A backtrace would make system calls that the sandbox forbids, and look like an attack.
    command.env("RUST_BACKTRACE", "0");
    let shared = std::iter::once((regions, bytes)).chain(items);
    for (file, bytes) in shared.clone() {
        command.arg(file.as_raw_fd().to_string()).arg(bytes.to_string());
    }
    if image.is_none() {
        command.args(["--parent".to_owned(), std::process::id().to_string()]);
    }
    let files = shared.map(|(file, _)| file).chain(image.as_ref().map(File::as_fd));
    child::gets(&mut command, &files.collect::<Vec<_>>());
    log::read_words(&mut command, Source::NIC, false);
    Ok((command, image.map(OwnedFd::from).into_iter().collect()))
}

/// An unnamed file with the aarch64 image.
fn image(program: &Program) -> Result<File, RunError> {
    let image = program.nic_image.ok_or(RunError::NoNicImage)?;
    map::sealed_file("cora-nic", image)
        .map_err(|cause| RunError::System { what: "a file for the NIC image", cause })
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn find_emulator() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CORA_QEMU") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|directory| {
            ["qemu-aarch64", "qemu-aarch64-static"].map(|name| directory.join(name))
        })
        .find(|candidate| candidate.is_file())
}
