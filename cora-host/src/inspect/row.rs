//! An entry as JSON, with the reason for its place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cora_core::app::App;
use cora_core::plain::Plain as _;
use cora_runtime::link::message::Stay;
use serde::Serialize;
use serde_json::Value;

use crate::inspect::tracing::TracedPacket;
use crate::observe::state::{import, to_json};

/// An entry that a side told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub(super) shard: u16,
    pub(super) at_nic: bool,
    pub(super) state: u16,
    pub(super) stay: Stay,
    pub(super) group: &'a [u8],
    pub(super) piece: &'a [u8],
}

/// The side's name.
pub(super) const fn side(at_nic: bool) -> &'static str {
    if at_nic { "nic" } else { "host" }
}

/// An entry, as an operator sees it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entry {
    pub(super) shard: u16,
    pub(super) side: &'static str,
    pub(super) state: &'static str,
    /// The group key of its flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flow: Option<Value>,
    pub(super) key: Value,
    /// The key of the other direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reply: Option<Value>,
    pub(super) idle_ms: u64,
    /// Since its insertion, if the state has a life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) age_ms: Option<u64>,
    pub(super) value: Value,
    pub(super) stay: Reason,
    /// The same for people.
    pub(super) why: String,
}

/// Why the flow is at its side, for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub(super) enum Reason {
    Planned,
    Taken,
    Unknown,
    Moves,
    Offered,
    Scattered,
    NicTakesNone,
    Packets { packets: u32, of: u32, punts: u32 },
    Rests { left_ms: u64 },
    Share { share: u16 },
    Full { most: u32 },
    Next,
}

impl Entry {
    /// Reads what a side told; `None` if that is no entry of the program. `now` is the run's time
    /// (ns).
    pub(super) fn of<A: App>(app: &mut A, told: &Told<'_>, now: u64) -> Option<Self> {
        let (state, _) = A::PLACES.get(usize::from(told.state))?;
        let group = A::Group::get(told.group).filter(|_| !told.group.is_empty());
        let mut entry = None;
        import(app, told.state, told.piece, 0, &mut |_, describe| entry = Some(to_json(describe)))
            .ok()?;
        let mut entry = entry?;
        let mut field = |name: &str| entry.get_mut(name).map(Value::take);
        let since = |time: u64| now.saturating_sub(time) / 1_000_000;
        let time = |value: Option<Value>| value.and_then(|value| value.as_u64());
        Some(Self {
            shard: told.shard,
            side: side(told.at_nic),
            state,
            flow: group.map(|group| to_json(&mut |to| group.describe(to))),
            key: field("key")?,
            reply: field("reply"),
            idle_ms: since(time(field("used")).unwrap_or(0)),
            age_ms: time(field("inserted")).map(since),
            value: field("value")?,
            stay: Reason::of(told.stay),
            why: why(told.stay),
        })
    }
}

impl Reason {
    const fn of(stay: Stay) -> Self {
        match stay {
            Stay::Planned => Self::Planned,
            Stay::Taken => Self::Taken,
            Stay::Unknown => Self::Unknown,
            Stay::Moves => Self::Moves,
            Stay::Offered => Self::Offered,
            Stay::Scattered => Self::Scattered,
            Stay::NicTakesNone => Self::NicTakesNone,
            Stay::Packets { packets, of, punts } => Self::Packets { packets, of, punts },
            Stay::Rests { left } => Self::Rests { left_ms: left / 1_000_000 },
            Stay::Share { share } => Self::Share { share },
            Stay::Full { most } => Self::Full { most },
            Stay::Next => Self::Next,
        }
    }
}

/// The reason for people.
fn why(stay: Stay) -> String {
    match stay {
        Stay::Planned => "the plan has it here: no flow moves".into(),
        Stay::Taken => "the host offered its flow, and the NIC took it".into(),
        Stay::Unknown => {
            "it belongs to no flow that can move: no packet of one has made it known".into()
        }
        Stay::Moves => "its flow is on its way between the sides".into(),
        Stay::Offered => "its flow is offered to the NIC, which has not answered yet".into(),
        Stay::Scattered => {
            "its flow has entries without a record: the table of flows was full when they came"
                .into()
        }
        Stay::NicTakesNone => {
            "the NIC half that runs now takes no flow: it stands in for a card that is away".into()
        }
        Stay::Packets { packets, of, punts: 0 } => {
            format!("its flow has had {packets} of the {of} packets before an offer")
        }
        Stay::Packets { packets, of, punts } => format!(
            "its flow has had {packets} of {of} packets before the next offer, since the NIC gave it \
             back {punts} times: some packets need a state that only the host has"
        ),
        Stay::Rests { left } => {
            format!("its flow came back from the NIC, and rests for {} ms", left / 1_000_000)
        }
        Stay::Share { share } => format!(
            "its flow is not among the {share} of 1024 that the NIC may own (a share by hash)"
        ),
        Stay::Full { most } => format!("the NIC has the {most} flows that it may have"),
        Stay::Next => "its flow is offered with its next packet".into(),
    }
}

/// The answers of the inspector.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Answered {
    Flows {
        schema: &'static str,
        entries: Vec<Entry>,
        /// Entries that were looked at.
        scanned: u64,
        /// Where the listing goes on; `None` at its end.
        next: Option<String>,
    },
    Deleted {
        schema: &'static str,
        removed: u64,
        not_removed: Vec<NotDone>,
    },
    Moved {
        schema: &'static str,
        /// Flows that move from now on.
        moves: u64,
        /// Flows that were there already.
        there: u64,
        not_moved: Vec<NotDone>,
    },
    Values {
        schema: &'static str,
        /// By name of the state.
        values: BTreeMap<&'static str, Value>,
        /// States whose value is too large to be asked for.
        left_out: Vec<&'static str>,
    },
    Traced {
        schema: &'static str,
        packets: Vec<TracedPacket>,
        /// Records that found no room on their way.
        missed: u64,
        /// Packets that a busy side did not look at.
        passed_by: u64,
    },
    Tapped {
        schema: &'static str,
        file: PathBuf,
        /// Records in the file.
        written: u64,
        /// The same by point.
        packets: BTreeMap<&'static str, u64>,
        /// Records that found no room on their way.
        missed: u64,
        /// Packets that a busy side did not look at.
        passed_by: u64,
    },
}

/// An entry or a flow that an order did not reach, and why.
#[derive(Debug, Serialize)]
pub(super) struct NotDone {
    pub(super) key: Value,
    pub(super) why: &'static str,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::golden;

    fn entry(stay: Stay) -> Entry {
        Entry {
            shard: 0,
            side: "host",
            state: "Session",
            flow: None,
            key: json!("tcp 10.0.0.1:4711 > 192.0.2.7:443"),
            reply: None,
            idle_ms: 12,
            age_ms: None,
            value: json!({ "packets": 3 }),
            stay: Reason::of(stay),
            why: why(stay),
        }
    }

    /// docs/json.md has their fields.
    #[test]
    fn answers_are_as_the_page_says() {
        let whole = Entry {
            flow: Some(json!("10.0.0.1")),
            reply: Some(json!("tcp 192.0.2.7:443 > 10.0.0.1:4711")),
            age_ms: Some(900),
            ..entry(Stay::Packets { packets: 3, of: 8, punts: 1 })
        };
        let others = [
            Stay::Taken,
            Stay::NicTakesNone,
            Stay::Rests { left: 5_000_000 },
            Stay::Share { share: 512 },
            Stay::Full { most: 100 },
        ];
        let entries = [whole].into_iter().chain(others.map(entry)).collect();
        let next = Some("0.nic.1.17".into());
        let flows = Answered::Flows { schema: "cora-flows/1", entries, scanned: 60, next };
        golden::json("flows", &flows);
        let left = || vec![NotDone { key: json!("10.0.0.1"), why: "it is not there any more" }];
        let deleted =
            Answered::Deleted { schema: "cora-delete/1", removed: 2, not_removed: left() };
        golden::json("delete", &deleted);
        let moved =
            Answered::Moved { schema: "cora-move/1", moves: 3, there: 1, not_moved: left() };
        golden::json("move", &moved);
        let packets = [("drop", 3), ("wire-in", 2)].into();
        let file = "/tmp/drops.pcapng".into();
        let tapped = Answered::Tapped {
            schema: "cora-tap/1",
            file,
            written: 5,
            packets,
            missed: 1,
            passed_by: 64,
        };
        golden::json("tap", &tapped);
        let values = [("Seen", json!({ "bytes": 7 }))].into();
        let values = Answered::Values { schema: "cora-values/1", values, left_out: vec!["Sketch"] };
        golden::json("values", &values);
    }

    #[test]
    fn reasons_tell_their_numbers() {
        let told = why(Stay::Packets { packets: 3, of: 8, punts: 0 });
        assert_eq!(told, "its flow has had 3 of the 8 packets before an offer");
        let told = why(Stay::Packets { packets: 3, of: 16, punts: 4 });
        assert!(told.contains("3 of 16") && told.contains("back 4 times"), "{told}");
        assert!(why(Stay::Rests { left: 7_999_999 }).ends_with("rests for 7 ms"));
    }
}
