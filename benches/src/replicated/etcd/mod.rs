//! etcd: three members as processes on the loopback, with data directories in memory.
//!
//! | module | concept |
//! | --- | --- |
//! | `proto` | what is said to it |
//! | `client` | who says it |

mod client;
mod proto;

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddrV4;
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::measured::Measured;
use super::nodes::{NODES, Room, free_ports};
use super::served::Served;
use client::Client;

/// The server, as Debian's package `etcd-server` has it.
const PROGRAM: &str = "etcd";
/// They have a leader after this time at most.
const READY: Duration = Duration::from_secs(30);

/// Says what is lacking, if it is not here.
pub(super) fn is_here() -> std::result::Result<(), String> {
    let asked = Command::new(PROGRAM).arg("--version").output();
    let is_here = asked.is_ok_and(|output| output.status.success());
    is_here.then_some(()).ok_or_else(|| {
        let lacking = "(Debian: apt-get install etcd-server), so its rows are left out";
        format!("there is no `{PROGRAM}` {lacking}")
    })
}

/// Members, and a client of the one that leads.
#[derive(Debug)]
pub(super) struct Members {
    served: Served,
    runtime: Runtime,
    client: Client,
    next: u64,
    // Behind the servers: it is removed when those have ended.
    _room: Room,
}

impl Members {
    /// Starts them, and waits until one leads.
    pub(super) fn start() -> Result<Self> {
        let room = Room::new("etcd")?;
        let ports = free_ports::<{ 2 * NODES }>()?;
        let (clients, peers) = ports.split_at(NODES);
        let mut served = Served::default();
        for (me, clients) in clients.iter().enumerate() {
            served.start(&mut member(&room, me, *clients, peers))?;
        }
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let begun = Instant::now();
        let client = loop {
            if let Some(client) = runtime.block_on(leader(clients)) {
                break client;
            }
            served.cpu()?;
            if begun.elapsed() > READY {
                return Err(Error::new(ErrorKind::TimedOut, "no member of etcd leads"));
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        Ok(Self { served, runtime, client, next: 0, _room: room })
    }

    /// Puts for so long, with so many outstanding.
    pub(super) fn turn(&mut self, window: usize, time: Duration) -> Result<Measured> {
        let Self { served, runtime, client, next, .. } = self;
        super::turn(served, time, |time| runtime.block_on(client.run(window, time, next)))
    }
}

/// The command of a member.
fn member(room: &Room, me: usize, clients: SocketAddrV4, peers: &[SocketAddrV4]) -> Command {
    let all = peers.iter().enumerate().map(|(at, peer)| format!("m{at}=http://{peer}"));
    let all = all.collect::<Vec<_>>().join(",");
    let (clients, peers) = (format!("http://{clients}"), format!("http://{}", peers[me]));
    let mut command = Command::new(PROGRAM);
    command.args(["--name", &format!("m{me}"), "--data-dir"]).arg(room.path(&format!("m{me}")));
    command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    command.args(["--initial-cluster", &all, "--initial-cluster-state", "new"]);
    command.args(["--logger", "zap", "--log-level", "error"]);
    command
}

/// A client of the member that leads.
async fn leader(members: &[SocketAddrV4]) -> Option<Client> {
    for member in members {
        let Ok(client) = Client::of(*member).await else { continue };
        if client.leads().await.unwrap_or(false) {
            return Some(client);
        }
    }
    None
}
