//! The ways of packets through the handlers: `<program> trace`, of a build that traces.
//!
//! One packet after the other runs through the host half, without a NIC; [`cora_core::trace`] notes
//! its steps. Equal notes are one way. Each way is counted per number of packets of the flow that a
//! packet belongs to. A class of flows is a range of such numbers, so a later choice of classes can
//! add up. `--each` also writes the way of each packet to a file, as a little-endian `u32`.

mod flows;

use std::collections::BTreeMap;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use cora_core::app::App;
use cora_core::packet::{Packet, Port};
use cora_core::trace::{self, Asked, Ending, Note};
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
) -> Result<(), TraceError> {
    if !trace::ON {
        return Err(TraceError::NotTraced);
    }
    Ok(observe::<A>(input, inside, configurations, each)?)
}

fn observe<A: App>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, PathBuf)],
    each: Option<&Path>,
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
        let way = ways.take();
        flows.count(keys, way);
        if let Some(numbers) = &mut numbers {
            numbers.put(way)?;
        }
    }
    if let Some(numbers) = numbers {
        numbers.finish()?;
    }
    tell::<A>(&ways, &flows)
}

fn tell<A: App>(ways: &Ways, flows: &Flows) -> Result<(), RunError> {
    let steps = ways.seen.iter().map(|notes| steps(notes, A::PLACES)).collect();
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
    numbers: BTreeMap<Vec<Note>, u32>,
    seen: Vec<Vec<Note>>,
    notes: Vec<Note>,
    packets: u64,
    cut_off: u64,
}

impl Ways {
    /// Returns the way of the last packet.
    fn take(&mut self) -> u32 {
        self.notes.clear();
        let notes = &mut self.notes;
        let whole = trace::take(|note| notes.push(note));
        self.packets += 1;
        self.cut_off += u64::from(!whole);
        if let Some(number) = self.numbers.get(self.notes.as_slice()) {
            return *number;
        }
        let number = self.seen.len() as u32;
        self.numbers.insert(self.notes.clone(), number);
        self.seen.push(self.notes.clone());
        number
    }
}

/// Groups the notes of one packet by handler.
fn steps(notes: &[Note], states: &[(&'static str, cora_core::state::Place)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for note in notes {
        let step = steps.last_mut();
        match (*note, step) {
            (Note::Enter(handler), _) => {
                steps.push(Step { handler, did: Vec::new(), exit: "unseen" });
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
            // Nothing is noted outside of a handler.
            (_, None) => {}
        }
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

    fn put(&mut self, way: u32) -> Result<(), RunError> {
        let written = self.file.write_all(&way.to_le_bytes());
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
            steps(&notes, &places),
            [
                Step { handler: 1, did: first, exit: "transmit" },
                Step { handler: 0, did: Vec::new(), exit: "drop" },
            ]
        );
    }
}
