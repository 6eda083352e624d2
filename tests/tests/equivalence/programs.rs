//! The programs of the oracle, each built under several plans.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cora_tests::process::run;
use cora_tests::workshop::{self, Programs};
use serde_json::Value;

/// The NIC owns at most half of the flows.
pub(crate) const HALF: &str = "half";
/// The result of the search for a NIC and a traffic.
pub(crate) const SEARCHED: &str = "searched";

/// The plans beside `split`, and the programs under each; the examples only in a full run.
const UNDER_OTHERS: [(&str, &[&str]); 4] = [
    ("host-only", &workshop::EXAMPLES),
    ("nic-only", &workshop::FIRST),
    (HALF, &["firewall", "nat"]),
    (SEARCHED, &["nat", "policer"]),
];
/// The plans of the ledger, also in a quick run: it has many changes to revert.
const LEDGER: (&str, [&str; 3]) = ("ledger", ["host-only", "nic-only", HALF]);
/// More programs that are no examples, and their plans in a full run.
const MORE: ([&str; 3], [&str; 2]) = (["crowd", "fragments", "tenants"], ["host-only", "nic-only"]);

/// Returns the plans that a quick run keeps of these.
pub(crate) fn in_time(program: &str, plans: &[&'static str]) -> Vec<&'static str> {
    let all = workshop::is_full() || program == LEDGER.0;
    plans.iter().copied().filter(|plan| all || *plan == "split").collect()
}

/// Returns the program of this name under this plan.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static BUILT: [OnceLock<Programs>; 4] = [const { OnceLock::new() }; 4];
    if plan == "split" {
        return workshop::program(name);
    }
    let mut others = UNDER_OTHERS.iter().zip(&BUILT);
    let ((plan, examples), built) = others
        .find(|((known, _), _)| *known == plan)
        .unwrap_or_else(|| panic!("nothing is built under the plan {plan}"));
    &built.get_or_init(|| workshop::under(&statement(plan), &names(plan, examples)))[name]
}

fn names(plan: &str, examples: &[&'static str]) -> Vec<&'static str> {
    let full = workshop::is_full();
    let mut names = if full { examples.to_vec() } else { Vec::new() };
    names.extend(LEDGER.1.contains(&plan).then_some(LEDGER.0));
    if full && MORE.1.contains(&plan) {
        names.extend(MORE.0);
    }
    names
}

/// Returns whether flows move under the program's plan.
pub(crate) fn splits(program: &Path) -> bool {
    plan(program)["sides"] == "split"
}

/// Returns whether the program runs on several shards under its plan.
pub(crate) fn has_shards(program: &Path) -> bool {
    plan(program)["one_shard"].as_object().is_none_or(serde_json::Map::is_empty)
}

fn plan(program: &Path) -> Value {
    let mut command = Command::new(program);
    run(command.arg("plan"), Duration::from_secs(30)).well("plan").json()
}

/// Returns the statement of a plan, for a build.
fn statement(plan: &str) -> PathBuf {
    match plan {
        HALF | SEARCHED => workshop::root().join(format!("tests/plans/{plan}.toml")),
        named => named.into(),
    }
}
