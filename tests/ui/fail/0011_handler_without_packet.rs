#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn nothing() -> Verdict {
    Transmit
}

fn main() {}
