//! The arguments of `#[state(region, …)]`.

use super::number::NumberError;
use super::value::count;
use crate::diag::{Diagnostics, Place, codes};
use crate::syntax::Capacity;
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;

/// Most items.
const MOST: u64 = 1 << 30;

/// The length, or a stand-in for a faulty one.
pub(super) fn length(shape: &StateShape, diagnostics: &mut Diagnostics) -> Capacity {
    let find = |name| shape.arguments.iter().find(|argument| argument.name == name);
    if let Some(key) = find(Name::Key) {
        diagnostics
            .error(
                codes::REGION_ARGUMENT,
                key.ident.span(),
                "a region has no key: its items are found by their numbers",
            )
            .help("take `key` away; for entries by key, take `region` and `length` away instead");
    }
    let length = find(Name::Length);
    if length.is_none() && shape.complete {
        diagnostics
            .error(
                codes::REGION_ARGUMENT,
                shape.place,
                "a state with `region` says how many items it has",
            )
            .help("add `length = 10_000`, or as many as there are");
    }
    length
        .and_then(|given| count(given, in_range, diagnostics))
        .unwrap_or(Capacity { number: 1, named: None })
}

/// A length, if it is a number in range.
pub(crate) fn in_range(
    found: Result<u64, NumberError>,
    place: Place,
    diagnostics: &mut Diagnostics,
) -> Option<u32> {
    let (why, help) = match found {
        Ok(number @ 1..=MOST) => return u32::try_from(number).ok(),
        Ok(_) | Err(NumberError::OutOfRange) => {
            ("a region has from 1 to 2^30 items", "say at least 1 and at most `1 << 30`")
        }
        Err(NumberError::NotArithmetic | NumberError::Named) => (
            "the plan needs this number before anything is compiled",
            "write numbers, constants of this package, and `+ - * / <<` between them: `65_536`, \
             `BUCKETS * 7` or `1 << 16`",
        ),
    };
    diagnostics.error(codes::REGION_ARGUMENT, place, why).help(help);
    None
}

/// Reports `length` on a state of another kind.
pub(super) fn not_length(argument: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::REGION_ARGUMENT,
            argument.ident.span(),
            "`length` is about the items of a `region`, and this state has none",
        )
        .help("take `length` away, or write `#[state(region, length = …)]`");
}
