//! `measure`: runs a package on a capture, and keeps which ways packets took and how many
//! instructions each needs.
//!
//! 1. The package is built three times, beside the user's own programs (`<target>/measure`): with
//!    notes of packets' accesses, as it is for this machine, and as it is for Linux on the NIC's
//!    machine.
//! 2. The first runs on the whole capture and tells ways; `cora_plan::demand` matches them to the
//!    graph's paths.
//! 3. The other two run under QEMU's user emulation, which counts the instructions of each of the
//!    first packets, alone and in bursts. Nothing is timed: the same numbers on every machine.
//!
//! Counts that can't be made here are reported, with their substitutes.

mod classes;
mod count;
mod programs;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cora_plan::Graph;
use cora_plan::demand::{Counted, Measured, Observed, measured};

use crate::arguments::Measure;
use crate::failure::{Failure, Outcome};
use crate::package::Package;
use crate::tell::{tell, tell_line};
use count::Counter;
use programs::Programs;

pub(crate) fn run(arguments: &Measure) -> Outcome {
    let package = Package::of(&arguments.package)?;
    // Before the builds, which take their time.
    let classes = classes::draw(arguments)?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => package.directory()?.join("cora.measured.json"),
    };
    let programs = Programs::new(&package, arguments)?;
    let traced = programs.traced()?;
    let graph = graph_of(&traced)?;
    let (observed, ways) = observe(&traced, &programs, arguments)?;
    let mut measured = measured(&graph, &observed, &classes.borders, &classes.traffic.name)
        .map_err(Failure::Failed)?;
    let routes = |ways: &Vec<usize>| {
        ways.iter().filter_map(|way| measured.route_of.get(*way).copied()).collect()
    };
    let taken: Vec<Vec<usize>> = ways.iter().map(routes).collect();
    let counts = Counts::of(&programs, arguments, &measured, &taken);
    measured.count(&graph, counts.host.as_ref().ok(), counts.nic.as_ref().ok());
    write(&out, &measured.measurement.to_json())?;
    if let Some(path) = &arguments.traffic {
        write(path, &classes.traffic.to_toml())?;
    }
    tell(table::text(&graph, &observed, &measured, &classes.traffic, &counts))?;
    tell_line(format_args!("\nwritten to {}", out.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The counts of each side, or why there are none.
struct Counts {
    host: Result<Counted, String>,
    nic: Result<Counted, String>,
}

impl Counts {
    fn of(
        programs: &Programs<'_>,
        arguments: &Measure,
        measured: &Measured,
        taken: &[Vec<usize>],
    ) -> Self {
        let routes = measured.measurement.routes.len();
        let counter = Counter::find(programs, arguments);
        let side = |program: Result<PathBuf, String>, half, machine| {
            let marks = counter.clone()?.count(&program?, half, machine, programs, arguments)?;
            Counted::of(taken, routes, &marks.alone, &marks.bursts)
        };
        Self {
            host: side(programs.host(), "host", std::env::consts::ARCH),
            nic: side(programs.nic(), "nic", "aarch64"),
        }
    }
}

/// The words of a program's command line that name its input.
fn traffic_words(arguments: &Measure) -> Vec<String> {
    input_words(&arguments.input, &arguments.config, arguments.inside.as_deref())
}

/// The same of a capture, with settings of read-mostly states and the prefixes of the inside.
pub(crate) fn input_words(input: &Path, config: &[String], inside: Option<&str>) -> Vec<String> {
    let mut words = vec!["--in".to_owned(), input.display().to_string()];
    for setting in config {
        words.extend(["--config".to_owned(), setting.clone()]);
    }
    if let Some(inside) = inside {
        words.extend(["--inside".to_owned(), inside.to_owned()]);
    }
    words
}

fn graph_of(program: &Path) -> Result<Graph, Failure> {
    let told = told(Command::new(program).arg("graph"))?;
    Graph::from_json(&told).map_err(Failure::Failed)
}

/// Runs the program that notes; its output, and the ways of each packet.
fn observe(
    program: &Path,
    programs: &Programs<'_>,
    arguments: &Measure,
) -> Result<(Observed, Vec<Vec<usize>>), Failure> {
    let each = programs.room().join("ways");
    let mut command = Command::new(program);
    command.arg("trace").args(traffic_words(arguments)).arg("--each").arg(&each);
    let observed = Observed::from_json(&told(&mut command)?).map_err(Failure::Failed)?;
    let bytes = std::fs::read(&each)
        .map_err(|error| Failure::Failed(format!("`{}`: {error}", each.display())))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(u32::MAX, u32::from_le_bytes) as usize;
    let mut words = bytes.chunks(4).map(word);
    let mut ways = Vec::new();
    while let Some(count) = words.next() {
        ways.push(words.by_ref().take(count).collect());
    }
    Ok((observed, ways))
}

/// The standard output of a command.
fn told(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| Failure::Failed(format!("`{name}` doesn't start: {error}")))?;
    if !output.status.success() {
        return Err(Failure::Failed(format!("`{name}` ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::Failed(format!("`{}` can't be written: {error}", path.display())))
}
