//! Capacities that name constants of the program: `capacity = SESSIONS`.
//!
//! The constants are evaluated as far as [`number`] goes: numbers, other constants, arithmetic. The
//! compiler evaluates the same expression, and the app of the build script compares both.

use syn::Item;
use syn::ext::IdentExt as _;

use super::State;
use crate::check::number::{self, NumberError};
use crate::check::region;
use crate::check::value::in_range;
use crate::diag::Place;
use crate::diag::findings::Findings;
use crate::script::source::Source;
use crate::syntax::StateKind;

/// How many constants may be named by another one after the other.
const MOST_STEPS: usize = 16;

/// Fills in the capacities of states.
pub(super) fn run(source: &Source, states: &mut [State], findings: &mut Findings) {
    for state in states {
        let of_region = matches!(state.decl.kind, StateKind::Region { .. });
        let capacity = match &mut state.decl.kind {
            StateKind::Keyed(args) => &mut args.capacity,
            StateKind::Rows(args) => &mut args.capacity,
            StateKind::Objects(args) => &mut args.capacity,
            StateKind::Region { length } => length,
            _ => continue,
        };
        let Some(written) = &capacity.named else { continue };
        let found = evaluate(written, &state.module, source, MOST_STEPS);
        let sink = findings.of_item(state.file);
        let in_range = if of_region { region::in_range } else { in_range };
        if let Some(number) = in_range(found, Place::of(written), sink) {
            capacity.number = number;
        }
    }
}

/// The value of an expression in a module.
fn evaluate(
    expression: &syn::Expr,
    module: &[String],
    source: &Source,
    steps: usize,
) -> Result<u64, NumberError> {
    let steps = steps.checked_sub(1).ok_or(NumberError::NotArithmetic)?;
    number::evaluate(expression, &mut |path| {
        let (constant, home) = constant(path, module, source).ok_or(NumberError::NotArithmetic)?;
        evaluate(constant, home, source, steps)
    })
}

/// The value and the module of the constant that a path in a module names; `None` if the program
/// has no such constant, or several under conditions.
fn constant<'a>(
    path: &syn::Path,
    module: &[String],
    source: &'a Source,
) -> Option<(&'a syn::Expr, &'a [String])> {
    let words: Vec<String> =
        path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
    let whole = source.surroundings.canonical(&words, module)?;
    let (name, home) = whole.split_last()?;
    let mut found = source.shared.iter().filter_map(|shared| match &shared.item {
        Item::Const(item) if item.ident.unraw() == name && shared.module == home => {
            Some((&*item.expr, &*shared.module))
        }
        _ => None,
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
