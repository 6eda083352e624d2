//! # alarms: messages that are due later
//!
//! To test, not to copy. An alarm rings once or at intervals, in a datagram to the sender of the
//! datagram that set it. Each tenth ring is told in words, too, by a handler of the host.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use core::time::Duration;

use cora::prelude::*;

/// Sets an alarm.
#[message(udp)]
struct Set {
    #[key]
    id: u32,
    /// Milliseconds from one ring to the next.
    every: u32,
    times: u16,
}

/// It is time for an alarm to ring.
#[message]
struct Due {
    #[key]
    id: u32,
    every: u32,
    /// How often it rang, and rings in all.
    rang: u16,
    times: u16,
}

/// An alarm rings.
#[message(udp)]
struct Ring {
    id: u32,
    rang: u16,
    at: u64,
}

/// To be told in words.
#[message]
struct Tell {
    id: u32,
    rang: u16,
}

/// In words.
#[message(udp)]
struct Words {
    text: Bytes<40>,
}

/// How often an alarm was set, and rang.
#[state(key = u32, capacity = 4096, idle = "never")]
struct Alarm {
    set: u32,
    rang: u32,
}

#[flow_handler]
fn set(set: Set, alarms: &mut Table<Alarm>, dues: &mut Outbox<Due>) -> Verdict {
    let Set { id, every, times } = set;
    alarms.get_or_insert(id, Alarm { set: 0, rang: 0 })?.set += 1;
    dues.after(Duration::from_millis(every.into()), Due { id, every, rang: 0, times })?;
    Done
}

#[flow_handler]
fn ring(
    due: Due,
    envelope: &Envelope,
    alarms: &mut Table<Alarm>,
    dues: &mut Outbox<Due>,
    rings: &mut Outbox<Ring>,
    tells: &mut Outbox<Tell>,
) -> Verdict {
    alarms.get_or_insert(due.id, Alarm { set: 0, rang: 0 })?.rang += 1;
    let rang = due.rang + 1;
    rings.reply(Ring { id: due.id, rang, at: envelope.now() })?;
    if rang.is_multiple_of(10) {
        tells.send(Tell { id: due.id, rang })?;
    }
    if rang < due.times {
        dues.after(Duration::from_millis(due.every.into()), Due { rang, ..due })?;
    }
    Done
}

#[flow_handler(at = host)]
fn tell(tell: Tell, words: &mut Outbox<Words>) -> Verdict {
    let text = format!("alarm {} rang {} times", tell.id, tell.rang);
    words.reply(Words { text: Bytes::of(text.as_bytes())? })?;
    Done
}

cora::app!(set, ring, tell);
