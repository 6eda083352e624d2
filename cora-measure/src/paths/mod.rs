//! The ways of packets through the handlers: `<program> trace`, of a build that traces.
//!
//! One packet after the other runs through the host half, without a NIC; [`cora_core::trace`] notes
//! its steps. Equal notes are one way. Each way is counted per number of packets of the flow that a
//! packet belongs to. A class of flows is a range of such numbers, so a later choice of classes can
//! add up. `--each` also writes the ways of each packet to a file: their number and each of them,
//! as little-endian `u32`.
//!
//! In a program with messages each run of a handler is a way of its own, of the datagram that
//! caused it. Its accesses to states that are no tables are noted once, and its messages by number.

mod flows;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use cora_core::app::App;
use cora_core::packet::{Packet, Port};
use cora_core::trace::{self, Asked, Ending, Note, Sending};
use cora_host::parts::{Direct, Door, Pages, Services, Source, Supply, configure};
use cora_host::{Inside, RunError};
use cora_runtime::exec::Burst;
use cora_runtime::exec::burst::{BURST_BYTES, BurstBuffer};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Deal;
use serde::Serialize;

use crate::traffic::reading;
use flows::{ByKey, BySize, Count, Flows};

/// Result of a traced run, as JSON: `demand::observed` of `cora-plan` reads it.
#[derive(Debug, Serialize)]
struct Told {
    app: &'static str,
    packets: u64,
    /// Packets with more steps than could be noted; their ways are cut off.
    cut_off: u64,
    ways: Vec<Vec<Step>>,
    /// By type of key: packets of a flow → `[way, packets]`.
    flows: ByKey<BySize>,
    /// By type of key: `[way, packets]` of the packets that carry none.
    keyless: ByKey<Vec<Count>>,
}

/// One handler of a way.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Step {
    handler: u8,
    /// A message that a handler sent was handled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    inside: bool,
    did: Vec<Did>,
    exit: &'static str,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Did {
    /// An access to a table.
    Asked { state: &'static str, does: &'static str },
    /// A statement that names the state behind this parameter, counted after the packet.
    Named { parameter: u8 },
    /// Messages were sent.
    Sent { message: String, how: &'static str, count: u32 },
}

/// One run of handlers: whether it was of a message that a handler sent, what it did, and how many
/// messages of which type it sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    inside: bool,
    notes: Vec<Note>,
    sent: BTreeMap<(u32, Sending), u32>,
}

/// Cause of a missing result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    /// The build does not note the steps of packets.
    #[error("this build doesn't trace packets: `cargo cora measure` makes one that does")]
    NotTraced,
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs the capture, and prints the ways.
pub(crate) fn trace<A: App>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, PathBuf)],
    each: Option<&Path>,
    graph: &str,
) -> Result<(), TraceError> {
    if !trace::ON {
        return Err(TraceError::NotTraced);
    }
    Ok(observe::<A>(input, inside, configurations, each, graph)?)
}

fn observe<A: App>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, PathBuf)],
    each: Option<&Path>,
    graph: &str,
) -> Result<(), RunError> {
    let mut ways = Ways::default();
    let mut flows = Flows::of_all_keys();
    let mut numbers = each.map(Numbers::create).transpose()?;
    // Always the same seed, as in counting instructions.
    let supply = Supply { seed: 1, pages: Pages::default(), resident: false };
    let mut app = supply.app::<A>(HostHalf::bytes)?;
    configure(&mut app, configurations)?;
    let services = Services::of(&mut app);
    let mut memory = supply.memory(HostHalf::bytes(&mut app))?;
    let mut half = HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)?;
    let mut source = Source::open(input, reading::<A>(inside))?;
    let mut door = Door::new(supply.seed, Deal::even(1), &services);
    let mut buffer = vec![0; BURST_BYTES];
    loop {
        let mut frames = BurstBuffer::new(&mut buffer);
        let Some(room) = frames.room() else { break };
        let Some((stamp, length)) = source.next(room)? else { break };
        let (_, stamp) = door.steer::<A>(stamp, &mut room[..length]);
        let mut frame = frames.keep(length);
        // Handlers may write to the frame.
        let keys = flows::keys(&Packet::new(frame.frame_mut(), stamp.meta));
        let mut burst = Burst::new();
        burst.push_roomy(stamp, frame);
        half.burst(&mut burst, &mut Direct::new(|_: &Stamp, _: Port, _: &[u8]| {}))?;
        let taken = ways.take::<A>();
        for way in taken {
            flows.count(keys, *way);
        }
        if let Some(numbers) = &mut numbers {
            numbers.put(taken)?;
        }
    }
    if let Some(numbers) = numbers {
        numbers.finish()?;
    }
    tell::<A>(&ways, &flows, graph)
}

fn tell<A: App>(ways: &Ways, flows: &Flows, graph: &str) -> Result<(), RunError> {
    let steps = ways.seen.iter().map(|run| steps(run, A::PLACES, graph)).collect();
    let (by_size, keyless) = flows.tell();
    let told = Told {
        app: A::NAME,
        packets: ways.packets,
        cut_off: ways.cut_off,
        ways: steps,
        flows: by_size,
        keyless,
    };
    let failed = |cause| RunError::System { what: "standard output", cause };
    let text = serde_json::to_string(&told).map_err(|error| failed(error.into()))?;
    writeln!(std::io::stdout(), "{text}").map_err(failed)
}

/// The ways that were seen, numbered in the order of their first packets.
#[derive(Default)]
struct Ways {
    numbers: BTreeMap<Run, u32>,
    seen: Vec<Run>,
    /// The ways of the last packet.
    taken: Vec<u32>,
    packets: u64,
    cut_off: u64,
}

impl Ways {
    /// Returns the ways of the last packet: one, or those of all runs that it caused.
    fn take<A: App>(&mut self) -> &[u32] {
        let mut notes = Vec::new();
        let whole = trace::take(|note| notes.push(note));
        self.packets += 1;
        self.cut_off += u64::from(!whole);
        self.taken.clear();
        if !A::MESSAGES {
            self.add(Run { notes, ..Run::default() });
            return &self.taken;
        }
        let is_enter = |note: &Note| matches!(note, Note::Enter(_));
        let begins = notes.iter().enumerate().filter(|(_, note)| is_enter(note));
        let begins: Vec<usize> = begins.map(|(at, _)| at).collect();
        let ends = begins.iter().skip(1).copied().chain([notes.len()]);
        for (number, (begin, end)) in begins.iter().zip(ends).enumerate() {
            self.add(Run::of(number > 0, &notes[*begin..end]));
        }
        &self.taken
    }

    fn add(&mut self, run: Run) {
        let next = self.seen.len() as u32;
        let number = *self.numbers.entry(run.clone()).or_insert(next);
        if number == next {
            self.seen.push(run);
        }
        self.taken.push(number);
    }
}

impl Run {
    /// A run of a message's handler.
    fn of(inside: bool, all: &[Note]) -> Self {
        let mut run = Self { inside, ..Self::default() };
        for note in all {
            match note {
                Note::Sent(message, how) => *run.sent.entry((*message, *how)).or_default() += 1,
                // How often a loop names a state tells nothing.
                Note::Names(_) if run.notes.contains(note) => {}
                note => run.notes.push(*note),
            }
        }
        run
    }
}

/// The name of the message with this number, by the program's graph.
fn message(graph: &str, number: u32) -> Option<String> {
    let graph: serde_json::Value = serde_json::from_str(graph).ok()?;
    let names = graph.get("messages")?.as_array()?.iter().filter_map(|it| it.get("name")?.as_str());
    names.into_iter().find(|name| trace::id(name) == number).map(str::to_owned)
}

/// Groups the notes of one run by handler.
fn steps(run: &Run, states: &[(&'static str, cora_core::state::Place)], graph: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for note in &run.notes {
        let step = steps.last_mut();
        match (*note, step) {
            (Note::Enter(handler), _) => {
                let inside = run.inside;
                steps.push(Step { handler, inside, did: Vec::new(), exit: "unseen" });
            }
            (Note::Names(parameter), Some(step)) => step.did.push(Did::Named { parameter }),
            (Note::Asked(id, what), Some(step)) => {
                let state = states.iter().find(|(name, _)| trace::id(name) == id);
                let does = match what {
                    Asked::Read => "read",
                    Asked::Write => "write",
                    Asked::Insert => "insert",
                    Asked::Remove => "remove",
                };
                step.did.extend(state.map(|(state, _)| Did::Asked { state, does }));
            }
            (Note::Leave(ending), Some(step)) => {
                step.exit = match ending {
                    Ending::Transmit => "transmit",
                    Ending::Pass => "pass",
                    Ending::Redirect => "redirect",
                    Ending::Done => "done",
                    Ending::Drop => "drop",
                    // A host reaches every state.
                    Ending::Punt => "unseen",
                };
            }
            // Messages are counted, and nothing is noted outside of a handler.
            (Note::Sent(..), _) | (_, None) => {}
        }
    }
    if let Some(step) = steps.last_mut() {
        step.did.extend(run.sent.iter().filter_map(|((number, how), count)| {
            let how = match how {
                Sending::Send => "send",
                Sending::Reply => "reply",
                Sending::SendTo => "send-to",
                Sending::After => "after",
            };
            Some(Did::Sent { message: message(graph, *number)?, how, count: *count })
        }));
    }
    steps
}

/// The file with the way of each packet.
struct Numbers {
    file: BufWriter<std::fs::File>,
    path: PathBuf,
}

impl Numbers {
    fn create(path: &Path) -> Result<Self, RunError> {
        let file = std::fs::File::create(path)
            .map_err(|cause| RunError::File { path: path.into(), cause })?;
        Ok(Self { file: BufWriter::new(file), path: path.into() })
    }

    fn put(&mut self, ways: &[u32]) -> Result<(), RunError> {
        let words = [ways.len() as u32].into_iter().chain(ways.iter().copied());
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        let written = self.file.write_all(&bytes);
        written.map_err(|cause| RunError::File { path: self.path.clone(), cause })
    }

    fn finish(mut self) -> Result<(), RunError> {
        self.file.flush().map_err(|cause| RunError::File { path: self.path, cause })
    }
}

#[cfg(test)]
mod tests {
    use cora_core::state::Place;

    use super::*;

    #[test]
    fn notes_become_steps() {
        let notes = [
            Note::Enter(1),
            Note::Asked(trace::id("Session"), Asked::Write),
            Note::Names(1),
            Note::Asked(trace::id("Session"), Asked::Insert),
            Note::Leave(Ending::Transmit),
            Note::Enter(0),
            Note::Leave(Ending::Drop),
        ];
        let places = [("PortPool", Place::Host), ("Session", Place::Travels)];
        let asked = |does| Did::Asked { state: "Session", does };
        let first = vec![asked("write"), Did::Named { parameter: 1 }, asked("insert")];
        assert_eq!(
            steps(&Run { notes: notes.to_vec(), ..Run::default() }, &places, "{}"),
            [
                Step { handler: 1, inside: false, did: first, exit: "transmit" },
                Step { handler: 0, inside: false, did: Vec::new(), exit: "drop" },
            ]
        );
    }

    #[test]
    fn a_run_counts_its_messages_by_type() {
        let count = trace::id("Count");
        let notes = [
            Note::Enter(0),
            Note::Names(0),
            Note::Sent(count, Sending::Send),
            Note::Names(0),
            Note::Sent(count, Sending::Send),
            Note::Sent(trace::id("Vote"), Sending::Reply),
            Note::Leave(Ending::Done),
        ];
        let graph = r#"{"messages":[{"name":"Count"},{"name":"Vote"}]}"#;
        let sent =
            |message: &str, how, count| Did::Sent { message: message.to_owned(), how, count };
        let steps = steps(&Run::of(true, &notes), &[], graph);
        let [Step { handler: 0, inside: true, did, exit: "done" }] = &steps[..] else {
            panic!("{steps:?}")
        };
        assert_eq!(did.len(), 3, "{did:?}");
        assert_eq!(did[0], Did::Named { parameter: 0 });
        assert!(did.contains(&sent("Count", "send", 2)) && did.contains(&sent("Vote", "reply", 1)));
    }
}
