//! A packet's run beside the wire, on copies of states: it shows which handlers the packet passes,
//! which states they name, and their verdicts.
//!
//! Handlers are functions of the packet, its time, and the states. So a run on copies of the
//! entries that a packet found is the run that it had, or would have. States that are not
//! copied are named: merges that handlers read are empty here, and objects and regions too.

use cora_core::app::{App, Traced};
use cora_core::packet::{Packet, Port, ROOM, Roomy};
use cora_core::state::table::prefetch::ALONE;
use cora_core::state::table::{Travelling, Which};
use cora_core::state::{EveryState, Kind, NO_FLOW, Visit};
use cora_core::trace::{self, Ending, Note};
use cora_runtime::exec::Engine;
use cora_runtime::exec::engine::{NicReach, Ran};
use cora_runtime::host_half::HostHalf;
use cora_runtime::link::message::Stamp;
use cora_runtime::steering::Deal;
use serde::Serialize;
use serde_json::Value;

use crate::RunError;
use crate::ingress::door::Services;
use crate::ingress::versions::Version;
use crate::inspect::entries::{Pieces, name_of};
use crate::memory::pages::Pages;
use crate::memory::supply::Supply;
use crate::observe::state::{import, to_json};

/// One handler of a packet's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    pub(super) handler: &'static str,
    /// The states that it named, in order; the last one of a punt is out of reach.
    pub(super) states: Vec<&'static str>,
    /// Its verdict.
    pub(super) ends: &'static str,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Rehearsed {
    pub(super) steps: Vec<Step>,
    /// The name of the outcome; `None` if it punts.
    pub(super) outcome: Option<String>,
    /// Where the packet leaves, if it does, and its frame then.
    pub(super) leaves: Option<(Port, Vec<u8>)>,
    /// Packets and messages that handlers sent besides.
    pub(super) sent: u64,
    /// The entries behind the run.
    pub(super) after: Pieces,
    /// States that it named, and that are not copied here.
    pub(super) not_copied: Vec<&'static str>,
}

/// A program with states of its own, empty between two runs.
pub(super) struct Rehearsal<A> {
    engine: Engine<A>,
    /// The seed of the run's tables and sketches.
    seed: u64,
    /// The number of the version of its read-mostly states.
    version: Option<u32>,
}

impl<A: App> Rehearsal<A> {
    /// On memory that nobody touches but for the entries of a packet.
    ///
    /// # Errors
    /// If the kernel has none.
    pub(super) fn create(seed: u64) -> Result<Self, RunError> {
        let supply = Supply { seed, pages: Pages::Small, resident: false };
        let app = supply.app::<A>(HostHalf::bytes)?;
        let mut memory = supply.memory(Engine::<A>::BYTES)?;
        let engine = Engine::create(app, &mut memory).map_err(RunError::Memory)?;
        Ok(Self { engine, seed, version: None })
    }

    /// The program, to decode entries.
    pub(super) const fn app(&mut self) -> &mut A {
        self.engine.app()
    }

    /// Puts this version of the read-mostly states in force. Returns its services.
    ///
    /// # Errors
    /// If the program does not take it.
    pub(super) fn configure(&mut self, version: &Version) -> Result<Services, RunError> {
        if self.version != Some(version.number) {
            version.put_in_force(self.engine.app())?;
            self.version = Some(version.number);
        }
        Ok(Services::of(self.engine.app()))
    }

    /// The states whose value a rehearsal copies whole: each has one, or one for each bucket.
    pub(super) fn valued(&mut self) -> Vec<u16> {
        let app = self.engine.app();
        let is_copied =
            |number: &usize| matches!(app.state(*number).kind(), Kind::Singleton | Kind::PerBucket);
        (0..A::STATES).filter(is_copied).map(|number| number as u16).collect()
    }

    /// The states with a value that takes at most so many bytes, and the names of the others.
    pub(super) fn told(&mut self, most: usize) -> (Vec<u16>, Vec<&'static str>) {
        let app = self.engine.app();
        let (mut told, mut others) = (Vec::new(), Vec::new());
        for (number, (name, _)) in A::PLACES.iter().enumerate() {
            match app.described(number).value_bytes() {
                Some(bytes) if bytes <= most => told.push(number as u16),
                Some(_) => others.push(*name),
                None => {}
            }
        }
        (told, others)
    }

    /// The value of a state that these exported pieces make.
    pub(super) fn value(&mut self, state: u16, pieces: &[Vec<u8>]) -> Value {
        let (app, seed) = (self.engine.app(), self.seed);
        app.described(state.into()).reset(seed);
        for piece in pieces {
            // A piece that is no value of the state is left out.
            let _taken = import(app, state, piece, 0, &mut |_, _| {});
        }
        let mut value = Value::Null;
        app.described(state.into()).describe(0, &mut |_, describe| value = to_json(describe));
        app.described(state.into()).reset(seed);
        value
    }

    /// Whether these pieces of a state are the ones that count, of all that shards and sides have:
    /// of a value per bucket, the shard's that has the bucket.
    pub(super) fn is_of_shard(
        &mut self,
        state: u16,
        piece: &[u8],
        shard: u16,
        deal: &Deal,
    ) -> bool {
        let home = self.engine.app().state(state.into());
        let bucket = home.bucket_of(piece);
        bucket.is_none_or(|bucket| deal.shard_of(bucket) == usize::from(shard))
    }

    /// Runs a packet at a side, on these entries and values.
    pub(super) fn run(
        &mut self,
        at_nic: bool,
        (stamp, frame): (&Stamp, &[u8]),
        entries: &Pieces,
        values: &Pieces,
    ) -> Rehearsed {
        self.take_in(entries, values);
        let mut bytes = frame.to_vec();
        bytes.resize(frame.len() + ROOM, 0);
        let mut packet = if stamp.parked.is_some() {
            let head = bytes.get_mut(..frame.len()).unwrap_or_default();
            let mut head = Packet::unparsed_head(head, stamp.parked.bytes(), stamp.meta);
            head.parse_again();
            head
        } else {
            Packet::in_room(Roomy::new(&mut bytes, frame.len()), stamp.meta)
        };
        let visit =
            Visit { now: stamp.meta.now, horizon: 0, undo: at_nic, flow: NO_FLOW, ahead: ALONE };
        // Whatever was noted before is of no packet here.
        trace::take(|_| {});
        let before = self.engine.outcomes.clone();
        let ran = self.ran(at_nic, &mut packet, visit);
        let (mut notes, mut made) = (Vec::new(), 0);
        trace::take(|note| notes.push(note));
        let packets = self.engine.send(stamp, |_, _| {}, |_| made += 1);
        let egress = ran.egress(stamp);
        let outcome = self.engine.outcomes.first_since(&before).map(|(name, _)| name.to_owned());
        let leaves = egress.map(|port| (port, packet.frame().to_vec()));
        let steps = steps::<A>(&notes);
        let not_copied = self.not_copied(&steps);
        let after = self.take_out();
        Rehearsed { steps, outcome, leaves, sent: packets + made, after, not_copied }
    }

    #[inline(never)]
    fn ran(&mut self, at_nic: bool, packet: &mut Packet<'_>, visit: Visit) -> Ran {
        if at_nic {
            self.engine.run::<Traced<NicReach<A>>>(packet, visit)
        } else {
            self.engine.run::<Traced<EveryState>>(packet, visit)
        }
    }

    fn take_in(&mut self, entries: &Pieces, values: &Pieces) {
        let app = self.engine.app();
        for (state, piece) in values {
            // A piece that is no value of the state is left out.
            let _taken = import(app, *state, piece, 0, &mut |_, _| {});
        }
        for (state, piece) in entries {
            if let Some(table) = table(app, *state) {
                // The NIC's copy of an entry that is on its way is as good as the host's.
                let _taken = table.import_entry(piece, NO_FLOW, u32::MAX);
            }
        }
    }

    /// Takes all entries out.
    fn take_out(&mut self) -> Pieces {
        let app = self.engine.app();
        let mut all = Vec::new();
        for state in 0..A::STATES as u16 {
            if let Some(table) = table(app, state) {
                table.list(Which::Places(0, u32::MAX), 0, &mut |_, _, piece| {
                    all.push((state, piece.to_vec()));
                });
            }
        }
        app.begin(Visit { now: 0, horizon: 0, undo: false, flow: NO_FLOW, ahead: ALONE });
        app.enter(None);
        for (state, piece) in &all {
            let name = name_of(app, *state, piece);
            if let Some(table) = table(app, *state) {
                table.remove_named(&name);
            }
        }
        app.commit(false);
        all
    }

    /// The states among these that a handler may read, and that are empty here.
    fn not_copied(&mut self, steps: &[Step]) -> Vec<&'static str> {
        let app = self.engine.app();
        let mut empty = Vec::new();
        app.each_merged(&mut |number, _| empty.push(usize::from(number)));
        let is_empty = |number: &usize| match app.state(*number).kind() {
            Kind::Region => true,
            // Objects.
            Kind::Keyed => app.described(*number).layout().is_none(),
            _ => false,
        };
        empty.extend((0..A::STATES).filter(is_empty));
        let named = |name: &str| steps.iter().any(|step| step.states.contains(&name));
        let names = empty.into_iter().filter_map(|number| A::PLACES.get(number));
        names.map(|(name, _)| *name).filter(|name| named(name)).collect()
    }
}

fn table<A: App>(app: &mut A, state: u16) -> Option<&mut dyn Travelling> {
    let state = usize::from(state);
    if state < A::STATES { app.state(state).as_travelling() } else { None }
}

/// The handlers in the order in which they ran.
fn steps<A: App>(notes: &[Note]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut handler_states: &[u16] = &[];
    for note in notes {
        match (*note, steps.last_mut()) {
            (Note::Enter(number), _) => {
                let (handler, states) =
                    A::HANDLERS.get(usize::from(number)).copied().unwrap_or(("", &[]));
                handler_states = states;
                steps.push(Step { handler, states: Vec::new(), ends: "" });
            }
            (Note::Names(position), Some(Step { states, .. })) => {
                let number = handler_states.get(usize::from(position));
                let place = number.and_then(|number| A::PLACES.get(usize::from(*number)));
                if let Some((name, _)) = place.filter(|(name, _)| !states.contains(name)) {
                    states.push(name);
                }
            }
            (Note::Leave(ending), Some(step)) => step.ends = name_of_ending(ending),
            _ => {}
        }
    }
    steps
}

const fn name_of_ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Transmit => "transmit",
        Ending::Pass => "pass",
        Ending::Redirect => "redirect",
        Ending::Done => "done",
        Ending::Drop => "drop",
        Ending::Punt => "punt",
    }
}
