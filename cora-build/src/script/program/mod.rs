//! A whole program: whether its states, handlers and chain fit together.
//!
//! 1. Each annotated item is read as the macros read it ([`crate::syntax`]).
//! 2. Names are held against each other: states, handlers, parameters (`names`).
//! 3. The chain is read from `app!` (`chain`).
//! 4. What handlers reach besides their parameters is held against the rules (`reach`), and so are
//!    drops of transparent ones through the functions that they call (`transparent`).
//!
//! 5. Code that both halves are built from uses `core` alone (`std_use`).
//!
//! A stage with errors ends the build, so that no fault is told that another one made.

mod chain;
mod names;
mod reach;
mod std_use;
mod transparent;

use std::collections::BTreeMap;

use super::cfg::Cfg;
use super::findings::Findings;
use super::source::{Annotated, Annotation, Source};
use crate::diag::Diagnostics;
use crate::syntax::{self, HandlerDecl, Reader, StateDecl};

/// A program whose parts fit together.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its states, by name; also those that the chain does not use.
    pub states: BTreeMap<String, State>,
    /// The handlers of the chain, in order.
    pub chain: Vec<Handler>,
    /// Whether some entry has a reply key of its handler's making.
    pub translates: Translates,
}

/// A state, and where it is.
#[derive(Clone, Debug)]
pub struct State {
    /// The declaration.
    pub decl: StateDecl,
    /// Number of its file.
    pub file: usize,
    /// Modules around it.
    pub module: Vec<String>,
}

/// A handler, and where it is.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The declaration.
    pub decl: HandlerDecl,
    /// Number of its file.
    pub file: usize,
    /// Modules around it.
    pub module: Vec<String>,
    /// Why the root can't name it, where it can't.
    pub hidden: Option<String>,
}

/// Which handlers name the reply key of an entry themselves (`insert_with_reply`), as NAT does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translates {
    /// Names of handlers that say so in their body.
    pub handlers: Vec<String>,
    /// A function that is no handler says so, so any handler may.
    pub helpers: bool,
}

/// The annotated items of a program, each right by itself.
struct Parts {
    states: Vec<State>,
    handlers: Vec<Handler>,
}

/// Reads and checks the program; `None` after an error, which is in `findings` then.
pub fn run(source: &Source, cfg: &Cfg, findings: &mut Findings) -> Option<Program> {
    let parts = parts(source, findings);
    if findings.has_errors() {
        return None;
    }
    if source.has_nic {
        std_use::run(source, cfg, findings);
    }
    names::run(&parts, findings);
    let chain = chain::run(source, &parts, findings);
    reach::run(source, &parts, findings);
    transparent::run(source, &parts, findings);
    if findings.has_errors() {
        return None;
    }
    names::unused(&parts, &chain, findings);
    let translates = reach::translates(source, &parts);
    let chain = chain.into_iter().map(|at| parts.handlers[at].clone()).collect();
    let states = parts.states.into_iter().map(|state| (state.decl.name.clone(), state)).collect();
    Some(Program { states, chain, translates })
}

fn parts(source: &Source, findings: &mut Findings) -> Parts {
    let mut parts = Parts { states: Vec::new(), handlers: Vec::new() };
    for item in &source.items {
        let sink = findings.of_item(item.file);
        let Annotated { file, ref module, .. } = *item;
        let module = module.clone();
        match item.annotation {
            Annotation::State => {
                let decl = read(item, sink, syntax::parse_state);
                parts.states.extend(decl.map(|decl| State { decl, file, module }));
            }
            Annotation::Handler => {
                let hidden = item.hidden.clone();
                let decl = read(item, sink, syntax::parse_handler);
                parts.handlers.extend(decl.map(|decl| Handler { decl, file, module, hidden }));
            }
        }
    }
    parts
}

type Parse<T> =
    fn(proc_macro2::TokenStream, proc_macro2::TokenStream, Reader, &mut Diagnostics) -> Option<T>;

fn read<T>(item: &Annotated, sink: &mut Diagnostics, parse: Parse<T>) -> Option<T> {
    parse(item.args.clone(), item.item.clone(), Reader::BuildScript, sink)
}

/// The path of an item: `crate::a::b`.
pub fn path(module: &[String], name: &str) -> String {
    let mut path = "crate".to_owned();
    for part in module.iter().map(String::as_str).chain([name]) {
        path.push_str("::");
        path.push_str(&raw(part));
    }
    path
}

/// A name as a path may hold it: keywords are written raw.
fn raw(name: &str) -> String {
    if syn::parse_str::<syn::Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}
