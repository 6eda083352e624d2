//! `cargo xtask chaos`: seeded simulations of the whole runtime with faults, for so long, on all
//! processors. `--replay SEED` runs a single one again and tells its events. `--link` runs
//! simulations of the link between host and card instead.

use crate::{cargo, command, run as run_command, target};

/// Builds the simulator, fast and with every check, and runs it; `words` go to it.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let room = target("chaos");
    let mut build = cargo(&["build", "--quiet", "--profile", "chaos", "--package", "cora-sim"]);
    run_command(build.env("CARGO_TARGET_DIR", &room))?;
    let program = room.join("chaos/cora-sim").display().to_string();
    let (is_of_link, words) = match words.split_first() {
        Some((first, rest)) if first == "--link" => (true, rest),
        _ => (false, words),
    };
    let [all, one] = if is_of_link { ["link", "replay-link"] } else { ["chaos", "replay"] };
    let mut simulator = match words {
        [word, seed] if word == "--replay" => command(&program, &[one, seed]),
        _ => command(&program, &[all]),
    };
    if simulator.get_args().count() == 1 {
        simulator.args(words);
    }
    run_command(&mut simulator)
}
