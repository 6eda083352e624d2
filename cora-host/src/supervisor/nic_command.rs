//! The commands of NIC halves: native, emulated, or on a card.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

use cora_card::emulated::{Boot, Joint, Parts, Window};

use crate::RunError;
use crate::options::NicMode;
use crate::process::child;
use crate::process::log::{self, Source};
use crate::process::nic_half::{
    ASK_COMMAND, NicKind, RELAY_COMMAND, STUB_COMMAND, Shared, nic_process,
};
use crate::supervisor::own_card::OwnCard;
use crate::supervisor::shard::{Common, SharedFile};

/// The command that starts the process in place of the NIC half: itself, an emulator, or what leads
/// to a card. Also returns files that must stay open until it runs.
pub(super) fn command(
    common: &Common,
    (regions, items, news): (&SharedFile, Option<Shared<'_>>, Option<&SharedFile>),
    card: Option<&OwnCard>,
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let SharedFile { file, bytes, .. } = regions;
    let region = (file.as_fd(), *bytes);
    match common.run.options.nic {
        NicMode::Window => on_window(common, region),
        NicMode::Ethernet => Ok((to_card((common, RELAY_COMMAND), regions, card)?, Vec::new())),
        NicMode::Agent => Ok((at_agent(common, regions, news), Vec::new())),
        NicMode::Emulated => nic_process(NicKind::Emulated, &common.program, region, items),
        NicMode::Native | NicMode::Off => {
            nic_process(NicKind::Native, &common.program, region, items)
        }
    }
}

/// The command that starts a half which stands in for the card's.
pub(super) fn stand_in(
    common: &Common,
    (regions, items): (&SharedFile, Option<Shared<'_>>),
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let region = (regions.file.as_fd(), regions.bytes);
    nic_process(NicKind::Native, &common.program, region, items)
}

/// The command of a process that asks a card whether it would serve.
pub(super) fn asks(
    common: &Common,
    regions: &SharedFile,
    card: Option<&OwnCard>,
) -> Result<Command, RunError> {
    to_card((common, ASK_COMMAND), regions, card)
}

/// A card that is to boot, with its program.
pub(super) fn card(common: &Common) -> Result<Boot, RunError> {
    let program = common.run.options.card_program.as_ref().ok_or(RunError::NoCardProgram)?;
    Ok(Boot::of(Parts::find()?, program)?)
}

/// The emulator of a card, whose first process starts the NIC half on a window.
fn on_window(
    common: &Common,
    (file, bytes): (BorrowedFd<'_>, usize),
) -> Result<(Command, Vec<OwnedFd>), RunError> {
    let boot = card(common)?;
    let window = Joint::Window(Window { file, bytes });
    let mut command = boot.command(window, common.half);
    child::gets(&mut command, &[file, boot.archive().as_fd()]);
    // The card's console. Packets may leave by standard output.
    command.stdout(Stdio::from(std::io::stderr()));
    log::read_words(&mut command, Source::CONSOLE, true);
    Ok((command, vec![boot.into_archive().into()]))
}

/// A process of this program that holds the connection to an agent.
fn at_agent(common: &Common, regions: &SharedFile, news: Option<&SharedFile>) -> Command {
    let options = &common.run.options;
    let mut command = child::own(STUB_COMMAND);
    command.args(regions.arguments()).arg(std::process::id().to_string());
    let mut files = vec![regions.file.as_raw_fd()];
    if let Some(news) = news {
        command.arg("--news").args(news.arguments());
        files.push(news.file.as_raw_fd());
    }
    command.arg("--agent").arg(options.agent.as_deref().unwrap_or_else(|| Path::new("")));
    command.args(["--weight".to_owned(), options.weight.unwrap_or(1).to_string()]);
    if options.share_process {
        command.arg("--share-process");
    }
    for at in &options.serves {
        command.args(["--serves".to_owned(), at.to_string()]);
    }
    for socket in &options.sockets {
        command.args(["--sockets".to_owned(), socket.to_string()]);
        files.push(*socket);
    }
    child::passes_on(&mut command, files);
    log::read_words(&mut command, Source::LINK, false);
    command
}

/// A process of this program that speaks with a card: with one that this machine plays, or else
/// with the one that the run names.
fn to_card(
    (common, name): (&Common, &str),
    regions: &SharedFile,
    card: Option<&OwnCard>,
) -> Result<Command, RunError> {
    let mut command = child::own(name);
    command.arg(regions.file.as_raw_fd().to_string()).arg(regions.bytes.to_string());
    command.arg(std::process::id().to_string()).stdout(Stdio::null());
    let mut files = vec![regions.file.as_fd()];
    match (card, common.run.options.peer()) {
        (Some(card), _) => {
            command.arg("--socket").arg(card.wire().as_raw_fd().to_string());
            files.push(card.wire());
        }
        (None, Some(peer)) => {
            command.arg("--peer").arg(peer.to_string());
        }
        (None, None) => return Err(RunError::NoCardProgram),
    }
    if common.run.options.ports_are_of_card() {
        command.arg("--ports");
    }
    if let Some(inquiry) = &common.inquiry {
        command.arg("--questions").arg(inquiry.for_relays().as_raw_fd().to_string());
        files.push(inquiry.for_relays());
    }
    child::gets(&mut command, &files);
    log::read_words(&mut command, Source::LINK, false);
    Ok(command)
}
