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
const UNDER_OTHERS: [(&str, &[&str]); 5] = [
    ("host-only", &workshop::EXAMPLES),
    ("nic-only", &workshop::FIRST),
    (HALF, &["firewall", "nat"]),
    (SEARCHED, &["nat", "policer"]),
    (DEALT, &DEALT_EXAMPLES),
];
/// Each side receives its own buckets.
pub(crate) const DEALT: &str = "dealt";
/// The examples under that plan, and those of them in a quick run: of both kinds of buckets, by a
/// hash and by a port, with entries, pools and merges.
const DEALT_EXAMPLES: [&str; 10] = [
    "firewall",
    "nat",
    "carrier-nat",
    "chain",
    "heavy-hitter",
    "balancer",
    "policer",
    "nat64",
    "flow-monitor",
    "connection-limiter",
];
const DEALT_IN_TIME: [&str; 3] = ["firewall", "nat", "nat64"];
/// The plans of the ledger, also in a quick run: it has many changes to revert.
const LEDGER: (&str, [&str; 3]) = ("ledger", ["host-only", "nic-only", HALF]);
/// More programs that are no examples, and their plans in a full run.
const MORE: ([&str; 3], [&str; 2]) = (["crowd", "fragments", "tenants"], ["host-only", "nic-only"]);

/// Returns the plans that a quick run keeps of these.
pub(crate) fn in_time(program: &str, plans: &[&'static str]) -> Vec<&'static str> {
    let all = workshop::is_full() || program == LEDGER.0;
    let is_dealt = |plan: &str| plan == DEALT && DEALT_IN_TIME.contains(&program);
    plans.iter().copied().filter(|plan| all || *plan == "split" || is_dealt(plan)).collect()
}

/// Returns the program of this name under this plan.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static BUILT: [OnceLock<Programs>; 5] = [const { OnceLock::new() }; 5];
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
    let in_time = if plan == DEALT { &DEALT_IN_TIME[..] } else { &[] };
    let mut names = if full { examples.to_vec() } else { in_time.to_vec() };
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

/// Returns whether each side receives its own buckets under the program's plan.
pub(crate) fn deals(program: &Path) -> bool {
    plan(program)["sides"] == "dealt"
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
