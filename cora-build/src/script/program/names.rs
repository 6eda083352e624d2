//! Checks that names are unique, and that parameters take states according to their kind.

use std::collections::BTreeMap;

use super::{Handler, Parts, State, path};
use crate::analyse::library_of;
use crate::diag::findings::Findings;
use crate::diag::{Place, codes};
use crate::syntax::arguments::nearest;
use crate::syntax::{Parameter, ParameterAccess, StateKind};

pub(super) fn run(parts: &Parts, findings: &mut Findings) {
    let states = states(parts, findings);
    handlers(parts, findings);
    for handler in parts.functions() {
        for parameter in &handler.decl.parameters {
            match states.get(parameter.state.as_str()) {
                Some(state) => borrowed(handler, parameter, state, findings),
                None => not_declared(handler, parameter, &states, findings),
            }
        }
    }
}

fn states<'a>(parts: &'a Parts, findings: &mut Findings) -> BTreeMap<&'a str, &'a State> {
    let mut states: BTreeMap<&str, &State> = BTreeMap::new();
    for state in &parts.states {
        let name = state.decl.name.as_str();
        let Some(first) = states.get(name) else {
            states.insert(name, state);
            continue;
        };
        let first = path(&first.module, name);
        findings
            .at(state.file)
            .error(
                codes::STATE_TWICE,
                state.decl.ident.span(),
                format!("a second state is called `{name}`"),
            )
            .label("rename this one, or the other")
            .help(format!("the first is `{first}`"));
    }
    states
}

fn handlers(parts: &Parts, findings: &mut Findings) {
    let mut first: BTreeMap<&str, &Handler> = BTreeMap::new();
    for handler in parts.functions() {
        let name = handler.decl.name.as_str();
        let Some(other) = first.get(name) else {
            first.insert(name, handler);
            continue;
        };
        let other = path(&other.module, name);
        findings
            .at(handler.file)
            .error(
                codes::HANDLER_NAMED_TWICE,
                handler.decl.ident.span(),
                format!("a second {} is called `{name}`", handler.decl.mark().noun()),
            )
            .label("rename this one, or the other")
            .help(format!("the first is `{other}`"));
    }
}

fn not_declared(
    handler: &Handler,
    parameter: &Parameter,
    states: &BTreeMap<&str, &State>,
    findings: &mut Findings,
) {
    let help = match nearest(&parameter.state, states.keys().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if library_of(&handler.module).is_some() => format!(
            "put `#[state(…)]` on the type `{}`, in the crate of the handler",
            parameter.state
        ),
        None => format!("put `#[state(…)]` on the type `{}`", parameter.state),
    };
    findings
        .at(handler.file)
        .error(
            codes::STATE_NOT_DECLARED,
            Place::of(&parameter.referent),
            format!("the program declares no state `{}`", parameter.state),
        )
        .help(help);
}

fn borrowed(handler: &Handler, parameter: &Parameter, state: &State, findings: &mut Findings) {
    let name = &parameter.state;
    let (kind, wanted) = match (&state.decl.kind, parameter.access) {
        (StateKind::Keyed(_), ParameterAccess::Table { .. })
        | (StateKind::Objects(_), ParameterAccess::Objects { .. })
        | (StateKind::Region { .. }, ParameterAccess::Region { .. })
        | (
            StateKind::Singleton { .. } | StateKind::PerBucket { .. },
            ParameterAccess::Unique | ParameterAccess::Shared,
        )
        | (StateKind::Commutative { merged: false }, ParameterAccess::Unique)
        | (StateKind::Commutative { merged: true }, ParameterAccess::Merged { .. })
        | (StateKind::ReadMostly, ParameterAccess::Shared) => return,
        (StateKind::Rows(args), ParameterAccess::Rows(form)) if args.form == form => return,
        (StateKind::Keyed(_), _) => ("keyed", format!("&mut Table<{name}>")),
        (StateKind::Objects(_), _) => ("a state of objects", format!("&mut Objects<{name}>")),
        (StateKind::Region { .. }, _) => ("a region", format!("&mut Region<{name}>")),
        (StateKind::Singleton { .. }, _) => ("a singleton", format!("&mut {name}")),
        (StateKind::PerBucket { .. }, _) => ("a value per bucket", format!("&mut {name}")),
        (StateKind::Commutative { merged: false }, _) => ("commutative", format!("&mut {name}")),
        (StateKind::Commutative { merged: true }, _) => {
            ("a `merged` commutative state", format!("&mut Merged<{name}>"))
        }
        (StateKind::ReadMostly, _) => ("read-mostly", format!("&{name}")),
        (StateKind::Rows(args), _) => {
            ("a row of a configured table", format!("&{}<{name}>", args.form.table()))
        }
    };
    findings
        .at(handler.file)
        .error(
            codes::STATE_BORROWED_OTHERWISE,
            Place::of(&parameter.referent),
            format!("`{name}` is {kind}, and is not borrowed like this"),
        )
        .help(format!("write `{}: {wanted}`", parameter.ident));
}

/// Warns of items outside the chain.
pub(super) fn unused(parts: &Parts, chain: &[usize], findings: &mut Findings) {
    for (at, handler) in parts.handlers.iter().enumerate() {
        if !chain.contains(&at) {
            let name = &handler.decl.name;
            findings
                .at(handler.file)
                .warning(
                    codes::HANDLER_UNUSED,
                    handler.decl.ident.span(),
                    format!("no packet meets `{name}`: `app!` does not name it"),
                )
                .help("add it to `app!`, or take `#[flow_handler]` away");
        }
    }
    for state in &parts.states {
        let name = &state.decl.name;
        let chained = chain.iter().map(|at| &parts.handlers[*at]);
        let used = chained
            .chain(&parts.timed)
            .any(|it| it.decl.parameters.iter().any(|p| p.state == *name));
        if !used {
            findings
                .at(state.file)
                .warning(
                    codes::STATE_UNUSED,
                    state.decl.ident.span(),
                    format!("no handler of the chain takes `{name}`"),
                )
                .help("take it as a parameter, or take `#[state]` away");
        }
    }
}
