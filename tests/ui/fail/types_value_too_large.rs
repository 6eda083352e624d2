#![allow(unused)]

use cora::prelude::*;

#[state(read_mostly)]
struct Subscribers {
    all: [u64; 8_388_609],
}

impl Default for Subscribers {
    fn default() -> Self {
        Self { all: [0; 8_388_609] }
    }
}

impl Configure for Subscribers {
    fn configure(_: &str) -> Result<Self, &'static str> {
        Ok(Self::default())
    }
}

#[state(commutative)]
struct Sketches {
    packets: CountMin<8, 1_048_576>,
    bytes: Sum,
}

fn main() {}
