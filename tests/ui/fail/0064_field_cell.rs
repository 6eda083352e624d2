#![allow(unused)]

use cora::prelude::*;

#[state(singleton)]
struct Pool {
    next: core::cell::Cell<u16>,
    seen: core::sync::atomic::AtomicU64,
}

fn main() {}
