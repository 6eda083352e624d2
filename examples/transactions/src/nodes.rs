//! Which node has a row.

use cora::prelude::*;

/// Most nodes.
const MOST: usize = 16;

/// The nodes: a row is at the one with the number `row % nodes`. Without a list this node is alone.
#[state(read_mostly)]
pub struct Nodes {
    nodes: [Node; MOST],
    count: u8,
    own: u8,
}

/// The address of a node's socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
struct Node {
    address: Address,
    port: u16,
}

impl Default for Nodes {
    fn default() -> Self {
        let node = Node { address: Address::v4([127, 0, 0, 1]), port: 7000 };
        Self { nodes: [node; MOST], count: 1, own: 0 }
    }
}

impl Nodes {
    /// The other node that has the row; `None` if it is here.
    pub fn other(&self, row: u64) -> Option<Endpoint> {
        let number = row.checked_rem(self.count.into()).unwrap_or(0);
        if number == u64::from(self.own) {
            return None;
        }
        let Node { address, port } = *self.nodes.get(number as usize)?;
        Some(Endpoint { address, port, protocol: protocol::UDP })
    }
}

#[host_only]
impl Configure for Nodes {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut read = Self { count: 0, ..Self::default() };
        let mut own = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (word, node) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let node: std::net::SocketAddr =
                node.trim().parse().map_err(|_| "a line is `node ADDRESS:PORT`, or `own …`")?;
            let place = read.nodes.get_mut(usize::from(read.count)).ok_or("more than 16 nodes")?;
            *place = Node { address: node.ip().into(), port: node.port() };
            match word {
                "own" if own.is_some() => return Err("two lines say `own`"),
                "own" => own = Some(read.count),
                "node" => {}
                _ => return Err("a line begins with `node` or `own`"),
            }
            read.count += 1;
        }
        read.own = own.ok_or("one line says `own`: the node that gets this list")?;
        Ok(read)
    }
}
