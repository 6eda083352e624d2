//! The results of a run, in a form that allows the comparison of two runs.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use cora_core::app::App;
use cora_core::outcome::Outcomes;
use cora_core::plain::Describe;
use cora_core::state::table::{Ending, Why};

use crate::frames::{flow_of, number_in};

/// The results that must not depend on the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Per flow, the egress ports and the frames that left, in order.
    pub frames: BTreeMap<u32, Vec<(u8, Vec<u8>)>>,
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Per state and encoded key, the entry as text.
    pub contents: BTreeMap<(usize, Vec<u8>), String>,
    /// Entries that both sides hold.
    pub doubled: Vec<String>,
    /// Per recorded state, whether an entry was removed, and its text: the number of such ends.
    /// Entries that are left at the end are included.
    pub ended: BTreeMap<(usize, bool, String), u64>,
    /// Expired entries that wait for their hooks, each with its state.
    pub waiting: Vec<(usize, Vec<u8>)>,
}

/// An ended entry of a recorded state.
#[derive(Clone, Debug)]
pub struct Ended {
    state: u16,
    removed: bool,
    piece: Vec<u8>,
}

impl Ended {
    pub fn new(state: u16, Ending { why, piece }: Ending<'_>) -> Self {
        Self { state, removed: matches!(why, Why::Removed), piece: piece.to_vec() }
    }
}

impl Results {
    pub fn left(&mut self, egress: u8, frame: &[u8]) {
        self.frames.entry(flow_of(frame)).or_default().push((egress, frame.to_vec()));
    }

    pub fn count(&mut self, outcomes: &Outcomes) {
        outcomes.each(&mut |name, count| *self.outcomes.entry(name).or_default() += count);
    }

    pub fn note(&mut self, state: usize, key: &[u8], text: String) {
        if let Some(before) = self.contents.insert((state, key.to_vec()), text) {
            self.doubled.push(before);
        }
    }

    /// Adds the contents of `app` at `now`.
    pub fn hold<A: App>(&mut self, app: &mut A, now: u64) {
        for number in 0..A::STATES {
            app.described(number).describe(now, &mut |key, describe| {
                self.note(number, key, text_of(describe));
            });
        }
    }

    /// Adds ended entries of recorded states: `ended`, those that ended at `app` since the last
    /// report, and those that are left there.
    pub fn end_all<A: App>(&mut self, app: &mut A, mut ended: Vec<Ended>) {
        app.ended(&mut |state, ending| ended.push(Ended::new(state, ending)));
        for number in A::RECORDED {
            let state = *number as u16;
            app.state(*number).export(0, &mut |piece| {
                ended.push(Ended { state, removed: false, piece: piece.to_vec() });
            });
        }
        for Ended { state, removed, piece } in ended {
            let state = usize::from(state);
            // At time 0 every entry is alive.
            let mut text = String::from("not kept");
            let mut item = |_: &[u8], describe: &mut dyn FnMut(&mut dyn Describe)| {
                text = text_of(describe);
            };
            let _described = app.described(state).import(&piece, 0, &mut item);
            *self.ended.entry((state, removed, text)).or_default() += 1;
        }
    }

    /// Adds the entries that expired by `now` and whose hooks have not run, noticed or not.
    pub fn wait<A: App>(&mut self, app: &mut A, now: u64) {
        for number in A::HOOKED {
            let mut alive = Vec::new();
            app.state(*number).export(now, &mut |piece| alive.push(piece.to_vec()));
            // At time 0 every entry is alive.
            let waiting = &mut self.waiting;
            app.state(*number).export(0, &mut |piece| {
                if !alive.iter().any(|it| it == piece) {
                    waiting.push((*number, piece.to_vec()));
                }
            });
            let table = app.state(*number).as_travelling().and_then(|table| table.as_hooked());
            let table = table.expect("its entries have hooks");
            table.each_expired(&mut |piece| waiting.push((*number, piece.to_vec())));
        }
        self.waiting.sort();
    }

    /// Merges the NIC's states: replicas into the host's states, entries into these results.
    pub fn merge<A: App>(&mut self, nic: &mut A, host: &mut A, now: u64) -> Result<(), String> {
        for (number, (name, place)) in A::PLACES.iter().enumerate() {
            if place.is_of_host() {
                continue;
            }
            let mut pieces = Vec::new();
            nic.state(number).export(now, &mut |piece| pieces.push(piece.to_vec()));
            for piece in pieces {
                let mut item = |key: &[u8], describe: &mut dyn FnMut(&mut dyn Describe)| {
                    self.note(number, key, text_of(describe));
                };
                let taken = host.described(number).import(&piece, now, &mut item);
                taken.map_err(|_| format!("a piece of {name} is refused"))?;
            }
        }
        Ok(())
    }

    /// Describes the first fault that no plan may have, in a run of `packets` packets.
    pub fn unsound(&self, packets: u64) -> Option<String> {
        if let Some(entry) = self.doubled.first() {
            return Some(format!("both sides hold {entry}"));
        }
        let told: u64 = self.outcomes.values().sum();
        if told != packets {
            return Some(format!("{packets} packets, but {told} have an outcome"));
        }
        let disordered = self.frames.iter().find(|(_, left)| {
            !left.iter().map(|(_, frame)| number_in(frame)).is_sorted_by(|one, two| one < two)
        });
        disordered.map(|(flow, _)| format!("packets of flow {flow} left out of order"))
    }

    /// Describes the first difference.
    pub fn difference(&self, expected: &Self) -> Option<String> {
        if let Some(entry) = self.doubled.first() {
            return Some(format!("both sides hold {entry}"));
        }
        for flow in self.frames.keys().chain(expected.frames.keys()) {
            let (found, wanted) = (self.frames.get(flow), expected.frames.get(flow));
            if found != wanted {
                return Some(format!("flow {flow}: {}", frames_differ(found, wanted)));
            }
        }
        if self.outcomes != expected.outcomes {
            return Some(format!("outcomes {:?}, expected {:?}", self.outcomes, expected.outcomes));
        }
        for key in self.ended.keys().chain(expected.ended.keys()) {
            let (found, wanted) = (self.ended.get(key), expected.ended.get(key));
            if found != wanted {
                return Some(format!("records of {key:?}: {found:?}, expected {wanted:?}"));
            }
        }
        if self.waiting != expected.waiting {
            let (found, wanted) = (&self.waiting, &expected.waiting);
            return Some(format!("waiting for hooks {found:?}, expected {wanted:?}"));
        }
        for key in self.contents.keys().chain(expected.contents.keys()) {
            let (found, wanted) = (self.contents.get(key), expected.contents.get(key));
            if found != wanted {
                return Some(format!("state {}: {found:?}, expected {wanted:?}", key.0));
            }
        }
        None
    }
}

type Left = Vec<(u8, Vec<u8>)>;

fn frames_differ(found: Option<&Left>, wanted: Option<&Left>) -> String {
    let none = Vec::new();
    let (found, wanted) = (found.unwrap_or(&none), wanted.unwrap_or(&none));
    let at = found.iter().zip(wanted).position(|(a, b)| a != b);
    let at = at.unwrap_or_else(|| found.len().min(wanted.len()));
    let show = |left: Option<&(u8, Vec<u8>)>| {
        left.map(|(egress, frame)| {
            format!("port {egress} {:02x?}", &frame[14..frame.len().min(60)])
        })
    };
    let (a, b) = (show(found.get(at)), show(wanted.get(at)));
    format!("{} frames, expected {}; number {at} is\n  {a:?}\n  {b:?}", found.len(), wanted.len())
}

/// Returns the description as text.
pub fn text_of(describe: &mut dyn FnMut(&mut dyn Describe)) -> String {
    let mut text = Text(String::new());
    describe(&mut text);
    text.0
}

struct Text(String);

impl Text {
    fn say(&mut self, what: &dyn Display) {
        write!(self.0, "{what} ").expect("strings take all");
    }
}

impl Describe for Text {
    fn number(&mut self, value: u128) {
        self.say(&value);
    }
    fn signed(&mut self, value: i128) {
        self.say(&value);
    }
    fn truth(&mut self, value: bool) {
        self.say(&value);
    }
    fn text(&mut self, value: &dyn Display) {
        self.say(value);
    }
    fn open(&mut self) {
        self.say(&'{');
    }
    fn field(&mut self, name: &'static str) {
        self.say(&name);
    }
    fn close(&mut self) {
        self.say(&'}');
    }
    fn open_list(&mut self) {
        self.say(&'[');
    }
    fn close_list(&mut self) {
        self.say(&']');
    }
}
