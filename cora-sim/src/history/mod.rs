//! The history of a run: which message each flow handled next, and its effects.
//!
//! In the simulator both halves run in one process, so the order in which runs were committed is a
//! history. The claim to check: it is one of a single-threaded run that keeps the order of every
//! channel, from the wire to a flow and from a flow to a flow. So the host alone [replays](replay)
//! it, message by message. It is recorded around the program ([`recorded`]), so the shipped halves
//! have no part of it.
//!
//! | module | concept |
//! | --- | --- |
//! | `recorded` | a program with its runs recorded |
//! | `channels` | the contents of each channel, in order |
//! | `replay` | the host alone on the same schedule |
//! | `survived` | the invariants of a history with kills |

mod channels;
mod recorded;
mod replay;
mod survived;

use std::cell::{Cell, RefCell};
use std::fmt;

use cora_core::message::SENT;
use cora_core::packet::{Meta, Port};
use cora_core::state::Visit;

pub(crate) use recorded::Recorded;
pub(crate) use replay::{NO_ROOM, replay};
pub(crate) use survived::survived;

use crate::story;

/// The words of a flow's key.
pub(crate) type FlowWords = [u64; 5];

/// A committed run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The program's number: each half that is started has one of its own.
    pub(crate) half: u32,
    /// The flow; `None` if the message has no key, and is a flow of its own.
    pub(crate) flow: Option<FlowWords>,
    pub(crate) meta: Meta,
    pub(crate) visit: Visit,
    /// The packet or the message, as it came.
    pub(crate) frame: Vec<u8>,
    pub(crate) result: Outcome,
}

/// The effects of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The verdict, in words.
    pub(crate) verdict: String,
    /// Messages that were sent, and packets with their ports.
    pub(crate) sends: Vec<(Port, Vec<u8>)>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A run was committed.
    Ran(Run),
    /// A frame was put on the wire's ring.
    Left(Vec<u8>),
    /// The half with this number died, when the latest packet had this time. All that it held is
    /// lost; messages that it had sent are not.
    Died(u32, u64),
}

thread_local! {
    static EVENTS: RefCell<Option<Vec<Event>>> = const { RefCell::new(None) };
    static HALVES: Cell<u32> = const { Cell::new(0) };
    static WORKED: Cell<u64> = const { Cell::new(0) };
    /// Answers of runs that were taken back, for a planted mistake.
    static EARLY: RefCell<Option<Vec<Vec<u8>>>> = const { RefCell::new(None) };
}

/// Records this thread's runs from now on.
pub(crate) fn begin() {
    EVENTS.set(Some(Vec::new()));
    EARLY.set(None);
    WORKED.set(0);
    HALVES.set(0);
}

/// The record so far.
pub(crate) fn so_far() -> Vec<Event> {
    EVENTS.with_borrow(|events| events.clone().unwrap_or_default())
}

/// Records the runs of `act` apart from this thread's record. Returns that.
fn apart(act: impl FnOnce()) -> Vec<Event> {
    let before = EVENTS.replace(Some(Vec::new()));
    act();
    EVENTS.replace(before).unwrap_or_default()
}

/// Ends the record. Returns it.
pub(crate) fn end() -> Vec<Event> {
    EARLY.set(None);
    EVENTS.take().unwrap_or_default()
}

/// Records an event.
pub(crate) fn note(event: impl FnOnce() -> Event) {
    EVENTS.with_borrow_mut(|events| {
        if let Some(events) = events {
            let event = event();
            story::tell(|| format!("  {event}"));
            events.push(event);
        }
    });
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ran(Run { half, flow, meta, frame, result, .. }) => {
                let flow = flow.map_or(0, |[first, ..]| first);
                let sent = result.sends.iter().filter(|(port, _)| *port == SENT).count();
                let Port(port) = meta.port;
                write!(f, "half {half} ran {} of flow {flow} at {}", words(frame), meta.now)?;
                write!(f, ", port {port:#x}: {}, {sent} messages", result.verdict)?;
                let mut sent = result.sends.iter().filter(|(port, _)| *port == SENT);
                sent.try_for_each(|(_, frame)| write!(f, "\n      sends {}", words(frame)))
            }
            Self::Left(frame) => write!(f, "left: {}", words(frame)),
            Self::Died(half, now) => write!(f, "half {half} died at {now}"),
        }
    }
}

/// The last words of a frame.
fn words(frame: &[u8]) -> String {
    let words = frame
        .rchunks_exact(8)
        .take(4)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let words: Vec<u64> = words.collect();
    format!("{:x?}", words.iter().rev().collect::<Vec<_>>())
}

/// The number of a new half.
fn new_half() -> u32 {
    HALVES.set(HALVES.get() + 1);
    HALVES.get()
}

/// A handler worked so long (ns): the clock that messages are timed by.
pub(crate) fn work(ns: u64) {
    WORKED.set(WORKED.get() + ns);
}

/// The time that handlers worked so far (ns).
pub(crate) fn worked() -> u64 {
    WORKED.get()
}

/// Plants the mistake that answers of runs that are taken back leave nevertheless.
pub(crate) fn answer_early() {
    EARLY.set(Some(Vec::new()));
}

/// The answers of runs that were taken back since the last call, if that mistake is planted.
pub(crate) fn early_answers() -> Vec<Vec<u8>> {
    EARLY.with_borrow_mut(|early| early.as_mut().map(std::mem::take).unwrap_or_default())
}
