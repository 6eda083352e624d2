//! `cargo xtask chaos`: seeded simulations of the whole runtime with faults, for so long, on all
//! processors. `--replay SEED` runs a single one again and tells its events. `--messages` runs
//! those with messages between flows alone, and `--link` simulations of the link between host and
//! card instead.

use crate::{cargo, command, run as run_command, target};

/// Builds the simulator, fast and with every check, and runs it; `words` go to it.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("chaos");
    let mut build = cargo(&["build", "--quiet", "--profile", "chaos", "--package", "cora-sim"]);
    run_command(build.env("CARGO_TARGET_DIR", &room))?;
    let program = room.join("chaos/cora-sim").display().to_string();
    let ([all, one], words) = match words.split_first() {
        Some((first, rest)) if first == "--link" => (["link", "replay-link"], rest),
        Some((first, rest)) if first == "--messages" => (["messages", "replay-messages"], rest),
        _ => (["chaos", "replay"], words),
    };
    let mut simulator = match words {
        [word, seed] if word == "--replay" => command(&program, &[one, seed]),
        _ => command(&program, &[all]),
    };
    if simulator.get_args().count() == 1 {
        simulator.args(words);
    }
    run_command(&mut simulator)
}
