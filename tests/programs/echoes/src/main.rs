//! # echoes: answers each question after as much work as it asks for
//!
//! To test, not to copy: many of them share an agent. A question without work that ends is a packet
//! of which its half hangs.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// A question, and the rounds of work before its answer. All else is for the server.
#[message(udp, parse)]
struct Ask {
    #[key]
    number: u64,
    rounds: u32,
}

impl Parse for Ask {
    fn parse(datagram: &[u8]) -> Result<Self, Reason> {
        let Some((number, rounds)) = datagram.split_first_chunk() else { return Err(Malformed) };
        let Ok(rounds) = rounds.try_into() else { return Err(Malformed) };
        Ok(Self { number: u64::from_le_bytes(*number), rounds: u32::from_le_bytes(rounds) })
    }
}

impl Compose for Ask {
    fn compose(&self, out: &mut Text<'_, '_>) {
        out.put(&self.number.to_le_bytes()).put(&self.rounds.to_le_bytes());
    }
}

/// The answer: the result of the work.
#[message(udp)]
struct Answer {
    number: u64,
    mixed: u64,
}

#[state(commutative)]
struct Counts {
    asked: Sum,
}

/// Set by an operator: each answer is mixed with it.
#[state(read_mostly)]
#[derive(Default)]
struct Salt {
    value: u64,
}

#[host_only]
impl Configure for Salt {
    fn configure(text: &str) -> Result<Self, &'static str> {
        text.trim().parse().map(|value| Self { value }).map_err(|_| "a salt is a number")
    }
}

/// Work that nobody can leave out.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value ^ (value >> 27)
}

#[flow_handler]
fn answer(ask: Ask, salt: &Salt, counts: &mut Counts, answers: &mut Outbox<Answer>) -> Verdict {
    counts.asked.add(1);
    let mut mixed = ask.number ^ salt.value;
    for _ in 0..ask.rounds {
        mixed = mix(mixed);
    }
    answers.reply(Answer { number: ask.number, mixed })?;
    Done
}

cora::app!(answer);
