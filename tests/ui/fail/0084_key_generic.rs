#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Key)]
struct Pair<T> {
    a: T,
    b: T,
}

fn main() {}
