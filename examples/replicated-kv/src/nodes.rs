//! The three nodes, and which of them this is.

use cora::prelude::*;

use crate::wire::{Datagram, Said};

/// Nodes of a group.
pub const NODES: usize = 3;
/// Nodes that decide.
pub const MAJORITY: u32 = 2;
/// In place of a node's number.
pub const NOBODY: u8 = u8::MAX;

/// Addresses of the nodes, by number.
#[state(read_mostly)]
pub struct Nodes {
    me: u8,
    nodes: [Node; NODES],
}

/// Where a node takes datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
pub struct Node {
    address: Address,
    port: u16,
}

impl Default for Nodes {
    fn default() -> Self {
        let node = |port| Node { address: Address::v4([127, 0, 0, 1]), port };
        Self { me: 0, nodes: [node(7001), node(7002), node(7003)] }
    }
}

#[host_only]
impl Configure for Nodes {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self::default();
        let mut nodes = read.nodes.iter_mut();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once(char::is_whitespace) {
                Some(("me", number)) => {
                    read.me = number.trim().parse().map_err(|_| "`me` is 0, 1 or 2")?;
                }
                Some(("node", node)) => {
                    let node: std::net::SocketAddr =
                        node.trim().parse().map_err(|_| "no address and port")?;
                    let (address, port) = (node.ip().into(), node.port());
                    *nodes.next().ok_or("more than three nodes")? = Node { address, port };
                }
                _ => return Err("a line is `me NUMBER`, or `node ADDRESS:PORT`"),
            }
        }
        if usize::from(read.me) >= NODES {
            return Err("`me` is 0, 1 or 2");
        }
        Ok(read)
    }
}

impl Nodes {
    /// The number of this node.
    pub const fn me(&self) -> u8 {
        self.me
    }
}

/// Where and when a handler runs.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    pub group: u32,
    pub now: u64,
    pub nodes: &'a Nodes,
}

impl Here<'_> {
    /// The number of this node.
    pub const fn me(&self) -> u8 {
        self.nodes.me()
    }

    /// The bit of a node in a set of nodes.
    pub const fn bit(node: u8) -> u8 {
        1 << (node & 7)
    }

    /// The numbers of the other nodes.
    pub fn others(&self) -> impl Iterator<Item = u8> + use<> {
        let me = self.me();
        (0..NODES as u8).filter(move |node| *node != me)
    }

    /// Sends a datagram to a node; to none if there is none of this number.
    pub fn send(&self, to: u8, said: Said, out: &mut Outbox<Datagram>) -> Result<(), Reason> {
        let Some(Node { address, port }) = self.nodes.nodes.get(usize::from(to)) else {
            return Ok(());
        };
        let to = Endpoint { address: *address, port: *port, protocol: protocol::UDP };
        out.send_to(to, Datagram { group: self.group, said })
    }

    /// Sends it to both others.
    pub fn send_to_others(&self, said: Said, out: &mut Outbox<Datagram>) -> Result<(), Reason> {
        for node in self.others() {
            self.send(node, said, out)?;
        }
        Ok(())
    }

    /// For how long (ns) a node waits for a leader: so that two seldom try at the same time, each
    /// has its own time, and it varies.
    pub const fn patience(&self) -> u64 {
        let varied = ((self.now / 1_000) ^ self.group as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (150 + 60 * self.nodes.me as u64 + (varied >> 58)) * 1_000_000
    }
}
