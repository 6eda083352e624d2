#![allow(unused)]

use cora::prelude::*;

#[every]
fn without(tick: &Tick) {}

#[every(5)]
fn number(tick: &Tick) {}

#[every("often")]
fn word(tick: &Tick) {}

#[every("1sec")]
fn alias(tick: &Tick) {}

#[every("10ms")]
fn too_often(tick: &Tick) {}

#[every("400d")]
fn too_seldom(tick: &Tick) {}

fn main() {}
