#![allow(unused)]

use cora::prelude::*;

#[state(read_mostly, durable)]
#[derive(Default)]
struct Kept {
    next: u16,
}

impl Configure for Kept {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

fn main() {}
