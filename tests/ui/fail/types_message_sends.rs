//! What is sent has somebody who takes it, or a wire form.

use cora::prelude::*;

#[message]
struct Inside {
    #[key]
    row: u64,
}

#[message(udp)]
struct Ask {
    #[key]
    row: u64,
}

#[message(udp, parse)]
struct Own {
    row: u64,
}

struct Nothing {
    row: u64,
}

#[flow_handler]
fn ask(ask: Ask, insides: &mut Outbox<Inside>, answers: &mut Outbox<Own>) -> Verdict {
    insides.send(Inside { row: ask.row })?;
    insides.reply(Inside { row: ask.row })?;
    answers.send(Own { row: ask.row })?;
    Done
}

#[flow_handler]
fn nothing(nothing: Nothing) -> Verdict {
    Done
}

fn main() {}
