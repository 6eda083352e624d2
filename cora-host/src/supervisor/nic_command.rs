//! The commands of NIC halves: native, emulated, or on a card.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};

use cora_card::emulated::{self, Boot, Parts, Window};

use crate::RunError;
use crate::options::NicMode;
use crate::options::card_name::CardName;
use crate::process::child;
use crate::process::inquiry::Inquiry;
use crate::process::nic_half::{NicKind, RELAY_COMMAND, nic_process};
use crate::supervisor::shard::{Common, SharedFile};

/// The command that starts the process in place of the NIC half: itself, an emulator, or what leads
/// to a card. Also returns files that must stay open until it runs.
pub(super) fn command(
    common: &Common,
    regions: &SharedFile,
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let SharedFile { file, bytes, .. } = regions;
    let region = (file.as_fd(), *bytes);
    match common.run.options.nic {
        NicMode::Window => on_window(common, region),
        NicMode::Ethernet => behind_wire(common, region),
        NicMode::Emulated => nic_process(NicKind::Emulated, &common.program, region),
        NicMode::Native | NicMode::Off => nic_process(NicKind::Native, &common.program, region),
    }
}

/// A card that is to boot, with its program.
fn card(common: &Common) -> Result<Boot, RunError> {
    let program = common.run.options.card_program.as_ref().ok_or(RunError::NoCardProgram)?;
    Ok(Boot::of(Parts::find()?, program)?)
}

/// The emulator of a card, whose first process starts the NIC half on a window.
fn on_window(
    common: &Common,
    (file, bytes): (BorrowedFd<'_>, usize),
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let boot = card(common)?;
    let window = emulated::Joint::Window(Window { file, bytes });
    let mut command = boot.command(window, common.half);
    child::gets(&mut command, &[file, boot.archive().as_fd()]);
    // The card's console. Packets may leave by standard output.
    command.stdout(Stdio::from(std::io::stderr()));
    Ok((command, vec![boot.into_archive().into()]))
}

/// The relay to a card, and the emulator of that card, unless there is a real one.
fn behind_wire(
    common: &Common,
    (file, bytes): (BorrowedFd<'_>, usize),
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let mut command = child::own(RELAY_COMMAND);
    command.arg(file.as_raw_fd().to_string()).arg(bytes.to_string());
    command.arg(std::process::id().to_string());
    command.stdout(Stdio::null());
    let options = &common.run.options;
    let questions = common.inquiry.as_ref().map(Inquiry::for_relays);
    if let Some(questions) = questions {
        command.arg("--questions").arg(questions.as_raw_fd().to_string());
    }
    if let Some(peer) = options.peer() {
        command.arg("--peer").arg(peer.to_string());
        if options.ports_are_of_card() {
            command.arg("--ports");
        }
    } else if options.card == Some(CardName::Local) {
        command.arg("--local");
    } else {
        return behind_socket(common, command, file);
    }
    let files: Vec<_> = std::iter::once(file).chain(questions).collect();
    child::gets(&mut command, &files);
    Ok((command, Vec::new()))
}

/// The same for an emulated card, which a socket joins.
fn behind_socket(
    common: &Common,
    mut command: Command,
    file: BorrowedFd<'_>,
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let boot = card(common)?;
    let (own, other) = UnixDatagram::pair()
        .map_err(|cause| RunError::System { what: "a socket for the emulator", cause })?;
    let sockets = [&own, &other].map(|socket| socket.as_raw_fd().to_string());
    command.arg("--sockets").args(sockets);
    command.arg("--archive").arg(boot.archive().as_raw_fd().to_string());
    let emulator = boot.command(emulated::Joint::Wire(other.as_fd()), common.half);
    command.arg("--").arg(emulator.get_program()).args(emulator.get_args());
    child::gets(&mut command, &[file, own.as_fd(), other.as_fd(), boot.archive().as_fd()]);
    Ok((command, vec![own.into(), other.into(), boot.into_archive().into()]))
}
