//! The arguments of `#[state(objects, …)]`.

use super::times;
use super::value::{entries, wrong_value};
use crate::diag::{Diagnostics, codes};
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;
use crate::syntax::{Capacity, ObjectsArgs};

/// Units of sizes.
const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// Fewest bytes: each length has pages of its own.
const FEWEST: u64 = 1 << 20;
/// Most bytes.
const MOST: u64 = 1 << 30;

/// The arguments of objects, with stand-ins for faulty ones.
pub(super) fn run(shape: &StateShape, diagnostics: &mut Diagnostics) -> ObjectsArgs {
    let find = |name| shape.arguments.iter().find(|argument| argument.name == name);
    if let Some(key) = find(Name::Key) {
        diagnostics
            .error(
                codes::OBJECTS_ARGUMENT,
                key.ident.span(),
                "objects have no key: they belong to the flow of the message whose handler inserts them",
            )
            .help("take `key` away, and keep the object's id in an entry of the flow");
    }
    let bytes = find(Name::Bytes);
    if bytes.is_none() && shape.complete {
        diagnostics
            .error(
                codes::OBJECTS_ARGUMENT,
                shape.place,
                "a state with `objects` says how much memory they may take at each side",
            )
            .help("add `bytes = \"32 MiB\"`, or as much as there may be");
    }
    let capacity = find(Name::Capacity);
    if capacity.is_none() && shape.complete {
        diagnostics
            .error(
                codes::CAPACITY_MISSING,
                shape.place,
                "a state with `objects` says how many flows may have some at a time",
            )
            .help("add `capacity = 10_000`, or as many as there may be");
    }
    let idle = find(Name::Idle);
    if idle.is_none() && shape.complete {
        diagnostics
            .error(
                codes::IDLE_MISSING,
                shape.place,
                "a state with `objects` says how long a flow's objects stay unused",
            )
            .help("add `idle = \"5m\"`, or as long as a flow may be silent");
    }
    ObjectsArgs {
        bytes: bytes.and_then(|given| size(given, diagnostics)).unwrap_or(FEWEST),
        capacity: capacity
            .and_then(|given| entries(given, diagnostics))
            .unwrap_or(Capacity { number: 1, named: None }),
        idle_ns: idle.and_then(|given| times::time(given, diagnostics)).unwrap_or(1),
    }
}

/// Reports `bytes` on a state of another kind.
pub(super) fn not_bytes(argument: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::OBJECTS_ARGUMENT,
            argument.ident.span(),
            "`bytes` is about the memory of `objects`, and this state has none",
        )
        .help("take `bytes` away, or write `#[state(objects, bytes = …)]`");
}

/// `bytes`, if it is in range.
fn size(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<u64> {
    let text = syn::parse2::<syn::LitStr>(argument.value.clone().unwrap_or_default());
    let read = text.ok().and_then(|text| {
        let text = text.value();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '_')?;
        let (number, unit) = text.split_at(digits);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
        number.replace('_', "").parse::<u64>().ok()?.checked_mul(*unit)
    });
    let Some(bytes) = read else {
        let help = "write a whole number of `KiB`, `MiB` or `GiB`: `bytes = \"32 MiB\"`".to_owned();
        wrong_value(argument, "a size in quotes", help, diagnostics);
        return None;
    };
    if !(FEWEST..=MOST).contains(&bytes) {
        diagnostics
            .error(
                codes::OBJECTS_ARGUMENT,
                argument.place(),
                "objects of a state have from 1 MiB to 1 GiB at each side",
            )
            .help("say at least `\"1 MiB\"` and at most `\"1 GiB\"`");
        return None;
    }
    Some(bytes)
}
