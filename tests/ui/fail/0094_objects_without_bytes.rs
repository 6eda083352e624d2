#![allow(unused)]

use cora::prelude::*;

#[state(objects, capacity = 1_000, idle = "1h")]
struct Node {
    next: Id<Node>,
}

fn main() {}
