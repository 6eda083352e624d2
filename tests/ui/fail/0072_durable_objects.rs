#![allow(unused)]

use cora::prelude::*;

#[state(objects, bytes = "32 MiB", capacity = 1_000, idle = "1h", durable)]
struct Node {
    next: Id<Node>,
}

fn main() {}
