#![allow(unused)]

use cora::prelude::*;

#[state(objects, key = u64, bytes = "32 MiB", capacity = 1_000, idle = "1h")]
struct Node {
    next: Id<Node>,
}

fn main() {}
