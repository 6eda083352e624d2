//! # transactions: optimistic transactions over two-phase commit
//!
//! As in iPipe's distributed transactions: a coordinator locks the rows that change if they have
//! the versions that the client read, checks those that were read, and commits or aborts. Every
//! step may come twice, since an answer may have been lost. The log is the copy of each row and of
//! each client's transaction that `durable` keeps.
//!
//! | module | contents |
//! | --- | --- |
//! | `wire` | messages in datagrams |
//! | `row` | a row, its lock, and the steps for it |
//! | `session` | the coordinator's side of a transaction |
//! | `nodes` | which node has a row |
//!
//! Try it:  `cargo cora run transactions --messages udp:127.0.0.1:7000`, and in another shell
//! `cargo run --release -p transactions --example client -- smallbank --node 127.0.0.1:7000`.
//!
//! Expect:  a row and a client's transaction are each at one side at a time, and move with their
//! flows.
#![cfg_attr(target_os = "none", no_std)]

pub mod nodes;
pub mod row;
pub mod session;
pub mod wire;

use cora::prelude::*;

use nodes::Nodes;
use row::{Coordinator, Lock, Row};
use session::{Session, has_twice};
use wire::{Outcome, Said, Step, TransactionId, Vote, Wants};

/// The row is another node's.
const OTHER_NODE: Reason = Reason::new("row-of-another-node");
/// The client has begun a later transaction, or nobody knows it.
const UNKNOWN: Reason = Reason::new("unknown-transaction");
/// A transaction has a row twice.
const ROW_TWICE: Reason = Reason::new("row-twice");

/// A step for a row, at this node or another one.
#[message]
pub struct Do {
    #[key]
    pub row: u64,
    pub by: TransactionId,
    pub from: Coordinator,
    pub step: Step,
}

/// A coordinator's message.
#[message]
pub enum Event {
    Begin {
        #[key]
        client: u64,
        number: u64,
        wants: Wants,
    },
    Vote {
        #[key]
        client: u64,
        number: u64,
        row: u64,
        vote: Vote,
    },
    /// Time has passed without an answer, since it had asked again so often.
    Late {
        #[key]
        client: u64,
        number: u64,
        tries: u8,
    },
}

/// Takes a datagram.
#[flow_handler]
pub fn receive(
    said: Said,
    envelope: &Envelope,
    steps: &mut Outbox<Do>,
    events: &mut Outbox<Event>,
) -> Verdict {
    match said {
        Said::Ask { row, of, step } => {
            let from = Coordinator::There { at: envelope.asker() };
            steps.send(Do { row, by: of, from, step })?;
        }
        Said::Vote { client, number, row, vote } => {
            events.send(Event::Vote { client, number, row, vote })?;
        }
        Said::Begin { client, number, wants } => {
            events.send(Event::Begin { client, number, wants })?;
        }
    }
    Done
}

/// Takes a step for one row.
#[flow_handler]
pub fn participant(
    asked: Do,
    nodes: &Nodes,
    rows: &mut Table<Row>,
    events: &mut Outbox<Event>,
    datagrams: &mut Outbox<Said>,
) -> Verdict {
    let Do { row: number, by, from, step } = asked;
    if let Some(node) = nodes.other(number) {
        // One from outside has the wrong node.
        let Coordinator::Here = from else { return Drop(OTHER_NODE) };
        datagrams.send_to(node, Said::Ask { row: number, of: by, step })?;
        return Done;
    }
    let row = rows.get_or_insert(number, Row::NEW)?;
    let vote = row.take(by, from, step);
    if let (true, Lock::Held { by, from }) = (vote.is_of_lock(), row.lock) {
        // The holder may have lost its timer, or an old lock was granted when all was over.
        tell(from, by, number, Vote::Granted { seen: row.seen() }, events, datagrams)?;
    }
    tell(from, by, number, vote, events, datagrams)?;
    Done
}

/// Tells a coordinator about its transaction.
fn tell(
    coordinator: Coordinator,
    of: TransactionId,
    row: u64,
    vote: Vote,
    events: &mut Outbox<Event>,
    datagrams: &mut Outbox<Said>,
) -> Result<(), Reason> {
    let TransactionId { client, number } = of;
    match coordinator {
        Coordinator::Here => events.send(Event::Vote { client, number, row, vote }),
        Coordinator::There { at } => {
            datagrams.send_to(at, Said::Vote { client, number, row, vote })
        }
    }
}

/// Leads a client's transactions, one after the other.
#[flow_handler]
pub fn coordinator(
    event: Event,
    envelope: &Envelope,
    sessions: &mut Table<Session>,
    steps: &mut Outbox<Do>,
    events: &mut Outbox<Event>,
    outcomes: &mut Outbox<Outcome>,
) -> Verdict {
    let now = envelope.now();
    let (Event::Begin { client, .. } | Event::Vote { client, .. } | Event::Late { client, .. }) =
        event;
    let (session, mut asks, tells) = match event {
        Event::Begin { number, wants, .. } => {
            if has_twice(&wants) {
                return Drop(ROW_TWICE);
            }
            let new = Session::begin(number, envelope.asker(), wants, now);
            let is_first = !sessions.contains(&client);
            let session = sessions.get_or_insert(client, new)?;
            if number < session.number() {
                return Drop(UNKNOWN);
            }
            // The next one waits until the one before is over: the client says it again.
            let begins = is_first || number > session.number() && session.is_over();
            if begins {
                *session = new;
            } else if number == session.number() {
                session.asker = envelope.asker();
            }
            let tells = number == session.number();
            (session, begins, tells)
        }
        Event::Vote { number, row, vote, .. } => {
            let Some(session) = sessions.get_mut(&client) else { return Drop(UNKNOWN) };
            let is_past = number < session.number() || session.is_over();
            if is_past && let Vote::Granted { .. } = vote {
                // It was asked for twice, and granted again when all was over.
                let by = TransactionId { client, number };
                steps.send(Do { row, by, from: Coordinator::Here, step: Step::Abort })?;
            }
            if number != session.number() {
                return if is_past { Done } else { Drop(UNKNOWN) };
            }
            let goes_on = session.hear(row, vote);
            (session, goes_on, goes_on)
        }
        Event::Late { number, tries, .. } => {
            let Some(session) = sessions.get_mut(&client) else { return Done };
            let is_it = (number, tries) == (session.number(), session.tries());
            if session.is_over() || !is_it {
                return Done;
            }
            (session, false, true)
        }
    };
    let is_late = matches!(event, Event::Late { .. }) || session.is_overdue(now);
    if is_late {
        session.ask_again(now);
        asks = true;
    }
    if asks {
        let by = TransactionId { client, number: session.number() };
        for (row, step) in session.steps() {
            steps.send(Do { row, by, from: Coordinator::Here, step })?;
        }
    }
    if (is_late || matches!(event, Event::Begin { .. })) && asks && !session.is_over() {
        let late = Event::Late { client, number: session.number(), tries: session.tries() };
        events.after(session.patience(), late)?;
    }
    if tells && let Some(outcome) = session.outcome(client) {
        outcomes.send_to(session.asker, outcome)?;
    }
    Done
}
