//! # btree: look-ups in a B-tree that lies in a region
//!
//! A look-up reads a node of each level, from the root down. The nodes are at the host; under the
//! plan of this example the NIC reads copies of them, as Cell's clients do by RDMA (Mitchell et
//! al., ATC 2016). A run's reads are of one moment, so no look-up sees half a change of the tree.
//!
//! Try it:  `cargo cora run btree --messages udp:127.0.0.1:7001`, and load it as the `README.md`
//! says.
//!
//! Expect:  look-ups on the NIC, loads at the host.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Keys of a node: with its children they are about 512 bytes, which one read brings.
const KEYS: usize = 31;
/// Nodes of a tree.
const NODES: u32 = 1 << 17;
/// Levels of a tree: with 17 children of each node these are more nodes than there are.
const LEVELS: u32 = 5;
/// The number of the root.
const ROOT: u32 = 0;

/// A question.
#[message(udp, port = 7001)]
#[expect(clippy::large_enum_variant, reason = "nobody stores it: a handler takes it by reference")]
enum Ask {
    /// The value of a key.
    Find { key: u64 },
    /// A node is this one from now on. The root comes last.
    Load { number: u32, node: Content },
}

#[message(udp)]
enum Answer {
    Is {
        value: u64,
    },
    Nothing,
    /// The node with this number is loaded.
    Loaded {
        number: u32,
    },
    /// This is no node, or you may load none.
    Refused,
}

/// A sorted list of keys. In a leaf each has its value, and otherwise child `i` has the keys from
/// `keys[i - 1]` on and below `keys[i]`.
#[derive(Plain, Clone, Copy, PartialEq, Eq, Debug)]
struct Content {
    is_leaf: bool,
    count: u8,
    keys: [u64; KEYS],
    /// Values, or the numbers of children.
    of: [u64; KEYS + 1],
}

/// A node of the tree.
#[state(region, length = NODES)]
struct Node {
    content: Content,
}

/// Who may load nodes: nobody else.
#[state(read_mostly)]
struct Loader {
    address: Address,
}

impl Default for Loader {
    fn default() -> Self {
        Self { address: Address::v4([127, 0, 0, 1]) }
    }
}

#[host_only]
impl Configure for Loader {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let address = text.trim().parse::<std::net::IpAddr>();
        let address = address.map_err(|_| "the file has the loader's address, as in 10.0.0.7")?;
        Ok(Self { address: address.into() })
    }
}

impl Content {
    /// How many keys are not above `key`.
    fn rank(&self, key: u64) -> usize {
        self.keys.iter().take(self.count.into()).filter(|it| **it <= key).count()
    }

    /// Whether it can be a node: its keys are in order, and its children are behind it, so that no
    /// look-up runs in circles.
    fn is_sound(&self, number: u32) -> bool {
        let count = usize::from(self.count);
        let Some(keys) = self.keys.get(..count) else { return false };
        let in_order = keys.windows(2).all(|pair| pair[0] < pair[1]);
        let mut children = self.of.iter().take(count + 1);
        let is_behind = |child: &u64| *child > number.into() && *child < NODES.into();
        in_order && (self.is_leaf || children.all(is_behind))
    }
}

/// Answers a question.
#[flow_handler]
fn btree(
    ask: &Ask,
    nodes: &mut Region<Node>,
    loader: &Loader,
    envelope: &Envelope,
    answers: &mut Outbox<Answer>,
) -> Verdict {
    match ask {
        Ask::Find { key } => {
            let mut node = &nodes.read(ROOT)?.content;
            for _ in 1..LEVELS {
                if node.is_leaf {
                    break;
                }
                let child = node.of.get(node.rank(*key)).copied().unwrap_or_default();
                node = &nodes.read(child as u32)?.content;
            }
            let place = node.rank(*key).wrapping_sub(1);
            let found = node.is_leaf && node.keys.get(place) == Some(key);
            let value = node.of.get(place).filter(|_| found);
            answers.reply(value.map_or(Answer::Nothing, |value| Answer::Is { value: *value }))?;
        }
        Ask::Load { number, node } => {
            let may_load = envelope.asker().endpoint().address == loader.address;
            if may_load && *number < NODES && node.is_sound(*number) {
                nodes.write(*number, Node { content: *node })?;
                answers.reply(Answer::Loaded { number: *number })?;
            } else {
                answers.reply(Answer::Refused)?;
            }
        }
    }
    Done
}

cora::app!(btree);

#[cfg(test)]
mod tests;
