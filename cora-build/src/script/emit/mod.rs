//! Writes `cora_app.rs`: the program in the form for the runtimes.
//!
//! The file names only handlers. It finds a state's type through the first handler with the state,
//! so a state may be as private as its handlers.

mod app;
mod handlers;
mod lifecycle;
mod messages;
mod prefetch;
mod states;
mod transaction;
mod transfer;

use std::fmt::{self, Write as _};

use cora_plan::{Graph, Plan};

use crate::diag::fault::Faults;
use crate::syntax::Reader;

/// The app of a program that does not parse. It adds nothing to the compiler's errors.
pub const QUIET: &str = "\
// The program could not be read: the compiler says why.
#[cfg(not(target_os = \"none\"))]
fn main() {}
";

/// The files of `OUT_DIR` for a program with faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faulty {
    /// `cora_app.rs`.
    pub app: String,
    /// Names and texts of files next to it: the compiler's messages.
    pub told: Vec<(String, String)>,
}

/// An app that makes the compiler report the faults that no macro reports. Each text is in a
/// separate file, so that the compiler does not repeat it as the source line.
///
/// An item that looks like Cora's may belong to another crate, with a macro that reports nothing.
/// Then the program compiles, and reports the faults when it runs.
pub fn faulty(faults: &Faults) -> Faulty {
    let by_script = faults.0.iter().filter(|fault| fault.told_by == Reader::BuildScript);
    let told = by_script.enumerate();
    let told =
        told.map(|(number, fault)| (format!("fault-{number}.txt"), fault.for_the_compiler()));
    let told: Vec<(String, String)> = told.collect();
    let mut app = "// The program has faults: the compiler says which.\n".to_owned();
    for (file, _) in &told {
        // Writing to a string does not fail.
        let _infallible = writeln!(app, "::core::compile_error!(::core::include_str!({file:?}));");
    }
    let all = faults.to_string();
    let _infallible = write!(
        app,
        "#[cfg(not(target_os = \"none\"))]\nfn main() {{\n    ::std::eprint!(\"{{}}\", {all:?});\n    \
         ::std::process::exit(1);\n}}\n"
    );
    Faulty { app, told }
}

/// Source of the app. `nic_image` says whether the NIC half is next to it.
pub fn run(graph: &Graph, plan: &Plan, nic_image: bool) -> String {
    let mut out = Lines::default();
    // Writing to a string does not fail.
    let _infallible = file(&mut out, graph, plan, nic_image);
    out.text
}

/// Indented lines of text.
#[derive(Default)]
struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    fn line(&mut self, line: impl fmt::Display) -> fmt::Result {
        writeln!(self.text, "{:indent$}{line}", "", indent = 4 * self.depth)
    }

    /// A line that ends in `{`, the inner lines, and `}`.
    fn block(
        &mut self,
        head: impl fmt::Display,
        inner: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        self.line(format_args!("{head} {{"))?;
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        self.line("}")
    }
}

const ALLOWED: &str = "#[allow(\n    clippy::all,\n    clippy::pedantic,\n    dead_code,\n    missing_docs,\n    \
    missing_debug_implementations,\n    unreachable_pub,\n    unused_imports,\n    unused_qualifications,\n    \
    reason = \"generated\"\n)]";

/// Precedes items that bare metal is built without.
const AT_THE_HOST: &str = "#[cfg(not(target_os = \"none\"))]";

/// When a timer runs next.
const SCHEDULE: &str = "::cora::__private::core::timer::Schedule";

/// A set of buckets.
const BUCKETS: &str = "::cora::__private::core::bucket::BucketSet";

/// The trait of handlers that take messages.
const TAKES: &str = "::cora::__private::core::app::Takes";

/// The trait that names the keys of a table.
const KEY_OF: &str = "::cora::__private::core::state::table::KeyOf";

/// The trait that says what packets' keys are made of.
const TOLD: &str = "::cora::__private::core::state::table::Told";

const USES: [&str; 7] = [
    "app::{App, FlowTableFacts, Handler, Hook, Lifecycle, Nth, PlanFacts, Prefetch, Timer}",
    "app::{Sides, States, Transaction, Transfer}",
    "outbox::Outbox",
    "packet::Packet",
    "state::{Announced, Described, Home, Memory, OutOfMemory, Place, Reach, Stored, Touched, Visit}",
    "trace",
    "verdict::{Forward, Verdict}",
];

fn file(out: &mut Lines, graph: &Graph, plan: &Plan, nic_image: bool) -> fmt::Result {
    writeln!(out.text, "// The program `{}` under the plan `{}`.", graph.app, plan.name)?;
    writeln!(out.text, "// Written by the build script; changes are lost.\n\n{ALLOWED}")?;
    out.block("mod __cora_app", |out| {
        for line in USES {
            out.line(format_args!("use ::cora::__private::core::{line};"))?;
        }
        out.text.push('\n');
        types(out, graph)?;
        messages::types(out, graph)?;
        if graph.states.is_empty() && graph.timers.is_empty() {
            out.line("pub(crate) struct Program {}")?;
        } else {
            out.block("pub(crate) struct Program", |out| {
                (0..graph.states.len()).try_for_each(|number| {
                    out.line(format_args!("s{number}: <S{number} as Stored>::Home,"))
                })?;
                (0..graph.timers.len())
                    .try_for_each(|number| out.line(format_args!("t{number}: {SCHEDULE},")))?;
                if !graph.timers.is_empty() {
                    out.line(format_args!("own: {BUCKETS},"))?;
                }
                Ok(())
            })?;
        }
        out.text.push('\n');
        if !graph.chain.is_empty() {
            out.block("impl Program", |out| {
                handlers::emit(out, graph, plan)?;
                handlers::timed(out, graph, plan)
            })?;
            out.text.push('\n');
        }
        messages::emit(out, graph, plan)?;
        states::emit(out, graph, plan)?;
        out.text.push('\n');
        lifecycle::emit(out, graph, plan)?;
        out.text.push('\n');
        prefetch::emit(out, graph, plan)?;
        out.text.push('\n');
        transaction::emit(out, graph, plan)?;
        out.text.push('\n');
        transfer::emit(out, graph, plan)?;
        out.text.push('\n');
        app::emit(out, graph, plan)?;
        entry(out, graph, nic_image)
    })?;
    out.text.push('\n');
    out.line(AT_THE_HOST)?;
    out.block("fn main() -> ::std::process::ExitCode", |out| out.line("__cora_app::main()"))
}

/// An alias for each state's type, from the first handler or hook that takes it and its position
/// there.
fn types(out: &mut Lines, graph: &Graph) -> fmt::Result {
    for (number, state) in graph.states.iter().enumerate() {
        let found = graph.chain.iter().find_map(|handler| {
            let at = handler.parameters.iter().position(|p| p.state == state.name)?;
            Some((hidden(&handler.path), "Handler", at))
        });
        let by_hook = || {
            let marks = [("Hook", graph.hooks.len()), ("Timer", graph.timers.len())];
            let marks =
                marks.into_iter().flat_map(|(mark, count)| std::iter::repeat_n(mark, count));
            graph.timed().zip(marks).find_map(|(node, mark)| {
                let at = node.parameters.iter().position(|p| p.state == state.name)?;
                Some((hidden(&node.path), mark, at))
            })
        };
        if let Some((handler, mark, at)) = found.or_else(by_hook) {
            out.line(format_args!("/// `{}`.", state.name))?;
            out.line(format_args!(
                "type S{number} = <<{handler} as {mark}>::States as Nth<{at}>>::Type;"
            ))?;
        }
    }
    if !graph.states.is_empty() {
        out.text.push('\n');
    }
    capacities(out, graph)
}

/// Checks that the compiler evaluates the constants of capacities as the build script did.
fn capacities(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let limited = graph.states.iter().enumerate().filter_map(|(number, state)| {
        let keyed = state.keyed.as_ref().map(|keyed| {
            let table = match state.objects {
                Some(_) => format!("S{number}"),
                None => format!("<S{number} as {KEY_OF}>"),
            };
            (table, keyed.capacity)
        });
        let rows = state.rows.as_ref().map(|rows| (format!("S{number}"), rows.capacity));
        keyed.or(rows).map(|(table, capacity)| (state, table, capacity))
    });
    for (state, table, capacity) in limited {
        out.line("const _: () = assert!(")?;
        out.line(format_args!("    {table}::CAPACITY as u64 == {capacity},"))?;
        let name = &state.name;
        let why = format!("the build script read another capacity of `{name}`: write the number");
        out.line(format_args!("    {why:?}"))?;
        out.line(");")?;
    }
    Ok(())
}

/// The hidden type that `#[flow_handler]` generates next to a handler.
fn hidden(path: &str) -> String {
    let (module, name) = path.rsplit_once("::").unwrap_or(("crate", path));
    let name = name.strip_prefix("r#").unwrap_or(name);
    let own = module == "crate" || module.starts_with("crate::");
    // The name of another crate, whatever else is called so.
    let root = if own { "" } else { "::" };
    format!("{root}{module}::__cora_{name}")
}

fn number_of(graph: &Graph, state: &str) -> Option<usize> {
    graph.states.iter().position(|node| node.name == state)
}

fn entry(out: &mut Lines, graph: &Graph, nic_image: bool) -> fmt::Result {
    let image = if nic_image {
        "Some(include_bytes!(concat!(env!(\"OUT_DIR\"), \"/nic-image\")))"
    } else {
        "None"
    };
    let halves = if graph.shares_process {
        "Some(::cora::__private::serve_many::<Program>)"
    } else {
        "None"
    };
    out.text.push('\n');
    out.line(AT_THE_HOST)?;
    out.block("pub(crate) fn main() -> ::std::process::ExitCode", |out| {
        out.line("::cora::__private::main::<Program>(::cora::__private::host::Program {")?;
        out.line(format_args!("    nic_image: {image},"))?;
        out.line("    native_nic: ::cora::__private::nic::serve::<Program>,")?;
        out.line(format_args!("    native_halves: {halves},"))?;
        out.line("    graph_json: include_str!(concat!(env!(\"OUT_DIR\"), \"/graph.json\")),")?;
        out.line("    plan_json: include_str!(concat!(env!(\"OUT_DIR\"), \"/plan.json\")),")?;
        out.line("})")
    })?;
    out.text.push('\n');
    out.line("#[cfg(target_os = \"none\")]")?;
    out.line("#[allow(unsafe_code, reason = \"the runtime's entry calls it by this name\")]")?;
    out.line("#[unsafe(no_mangle)]")?;
    let head = "extern \"Rust\" fn __cora_main(files: ::cora::__private::nic::NicFiles) -> i32";
    out.block(head, |out| out.line("::cora::__private::nic::serve::<Program>(files)"))
}
