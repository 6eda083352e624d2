//! To test: per shelf a sorted list of names with values of any length, in objects: the skip list
//! of a log-structured merge tree's memtable. A message changes or reads it, and a shelf moves with
//! its whole content.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Lists above each other: each has a quarter of the names of the one below.
const LEVELS: usize = 4;

type Name = Bytes<24>;
type Value = Bytes<400>;

/// A question to a shelf.
#[message(udp)]
struct Ask {
    #[key]
    shelf: u32,
    step: Step,
}

/// The kinds of questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Plain)]
#[expect(clippy::large_enum_variant, reason = "plain data has one size")]
enum Step {
    Put {
        name: Name,
        value: Value,
    },
    Get {
        name: Name,
    },
    Take {
        name: Name,
    },
    /// Appends the value of the second name to the value of the first.
    Join {
        name: Name,
        other: Name,
    },
    /// This name, or the next one in the order of the list.
    Next {
        name: Name,
    },
    Empty,
}

/// The answer.
#[message(udp)]
#[derive(PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "plain data has one size")]
enum Answer {
    Is { name: Name, value: Value },
    Nothing,
    Stored,
    Gone { names: u32 },
}

/// A shelf: the first node at each level, and the number of nodes.
#[state(key = u32, capacity = 1_024, idle = "1h")]
struct Shelf {
    first: [Id<Node>; LEVELS],
    names: u32,
}

/// The head of a node; name and value stand behind it.
#[state(objects, bytes = "16 MiB", capacity = 1_024, idle = "1h")]
struct Node {
    next: [Id<Self>; LEVELS],
    levels: u8,
    name: u8,
}

/// The node behind another one, or the first one.
fn next(shelf: &Shelf, nodes: &Objects<Node>, at: Id<Node>, level: usize) -> Id<Node> {
    if at.is_none() {
        return shelf.first[level];
    }
    nodes.get(at).map_or(Id::NONE, |node| node.head.next[level])
}

/// The name of a node.
fn name_of(node: &Object<Node>) -> &[u8] {
    node.bytes.get(..usize::from(node.head.name)).unwrap_or_default()
}

/// The last node before a name, at each level.
fn before(shelf: &Shelf, nodes: &Objects<Node>, name: &[u8]) -> [Id<Node>; LEVELS] {
    let mut path = [Id::NONE; LEVELS];
    let mut at = Id::NONE;
    for level in (0..LEVELS).rev() {
        loop {
            let behind = next(shelf, nodes, at, level);
            match nodes.get(behind) {
                Some(node) if name_of(node) < name => at = behind,
                _ => break,
            }
        }
        path[level] = at;
    }
    path
}

/// The node with this name behind the path to it.
fn found(
    shelf: &Shelf,
    nodes: &Objects<Node>,
    path: &[Id<Node>; LEVELS],
    name: &[u8],
) -> Option<Id<Node>> {
    let id = next(shelf, nodes, path[0], 0);
    nodes.get(id).filter(|node| name_of(node) == name).map(|_| id)
}

/// Lets each node of a path be followed by another one.
fn link(
    shelf: &mut Shelf,
    nodes: &mut Objects<Node>,
    path: &[Id<Node>; LEVELS],
    level: usize,
    to: Id<Node>,
) {
    if path[level].is_none() {
        shelf.first[level] = to;
    } else if let Some(node) = nodes.get_mut(path[level]) {
        node.head.next[level] = to;
    }
}

/// Number of a node's levels, a function of its name.
fn levels_of(name: &[u8]) -> u8 {
    let hash =
        name.iter().fold(7_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    1 + ((hash >> 7).trailing_zeros() / 2).min(LEVELS as u32 - 1) as u8
}

/// Removes a node, and returns whether it was there.
fn take(shelf: &mut Shelf, nodes: &mut Objects<Node>, name: &[u8]) -> bool {
    let path = before(shelf, nodes, name);
    let Some(id) = found(shelf, nodes, &path, name) else { return false };
    let Some(head) = nodes.remove(id) else { return false };
    for level in 0..usize::from(head.levels) {
        link(shelf, nodes, &path, level, head.next[level]);
    }
    shelf.names -= 1;
    true
}

/// Inserts a node with room for a value, in the place of one with this name.
fn put(
    shelf: &mut Shelf,
    nodes: &mut Objects<Node>,
    name: &[u8],
    length: usize,
) -> Result<Id<Node>, ObjectError> {
    take(shelf, nodes, name);
    let path = before(shelf, nodes, name);
    let mut head =
        Node { next: [Id::NONE; LEVELS], levels: levels_of(name), name: name.len() as u8 };
    for (level, behind) in head.next.iter_mut().enumerate().take(usize::from(head.levels)) {
        *behind = next(shelf, nodes, path[level], level);
    }
    let id = nodes.insert(head, name.len() + length)?;
    if let Some(node) = nodes.get_mut(id) {
        node.bytes[..name.len()].copy_from_slice(name);
    }
    for level in 0..usize::from(head.levels) {
        link(shelf, nodes, &path, level, id);
    }
    shelf.names += 1;
    Ok(id)
}

/// A node as an answer; only the beginning of a long value.
fn answer(node: &Object<Node>) -> Result<Answer, Reason> {
    let name = name_of(node);
    let value = node.bytes.get(name.len()..).unwrap_or_default();
    let value = value.get(..value.len().min(400)).unwrap_or_default();
    Ok(Answer::Is { name: Name::of(name)?, value: Value::of(value)? })
}

/// Keeps a shelf.
#[flow_handler]
fn keep(
    ask: Ask,
    shelves: &mut Table<Shelf>,
    nodes: &mut Objects<Node>,
    answers: &mut Outbox<Answer>,
) -> Verdict {
    let shelf = shelves.get_or_insert(ask.shelf, Shelf { first: [Id::NONE; LEVELS], names: 0 })?;
    let said = match ask.step {
        Step::Put { name, value } => {
            let id = put(shelf, nodes, &name, value.len())?;
            if let Some(node) = nodes.get_mut(id) {
                node.bytes[name.len()..].copy_from_slice(&value);
            }
            Answer::Stored
        }
        Step::Get { name } => {
            let path = before(shelf, nodes, &name);
            match found(shelf, nodes, &path, &name).and_then(|id| nodes.get(id)) {
                Some(node) => answer(node)?,
                None => Answer::Nothing,
            }
        }
        Step::Take { name } => {
            if take(shelf, nodes, &name) {
                Answer::Stored
            } else {
                Answer::Nothing
            }
        }
        Step::Join { name, other } => {
            let one = before(shelf, nodes, &name);
            let two = before(shelf, nodes, &other);
            let one = found(shelf, nodes, &one, &name);
            let two = found(shelf, nodes, &two, &other).filter(|two| Some(*two) != one);
            match (one, two) {
                (Some(one), Some(two)) => {
                    let length = |id| nodes.get(id).map_or(0, |node| node.bytes.len());
                    let (first, second) = (length(one), length(two));
                    let values = first - name.len() + second - other.len();
                    // The old values stay until both are copied.
                    let held = nodes
                        .insert(Node { next: [Id::NONE; LEVELS], levels: 0, name: 0 }, values)?;
                    nodes.copy(one, name.len()..first, held, 0)?;
                    nodes.copy(two, other.len()..second, held, first - name.len())?;
                    let id = put(shelf, nodes, &name, values)?;
                    nodes.copy(held, 0..values, id, name.len())?;
                    nodes.remove(held);
                    Answer::Stored
                }
                _ => Answer::Nothing,
            }
        }
        Step::Next { name } => {
            let path = before(shelf, nodes, &name);
            match nodes.get(next(shelf, nodes, path[0], 0)) {
                Some(node) => answer(node)?,
                None => Answer::Nothing,
            }
        }
        Step::Empty => {
            let names = shelf.names;
            nodes.clear();
            *shelf = Shelf { first: [Id::NONE; LEVELS], names: 0 };
            Answer::Gone { names }
        }
    };
    answers.reply(said)?;
    Done
}

cora::app!(keep);
