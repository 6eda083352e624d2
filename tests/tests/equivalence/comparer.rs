//! Compares captures flow by flow, by the command that users have for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cora_tests::process::run;
use cora_tests::workshop;

use crate::way::LIMIT;

/// Each flow's packets are the same, in the same order.
#[track_caller]
pub(crate) fn compare(of: &str, expected: &Path, found: &Path) {
    let mut compare = Command::new(comparer());
    let compared = run(compare.args(["cora", "compare"]).args([expected, found]), LIMIT);
    assert_eq!(compared.code, Some(0), "{of}: {}{}", compared.stdout, compared.stderr);
}

fn comparer() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let words = ["--profile", "checked", "--package", "cargo-cora"];
        workshop::programs(&words, None, "checked-tools").into_values().next().expect("it is built")
    })
}
