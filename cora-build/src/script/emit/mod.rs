//! Writes `cora_app.rs`: the program in the form for the runtimes.
//!
//! The file names only handlers. It finds a state's type through the first handler with the state,
//! so a state may be as private as its handlers.

mod ahead;
mod durable;
mod group;
mod host;

use std::fmt::{self, Write as _};

use cora_plan::graph::HandlerNode;
use cora_plan::vocabulary::{Kind, Place, Sides};
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

const USES: [&str; 5] = [
    "app::{App, ConfigureError, Handler, Nth, PlanFacts, Sides}",
    "packet::Packet",
    "state::{Described, Home, Memory, OutOfMemory, Place, Reach, Stored, Touched, Visit}",
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
        if graph.states.is_empty() {
            out.line("pub(crate) struct Program {}")?;
        } else {
            out.block("pub(crate) struct Program", |out| {
                (0..graph.states.len()).try_for_each(|number| {
                    out.line(format_args!("s{number}: <S{number} as Stored>::Home,"))
                })
            })?;
        }
        out.text.push('\n');
        if !graph.chain.is_empty() {
            out.block("impl Program", |out| handlers(out, graph, plan))?;
            out.text.push('\n');
        }
        out.block("impl App for Program", |out| app(out, graph, plan))?;
        entry(out, nic_image)
    })?;
    out.text.push('\n');
    out.line(AT_THE_HOST)?;
    out.block("fn main() -> ::std::process::ExitCode", |out| out.line("__cora_app::main()"))
}

/// An alias for each state's type, from the first handler that takes it and its position there.
fn types(out: &mut Lines, graph: &Graph) -> fmt::Result {
    for (number, state) in graph.states.iter().enumerate() {
        let found = graph.chain.iter().find_map(|handler| {
            let at = handler.parameters.iter().position(|p| p.state == state.name)?;
            Some((hidden(&handler.path), at))
        });
        if let Some((handler, at)) = found {
            out.line(format_args!("/// `{}`.", state.name))?;
            out.line(format_args!(
                "type S{number} = <<{handler} as Handler>::States as Nth<{at}>>::Type;"
            ))?;
        }
    }
    if !graph.states.is_empty() {
        out.text.push('\n');
    }
    Ok(())
}

/// The hidden type that `#[flow_handler]` generates next to a handler.
fn hidden(path: &str) -> String {
    let (module, name) = path.rsplit_once("::").unwrap_or(("crate", path));
    format!("{module}::__cora_{}", name.strip_prefix("r#").unwrap_or(name))
}

fn app(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    out.line(format_args!("const NAME: &'static str = {:?};", graph.app))?;
    facts(out, plan)?;
    places(out, graph, plan)?;
    out.line(format_args!("const STATES: usize = {};", graph.states.len()))?;
    // Each state is aligned to a cache line, which costs up to 64 bytes of padding.
    out.line("const MEMORY: usize = 64")?;
    for number in 0..graph.states.len() {
        out.line(format_args!("    + 64 + <S{number} as Stored>::BYTES"))?;
    }
    out.line("    + 0;")?;
    let single: Vec<usize> =
        (0..graph.states.len()).filter(|at| graph.states[*at].keyed.is_none()).collect();
    if !single.is_empty() {
        let values: Vec<String> =
            single.iter().map(|number| format!("<S{number} as Stored>::VALUE")).collect();
        let largest = "::cora::__private::core::state::largest";
        out.line(format_args!("const VALUE: usize = {largest}(&[{}]);", values.join(", ")))?;
    }
    let group = plan.placement.group_of.as_ref().and_then(|name| number_of(graph, name));
    let group = match group {
        Some(number) => {
            format!("<S{number} as ::cora::__private::core::state::table::KeyOf>::Key")
        }
        None => "::cora::__private::core::key::FiveTuple".to_owned(),
    };
    out.line(format_args!("type Group = {group};"))?;
    if graph.states.iter().all(|state| state.keyed.is_none()) {
        let reads =
            |handler: &HandlerNode| format!("<{} as Handler>::READS_PACKET", hidden(&handler.path));
        let any: Vec<String> = graph.chain.iter().map(reads).collect();
        let any = if any.is_empty() { "false".to_owned() } else { any.join(" || ") };
        out.line(format_args!("const READS_PACKETS: bool = {any};"))?;
    }
    if !graph.chain.is_empty() {
        let heads = |handler: &HandlerNode| {
            format!("!<{} as Handler>::READS_PAYLOAD", hidden(&handler.path))
        };
        let all: Vec<String> = graph.chain.iter().map(heads).collect();
        out.line(format_args!("const HEADS: bool = {};", all.join(" && ")))?;
    }
    durable::emit(out, graph, plan)?;
    let recorded = host::recorded(graph);
    if !recorded.is_empty() {
        out.line(format_args!("const RECORDED: &'static [usize] = &{recorded:?};"))?;
    }
    if graph.states.iter().any(|state| state.kind == Kind::ReadMostly) {
        out.line("const READ_MOSTLY: bool = true;")?;
    }
    out.text.push('\n');
    new(out, graph)?;
    chain(out, graph)?;
    state(out, graph, "state", "Home")?;
    state(out, graph, "described", "Described")?;
    each_state(out, graph, plan)?;
    host::records(out, &recorded)?;
    host::configure(out, graph)
}

fn places(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    let kind = "const PLACES: &'static [(&'static str, Place)] =";
    if graph.states.is_empty() {
        return out.line(format_args!("{kind} &[];"));
    }
    out.line(format_args!("{kind} &["))?;
    for state in &graph.states {
        let place = plan.placement.places.get(&state.name).copied().unwrap_or(Place::Host);
        out.line(format_args!("    ({:?}, Place::{place:?}),", state.name))?;
    }
    out.line("];")
}

fn number_of(graph: &Graph, state: &str) -> Option<usize> {
    graph.states.iter().position(|node| node.name == state)
}

fn facts(out: &mut Lines, plan: &Plan) -> fmt::Result {
    let sides = match plan.placement.sides {
        Sides::HostOnly => "HostOnly",
        Sides::NicOnly => "NicOnly",
        Sides::Split => "Split",
    };
    out.line("const PLAN: PlanFacts = PlanFacts {")?;
    out.line(format_args!("    name: {:?},", plan.name))?;
    out.line(format_args!("    hash: 0x{},", plan.hash))?;
    out.line(format_args!("    sides: Sides::{sides},"))?;
    out.line(format_args!("    host_ordered: {},", plan.placement.host_ordered))?;
    out.line(format_args!("    stateless_flows: {},", plan.placement.stateless_flows))?;
    out.line(format_args!("    nic_share: {},", plan.placement.nic_share))?;
    out.line(format_args!("    offer_after: {},", plan.placement.offer_after))?;
    let one_pair: Vec<_> = plan.placement.one_pair.iter().collect();
    out.line(format_args!("    one_pair: &{one_pair:?},"))?;
    out.line("};")
}

fn new(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let memory = if graph.states.is_empty() { "_memory" } else { "memory" };
    out.block(format_args!("fn new({memory}: &mut Memory) -> Result<Self, OutOfMemory>"), |out| {
        if graph.states.is_empty() {
            return out.line("Ok(Self {})");
        }
        out.line("Ok(Self {")?;
        for number in 0..graph.states.len() {
            out.line(format_args!("    s{number}: <S{number} as Stored>::create(memory)?,"))?;
        }
        out.line("})")
    })?;
    out.text.push('\n');
    Ok(())
}

/// One method per handler of the chain: `h0` for the first.
fn handlers(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    for (at, handler) in graph.chain.iter().enumerate() {
        if at > 0 {
            out.text.push('\n');
        }
        out.line(format_args!("/// `{}`.", handler.name))?;
        out.line("#[inline(always)]")?;
        let head = format!("fn h{at}<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict");
        out.block(head, |out| {
            if plan.placement.host_handlers.contains(&handler.name) {
                // The host reaches every state, but a split's NIC side does not, so this handler
                // has no code there.
                let at_nic = "if const { R::PLACES.is_some() }";
                let punt = "return Err(::cora::__private::core::verdict::Stop::punt());";
                out.block(at_nic, |out| out.line(punt))?;
            }
            let run = format!("<{} as Handler>::run::<R>", hidden(&handler.path));
            let kept = durable::kept(graph, plan, handler);
            // Empty except in a tracing build.
            out.line(format_args!("trace::enter({at});"))?;
            if handler.parameters.is_empty() {
                return out.line(format_args!("trace::leave({run}(packet, (), &Touched::new()))"));
            }
            out.line("let states = (")?;
            for parameter in &handler.parameters {
                let number = number_of(graph, &parameter.state).unwrap_or_default();
                let shared = if parameter.mutable { "" } else { "&*" };
                out.line(format_args!(
                    "    {shared}<S{number} as Stored>::borrow(&mut self.s{number}),"
                ))?;
            }
            out.line(");")?;
            if kept.is_empty() {
                return out
                    .line(format_args!("trace::leave({run}(packet, states, &Touched::new()))"));
            }
            out.line("let touched = Touched::new();")?;
            out.line(format_args!("let verdict = trace::leave({run}(packet, states, &touched));"))?;
            for (position, number) in kept {
                let named = format!("if touched.has({position})");
                out.block(named, |out| out.line(format_args!("self.s{number}.touch();")))?;
            }
            out.line("verdict")
        })?;
    }
    Ok(())
}

fn chain(out: &mut Lines, graph: &Graph) -> fmt::Result {
    let head = "fn chain<R: Reach>(&mut self, packet: &mut Packet<'_>) -> Verdict";
    let forward: Vec<usize> = (0..graph.chain.len()).collect();
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    out.line("#[inline(always)]")?;
    out.block(head, |out| {
        // With one handler both directions are the same.
        if forward.len() < 2 {
            return in_order(out, &forward);
        }
        out.line("if packet.from_inside() {")?;
        out.depth += 1;
        in_order(out, &forward)?;
        out.depth -= 1;
        out.line("} else {")?;
        out.depth += 1;
        in_order(out, &backward)?;
        out.depth -= 1;
        out.line("}")
    })?;
    out.text.push('\n');
    Ok(())
}

/// Runs handlers in order while they transmit; the last verdict is the chain's.
fn in_order(out: &mut Lines, handlers: &[usize]) -> fmt::Result {
    let Some((last, before)) = handlers.split_last() else {
        return out.line("Ok(Forward::Transmit)");
    };
    for handler in before {
        out.line(format_args!("let verdict = self.h{handler}::<R>(packet);"))?;
        out.block("if verdict != Ok(Forward::Transmit)", |out| out.line("return verdict;"))?;
    }
    out.line(format_args!("self.h{last}::<R>(packet)"))
}

/// The states by index, as one of their traits.
fn state(out: &mut Lines, graph: &Graph, method: &str, home: &str) -> fmt::Result {
    let number = if graph.states.len() < 2 { "_number" } else { "number" };
    let head = format!("fn {method}(&mut self, {number}: usize) -> &mut dyn {home}");
    if home == "Described" {
        out.line(AT_THE_HOST)?;
    }
    out.block(head, |out| match graph.states.len() {
        0 => out.line("unreachable!(\"the program has no state\")"),
        1 => out.line("&mut self.s0"),
        count => out.block("match number", |out| {
            for number in 0..count - 1 {
                out.line(format_args!("{number} => &mut self.s{number},"))?;
            }
            out.line(format_args!("_ => &mut self.s{},", count - 1))
        }),
    })?;
    out.text.push('\n');
    Ok(())
}

/// The runtime's work on every state before and after a packet. It is unrolled state by state, so
/// that there is no dynamic dispatch.
fn each_state(out: &mut Lines, graph: &Graph, plan: &Plan) -> fmt::Result {
    if graph.states.is_empty() {
        return Ok(());
    }
    ahead::emit(out, graph, plan)?;
    // Tables come last: then the compiler still knows the writes of `begin` to a table when the
    // handlers look it up. After the begin of a state elsewhere in memory, it would reload them.
    let (mut order, tables): (Vec<usize>, Vec<usize>) =
        (0..graph.states.len()).partition(|state| graph.states[*state].keyed.is_none());
    order.extend(tables);
    for (method, parameters, arguments) in [
        ("begin", ", visit: Visit", ", visit"),
        ("commit", ", undo: bool", ", undo"),
        ("rollback", "", ""),
    ] {
        out.line("#[inline(always)]")?;
        out.block(format_args!("fn {method}(&mut self{parameters})"), |out| {
            order.iter().try_for_each(|state| {
                out.line(format_args!("Home::{method}(&mut self.s{state}{arguments});"))
            })
        })?;
        out.text.push('\n');
    }
    group::emit(out, graph)?;
    out.line("#[inline(always)]")?;
    out.block("fn overflowed(&mut self) -> bool", |out| {
        let all: Vec<String> = (0..graph.states.len())
            .map(|state| format!("Home::overflowed(&self.s{state})"))
            .collect();
        out.line(all.join(" || "))
    })?;
    out.text.push('\n');
    Ok(())
}

fn entry(out: &mut Lines, nic_image: bool) -> fmt::Result {
    let image = if nic_image {
        "Some(include_bytes!(concat!(env!(\"OUT_DIR\"), \"/nic-image\")))"
    } else {
        "None"
    };
    out.text.push('\n');
    out.line(AT_THE_HOST)?;
    out.block("pub(crate) fn main() -> ::std::process::ExitCode", |out| {
        out.line("::cora::__private::main::<Program>(::cora::__private::host::Program {")?;
        out.line(format_args!("    nic_image: {image},"))?;
        out.line("    native_nic: ::cora::__private::nic::serve::<Program>,")?;
        out.line("    graph_json: include_str!(concat!(env!(\"OUT_DIR\"), \"/graph.json\")),")?;
        out.line("    plan_json: include_str!(concat!(env!(\"OUT_DIR\"), \"/plan.json\")),")?;
        out.line("})")
    })?;
    out.text.push('\n');
    out.line("#[cfg(target_os = \"none\")]")?;
    out.line("#[allow(unsafe_code, reason = \"the runtime's entry calls it by this name\")]")?;
    out.line("#[unsafe(no_mangle)]")?;
    out.block("extern \"Rust\" fn __cora_main(fd: i32, length: usize) -> i32", |out| {
        out.line("::cora::__private::nic::serve::<Program>(fd, length)")
    })
}
