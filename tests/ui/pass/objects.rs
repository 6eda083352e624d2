//! Objects: heads with ids of each other and of entries, and all that handlers do with them.

use cora::prelude::*;

#[message(udp)]
struct Ask {
    #[key]
    group: u32,
    name: Bytes<20>,
}

#[state(key = u32, capacity = 1_024, idle = "1h")]
struct Group {
    first: Id<Node>,
    all: [Id<Node>; 2],
}

const GROUPS: usize = 1 << 10;

#[state(objects, bytes = "4 MiB", capacity = GROUPS, idle = "never")]
#[derive(Debug, PartialEq)]
struct Node {
    next: [Id<Node>; 3],
    of: Id<Node>,
}

fn first<'a>(nodes: &'a Objects<Node>, group: &Group) -> Option<&'a Object<Node>> {
    nodes.get(group.first)
}

#[flow_handler]
fn put(ask: Ask, groups: &mut Table<Group>, nodes: &mut Objects<Node>) -> Verdict {
    let group =
        groups.get_or_insert(ask.group, Group { first: Id::NONE, all: [Id::default(); 2] })?;
    let head = Node { next: [Id::NONE; 3], of: Id::NONE };
    let one = nodes.insert(head, 20)?;
    let two = nodes.insert_with(head, &ask.name)?;
    nodes.copy(two, 0..ask.name.len(), one, 0)?;
    nodes.copy(one, 0..4, one, 2)?;
    if let Some(node) = nodes.get_mut(one) {
        node.head.next[0] = group.first;
        node.bytes[0] = 1;
    }
    group.first = one;
    group.all = [one, two];
    assert_eq!(first(nodes, group).map(|node| node.bytes.len()), Some(20));
    if nodes.len() > 100 {
        nodes.clear();
    }
    let removed: Option<Node> = nodes.remove(two);
    let told: Result<(), ObjectError> = nodes.copy(two, 0..1, one, 0);
    if removed.is_none() || told.is_ok() || nodes.is_empty() || two.is_none() {
        return Drop(reasons::NoSuchObject);
    }
    Done
}

fn main() {}
