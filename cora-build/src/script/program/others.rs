//! Handlers and states of other crates.
//!
//! A library may have more of them than the program uses. Only the handlers of the chain count, and
//! the states that they take: the others are no part of this program, whatever their names.

use super::{Handler, Parts, State};
use crate::analyse::library_of;
use crate::diag::codes;
use crate::diag::findings::Findings;

/// The parts without what the program does not use of other crates; `chain` is changed with them.
pub(super) fn without_unused(parts: Parts, chain: &mut [usize]) -> Parts {
    let Parts { states, messages, handlers, timed } = parts;
    let mut places = vec![0; handlers.len()];
    let mut kept = Vec::new();
    for (at, handler) in handlers.into_iter().enumerate() {
        places[at] = kept.len();
        if library_of(&handler.module).is_none() || chain.contains(&at) {
            kept.push(handler);
        }
    }
    for at in chain {
        *at = places[*at];
    }
    let own = |name: &str| {
        states.iter().any(|it| it.decl.name == name && library_of(&it.module).is_none())
    };
    let is_taken = |state: &State, by: &[Handler]| {
        let home = library_of(&state.module);
        let name = &state.decl.name;
        by.iter().any(|handler| {
            let from = library_of(&handler.module);
            let reaches = from == home || (from.is_none() && !own(name));
            reaches && handler.decl.parameters.iter().any(|it| it.state == *name)
        })
    };
    let is_own = |state: &State| library_of(&state.module).is_none();
    // The hook of a library's state comes with the state, a timer with any handler of its library.
    // They bring the states that they take.
    let comes = |timed: &Handler| {
        let home = library_of(&timed.module);
        match timed.decl.expires() {
            _ if home.is_none() => true,
            Some(expires) => states.iter().any(|state| {
                expires.state == state.decl.name
                    && library_of(&state.module) == home
                    && is_taken(state, &kept)
            }),
            None => kept.iter().any(|handler| library_of(&handler.module) == home),
        }
    };
    let timed: Vec<Handler> = timed.into_iter().filter(comes).collect();
    let taken = states
        .iter()
        .map(|state| is_own(state) || is_taken(state, &kept) || is_taken(state, &timed));
    let taken: Vec<bool> = taken.collect();
    let mut states = states;
    let mut next = taken.iter();
    states.retain(|_| next.next().is_none_or(|taken| *taken));
    Parts { states, messages, handlers: kept, timed }
}

/// Refuses states of other crates that are not `pub`.
pub(super) fn visible(parts: &Parts, findings: &mut Findings) {
    for state in &parts.states {
        let Some(library) = library_of(&state.module).filter(|_| !state.public) else { continue };
        let name = &state.decl.name;
        let takes = parts.functions().find(|handler| {
            handler.decl.parameters.iter().any(|parameter| parameter.state == *name)
        });
        let taker = takes.map_or(library, |handler| &handler.decl.name);
        findings
            .at(state.file)
            .error(
                codes::STATE_PRIVATE,
                state.decl.ident.span(),
                format!(
                    "another crate's program uses `{taker}`, and its state `{name}` is private"
                ),
            )
            .help(format!("write `pub struct {name}`"));
    }
}
