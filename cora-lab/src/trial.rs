//! All of it: each network function through Cora and through the kernel, side by side, and then
//! their rates in turn.
//!
//! Most of a check is waiting, for answers or for packets that must not come. So both boxes are
//! checked at the same time, each in namespaces of its own. A rate measurement has the machine to
//! itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::capture::{Captures, list};
use crate::checks::{self, rate, states};
use crate::function::Function;
use crate::limits::{self, Limiter};
use crate::middle::{Cora, Kernel, Middle, Ports};
use crate::site::Site;
use crate::verdict::{Agree, Observed, Row, Table, compare};

/// The programs to try, and the conditions.
#[derive(Clone, Debug)]
pub struct Request {
    /// The functions, and the programs of Cora's that do them.
    pub programs: Vec<(Function, PathBuf)>,
    /// The functions that only enforce a limit, and the programs of Cora's that do them.
    pub limiters: Vec<(Limiter, PathBuf)>,
    /// The ports of live runs; limits are judged by AF_XDP alone.
    pub ports: Ports,
    /// The seed of random flow moves.
    pub seed: u64,
    /// Seconds of each measurement of throughput; none if 0.
    pub rate_seconds: u64,
    /// The directory for captures and final states.
    pub directory: PathBuf,
}

/// Tries all. Returns each check with its results through both. A function with a disagreement is
/// tried once more, and the first try is told on standard error.
///
/// # Errors
/// When this machine lacks something, or a run fails.
pub fn run(request: &Request) -> Result<Vec<Row>> {
    std::fs::create_dir_all(&request.directory)
        .map_err(|error| format!("{}: {error}", request.directory.display()))?;
    let mut rows = Vec::new();
    for (function, program) in &request.programs {
        let name = function.name();
        let said = |what: &str| {
            let what = what.to_owned();
            move |why: String| format!("{name} {what}: {why}")
        };
        eprintln!("{name}: through Cora, and through the kernel");
        let once = || -> Result<Vec<Row>> {
            let (ours, kernel) = side_by_side(
                || through_cora(request, *function, program).map_err(said("through Cora")),
                || through_kernel(request, *function).map_err(said("through the kernel")),
            );
            let (mut ours, mut kernel) = (ours?, kernel?);
            if request.rate_seconds > 0 {
                let rate = rate_of_cora(request, *function, program);
                ours.extend(rate.map_err(said("through Cora"))?);
                let rate = rate_of_kernel(request, *function);
                kernel.extend(rate.map_err(said("through the kernel"))?);
            }
            Ok(compare(function.name(), ours, kernel))
        };
        let mut seen = once()?;
        let disagree = |rows: &[Row]| rows.iter().any(|row| row.agree == Agree::No);
        if disagree(&seen) {
            // A busy machine delays packets until ends retransmit them. The difference that follows
            // is no fault of any box, and doesn't come twice.
            eprintln!("{name}: {} Once more", Table(&seen));
            seen = once()?;
        }
        rows.extend(seen);
    }
    rows.extend(limits(request)?);
    Ok(rows)
}

/// Tries all limiters at the same time; once more where one disagrees.
fn limits(request: &Request) -> Result<Vec<Row>> {
    let (seed, directory) = (request.seed, &request.directory);
    let judge = |(limiter, program): &(Limiter, PathBuf)| -> Result<Vec<Row>> {
        eprintln!("{}: through Cora, and through the kernel", limiter.name());
        let seen = limits::judge(*limiter, program, seed, directory)?;
        if seen.iter().all(|row| row.agree != Agree::No) {
            return Ok(seen);
        }
        eprintln!("{}: {} Once more", limiter.name(), Table(&seen));
        limits::judge(*limiter, program, seed, directory)
    };
    std::thread::scope(|scope| {
        let judged: Vec<_> =
            request.limiters.iter().map(|each| scope.spawn(move || judge(each))).collect();
        let judged = judged
            .into_iter()
            .map(|each| each.join().unwrap_or_else(|_| Err("a check panicked".to_owned())));
        Ok(judged.collect::<Result<Vec<_>>>()?.concat())
    })
}

/// Does both at the same time.
pub(crate) fn side_by_side<A: Send, B: Send>(
    one: impl FnOnce() -> Result<A> + Send,
    other: impl FnOnce() -> Result<B>,
) -> (Result<A>, Result<B>) {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|_| Err("a check panicked".to_owned())), other)
    })
}

/// Creates a directory of the request's.
fn directory(request: &Request, name: &str) -> Result<PathBuf> {
    let path = request.directory.join(name);
    let made = std::fs::create_dir_all(&path);
    made.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn through_cora(request: &Request, function: Function, program: &Path) -> Result<Vec<Observed>> {
    let directory = directory(request, "cora")?;
    let site = Site::create(&format!("{}-cora", function.name()), function)?;
    let moves = format!("random:{}", request.seed);
    let cora = Cora::start(&site, program, request.ports, &moves, &directory)?;
    observe(&site, Box::new(cora), &directory)
}

fn through_kernel(request: &Request, function: Function) -> Result<Vec<Observed>> {
    let directory = directory(request, "kernel")?;
    let site = Site::create(&format!("{}-kernel", function.name()), function)?;
    let kernel = Kernel::start(&site)?;
    observe(&site, Box::new(kernel), &directory)
}

/// Measures the throughput. Random moves cost time, and production has none: here the plan moves
/// flows.
fn rate_of_cora(request: &Request, function: Function, program: &Path) -> Result<Vec<Observed>> {
    let directory = directory(request, "cora")?;
    let site = Site::create(&format!("{}-rate", function.name()), function)?;
    let cora = Cora::start(&site, program, request.ports, "plan", &directory)?;
    let seen = rate::run(&site, request.rate_seconds)?;
    let _ended = Box::new(cora).end()?;
    Ok(seen)
}

fn rate_of_kernel(request: &Request, function: Function) -> Result<Vec<Observed>> {
    let site = Site::create(&format!("{}-rate", function.name()), function)?;
    let _kernel = Kernel::start(&site)?;
    rate::run(&site, request.rate_seconds)
}

/// Runs all checks. Returns their results, the captures' and the connection table's.
fn observe(site: &Site, middle: Box<dyn Middle + '_>, directory: &Path) -> Result<Vec<Observed>> {
    let captures = Captures::start(site, directory)?;
    let mut seen = checks::run(site)?;
    let held = states::bring_about(site)?;
    let (crossed, lost) = captures.end(site)?;
    let queued = site.dropped_by_clients_queue()?;
    let ended = middle.end()?;
    drop(held);
    seen.extend(crossed);
    let at_port =
        ended.report.as_ref().map_or(0, |it| sum(&it["ports"]["inside"]["dropped"], "receive-"));
    seen.extend(losses(&lost, queued + at_port));
    if site.function.has_states() {
        seen.extend(states::observe(site.function, &ended.connections));
    }
    if let Some(report) = ended.report {
        seen.extend(accounts(&report));
    }
    Ok(seen)
}

/// Returns the clients' lost packets, unless full queues before the box count as many themselves.
fn losses(lost: &BTreeMap<String, u64>, queues: u64) -> Vec<Observed> {
    let in_queues = lost.values().sum::<u64>() <= queues;
    let unnamed = if in_queues { BTreeMap::new() } else { lost.clone() };
    vec![
        Observed::compared("captures: of clients' packets lost", list(&unnamed)),
        Observed::told("captures: lost in full queues before", queues.to_string()),
    ]
}

/// Returns the sum of a report's counts with names that begin so.
fn sum(counts: &Value, names: &str) -> u64 {
    let counts = counts.as_object().into_iter().flatten();
    let counts = counts.filter(|(name, _)| name.starts_with(names));
    counts.filter_map(|(_, count)| count.as_u64()).sum()
}

/// Returns Cora's own account: every frame that came is in one outcome, and flows did move.
fn accounts(report: &Value) -> Vec<Observed> {
    let outcomes = &report["outcomes"];
    let came = report["packets_in"].as_u64().unwrap_or(0);
    // A frame that a port drops as it leaves was let through: an outcome has it already.
    let named = sum(outcomes, "");
    let what = "frames that came, and those with an outcome";
    let result = format!("{came}, {named}");
    // The kernel has no such account: a wrong one is a disagreement, a right one is told.
    let account =
        if came == named { Observed::told(what, result) } else { Observed::compared(what, result) };
    let moves = report["migrations"].as_u64().unwrap_or(0);
    vec![
        account,
        Observed::told("moves of flows meanwhile", moves.to_string()),
        Observed::told("outcomes", outcomes.to_string()),
    ]
}
