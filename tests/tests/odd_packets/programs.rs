//! The examples, each built under the plans that put everything on one side and the one that splits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cora_tests::workshop::{self, EXAMPLES, FIRST};

/// Plans, and who is built under them: those that the oracle builds, too.
const BUILDS: [(&str, &[&str]); 3] =
    [("host-only", &EXAMPLES), ("nic-only", &FIRST), ("split", &EXAMPLES)];

/// The program of this name under this plan, with checks of arithmetic and assertions.
pub(crate) fn program(plan: &str, name: &str) -> &'static Path {
    static BUILT: OnceLock<BTreeMap<&'static str, BTreeMap<String, PathBuf>>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        BUILDS.map(|(plan, names)| (plan, workshop::checked(names, Path::new(plan)))).into()
    });
    &built[plan][name]
}
