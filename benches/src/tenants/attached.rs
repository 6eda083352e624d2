//! Servers' sockets on the loopback, and the programs that are attached before them.

use std::io::Result;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where the servers are.
pub(super) const SERVERS: Ipv4Addr = Ipv4Addr::new(127, 9, 0, 1);

/// The servers, which never get a packet, and the runs.
#[derive(Debug)]
pub(super) struct Attached {
    runs: Vec<Child>,
    _sockets: Vec<UdpSocket>,
    /// The servers' ports.
    pub(super) ports: Vec<u16>,
}

impl Attached {
    /// Attaches so many programs. Their supervisors don't run where this thread does.
    pub(super) fn all(
        program: &Path,
        socket: &Path,
        tenants: usize,
        shares_process: bool,
    ) -> Result<Self> {
        let sockets: Vec<_> =
            (0..tenants).map(|_| UdpSocket::bind((SERVERS, 0))).collect::<Result<_>>()?;
        let mut ports = Vec::new();
        for socket in &sockets {
            ports.push(socket.local_addr()?.port());
        }
        ports.sort_unstable();
        let [own, others] = processors()?;
        sched_setaffinity(None, &others)?;
        let mut runs = Vec::new();
        for port in &ports {
            let mut command = Command::new(program);
            command.args(["run", "--agent"]).arg(socket);
            command.args(["--serves", &format!("udp:{SERVERS}:{port}"), "--log", "error"]);
            if shares_process {
                command.arg("--share-process");
            }
            let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
            runs.push(quiet.spawn()?);
        }
        sched_setaffinity(None, &own)?;
        Ok(Self { runs, _sockets: sockets, ports })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for run in &mut self.runs {
            // The agent is gone with the measurement, so nobody waits for an orderly end.
            let _ended = kill_process(Pid::from_child(run), Signal::KILL);
            let _status = run.wait();
        }
    }
}

/// A processor for agent and tenants, and the others.
fn processors() -> Result<[CpuSet; 2]> {
    static ALL: std::sync::OnceLock<CpuSet> = std::sync::OnceLock::new();
    let now = sched_getaffinity(None)?;
    let all = *ALL.get_or_init(|| now);
    let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
    let (mut own, mut others) = (CpuSet::new(), CpuSet::new());
    match there.split_last() {
        Some((last, rest @ [_, ..])) => {
            own.set(*last);
            rest.iter().for_each(|core| others.set(*core));
        }
        // With one alone there is no choice.
        _ => return Ok([all, all]),
    }
    Ok([own, others])
}
