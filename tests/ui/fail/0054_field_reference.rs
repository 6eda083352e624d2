#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    name: &'static str,
}

fn main() {}
