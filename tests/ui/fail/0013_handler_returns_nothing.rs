#![allow(unused)]

use cora::prelude::*;

#[flow_handler]
fn silent(packet: &mut Packet) {}

fn main() {}
