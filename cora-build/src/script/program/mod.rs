//! A whole program: the consistency of its states, handlers and chain.
//!
//! 1. Each annotated item is read in the same way as by the macros ([`crate::syntax`]).
//! 2. Capacities that name constants are evaluated (`constants`).
//! 3. Names of states, handlers and parameters are checked against each other (`names`).
//! 4. The chain is read from `app!` (`chain`), and what it does not use of other crates is left out
//!    (`others`).
//! 5. Messages are checked against the handlers that take and send them (`messages`), hooks and
//!    their states against each other (`hooks`), and so are values per bucket and the reply keys
//!    that handlers choose (`buckets`, `replies`).
//! 6. Items that handlers reach besides their parameters are checked (`reach`), and so are drops of
//!    transparent handlers in called functions (`transparent`).
//! 7. Code of both halves may use only `core` (`std_use`), and that of a program that shares a
//!    process has an end and no `unsafe` (`bounded`).
//!
//! A stage with errors ends the build, so that no fault is the consequence of another one.

mod bounded;
mod buckets;
mod chain;
mod constants;
mod hooks;
mod messages;
mod names;
mod objects;
mod others;
mod reach;
mod replies;
mod std_use;
mod transparent;

use std::collections::BTreeMap;

use cora_plan::vocabulary::Replies;
use proc_macro2::TokenStream;

use super::source::cfg::Cfg;
use super::source::{Annotated, Annotation, Source};
use crate::analyse::library_of;
use crate::diag::Diagnostics;
use crate::diag::findings::Findings;
use crate::item;
use crate::syntax::{HandlerDecl, Mark, MessageDecl, Reader, StateDecl};

/// A consistent program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its states, by name, including those outside the chain.
    pub states: BTreeMap<String, State>,
    /// The messages that handlers of the chain take, hooks and timers included, or send, by name.
    pub messages: BTreeMap<String, Message>,
    /// The handlers of the chain, in order.
    pub chain: Vec<Handler>,
    /// The hooks of its states, and its timers.
    pub timed: Vec<Handler>,
    /// The reply keys that handlers choose.
    pub replies: ChosenReplies,
}

impl Program {
    /// The type of the keys of the flows that the objects of a state belong to.
    pub fn key_of_objects(&self, state: &State) -> Option<&str> {
        objects::key_of(self, state)
    }
}

/// A state and its location.
#[derive(Clone, Debug)]
pub struct State {
    /// The declaration.
    pub decl: StateDecl,
    /// Number of its file.
    pub file: usize,
    /// Its modules.
    pub module: Vec<String>,
    /// Whether it is `pub`.
    pub public: bool,
}

/// A message and its location.
#[derive(Clone, Debug)]
pub struct Message {
    /// The declaration.
    pub decl: MessageDecl,
    /// Number of its file.
    pub file: usize,
    /// Its modules.
    pub module: Vec<String>,
}

/// A handler, a hook or a timer, and its location.
#[derive(Clone, Debug)]
pub struct Handler {
    /// The declaration.
    pub decl: HandlerDecl,
    /// Number of its file.
    pub file: usize,
    /// Its modules.
    pub module: Vec<String>,
    /// The reason that the root can't name it, if there is one.
    pub hidden: Option<String>,
}

/// The reply keys that handlers choose, as NAT does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenReplies {
    /// Of each handler that does so in its body: which.
    pub handlers: BTreeMap<String, Replies>,
    /// Those that another function chooses; then any handler may.
    pub helpers: Replies,
}

/// The annotated items of a program, each valid by itself.
struct Parts {
    states: Vec<State>,
    messages: Vec<Message>,
    handlers: Vec<Handler>,
    /// Hooks and timers.
    timed: Vec<Handler>,
}

impl Parts {
    /// Everything that takes states.
    fn functions(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.iter().chain(&self.timed)
    }
}

/// Reads and checks the program; `None` after an error, which is in `findings`.
pub fn run(source: &Source, cfg: &Cfg, findings: &mut Findings) -> Option<Program> {
    let mut parts = parts(source, findings);
    constants::run(source, &mut parts.states, findings);
    if findings.has_errors() {
        return None;
    }
    if source.has_nic {
        std_use::run(source, cfg, findings);
    }
    bounded::run(source, findings);
    let mut chain = chain::run(source, &parts, findings);
    let parts = others::without_unused(parts, &mut chain);
    others::visible(&parts, findings);
    names::run(&parts, findings);
    messages::run(&parts, &chain, findings);
    hooks::run(&parts, findings);
    buckets::run(source, &parts, findings);
    reach::run(source, &parts, findings);
    transparent::run(source, &parts, findings);
    if findings.has_errors() {
        return None;
    }
    names::unused(&parts, &chain, findings);
    let replies = replies::run(source, &parts);
    let chain: Vec<Handler> = chain.into_iter().map(|at| parts.handlers[at].clone()).collect();
    let states = parts.states.into_iter().map(|state| (state.decl.name.clone(), state)).collect();
    let messages = messages::used(parts.messages, &chain, &parts.timed);
    Some(Program { states, messages, chain, timed: parts.timed, replies })
}

fn parts(source: &Source, findings: &mut Findings) -> Parts {
    let mut parts =
        Parts { states: Vec::new(), messages: Vec::new(), handlers: Vec::new(), timed: Vec::new() };
    for item in &source.items {
        let sink = findings.of_item(item.file);
        let Annotated { file, ref module, public, .. } = *item;
        let module = module.clone();
        match item.annotation {
            Annotation::State => {
                let decl = read(item, sink, item::parse_state);
                parts.states.extend(decl.map(|decl| State { decl, file, module, public }));
            }
            Annotation::Message => {
                let decl = read(item, sink, item::parse_message);
                parts.messages.extend(decl.map(|decl| Message { decl, file, module }));
            }
            Annotation::Function(mark) => {
                let hidden = item.hidden.clone();
                let decl = read(item, sink, |args, item, reader, sink| {
                    item::parse_function(mark, args, item, reader, sink)
                });
                let function = decl.map(|decl| Handler { decl, file, module, hidden });
                match mark {
                    Mark::Handler => parts.handlers.extend(function),
                    Mark::Hook | Mark::Timer => parts.timed.extend(function),
                }
            }
        }
    }
    parts
}

fn read<T>(
    item: &Annotated,
    sink: &mut Diagnostics,
    parse: impl FnOnce(TokenStream, TokenStream, Reader, &mut Diagnostics) -> Option<T>,
) -> Option<T> {
    parse(item.args.clone(), item.item.clone(), Reader::BuildScript, sink)
}

/// The path of an item: `crate::a::b`, or `nat::a::b` in the library `nat`.
pub fn path(module: &[String], name: &str) -> String {
    let (mut path, module) = match library_of(module) {
        Some(library) => (raw(library), &module[1..]),
        None => ("crate".to_owned(), module),
    };
    for part in module.iter().map(String::as_str).chain([name]) {
        path.push_str("::");
        path.push_str(&raw(part));
    }
    path
}

/// A name in the form for a path: keywords are raw.
fn raw(name: &str) -> String {
    if syn::parse_str::<syn::Ident>(name).is_ok() { name.to_owned() } else { format!("r#{name}") }
}
