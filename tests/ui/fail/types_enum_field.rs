#![allow(unused)]

use cora::prelude::*;

#[derive(Clone, Copy, Plain)]
enum Action {
    Accept,
    Limit { to: Option<u32> },
}

#[derive(Clone, Copy)]
struct Amount(u32);

#[derive(Clone, Copy, Plain)]
enum Event {
    Ended,
    Grant(Amount),
}

fn main() {}
