#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
struct Pair<T> {
    a: T,
    b: T,
}

fn main() {}
