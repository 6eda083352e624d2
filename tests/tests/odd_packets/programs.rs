//! The examples, each built under the plan that splits; where all is tested, the first ones under
//! those that put everything on one side, too.

use std::path::Path;
use std::sync::OnceLock;

use cora_tests::workshop::{self, EXAMPLES, FIRST, Programs};

/// The program of this name under this plan, with checks of arithmetic and assertions.
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
