//! An entry as JSON, with the reason for its place.

use cora_core::app::App;
use cora_core::plain::Plain as _;
use cora_runtime::questions::Stay;
use serde_json::{Map, Value, json};

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

/// The entry as JSON; `None` if it encodes none of the program's. `now` is the run's time (ns).
pub(super) fn row<A: App>(app: &mut A, told: &Told<'_>, now: u64) -> Option<Value> {
    let (name, _) = A::PLACES.get(usize::from(told.state))?;
    let mut row = Map::new();
    row.insert("shard".into(), told.shard.into());
    row.insert("side".into(), side(told.at_nic).into());
    row.insert("state".into(), (*name).into());
    if let Some(group) = A::Group::get(told.group).filter(|_| !told.group.is_empty()) {
        row.insert("flow".into(), to_json(&mut |to| group.describe(to)));
    }
    let mut entry = None;
    import(app, told.state, told.piece, 0, &mut |_, describe| entry = Some(to_json(describe)))
        .ok()?;
    let Some(Value::Object(mut entry)) = entry else { return None };
    let used = entry.remove("used").and_then(|used| used.as_u64()).unwrap_or(0);
    row.insert("idle_ms".into(), (now.saturating_sub(used) / 1_000_000).into());
    if let Some(inserted) = entry.remove("inserted").and_then(|inserted| inserted.as_u64()) {
        row.insert("age_ms".into(), (now.saturating_sub(inserted) / 1_000_000).into());
    }
    row.extend(entry);
    row.insert("stay".into(), stay_json(told.stay));
    row.insert("why".into(), why(told.stay).into());
    Some(Value::Object(row))
}

/// The reason for programs: its name, and its numbers.
fn stay_json(stay: Stay) -> Value {
    match stay {
        Stay::Planned => json!({ "is": "planned" }),
        Stay::Taken => json!({ "is": "taken" }),
        Stay::Unknown => json!({ "is": "unknown" }),
        Stay::Moves => json!({ "is": "moves" }),
        Stay::Offered => json!({ "is": "offered" }),
        Stay::Scattered => json!({ "is": "scattered" }),
        Stay::NicTakesNone => json!({ "is": "nic-takes-none" }),
        Stay::Packets { packets, of, punts } => {
            json!({ "is": "packets", "packets": packets, "of": of, "punts": punts })
        }
        Stay::Rests { left } => json!({ "is": "rests", "left_ms": left / 1_000_000 }),
        Stay::Share { share } => json!({ "is": "share", "share": share, "of": 1024 }),
        Stay::Full { most } => json!({ "is": "full", "most": most }),
        Stay::Next => json!({ "is": "next" }),
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
