//! The entries that a packet finds, and the effects of its run on them.

use std::collections::{BTreeMap, BTreeSet};

use cora_core::app::App;
use serde::Serialize;
use serde_json::Value;

use crate::observe::state::{import, to_json};

/// Exported entries, each with its state's number.
pub(super) type Pieces = Vec<(u16, Vec<u8>)>;

/// The effect of a run on an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Effect {
    pub(super) state: &'static str,
    pub(super) key: Value,
    pub(super) is: Kind,
    /// The value before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Value>,
    /// The value behind it, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Value>,
}

/// The kind of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Inserted,
    Removed,
    Changed,
    /// Found, and left as it was.
    Read,
    /// It is there, and the run did not ask for it.
    There,
}

/// An entry as it is described.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Described {
    key: Value,
    value: Value,
    used: u64,
}

/// The effects of a run between these two looks, in the order of the states. `now` is the time of
/// its packet (ns).
pub(super) fn effects<A: App>(
    app: &mut A,
    before: &Pieces,
    after: &Pieces,
    now: u64,
) -> Vec<Effect> {
    let (before, after) = (described(app, before), described(app, after));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let effect = |name: &(u16, Vec<u8>)| {
        let (state, _) = A::PLACES.get(usize::from(name.0))?;
        let (was, is) = (before.get(name), after.get(name));
        let kind = match (was, is) {
            (None, _) => Kind::Inserted,
            (_, None) => Kind::Removed,
            (Some(was), Some(is)) if was.value != is.value => Kind::Changed,
            (Some(was), Some(is)) if is.used == now && was.used != now => Kind::Read,
            _ => Kind::There,
        };
        let key = was.or(is)?.key.clone();
        let value = |of: Option<&Described>| of.map(|it| it.value.clone());
        let after = if matches!(kind, Kind::Inserted | Kind::Changed) { value(is) } else { None };
        Some(Effect { state, key, is: kind, before: value(was), after })
    };
    names.into_iter().filter_map(effect).collect()
}

/// Entries by state and by the bytes that name them. Pieces that are no entry of the program are
/// left out.
fn described<A: App>(app: &mut A, pieces: &Pieces) -> BTreeMap<(u16, Vec<u8>), Described> {
    let mut all = BTreeMap::new();
    for (state, piece) in pieces {
        let mut read = None;
        let imported =
            import(app, *state, piece, 0, &mut |_, describe| read = Some(to_json(describe)));
        let (Ok(_), Some(mut entry)) = (imported, read) else { continue };
        let mut field = |name: &str| entry.get_mut(name).map(Value::take);
        let (Some(key), Some(value)) = (field("key"), field("value")) else { continue };
        let used = field("used").and_then(|used| used.as_u64()).unwrap_or(0);
        all.insert((*state, name_of(app, *state, piece)), Described { key, value, used });
    }
    all
}

/// The bytes that name an exported entry.
pub(super) fn name_of<A: App>(app: &mut A, state: u16, piece: &[u8]) -> Vec<u8> {
    let length = app.described(state.into()).layout().map_or(0, |layout| layout.key);
    piece.get(..length).unwrap_or(piece).to_vec()
}
