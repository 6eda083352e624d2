//! The example's three nodes, as processes on the loopback.

use std::fs;
use std::io::{Error, Result};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::served::Served;

/// Nodes.
pub(super) const NODES: usize = 3;
/// The example.
const PROGRAM: &str = "replicated-kv";

/// A new directory in memory, removed when dropped: for captures, configurations, tables.
#[derive(Debug)]
pub(super) struct Room(PathBuf);

impl Room {
    /// With this name, which nothing else in this process has.
    pub(super) fn new(name: &str) -> Result<Self> {
        let memory = Path::new("/dev/shm");
        let below = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let room = Self(below.join(format!("cora-bench-{name}-{}", std::process::id())));
        fs::create_dir_all(&room.0)?;
        Ok(room)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _was_there = fs::remove_dir_all(&self.0);
    }
}

/// Ports of the loopback that are free now.
pub(super) fn free_ports<const N: usize>() -> Result<[SocketAddrV4; N]> {
    let mut held = Vec::new();
    let mut ports = [SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0); N];
    for port in &mut ports {
        let socket = UdpSocket::bind(*port)?;
        port.set_port(socket.local_addr()?.port());
        held.push(socket);
    }
    Ok(ports)
}

/// Writes the configuration of each node; returns their files.
pub(super) fn configurations(room: &Room, nodes: &[SocketAddrV4; NODES]) -> Result<Vec<PathBuf>> {
    let write = |me: usize| {
        let file = room.path(&format!("node{me}.txt"));
        let mut lines = vec![format!("me {me}")];
        lines.extend(nodes.iter().map(|node| format!("node {node}")));
        fs::write(&file, lines.join("\n")).map(|()| file)
    };
    (0..NODES).map(write).collect()
}

/// The program in this directory.
pub(super) fn program(directory: &Path) -> Result<PathBuf> {
    let program = directory.join(PROGRAM);
    let missing = || Error::other(format!("{} is missing", program.display()));
    program.is_file().then_some(&program).cloned().ok_or_else(missing)
}

/// Starts the nodes; their tables are in `room`.
pub(super) fn start(program: &Path, room: &Room, nodes: &[SocketAddrV4; NODES]) -> Result<Served> {
    let mut served = Served::default();
    for (me, file) in configurations(room, nodes)?.iter().enumerate() {
        let mut node = Command::new(program);
        node.args(["run", "--nic", "native", "--messages", &format!("udp:{}", nodes[me])]);
        node.arg("--config").arg(format!("Nodes={}", file.display()));
        node.env("REPLICATED_KV_TABLES", room.path(&format!("tables{me}")));
        served.start(&mut node)?;
    }
    Ok(served)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_a_file_of_its_own_and_the_room_is_removed() {
        let room = Room::new("files").expect("a directory");
        let nodes = free_ports().expect("ports");
        let files = configurations(&room, &nodes).expect("files");
        let text = fs::read_to_string(&files[2]).expect("it is there");
        let [a, b, c] = nodes;
        assert_eq!(text, format!("me 2\nnode {a}\nnode {b}\nnode {c}"));
        assert!(a != b && b != c && a != c);
        drop(room);
        assert!(!files[2].exists());
    }
}
