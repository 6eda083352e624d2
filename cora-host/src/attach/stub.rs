//! The client's process in the place of the NIC half: it holds the control connection, and ends as
//! the NIC half at the agent does.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use clap::Args;
use cora_core::app::App;
use cora_runtime::link::region::LAYOUT_VERSION;
use cora_runtime::nic_half::NicHalf;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::RunError;
use crate::attach::address::ServedAt;
use crate::attach::letter::{self, Ask, Attach, BEFORE_SOCKETS, Came, MOST_SOCKETS, Say};
use crate::attach::proof;
use crate::ingress::intake;
use crate::memory::map;
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;
use crate::process::child;
use crate::process::log::{self, Part};
use crate::process::nic_half::EXIT_OVER;

/// Orders of the supervisor.
#[derive(Debug, Args)]
pub(crate) struct StubArguments {
    /// File descriptor of the regions.
    fd: i32,
    /// Its bytes.
    length: usize,
    /// The process that started this one: it ends with that one.
    parent: u32,
    /// File descriptor of the memory for news of the wire, and its bytes.
    #[arg(long, num_args = 2, value_names = ["FD", "BYTES"])]
    news: Vec<u64>,
    /// The socket of the agent.
    #[arg(long)]
    agent: PathBuf,
    /// Where the server is asked.
    #[arg(long, value_delimiter = ',')]
    serves: Vec<ServedAt>,
    /// Its sockets, under these numbers.
    #[arg(long, value_delimiter = ',')]
    sockets: Vec<i32>,
    /// In one process with others of this program.
    #[arg(long)]
    share_process: bool,
    /// The share of the agent's time.
    #[arg(long)]
    weight: u16,
}

/// Is the NIC half until the agent's ends; returns its exit status.
pub(crate) fn stub<A: App>(arguments: &StubArguments) -> Result<u8, RunError> {
    child::stay_with(arguments.parent)?;
    // Before it connects: an agent does not wait for long.
    let sockets = sockets(arguments)?;
    let connection = match reach(&arguments.agent) {
        Ok(connection) => connection,
        Err(errno) => {
            let agent = arguments.agent.display();
            log::warn(Part::Card, format_args!("no agent at {agent}: {errno}"));
            log::flush();
            return Ok(EXIT_OVER);
        }
    };
    if !ask::<A>(arguments, &sockets, connection.as_fd())? {
        return Ok(gone());
    }
    loop {
        match letter::receive(&connection) {
            Came::Packet(Say::Attached { at }, _) => {
                let at = at.join(", ");
                log::info(Part::Card, format_args!("the agent has the program before {at}"));
            }
            Came::Packet(Say::Refused { why }, _) => return Err(RunError::NotAttached(why)),
            Came::Packet(Say::Ended { status }, _) => return Ok(status),
            Came::NotYet => {}
            Came::Closed => return Ok(gone()),
            Came::Nonsense => {
                return Err(RunError::NotAttached(
                    "the agent says what this version does not know: both must be of one version"
                        .to_owned(),
                ));
            }
        }
    }
}

fn gone() -> u8 {
    log::warn(Part::Card, "the agent is gone: packets pass by until it is back");
    log::flush();
    EXIT_OVER
}

/// A connection to the agent that listens there.
///
/// # Errors
/// The kernel's.
pub(crate) fn reach(agent: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(agent)?)?;
    Ok(socket)
}

/// Asks the agent to run this program before these sockets; returns whether it is there.
fn ask<A: App>(
    arguments: &StubArguments,
    sockets: &[OwnedFd],
    connection: BorrowedFd<'_>,
) -> Result<bool, RunError> {
    let StubArguments { fd, length, news, serves, weight, .. } = arguments;
    let inherited = |number: i32| {
        map::left_file(number)
            .map_err(|errno| RunError::System { what: "an inherited file", cause: errno.into() })
    };
    let [news, news_bytes] = news[..] else { return Err(no_news()) };
    let failed = |cause| RunError::System { what: "this program's file", cause };
    let files: [OwnedFd; BEFORE_SOCKETS] = [
        inherited(*fd)?,
        inherited(i32::try_from(news).unwrap_or(-1))?,
        File::open("/proc/self/exe").map_err(failed)?.into(),
    ];
    let ask = Ask::Attach(Attach {
        layout: LAYOUT_VERSION,
        program: A::NAME.to_owned(),
        plan: A::PLAN.hash,
        bytes: [*length as u64, news_bytes],
        memory: memory::<A>()?,
        weight: *weight,
        share_process: arguments.share_process,
        silence: intake::silence::<A>(),
        at: serves.iter().map(ToString::to_string).collect(),
    });
    let files: Vec<_> = files.iter().chain(sockets).map(AsFd::as_fd).collect();
    match letter::send(connection, &ask, &files) {
        Ok(()) => Ok(true),
        Err(Errno::PIPE | Errno::CONNRESET) => Ok(false),
        Err(errno) => Err(RunError::System { what: "asking the agent", cause: errno.into() }),
    }
}

fn no_news() -> RunError {
    RunError::System { what: "news of the wire", cause: std::io::ErrorKind::InvalidInput.into() }
}

/// The sockets of the server: inherited ones, or else those of the processes at its addresses.
fn sockets(arguments: &StubArguments) -> Result<Vec<OwnedFd>, RunError> {
    let StubArguments { serves, sockets, .. } = arguments;
    let sockets: Result<Vec<_>, _> = if sockets.is_empty() {
        serves.iter().map(|at| proof::find(*at).map_err(RunError::NotAttached)).collect()
    } else {
        let inherited = sockets.iter().map(|number| map::left_file(*number));
        let failed =
            |errno: Errno| RunError::System { what: "a socket of the server", cause: errno.into() };
        inherited.map(|socket| socket.map_err(failed)).collect()
    };
    let sockets = sockets?;
    if sockets.len() > MOST_SOCKETS {
        return Err(RunError::NotAttached(format!(
            "a program is attached to {MOST_SOCKETS} sockets at most, and these are {}",
            sockets.len()
        )));
    }
    Ok(sockets)
}

/// Bytes of memory for the states of a NIC half.
fn memory<A: App>() -> Result<u64, RunError> {
    let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
    let mut app = supply.app::<A>(NicHalf::bytes)?;
    Ok((A::MEMORY + NicHalf::<A>::bytes(&mut app)) as u64)
}
