#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
enum Action {
    Accept,
    Limit(u32),
}

fn main() {}
