//! A program before planning, for callers that plan in other ways than the build.

use std::path::Path;

use cora_plan::{Graph, Statement};

use super::{choice, deep, graph, package, program, source};
use crate::diag::findings::Findings;

/// A program, and the statement about its plan.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its graph.
    pub graph: Graph,
    /// The statement in the `cora.toml` next to its manifest, or a plain split.
    pub statement: Statement,
    /// Digest of its source, a part of the plan's hash.
    pub sources: u64,
}

/// Reads the package in `directory`, with its default features, on this machine. `plan` stands for
/// `CORA_PLAN`. The error is ready to show.
pub fn read(directory: &Path, plan: Option<&str>) -> Result<Program, String> {
    deep(|| read_here(directory, plan))
}

fn read_here(directory: &Path, plan: Option<&str>) -> Result<Program, String> {
    let (name, cfg) = package::read(directory)?;
    let mut findings = Findings::default();
    let source = source::run(directory, &cfg, &mut findings);
    if let Some(why) = &source.unreadable {
        return Err(format!("the program can't be read: {why}\n"));
    }
    if source.too_deep {
        return Err(findings.faults(&source).to_string());
    }
    let program = program::run(&source, &cfg, &mut findings);
    let program = program.ok_or_else(|| findings.faults(&source).to_string())?;
    let (graph, _) = graph::run(&name, &program, &source);
    let choice = choice::read(directory, plan).map_err(|faults| faults.to_string())?;
    Ok(Program { graph, statement: choice.statement, sources: source.digest(&cfg) })
}
