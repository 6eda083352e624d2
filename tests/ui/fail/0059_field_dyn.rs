#![allow(unused)]

use cora::prelude::*;

trait Policy {}

#[state(singleton)]
struct Pool {
    policy: dyn Policy,
}

fn main() {}
