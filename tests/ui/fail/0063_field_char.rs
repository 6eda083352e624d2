#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    letter: char,
}

fn main() {}
