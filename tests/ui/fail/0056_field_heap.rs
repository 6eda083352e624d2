#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    free: Vec<u16>,
    name: String,
    first: std::sync::Arc<u16>,
}

fn main() {}
