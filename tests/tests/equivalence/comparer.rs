//! Compares captures flow by flow, with the command for users.

use std::path::Path;
use std::process::Command;

use cora_tests::process::run;
use cora_tests::workshop;

use crate::way::LIMIT;

/// Asserts that each flow has the same packets in the same order.
#[track_caller]
pub(crate) fn compare(of: &str, expected: &Path, found: &Path) {
    let mut compare = Command::new(workshop::cargo_cora());
    let compared = run(compare.args(["cora", "compare"]).args([expected, found]), LIMIT);
    assert_eq!(compared.code, Some(0), "{of}: {}{}", compared.stdout, compared.stderr);
}
