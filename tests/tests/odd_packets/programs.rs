//! The examples, each built under the plans that put everything on one side and the one that splits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cora_tests::workshop::{self, FIRST};

const PLANS: [&str; 3] = ["host-only", "nic-only", "split"];

/// The program of this name under this plan, with checks of arithmetic and assertions.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static BUILT: OnceLock<BTreeMap<&'static str, BTreeMap<String, PathBuf>>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        PLANS.map(|plan| (plan, workshop::checked(&FIRST, Path::new(plan)))).into()
    });
    &built[plan][name]
}
