//! Servers' sockets on the loopback, and the programs that are attached before them.

use std::io::Result;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

use cora_attach::{Attach, Attachment};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where the servers are.
pub(super) const SERVERS: Ipv4Addr = Ipv4Addr::new(127, 9, 0, 1);

/// The servers, which never get a packet, and the runs.
#[derive(Debug)]
pub(super) struct Attached {
    runs: Vec<Attachment>,
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
        let mut sockets = Vec::new();
        for _ in 0..tenants {
            let server = UdpSocket::bind((SERVERS, 0))?;
            sockets.push((server.local_addr()?.port(), server));
        }
        sockets.sort_unstable_by_key(|(port, _)| *port);
        let [own, others] = processors()?;
        sched_setaffinity(None, &others)?;
        let mut runs = Vec::new();
        for (_, server) in &sockets {
            let attach = Attach::new(socket, program).before(server).option("--log", "off");
            let attach = if shares_process { attach.sharing_process() } else { attach };
            runs.push(attach.begin()?);
        }
        sched_setaffinity(None, &own)?;
        let (ports, sockets) = sockets.into_iter().unzip();
        Ok(Self { runs, _sockets: sockets, ports })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Together: each takes a while.
        self.runs.iter().for_each(Attachment::end);
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
            for core in rest {
                others.set(*core);
            }
        }
        // With one alone there is no choice.
        _ => return Ok([all, all]),
    }
    Ok([own, others])
}
