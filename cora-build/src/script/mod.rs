//! The whole program, for build scripts: `fn main() { cora::build() }`.
//!
//! ```text
//! source ─► program ─► graph ─► plan ─► cora_app.rs, graph.json, plan.json [, nic-image]
//! ```
//!
//! | module | contents |
//! | --- | --- |
//! | [`source`] | files, annotated items, calls of `app!`, conditional compilation, libraries |
//! | [`cargo`] | where Cargo has the source of a library |
//! | [`program`] | consistency of states, handlers and chain |
//! | [`graph`] | the checked program as data |
//! | [`mod@plan`] | the stated or searched plan |
//! | [`reading`] | the first four alone, for other planners |
//! | [`emit`] | the program in the form for the runtimes |
//! | `expansions` | what macros and build script write, for people (feature `expansions`) |
//! | [`nested`] | the NIC half, by a second cargo, and how it is linked |
//!
//! Only `OUT_DIR` is written to. The same source and plan give the same bytes, on every machine and
//! for both halves.

pub mod cargo;
pub mod emit;
#[cfg(feature = "expansions")]
pub mod expansions;
pub mod graph;
pub mod nested;
pub mod plan;
pub mod program;
pub mod reading;
mod sends;
pub mod source;

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::exit;

use cora_plan::{Graph, Plan};

use self::plan::{choice, rests, target};
use self::source::cfg::Cfg;
use self::source::{Source, package};
use crate::diag::fault::{Fault, Faults};
use crate::diag::findings::Findings;

/// Reads the program of this package, plans it, and writes the files that `cora::app!` includes to
/// `OUT_DIR`.
///
/// Only a build script may call it. It reads Cargo's environment, writes instructions for Cargo to
/// standard output, and leaves the report of the program's faults to the compiler.
///
/// ```no_run
/// cora_build::build(); // all that is in `build.rs`
/// ```
pub fn build() {
    deep(build_here);
}

fn build_here() {
    let Some(unit) = Unit::of_this_build() else {
        return give_up(
            "cora::build() is for build scripts: `CARGO_MANIFEST_DIR` or `OUT_DIR` is not set",
        );
    };
    unit.watch();
    let reading = read(&unit.directory, &unit.name, &unit.cfg, unit.plan.as_deref());
    for file in &reading.source.files {
        unit.watch_file(&file.path);
    }
    for file in manifests(&reading.source) {
        unit.watch_file(file);
    }
    if reading.source.libraries.values().any(Result::is_err) {
        // What mends that may be in any file, and a missing one reruns the script every time.
        unit.watch_file(Path::new("no-such-library"));
    }
    tell(&reading.warnings);
    let written = match reading.result {
        Err(faults) if reading.source.too_deep => Err(format!("{faults}{COMMAND}")),
        _ if reading.source.unreadable.is_some() => unit.write_quiet(&reading.source),
        Ok((graph, plan)) => unit.write(&reading.source, &graph, &plan),
        Err(faults) => unit.write_faulty(&reading.source, &faults),
    };
    written.unwrap_or_else(|errors| give_up(&errors));
}

/// Graph and plan of the package in `directory` without a build, with its default features, on this
/// machine. `plan` stands for `CORA_PLAN`. The error is ready to show.
pub fn graph_of(directory: &Path, plan: Option<&str>) -> Result<(Graph, Plan), String> {
    deep(|| {
        let (name, cfg) = package::read(directory)?;
        read_program(directory, &name, &cfg, plan)
    })
}

/// Graph and plan of the program `name` in `directory`. The error is ready to show.
pub fn read_program(
    directory: &Path,
    name: &str,
    cfg: &Cfg,
    plan: Option<&str>,
) -> Result<(Graph, Plan), String> {
    let reading = read(directory, name, cfg, plan);
    match reading.source.unreadable {
        Some(why) => Err(format!("the program can't be read: {why}\n")),
        None => reading.result.map_err(|faults| faults.to_string()),
    }
}

/// Calls `read` on a stack that is sufficient for all source that [`depth`](crate::syntax::depth)
/// accepts.
fn deep<T: Send>(read: impl FnOnce() -> T + Send) -> T {
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(read)) => read,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => panic!("no thread to read the program on: {error}"),
        }
    })
}

/// The result of reading a program.
#[derive(Debug)]
pub struct Reading {
    /// The source, as far as it was readable.
    pub source: Source,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
    /// Graph and plan, or all faults.
    pub result: Result<(Graph, Plan), Faults>,
}

/// Reads the program: every stage takes the value of the previous stage.
pub fn read(directory: &Path, name: &str, cfg: &Cfg, plan: Option<&str>) -> Reading {
    let mut findings = Findings::default();
    let source = source::run(directory, cfg, &mut findings);
    let readable = source.unreadable.is_none() && !source.too_deep;
    let program = readable.then(|| program::run(&source, cfg, &mut findings)).flatten();
    let mut warnings = findings.warnings(&source);
    let result = match &program {
        Some(program) => {
            let (graph, bounded) = graph::run(name, program, &source);
            warnings.extend(graph::opaque(&graph));
            warnings.extend(bounded);
            let decided =
                choice::read(directory, plan).and_then(|choice| choice.decide(directory, &graph));
            decided.and_then(|decided| {
                warnings.extend(decided.warnings);
                let plan = Plan::seal(decided.placement, &graph, source.digest(cfg));
                let plan = plan.at(&decided.nic);
                let plan = match &decided.searched {
                    Some((planned, traffic)) => plan.searched_for(planned, traffic),
                    None => plan,
                };
                rests::check(&graph, &plan, program, &mut findings);
                if findings.has_errors() {
                    return Err(findings.faults(&source));
                }
                Ok((graph, plan))
            })
        }
        None => Err(findings.faults(&source)),
    };
    let rooted = if source.has_nic && readable { without_std(&source) } else { Ok(()) };
    let result = match rooted {
        // Without `no_std` and `no_main`, the NIC half would only have further faults.
        Err(fault) => Err(fault.into()),
        Ok(()) => result,
    };
    Reading { source, warnings, result }
}

/// The first root that links `std` at the NIC, as a fault.
fn without_std(source: &Source) -> Result<(), Fault> {
    let program = source.files.first().map(|root| (root, nested::OF_A_PROGRAM));
    let libraries = source.libraries.values().flatten();
    let libraries = libraries.filter_map(|read| source.files.get(read.file));
    let mut roots = program.into_iter().chain(libraries.map(|root| (root, nested::OF_A_LIBRARY)));
    roots.try_for_each(|(root, wanted)| nested::without_std(wanted, &root.text, &root.name))
}

/// The manifests that say where libraries are.
fn manifests(source: &Source) -> BTreeSet<&Path> {
    let libraries = source.libraries.values().flatten();
    libraries.flat_map(|read| &read.manifests).map(PathBuf::as_path).collect()
}

/// One run of a build script.
struct Unit {
    directory: PathBuf,
    out: PathBuf,
    name: String,
    cfg: Cfg,
    plan: Option<String>,
}

impl Unit {
    fn of_this_build() -> Option<Self> {
        Some(Self {
            directory: env::var_os("CARGO_MANIFEST_DIR")?.into(),
            out: env::var_os("OUT_DIR")?.into(),
            name: env::var("CARGO_PKG_NAME").ok()?,
            cfg: Cfg::from_environment(env::vars()),
            plan: env::var("CORA_PLAN").ok().filter(|plan| !plan.is_empty()),
        })
    }

    /// Makes Cargo rerun the build script when its inputs change.
    fn watch(&self) {
        for variable in ["CORA_PLAN", "CORA_SKIP_NIC", nested::VARIABLE] {
            say(&format!("rerun-if-env-changed={variable}"));
        }
        // It says whether there is a NIC half, and whether the program shares a process.
        self.watch_file(Path::new("Cargo.toml"));
        // A missing file would rerun the script every time.
        if let Some(file) = choice::file(&self.directory, self.plan.as_deref()) {
            self.watch_file(&file);
        }
        let choice = choice::read(&self.directory, self.plan.as_deref());
        let target = choice.ok().and_then(|choice| choice.statement.target);
        for file in target.iter().flat_map(|target| target::files(&self.directory, target)) {
            self.watch_file(&file);
        }
    }

    fn watch_file(&self, file: &Path) {
        say(&format!("rerun-if-changed={}", self.directory.join(file).display()));
    }

    fn write(&self, source: &Source, graph: &Graph, plan: &Plan) -> Result<(), String> {
        self.put("graph.json", &graph.to_json())?;
        self.put("plan.json", &plan.to_json())?;
        let nic = nested::wanted();
        if nic {
            let root = source.files.first().map(|file| file.path.clone()).unwrap_or_default();
            let files = nested::run(&self.directory, &root, &self.out.join("nic-image"))?;
            for file in &files {
                self.watch_file(file);
            }
        }
        if nested::link::is_for_the_nic() {
            let path = self.out.join("nic.ld");
            let said = nested::link::script(&path).map_err(|error| unwritable(&path, &error))?;
            for instruction in said {
                say(&instruction);
            }
        }
        self.put("cora_app.rs", &emit::run(graph, plan, nic))
    }

    /// For a program that does not parse: only the compiler reports the errors.
    fn write_quiet(&self, source: &Source) -> Result<(), String> {
        tell(source.unreadable.as_slice());
        self.put_in_place_of_a_plan()?;
        self.put("cora_app.rs", emit::QUIET)
    }

    /// For a program with faults: the macros report some, and the compiler reports the others at
    /// `app!`. Without a single `app!` in the root, the build script has to report all of them.
    fn write_faulty(&self, source: &Source, faults: &Faults) -> Result<(), String> {
        let place = matches!(&source.calls[..], [call] if !call.in_module);
        if !place {
            return Err(format!("{faults}{COMMAND}"));
        }
        self.put_in_place_of_a_plan()?;
        let faulty = emit::faulty(faults);
        for (name, text) in &faulty.told {
            self.put(name, text)?;
        }
        self.put("cora_app.rs", &faulty.app)
    }

    fn put_in_place_of_a_plan(&self) -> Result<(), String> {
        self.put("graph.json", "{}\n")?;
        self.put("plan.json", "{}\n")
    }

    fn put(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.out.join(name);
        std::fs::write(&path, text).map_err(|error| unwritable(&path, &error))
    }
}

/// The source of the command that explains errors.
const COMMAND: &str =
    "(`cargo install --locked --path cargo-cora`, in a checkout of Cora, brings the command)\n";

fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("`{}` can't be written: {error}\n", path.display())
}

/// An instruction for Cargo.
fn say(instruction: &str) {
    println!("cargo::{instruction}");
}

fn tell(warnings: &[String]) {
    for warning in warnings {
        say(&format!("warning={}", warning.replace('\n', " ")));
    }
}

fn give_up(errors: &str) {
    eprint!("\n{errors}");
    exit(1);
}
