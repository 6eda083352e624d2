//! The socket at which programs are attached. Anybody may come: the descriptors that come along
//! prove the addresses.

use std::fs::File;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cora_runtime::link::region::LAYOUT_VERSION;
use rustix::fs::Mode;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
    sockopt,
};

use crate::RunError;
use crate::attach::address::ServedAt;
use crate::attach::letter::{self, Ask, Attach, BEFORE_SOCKETS, Came, MOST_SOCKETS, Say};
use crate::attach::proof::{Held, Namespace};
use crate::control::socket::OwnFile;
use crate::memory::map::Mapping;
use crate::node::half::LAYOUT_AT_AGENT;
use crate::tenants::process::{Duty, Process};
use crate::tenants::program;
use crate::tenants::tenant::Brings;
use crate::tenants::worker::Worker;

/// Clients that have asked nothing yet, and how long they may take to.
const MOST_CLIENTS: usize = 32;
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 64;
/// Longest name of a program that is told.
const LONGEST_NAME: usize = 64;

/// The socket, and clients that have asked nothing yet.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    clients: Vec<(OwnedFd, Instant)>,
    rules: Rules,
    _file: OwnFile,
}

/// The namespaces that an agent believes, and the limits of a tenant.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// The network namespaces behind the ports.
    pub(super) behind: Vec<Namespace>,
    /// Most bytes of memory for the states of a tenant.
    pub(super) memory: u64,
}

/// A client's wish.
#[derive(Debug)]
pub(super) enum Wants {
    /// To be attached: its belongings, and the needs of its NIC half.
    Attach(Box<Brings>, Needs),
    /// The counts of tenants.
    Tenants(OwnedFd),
}

impl Listener {
    /// Listens at this path. Replaces a socket without a listener, but no other file.
    pub(super) fn at(path: &Path, rules: Rules) -> Result<Self, RunError> {
        let failed = |cause: std::io::Error| RunError::File { path: PathBuf::from(path), cause };
        let address = SocketAddrUnix::new(path).map_err(|errno| failed(errno.into()))?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let open = || socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let socket = open().map_err(|errno| failed(errno.into()))?;
        let is_left =
            rustix::net::connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED);
        if is_left {
            std::fs::remove_file(path).map_err(failed)?;
        }
        let socket = open().map_err(|errno| failed(errno.into()))?;
        bind(&socket, &address).map_err(|errno| failed(errno.into()))?;
        rustix::fs::chmod(path, Mode::from_raw_mode(0o666))
            .map_err(|errno| failed(errno.into()))?;
        listen(&socket, BACKLOG).map_err(|errno| failed(errno.into()))?;
        Ok(Self { socket, clients: Vec::new(), rules, _file: OwnFile::at(path) })
    }

    /// Most bytes of memory for the states of a tenant.
    pub(super) const fn memory(&self) -> u64 {
        self.rules.memory
    }

    /// The socket, which becomes readable when somebody comes.
    pub(super) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// The wishes of clients that have asked since the last call.
    pub(super) fn look(&mut self) -> Vec<Wants> {
        while self.clients.len() < MOST_CLIENTS
            && let Ok(client) =
                accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            self.clients.push((client, Instant::now()));
        }
        let mut wants = Vec::new();
        let mut waiting = Vec::new();
        for (client, since) in std::mem::take(&mut self.clients) {
            match letter::receive(&client) {
                Came::NotYet if since.elapsed() < PATIENCE => waiting.push((client, since)),
                Came::NotYet | Came::Closed => {}
                Came::Nonsense => {
                    refuse(&client, "an agent of this version does not know that".into());
                }
                Came::Packet(Ask::Tenants, _) => wants.push(Wants::Tenants(client)),
                Came::Packet(Ask::Attach(attach), files) => {
                    match self.rules.check(attach, files, &client) {
                        Ok((brings, needs)) => {
                            wants.push(Wants::Attach(Box::new(brings(client)), needs));
                        }
                        Err(why) => refuse(&client, why),
                    }
                }
            }
        }
        self.clients = waiting;
        wants
    }
}

/// Tells a client that nothing is attached. One that does not listen misses it.
pub(super) fn refuse(client: &OwnedFd, why: String) {
    let _unheard = letter::send(client, &Say::Refused { why }, &[]);
}

/// The needs of a NIC half at its beginning.
#[derive(Debug)]
pub(super) struct Needs {
    pub(super) program: File,
    pub(super) regions: OwnedFd,
    /// Bytes of regions.
    pub(super) bytes: usize,
    /// Bytes of memory for its states.
    pub(super) memory: u64,
}

impl Needs {
    /// Starts it in a process of its own.
    pub(super) fn own_process(&self) -> Result<Worker, RunError> {
        let duty = Duty::Half(self.regions.as_fd(), self.bytes);
        Process::start(&self.program, duty, self.memory).map(Worker::Own)
    }
}

/// A tenant's belongings, but for its connection.
type Checked<F> = (F, Needs);

impl Rules {
    /// Checks all that a client brings.
    fn check(
        &self,
        attach: Attach,
        files: Vec<OwnedFd>,
        client: &OwnedFd,
    ) -> Result<Checked<impl FnOnce(OwnedFd) -> Brings + use<>>, String> {
        let Attach { layout: version, program, plan, bytes, memory, weight, silence, at, .. } =
            attach;
        let shares_process = attach.share_process;
        if version != LAYOUT_VERSION {
            return Err(format!(
                "the program is of another version of Cora than the agent: its regions have layout \
                 {version}, and {LAYOUT_VERSION} is known here"
            ));
        }
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        if memory > self.memory {
            return Err(format!(
                "its states need {} MiB of memory, and a tenant here has {} MiB at most: lower a \
                 `capacity`, or let the agent's `--memory` allow it more",
                mib(memory),
                mib(self.memory)
            ));
        }
        let expected = 2 * LAYOUT_AT_AGENT.bytes() as u64;
        if bytes != [expected; 2] {
            return Err("its regions have another size than those of this version".to_owned());
        }
        let at: Vec<ServedAt> = at.iter().map(|at| at.parse()).collect::<Result<_, _>>()?;
        let mut files = files.into_iter();
        let (Some(regions), Some(news), Some(file)) = (files.next(), files.next(), files.next())
        else {
            return Err(format!("{BEFORE_SOCKETS} descriptors come first: memory, and a program"));
        };
        let at = self.proven(&files.collect::<Vec<_>>(), &at)?;
        let file = File::from(file);
        program::check(&file)?;
        let map = |file: &OwnedFd| {
            Mapping::of(file.as_fd(), expected as usize)
                .map_err(|errno| format!("its memory can't be shared: {errno}"))
        };
        let shared = [map(&regions)?, map(&news)?];
        let user = sockopt::socket_peercred(client).map_or(u32::MAX, |it| it.uid.as_raw());
        let name = told(&program);
        let brings = move |connection| Brings {
            name,
            plan,
            weight,
            shares_process,
            silence: silence.map(|every| every.max(1_000_000)),
            at,
            user,
            connection,
            memory: shared,
        };
        let needs = Needs { program: file, regions, bytes: expected as usize, memory };
        Ok((brings, needs))
    }

    /// The addresses that these sockets prove. Each that is asked for must be among them.
    fn proven(&self, sockets: &[OwnedFd], asked: &[ServedAt]) -> Result<Vec<ServedAt>, String> {
        if sockets.is_empty() || sockets.len() > MOST_SOCKETS {
            return Err(format!(
                "a program is attached to 1 to {MOST_SOCKETS} sockets, and these are {}",
                sockets.len()
            ));
        }
        let mut proven: Vec<ServedAt> = Vec::new();
        for socket in sockets {
            let held = Held::by(socket.as_fd())?;
            if !self.behind.contains(&held.namespace) {
                return Err(
                    "a socket is of a network namespace that is not behind the agent's ports: the \
                     agent's `--behind` says which ones are"
                        .to_owned(),
                );
            }
            for at in held.proves(socket.as_fd(), asked) {
                if !proven.contains(&at) {
                    proven.push(at);
                }
            }
        }
        let unproven = |at: &&ServedAt| !proven.iter().any(|it| it.endpoint() == at.endpoint());
        if let Some(at) = asked.iter().find(unproven) {
            return Err(format!("no socket that came along is bound to {at}"));
        }
        if proven.is_empty() {
            return Err(
                "the sockets are bound to all addresses: say which packets are for the program, \
                 as --serves udp:ADDRESS:PORT"
                    .to_owned(),
            );
        }
        Ok(proven)
    }
}

/// A name that can be shown.
fn told(name: &str) -> String {
    let plain = name.chars().filter(char::is_ascii_graphic);
    plain.take(LONGEST_NAME).collect()
}
