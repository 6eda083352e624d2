//! Clients of the test: each does one thing at a time, asks again, and notes the answers.

use std::collections::BTreeMap;

use super::machine;
use super::{Draw, MILLISECOND, TROUBLED};
use crate::history::{Deed, Event};
use crate::nodes::NODES;
use crate::wire::{Answer, Command, Name, Operation, Said, Told, Value};

pub(super) const CLIENTS: usize = 5;
/// Names that clients write.
const NAMES: u64 = 30;
/// After how long a client asks again (ns).
const AGAIN: u64 = 90 * MILLISECOND;

pub(super) struct Client {
    number: usize,
    node: usize,
    asked: u64,
    /// The open command, and its start.
    open: Option<(Command, u64)>,
    /// When it does the next thing.
    next: u64,
    pub(super) events: Vec<Event>,
}

impl Client {
    pub(super) fn new(number: usize) -> Self {
        Self { number, node: number % NODES, asked: 0, open: None, next: 0, events: Vec::new() }
    }

    pub(super) fn waits(&self) -> bool {
        self.open.is_some()
    }

    /// The datagram that it sends now, and when it looks again.
    pub(super) fn asks(&mut self, now: u64, draw: &mut Draw) -> (Option<Vec<u8>>, u64) {
        if self.open.is_none() {
            if now < self.next {
                return (None, self.next);
            }
            if now > TROUBLED + 1_000 * MILLISECOND {
                return (None, now + AGAIN);
            }
            self.asked += 1;
            let client = self.number as u64 + 1;
            let operation = operation(client, self.asked, draw);
            self.open = Some((Command { client, number: self.asked, operation }, now));
        } else if draw.happens(500) {
            // Its node may be dead.
            self.node = draw.below(NODES as u64) as usize;
        }
        let Some((command, _)) = self.open else { return (None, now + AGAIN) };
        let ends = (machine::client(self.number), machine::node(self.node));
        (Some(machine::datagram(ends.0, ends.1, Said::Request { command })), now + AGAIN)
    }

    /// An answer comes.
    pub(super) fn hears(
        &mut self,
        now: u64,
        answer: &Answer,
        written: &mut BTreeMap<(u64, u64), u64>,
        found: &mut Option<String>,
    ) {
        let Some((command, start)) = self.open else { return };
        if answer.number != command.number {
            return;
        }
        let (name, deed) = match (command.operation, answer.said) {
            (_, Told::Elsewhere { leader }) => {
                self.node = usize::from(leader) % NODES;
                return;
            }
            (_, Told::Busy) | (Operation::Nothing, _) => return,
            (Operation::Get { name }, Told::Is { value }) => {
                (name, Deed::Read(Some(value.to_vec())))
            }
            (Operation::Get { name }, Told::Nothing) => (name, Deed::Read(None)),
            (Operation::Put { name, value }, Told::Stored { .. }) => {
                (name, Deed::Wrote(Some(value.to_vec())))
            }
            (Operation::Delete { name }, Told::Stored { .. }) => (name, Deed::Wrote(None)),
            (operation, said) => {
                *found = Some(format!("{said:?} is no answer to {operation:?}"));
                return;
            }
        };
        if let Told::Stored { slot } = answer.said
            && written.get(&(command.client, command.number)) != Some(&slot)
        {
            *found = Some(format!("{command:?} is told as of slot {slot}, which is not its first"));
        }
        self.events.push(Event { name: name.to_vec(), start, end: Some(now), deed });
        (self.open, self.next) = (None, now + self.number as u64 * 3 * MILLISECOND);
    }
}

/// A client's next operation.
fn operation(client: u64, number: u64, draw: &mut Draw) -> Operation {
    let name = format!("n{}", draw.below(NAMES));
    let name = Name::of(name.as_bytes()).expect("it is short");
    match draw.below(10) {
        0..4 => Operation::Get { name },
        4..9 => {
            let value = format!("{client}:{number}:{}", "x".repeat(draw.below(60) as usize));
            Operation::Put { name, value: Value::of(value.as_bytes()).expect("it is short") }
        }
        _ => Operation::Delete { name },
    }
}
