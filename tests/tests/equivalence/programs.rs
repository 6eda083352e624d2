//! What is run: programs, each built under several plans.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use cora_tests::process::run;
use cora_tests::workshop;

/// The NIC owns at most half of the flows.
pub(crate) const HALF: &str = "half";
/// What the search finds for a NIC and a traffic.
pub(crate) const SEARCHED: &str = "searched";

/// No examples, and the plans that they are run under.
const WRITTEN_FOR_TESTS: [(&str, &[&str]); 2] = [
    ("ledger", &["host-only", "nic-only", "split", HALF]),
    ("fragments", &["host-only", "nic-only", "split"]),
];

/// Name of the plan, name of the program, program.
type Programs = BTreeMap<&'static str, BTreeMap<String, PathBuf>>;

/// The program of this name under this plan.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    &programs()[plan][name]
}

/// Whether flows move under its plan.
pub(crate) fn splits(program: &Path) -> bool {
    let mut command = Command::new(program);
    let plan = run(command.arg("plan"), Duration::from_secs(30)).well("plan").json();
    plan["sides"] == "split"
}

fn programs() -> &'static Programs {
    static BUILT: OnceLock<Programs> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut programs = Programs::new();
        let checked_ones = [
            ("host-only", workshop::built_for_host_alone()),
            ("nic-only", workshop::FIRST.to_vec()),
            ("split", workshop::EXAMPLES.to_vec()),
            (HALF, vec!["firewall", "nat"]),
            (SEARCHED, vec!["nat", "policer"]),
        ];
        for (plan, names) in checked_ones {
            programs.entry(plan).or_default().extend(workshop::checked(&names, &statement(plan)));
        }
        for (name, plans) in WRITTEN_FOR_TESTS {
            let package = written_for_tests(name);
            for plan in plans {
                let program = workshop::halves(&package, &statement(plan), plan);
                programs.entry(plan).or_default().insert(name.to_owned(), program);
            }
        }
        programs
    })
}

/// What states a plan, for a build.
fn statement(plan: &str) -> PathBuf {
    match plan {
        HALF | SEARCHED => workshop::root().join(format!("tests/plans/{plan}.toml")),
        named => named.into(),
    }
}

/// The package of such a program.
fn written_for_tests(name: &str) -> PathBuf {
    let source = workshop::root().join(format!("tests/programs/{name}.rs"));
    let source = std::fs::read_to_string(&source)
        .unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    workshop::package(name, &source)
}
