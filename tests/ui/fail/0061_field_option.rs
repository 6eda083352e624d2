#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    last: Option<u16>,
}

fn main() {}
