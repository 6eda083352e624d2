#![allow(unused)]

use cora::prelude::*;

#[message]
struct Ask<T> {
    row: T,
}

fn main() {}
