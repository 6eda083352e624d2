//! # dns-guard: only answers that somebody asked for
//!
//! A UDP answer of the DNS passes if a host inside asked the same server, from the same port, with
//! the same identifier and name. Each host may ask at a rate, and names of a list are refused: the
//! question comes back as NXDOMAIN, or is dropped. All else passes, DNS over TCP included.
//!
//! Try it:  `cargo cora run dns-guard --nic native --in some.pcap --config Limit=limits.csv
//! --config Blocked=blocked.csv`
//!
//! where limits.csv says `prefix, per_second, burst` and below it `10.0.0.0/8, 50, 200`, and
//! blocked.csv `name` and below it one domain a line, which covers all names in it. Without them no
//! host is limited, and no name refused.
//!
//! Expect:  open questions and rates travel with their inside host; both sides have the two files.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

mod message;
mod question;
#[cfg(test)]
mod tests;

use message::{DNS, Message, Name};
use question::{Question, is_with_server};

const SECOND: u64 = 1_000_000_000;

const BLOCKED: Reason = Reason::new("blocked-name");
const OVER_RATE: Reason = Reason::new("over-rate");
const UNASKED: Reason = Reason::new("unasked");

/// A question without an answer.
#[state(key = Question, within = InsideAddress, capacity = 1 << 18, idle = "10s")]
struct Asked {
    /// Answers that may come: the host may have asked again.
    times: u16,
}

/// A host that asks.
#[state(key = InsideAddress, capacity = 1 << 18, idle = "10m")]
struct Asker {
    questions: u64,
    /// When its questions so far are paid for (ns).
    paid_at: u64,
}

/// How often the hosts of a prefix may ask.
#[state(prefixes, capacity = 1 << 16)]
struct Limit {
    per_second: u32,
    burst: u32,
}

/// A domain whose names are refused.
#[state(map, key = Name, capacity = 1 << 20)]
#[derive(Default)]
struct Blocked {
    /// Its questions are dropped; others are answered.
    silent: bool,
}

#[state(commutative)]
struct Counts {
    questions: Sum,
    answers: Sum,
    blocked: Sum,
    unasked: Sum,
}

impl Asker {
    /// One more question, if a limit allows it.
    fn ask(&mut self, limit: Option<&Limit>, now: u64) -> Result<(), Reason> {
        if let Some(limit) = limit {
            // A rate of zero allows none.
            let price = SECOND.checked_div(u64::from(limit.per_second)).ok_or(OVER_RATE)?;
            let credit = price * u64::from(limit.burst.saturating_sub(1));
            if self.paid_at > now.saturating_add(credit) {
                return Err(OVER_RATE);
            }
            self.paid_at = self.paid_at.max(now) + price;
        }
        self.questions += 1;
        Ok(())
    }
}

#[flow_handler]
fn guard(
    packet: &mut Packet,
    questions: &mut Table<Asked>,
    askers: &mut Table<Asker>,
    limits: &Prefixes<Limit>,
    blocked: &Map<Blocked>,
    counts: &mut Counts,
) -> Verdict {
    // A fragment may be a part of a forged answer: dropped, as all that nobody can read.
    let flow = match packet.five_tuple() {
        Ok(flow) if is_with_server(packet, &flow) => flow,
        Err(why) if why != NotIp && why != NoFlow => return Drop(why),
        _ => return Transmit,
    };
    let message = Message::of(packet.payload())?;
    let question = Question::of_packet(packet)?;
    if packet.from_inside() == message.is_answer {
        // A server that asks another one from port 53 has the port at both ends.
        let is_of_inside_server = (flow.source_port, flow.destination_port) == (DNS, DNS);
        counts.unasked.add(u64::from(!is_of_inside_server));
        return if is_of_inside_server { Transmit } else { Drop(UNASKED) };
    }
    if packet.from_inside() {
        counts.questions.add(1);
        let (limit, host) = (limits.longest(flow.source), InsideAddress(flow.source));
        if let Some(asker) = askers.get_mut(&host) {
            asker.ask(limit, packet.now())?;
        } else {
            let mut asker = Asker { questions: 0, paid_at: 0 };
            let asked = asker.ask(limit, packet.now());
            askers.insert(host, asker)?;
            asked?;
        }
        let refused = message.domains().find_map(|domain| blocked.get(&domain));
        if let Some(row) = refused {
            counts.blocked.add(1);
            if row.silent {
                return Drop(BLOCKED);
            }
            let (answer, length) = message.refusal();
            packet.set_udp(answer.get(..length).unwrap_or_default())?;
            packet.turn_back()?;
            return Redirect(packet.port());
        }
        match questions.get_mut(&question) {
            Some(asked) => asked.times = asked.times.saturating_add(1),
            None => questions.insert(question, Asked { times: 1 })?,
        }
        return Transmit;
    }
    match questions.get_mut(&question) {
        Some(asked) if asked.times > 1 => asked.times -= 1,
        Some(_) => {
            questions.remove(&question);
        }
        None => {
            counts.unasked.add(1);
            return Drop(UNASKED);
        }
    }
    counts.answers.add(1);
    Transmit
}

cora::app!(guard);
