//! The final state of a program, as `--state-out` writes it: docs/json.md is held to this file
//! (cargo-cora's test `json`).

use std::process::Command;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::golden::check;
use cora_tests::process::run;
use cora_tests::workshop::{program, room};
use cora_traffic::Profile;

const LIMIT: Duration = Duration::from_mins(1);

#[test]
fn the_final_state_is_as_the_page_says() {
    let room = room("state-out");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 7, 20, 4, &capture);
    let mut command = Command::new(program("connection-limiter"));
    command.args(["run", "--nic", "off", "--in"]).arg(&capture).current_dir(&room);
    let _ended = run(command.args(["--state-out", "state.json"]), LIMIT).well("run");
    let state = std::fs::read_to_string(room.join("state.json")).expect("it is written");
    check("json/state.json", &state).unwrap_or_else(|why| panic!("{why}"));
}
