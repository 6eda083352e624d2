//! `cargo xtask oracle`: that the output depends neither on the plan nor on which flows move
//! when. With `--full`, on a million packets and ten thousand moves for each program and each kind
//! of NIC.

use crate::{cargo, run as run_command};

/// Runs the test that asks it.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let mut test = cargo(&["test", "--package", "cora-tests", "--test", "equivalence"]);
    test.env("CORA_REQUIRE_EMULATED", "1");
    match words {
        [] => {}
        [full] if full == "--full" => {
            test.env("CORA_TESTS", "all");
        }
        other => return Err(format!("`{}`: say --full, or nothing", other.join(" "))),
    }
    run_command(&mut test)
}
