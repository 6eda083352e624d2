#![allow(unused)]

use cora::prelude::*;

#[message]
struct Two {
    #[key]
    row: u64,
    #[key]
    column: u64,
}

#[message(key = One)]
struct Both {
    #[key]
    row: u64,
}

#[message]
enum Some {
    Read { #[key] row: u64 },
    Sync { since: u64 },
}

#[message]
enum Mixed {
    Read { #[key] row: u64 },
    Sync { #[key] since: u32 },
}

fn main() {}
