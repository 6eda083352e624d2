#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    next: u16,
    #[cfg(target_os = "linux")]
    queue: u16,
}

fn main() {}
