//! The examples, each built under the plan that splits; in a full run, the first ones also under
//! the plans with everything on one side.

use std::path::Path;
use std::sync::OnceLock;

use cora_tests::workshop::{self, EXAMPLES, FIRST, Programs};

/// Returns the program of this name under this plan, with overflow checks and assertions.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static HOST_ONLY: OnceLock<Programs> = OnceLock::new();
    static NIC_ONLY: OnceLock<Programs> = OnceLock::new();
    let under = |plan: &str, names: &[&str]| workshop::under(Path::new(plan), names);
    match plan {
        "host-only" => &HOST_ONLY.get_or_init(|| under(plan, &EXAMPLES))[name],
        "nic-only" => &NIC_ONLY.get_or_init(|| under(plan, &FIRST))[name],
        _ => workshop::program(name),
    }
}
