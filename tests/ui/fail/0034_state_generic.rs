#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool<T, const N: usize> {
    free: [T; N],
}

fn main() {}
