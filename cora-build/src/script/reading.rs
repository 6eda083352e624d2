//! A program as it is read, before a plan: for those who plan in other ways than the build does.

use std::path::Path;

use cora_plan::{Graph, Statement};

use super::findings::Findings;
use super::{choice, deep, graph, package, program, source};

/// A program, and what is stated of its plan.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it does.
    pub graph: Graph,
    /// What is stated: by `cora.toml` beside its manifest, or by nothing but a plain split.
    pub statement: Statement,
    /// Digest of its source, which the hash of its plan covers.
    pub sources: u64,
}

/// Reads the package in `directory`, with its default features, on this machine. `plan` is what
/// `CORA_PLAN` would say. The error is ready to be shown.
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
