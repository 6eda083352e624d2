//! The state-flow graph: the handlers of a program in chain order, its states, and the accesses of
//! handlers to states (read, write, insert, remove).

mod hearing;
mod idle_ns;
mod message;
mod objects;
mod region;
mod rows;
mod sending;
mod timed;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use hearing::{Cause, Hearing, Order, Settled, Source, Under};
pub use message::{How, MessageNode, Sent, WireForm};
pub use objects::Objects;
pub use region::Region;
pub use rows::Rows;
pub use sending::{Sending, Times};
pub use timed::{HookNode, TimerNode};

use crate::number::grouped;
use crate::vocabulary::{BucketsBy, Kind, Replies};

/// Version of the graph's JSON; a reader refuses others.
pub const SCHEMA: u32 = 2;

/// A whole program as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the program's package.
    pub app: String,
    /// Handlers, as `app!` chains them.
    pub chain: Vec<HandlerNode>,
    /// States that the chain uses, sorted by name.
    pub states: Vec<StateNode>,
    /// Messages that handlers take or send, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageNode>,
    /// Accesses, in the order of the chain and of each handler's parameters; those of hooks last.
    pub edges: Vec<Edge>,
    /// The hooks of states' entries, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookNode>,
    /// The timers, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timers: Vec<TimerNode>,
    /// Whether it may share a process with others: its manifest says so, and its build found
    /// neither `unsafe` nor loops or calls without a bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_process: bool,
}

/// One handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandlerNode {
    /// Name of its function.
    pub name: String,
    /// Path of its function: `crate::nat::translate`.
    pub path: String,
    /// Place of its declaration.
    pub at: SourcePlace,
    /// Whether it takes only the packet's headers, judged by the name of its first parameter's
    /// type. Only predictions use this flag. A half uses the macro's finding by the same name, and
    /// the compiler refuses another type of that name. The flag is left out for handlers that take
    /// the whole packet, as in graphs before the flag existed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headers: bool,
    /// It runs at the host alone, whatever the plan: `at = host`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_host: bool,
    /// It may send packets besides the one that it handles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sends: bool,
    /// The message that it takes in place of a packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<String>,
    /// The messages that it may send, in the order of its outboxes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outboxes: Vec<String>,
    /// States of its parameters after the packet, in order.
    pub parameters: Vec<Parameter>,
    /// The paths through it that differ in their accesses to states, in source order. Never empty.
    pub paths: Vec<Path>,
    /// Accesses that the source does not show, and that count as the worst case.
    pub opaque: Vec<Opaque>,
}

/// A path through a handler, defined by its accesses to states. Equal paths are merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Path {
    /// Its accesses, in order. A repeated access in a row appears once.
    pub accesses: Vec<Access>,
    /// The messages that it sends, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<Sent>,
    /// Its exit.
    pub exit: Exit,
}

/// An access of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The state.
    pub state: String,
    /// The operation.
    pub does: Does,
    /// Its key, as written in the source; `None` for states without a key, and for an opaque one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// It happens any number of times: it is in a loop or closure, or paths were merged. Such
    /// adjacent accesses happen in any order.
    pub many: bool,
    /// An earlier access of this path may have written a state, so a punt here must roll back. A
    /// look-up that could write counts as a write, whether or not it finds an entry.
    pub after_write: bool,
    /// Its place.
    pub at: SourcePlace,
}

/// The operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// Reads the state or an entry.
    Read,
    /// Looks an entry up to change it, or writes the state.
    Write,
    /// Makes an entry.
    Insert,
    /// Removes an entry.
    Remove,
    /// Opaque: any operation that the borrow allows.
    Anything,
}

/// The exit of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// `Transmit`: the next handler of the chain runs.
    Transmit,
    /// `Drop`, or a reason by `?`.
    Drop,
    /// `Pass` to the local stack.
    Pass,
    /// `Redirect`.
    Redirect,
    /// `Done`.
    Done,
    /// A value that the source does not show.
    Unseen,
}

/// A handler's parameter after the packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Its state.
    pub state: String,
    /// Whether it is borrowed `&mut`.
    pub mutable: bool,
}

/// An access that counts as the worst case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opaque {
    /// Its place.
    pub at: SourcePlace,
    /// Its state.
    pub state: String,
    /// The reason that the source does not show it.
    pub why: String,
}

/// A place in the source: file relative to the package, line and column from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File.
    pub file: String,
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateNode {
    /// Name of its type.
    pub name: String,
    /// Path of its type.
    pub path: String,
    /// Place of its declaration.
    pub at: SourcePlace,
    /// Its declared kind.
    pub kind: Kind,
    /// Declarations of a keyed state only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Keyed>,
    /// Declarations of objects only: all objects of a flow count as one entry of a keyed state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Objects>,
    /// Declarations of a region only: its items count as one value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// Declarations of a configured table only, which is read-mostly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// A copy of this singleton outlives the host half. ([`Keyed`] has its own flag for entries.)
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub durable: bool,
    /// Handlers read this commutative state as of the last merge.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// In place of an idle time-out in nanoseconds: there is none.
pub const NEVER: u64 = u64::MAX;

/// The declarations of a keyed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    /// Type of its key: the last word of its path.
    pub key: String,
    /// Type of the group that its keys are within: an entry is found by packets of its own group
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Whether an entry is also found by the key of the reply direction.
    pub reply: bool,
    /// Maximum number of entries.
    pub capacity: u64,
    /// Idle time-out of an entry, in nanoseconds. [`NEVER`] if it has none, which is written as the
    /// text `never`.
    #[serde(with = "idle_ns")]
    pub idle_ns: u64,
    /// Time from an entry's insertion to its end, used or not, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_ns: Option<u64>,
    /// The reply keys of its entries. A handler may choose them, as NAT does: then reply packets
    /// have other addresses than the packets that they answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub replies: Replies,
    /// The port that decides the buckets of its packets, if the declaration says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bucket: Option<BucketsBy>,
    /// Entries have idle times of their own, of which `idle_ns` is the longest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle_by: bool,
    /// Copies of its entries outlive the side that owns them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub durable: bool,
    /// Its entries become records when they expire or are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// The hook that runs when an entry expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expire: Option<String>,
}

/// Whether a value is as by default.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A field of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name, or its position in a tuple struct.
    pub name: String,
    /// Its type, as written.
    #[serde(rename = "type")]
    pub type_text: String,
}

/// The accesses of a handler to a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The handler.
    pub handler: String,
    /// The state.
    pub state: String,
    /// It reads the state.
    pub reads: bool,
    /// It writes the state or existing entries.
    pub writes: bool,
    /// It makes entries.
    pub inserts: bool,
    /// It removes entries.
    pub removes: bool,
}

impl Graph {
    /// Whether a handler runs at the host alone.
    pub fn needs_host(&self) -> bool {
        self.chain.iter().any(|handler| handler.at_host)
    }

    /// A program without handlers.
    pub fn new(app: impl Into<String>) -> Self {
        Self {
            schema: SCHEMA,
            app: app.into(),
            chain: Vec::new(),
            states: Vec::new(),
            edges: Vec::new(),
            hooks: Vec::new(),
            timers: Vec::new(),
            messages: Vec::new(),
            shares_process: false,
        }
    }

    /// The state of this name.
    pub fn state(&self, name: &str) -> Option<&StateNode> {
        self.states.iter().find(|state| state.name == name)
    }

    /// The handler of this name.
    pub fn handler(&self, name: &str) -> Option<&HandlerNode> {
        self.chain.iter().find(|handler| handler.name == name)
    }

    /// Whether all handlers read only the headers of packets. Long frames then cross to the host
    /// under header split.
    pub fn takes_headers(&self) -> bool {
        !self.chain.is_empty() && self.chain.iter().all(|handler| handler.headers)
    }

    /// Handlers that have this state as a parameter, in chain order.
    pub fn users<'a>(&'a self, state: &'a str) -> impl Iterator<Item = &'a HandlerNode> {
        self.chain.iter().filter(move |handler| handler.parameters.iter().any(|p| p.state == state))
    }

    /// A name for this graph: a hash of everything but places in the source, as 16 hexadecimal
    /// digits.
    pub fn digest(&self) -> String {
        let mut plain = self.clone();
        let nowhere = || SourcePlace { file: String::new(), line: 0, column: 0 };
        let hooks = plain.hooks.iter_mut().map(|hook| &mut hook.node);
        let timers = plain.timers.iter_mut().map(|timer| &mut timer.node);
        for handler in plain.chain.iter_mut().chain(hooks).chain(timers) {
            handler.at = nowhere();
            handler.opaque.iter_mut().for_each(|opaque| opaque.at = nowhere());
            let accesses = handler.paths.iter_mut().flat_map(|path| &mut path.accesses);
            accesses.for_each(|access| access.at = nowhere());
        }
        plain.states.iter_mut().for_each(|state| state.at = nowhere());
        format!("{:016x}", rapidhash::v3::rapidhash_v3(plain.to_json().as_bytes()))
    }

    /// As JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        crate::json::pretty(self)
    }

    /// From JSON. Another schema is an error, in a sentence.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let graph: Self =
            serde_json::from_str(text).map_err(|error| format!("not a graph: {error}"))?;
        if graph.schema != SCHEMA {
            return Err(format!(
                "a graph of schema {} where this Cora reads schema {SCHEMA}",
                graph.schema
            ));
        }
        Ok(graph)
    }
}

impl StateNode {
    /// What the sides do with the replicas of a commutative state.
    pub const fn replicas(&self) -> &'static str {
        if self.merged {
            "each side updates its own replica, and reads the merge of both, made every 100 ms of packet time"
        } else {
            "each side updates its own replica, and reports merge them"
        }
    }

    /// Whether copies of it outlive the side that holds it.
    pub fn is_durable(&self) -> bool {
        self.durable || self.keyed.as_ref().is_some_and(|keyed| keyed.durable)
    }
}

impl HandlerNode {
    /// The states that one of its [paths](Self::paths) touches, sorted by name. `path` is the
    /// index; an unknown one gives an empty set.
    pub fn touches(&self, path: usize) -> BTreeSet<&str> {
        let path = self.paths.get(path);
        let accesses = path.into_iter().flat_map(|path| &path.accesses);
        accesses.map(|access| access.state.as_str()).collect()
    }
}

impl Edge {
    /// Its accesses in a few words: `read`, `read, write, insert`; `unused` if there are none.
    pub fn label(&self) -> String {
        let words = [
            (self.reads, "read"),
            (self.writes, "write"),
            (self.inserts, "insert"),
            (self.removes, "remove"),
        ];
        let words: Vec<&str> =
            words.into_iter().filter_map(|(does, word)| does.then_some(word)).collect();
        if words.is_empty() { "unused".to_owned() } else { words.join(", ") }
    }
}

impl Keyed {
    /// Whether handlers choose the keys of replies.
    pub fn translates(&self) -> bool {
        self.replies != Replies::Reversed
    }

    /// The key of the flows that its entries travel with: the group that its keys are within, or
    /// else its own.
    pub fn travels_by(&self) -> &str {
        self.within.as_ref().unwrap_or(&self.key)
    }

    /// Whether nothing but a handler, or a full table, ends its entries.
    pub const fn stays(&self) -> bool {
        self.idle_ns == NEVER && self.life_ns.is_none() && !self.idle_by
    }

    /// Its declaration in one line: `by FiveTuple + reply, 65,536 entries, idle 5m`.
    pub fn summary(&self) -> String {
        let reply = if self.reply { " + reply" } else { "" };
        let durable = if self.durable { ", durable" } else { "" };
        let recorded = if self.recorded { ", recorded" } else { "" };
        let hook =
            self.on_expire.as_ref().map_or_else(String::new, |hook| format!(", then {hook}"));
        let life = self.life_ns.map_or_else(String::new, |ns| format!(", life {}", duration(ns)));
        let within =
            self.within.as_ref().map_or_else(String::new, |group| format!(" within {group}"));
        format!(
            "by {}{within}{reply}, {} entries, idle {}{life}{durable}{recorded}{hook}",
            self.key,
            grouped(self.capacity),
            duration(self.idle_ns)
        )
    }
}

/// Nanoseconds in the coarsest unit that is exact, or `never`.
pub(crate) fn duration(ns: u64) -> String {
    if ns == NEVER {
        return "never".to_owned();
    }
    const UNITS: [(u64, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    UNITS
        .into_iter()
        .find(|(unit, _)| ns > 0 && ns.is_multiple_of(*unit))
        .map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(duration(300_000_000_000), "5m");
        assert_eq!(duration(90_000_000_000), "90s");
        assert_eq!(duration(1_500), "1500ns");
        assert_eq!(duration(0), "0ns");
        assert_eq!(duration(NEVER), "never");
    }

    #[test]
    fn times_of_entries_are_written_and_read() {
        let mut keyed = crate::sample::nat().states[1].keyed.clone().unwrap();
        let plain = serde_json::to_string(&keyed).unwrap();
        assert!(plain.contains("\"idle_ns\":500000000") && !plain.contains("life"), "{plain}");
        assert!(!keyed.stays());
        keyed.idle_ns = NEVER;
        assert!(keyed.stays());
        assert!(keyed.summary().contains("idle never"), "{}", keyed.summary());
        keyed.life_ns = Some(1_000_000_000);
        assert!(!keyed.stays());
        assert!(keyed.summary().contains("idle never, life 1s"), "{}", keyed.summary());
        let written = serde_json::to_string(&keyed).unwrap();
        assert!(written.contains("\"idle_ns\":\"never\",\"life_ns\":1000000000"), "{written}");
        assert_eq!(serde_json::from_str::<Keyed>(&written).unwrap(), keyed);
        let wrong = written.replace("never", "soon");
        assert!(serde_json::from_str::<Keyed>(&wrong).is_err());
    }

    #[test]
    fn a_path_names_the_states_that_it_touches() {
        let at = || SourcePlace { file: "src/main.rs".to_owned(), line: 1, column: 1 };
        let access = |state: &str| Access {
            state: state.to_owned(),
            does: Does::Read,
            key: None,
            many: false,
            after_write: false,
            at: at(),
        };
        let accesses = ["Session", "PortPool", "Session"].map(access).to_vec();
        let path = |accesses| Path { accesses, sends: Vec::new(), exit: Exit::Transmit };
        let mut graph = Graph::new("nat");
        graph.chain.push(HandlerNode {
            name: "nat".to_owned(),
            path: "crate::nat".to_owned(),
            at: at(),
            headers: false,
            at_host: false,
            sends: false,
            takes: None,
            outboxes: Vec::new(),
            parameters: Vec::new(),
            paths: vec![path(accesses), path(Vec::new())],
            opaque: Vec::new(),
        });
        let nat = graph.handler("nat").expect("it is in the chain");
        assert_eq!(nat.touches(0), BTreeSet::from(["PortPool", "Session"]));
        assert!(nat.touches(1).is_empty() && nat.touches(2).is_empty());
        assert!(graph.handler("firewall").is_none());
    }

    #[test]
    fn headers_alone_are_asked_for_when_all_handlers_do() {
        let mut graph = Graph::new("nat");
        assert!(
            !graph.takes_headers(),
            "a chain of none reads nothing, and passes frames on as they are"
        );
        let nat = crate::sample::nat().chain.remove(0);
        for (headers, all) in [(true, true), (false, false), (true, false)] {
            graph.chain.push(HandlerNode { headers, ..nat.clone() });
            assert_eq!(graph.takes_headers(), all, "{headers}");
        }
        assert_eq!(Graph::from_json(&graph.to_json()), Ok(graph.clone()));
        // A graph from before the flag.
        let before = graph.to_json().replace("\"headers\": true,", "");
        let before = Graph::from_json(&before).expect("it is read");
        assert!(before.chain.iter().all(|handler| !handler.headers));
        assert_ne!(before.digest(), graph.digest());
    }

    #[test]
    fn json_round_trips_and_other_schemas_are_refused() {
        let graph = Graph::new("nat");
        assert_eq!(Graph::from_json(&graph.to_json()), Ok(graph.clone()));
        let other = graph.to_json().replace("\"schema\": 2", "\"schema\": 9");
        let refusal = Graph::from_json(&other).expect_err("another schema");
        assert!(refusal.contains("schema 9"), "{refusal}");
    }
}
