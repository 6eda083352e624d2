//! The command that starts the NIC half: native, emulated, or on an emulated card.

use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cora_card::emulated::{Boot, Parts, Window};

use crate::memory::map;
use crate::options::NicMode;
use crate::process::child;
use crate::supervisor::shard::{Common, SharedFile};
use crate::{Program, RunError};

/// The argument that turns the host binary into its own native NIC half.
pub(crate) const NIC_COMMAND: &str = "__nic";

/// The command that starts the NIC half on these regions, the only memory that it gets. Also
/// returns a file that must stay open until the process runs.
pub(super) fn command(
    common: &Common,
    regions: &SharedFile,
) -> Result<(Command, Option<File>), RunError> {
    let SharedFile { file, bytes, .. } = regions;
    let (mut command, image) = match common.run.options.nic {
        NicMode::Card => return on_card(common, regions),
        NicMode::Emulated => emulated(&common.program)?,
        NicMode::Native | NicMode::Off => (child::own(NIC_COMMAND), None),
    };
    // A backtrace would make system calls that the sandbox forbids, and look like an attack.
    command.env("RUST_BACKTRACE", "0");
    let files: Vec<_> =
        std::iter::once(file.as_fd()).chain(image.as_ref().map(File::as_fd)).collect();
    child::gets(&mut command, &files);
    command.arg(file.as_raw_fd().to_string()).arg(bytes.to_string());
    if image.is_none() {
        command.arg(std::process::id().to_string());
    }
    Ok((command, image))
}

/// The emulator with the image, which is in an unnamed file.
fn emulated(program: &Program) -> Result<(Command, Option<File>), RunError> {
    let image = program.nic_image.ok_or(RunError::NoNicImage)?;
    let emulator = find_emulator().ok_or(RunError::NoEmulator)?;
    let file = map::sealed_file("cora-nic", image)
        .map_err(|cause| RunError::System { what: "a file for the NIC image", cause })?;
    let mut command = Command::new(emulator);
    command.args(["-cpu", "cortex-a72"]).arg(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command.stdout(Stdio::null());
    Ok((command, Some(file)))
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

/// The emulator of a card, whose first process starts the NIC half.
fn on_card(common: &Common, regions: &SharedFile) -> Result<(Command, Option<File>), RunError> {
    let program = common.run.options.card_program.as_ref().ok_or(RunError::NoCardProgram)?;
    let boot = Boot::of(Parts::find()?, program)?;
    let window = Window { file: regions.file.as_fd(), bytes: regions.bytes };
    let mut command = boot.command(window, common.half);
    child::gets(&mut command, &[window.file, boot.archive().as_fd()]);
    // The card's console. Packets may leave by standard output.
    command.stdout(Stdio::from(std::io::stderr()));
    Ok((command, Some(boot.into_archive())))
}
