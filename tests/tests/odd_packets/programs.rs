//! The examples, each built under the plans that put everything on one side and the one that splits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cora_tests::workshop::{self, EXAMPLES, FIRST};

/// The program of this name under this plan, with checks of arithmetic and assertions.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static BUILT: OnceLock<BTreeMap<&'static str, BTreeMap<String, PathBuf>>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        // Those that the oracle builds, too.
        let builds = [
            ("host-only", workshop::built_for_host_alone()),
            ("nic-only", FIRST.to_vec()),
            ("split", EXAMPLES.to_vec()),
        ];
        builds.map(|(plan, names)| (plan, workshop::checked(&names, Path::new(plan)))).into()
    });
    &built[plan][name]
}
