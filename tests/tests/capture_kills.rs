//! Kills halves while the packets of a capture run through them. The run goes on with new halves,
//! every packet has an outcome, and the durable session of every packet that left is in the final
//! state.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cora::prelude::FiveTuple;
use cora_tests::draw::Draw;
use cora_tests::process::{Running, child, children, start_fed};
use cora_tests::workshop::{emulator, program, room};
use cora_tests::{captures, tell};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);
const PACKETS: u64 = 24_000;

/// Returns the process of the NIC, if there is one: the child that is not the host half.
fn nic_of(run: &Running) -> Option<u32> {
    let host = child(run.id(), "__host");
    children(run.id()).into_iter().find(|id| Some(*id) != host)
}

/// Returns the process of the host, if there is one.
fn host_of(run: &Running) -> Option<u32> {
    child(run.id(), "__host")
}

/// Counts packets by flow; both directions of a flow count together.
fn by_flow(capture: &Path) -> BTreeMap<FiveTuple, u64> {
    let mut flows = BTreeMap::new();
    captures::each(capture, |_, packet| {
        if let Ok(flow) = packet.five_tuple() {
            *flows.entry(flow.min(flow.reversed())).or_default() += 1;
        }
    });
    flows
}

/// Returns the agent of a local card, if there is one: its NIC half dies with it.
fn agent_of(run: &Running) -> Option<u32> {
    child(run.id(), "__local-card")
}

/// A kind of half, and a function that finds the live one.
#[derive(Clone, Copy)]
struct Victims {
    name: &'static str,
    now: fn(&Running) -> Option<u32>,
}

const NICS: Victims = Victims { name: "NIC", now: nic_of };
const HOSTS: Victims = Victims { name: "host", now: host_of };
/// For its supervisor such an agent is the NIC half.
const AGENTS: Victims = Victims { name: "NIC", now: agent_of };

/// What runs.
#[derive(Clone, Copy)]
struct Of {
    program: &'static str,
    shards: &'static str,
    packets: u64,
}

/// Kills such a half `kills` times during a run, and returns the report and the state.
fn run_and_kill(
    of: Of,
    nic: &str,
    victims: Victims,
    kills: u64,
    moments: &mut Draw,
) -> (Value, PathBuf, Value, u64) {
    let Of { program: name, shards, packets } = of;
    let room = room(&format!("{}-kills-{nic}-{name}", victims.name));
    let capture = room.join(format!("{nic}.pcap"));
    captures::generate(Profile::Mix, 7, packets, 600, &capture);
    let (output, state) = (room.join(format!("{nic}-out.pcap")), room.join(format!("{nic}.json")));
    let mut command = Command::new(program(name));
    let joint = if nic == "local" { "--card" } else { "--nic" };
    command.args([
        "run",
        "--json",
        joint,
        nic,
        "--in",
        "/dev/stdin",
        "--restarts",
        "20",
        "--shards",
        shards,
        "--out",
    ]);
    command.arg(&output).arg("--state-out").arg(&state);
    let bytes = std::fs::read(&capture).unwrap();
    // The run takes some seconds, independent of the speed of the machine.
    let pace = Duration::from_millis(2);
    let host = start_fed(&mut command, move |mut to| {
        for piece in bytes.chunks(bytes.len() / 2_000) {
            if std::io::Write::write_all(&mut to, piece).is_err() {
                break;
            }
            sleep(pace);
        }
    });
    let mut killed = 0;
    let mut last = None;
    for _ in 0..kills {
        sleep(Duration::from_millis(100 + moments.below(400)));
        let now = (victims.now)(&host).filter(|process| last != Some(*process));
        let Some(process) = now else { continue };
        let done = Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
        killed += u64::from(done.success());
        last = Some(process);
    }
    let report = host.end(LIMIT).well(nic).json();
    let state = serde_json::from_str(&std::fs::read_to_string(&state).unwrap()).unwrap();
    (report, output, state, killed)
}

fn holds(nic: &str, victims: Victims, kills: u64) {
    let seed = std::env::var("CORA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let keeper = Of { program: "keeper", shards: "1", packets: PACKETS };
    let (report, output, state, killed) =
        run_and_kill(keeper, nic, victims, kills, &mut Draw(seed));
    let Victims { name, .. } = victims;
    let what = format!("CORA_SEED={seed}, {nic}, {name}: {report:#}");
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let outcomes: u64 =
        report["outcomes"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!((number("/packets_in"), outcomes), (PACKETS, PACKETS), "{what}");
    let restarts = number(&format!("/restarts/{name}"));
    assert!(killed > 0 && restarts >= killed.saturating_sub(1), "{what}");
    // A host reclaims the flows of a dead NIC; a new host begins with the flows of the old one.
    assert!(name == "host" || number("/recovery/flows") > 0, "no flow lived on: {what}");
    assert_eq!(number("/recovery/refused") + number("/recovery/uncopied"), 0, "{what}");

    let capture = output.with_file_name(format!("{nic}.pcap"));
    let (came, left) = (by_flow(&capture), by_flow(&output));
    let mut sessions = BTreeMap::new();
    for entry in state["states"]["Session"].as_array().unwrap() {
        let key = entry["key"].as_str().unwrap().to_owned();
        let doubled = sessions.insert(key, entry["value"]["packets"].as_u64().unwrap());
        assert_eq!(doubled, None, "two sides own {entry}: {what}");
    }
    let (mut known, mut counted, mut gone) = (0, 0, 0);
    for (flow, left) in &left {
        let names = [*flow, flow.reversed()].map(|flow| flow.to_string());
        let session = names.iter().find_map(|name| sessions.get(name));
        let packets = *session.unwrap_or_else(|| panic!("{flow} is forgotten: {what}"));
        assert!(*left <= packets, "{flow}: {left} packets left, {packets} are counted: {what}");
        assert!(packets <= came[flow], "{flow}: {packets} are counted twice: {what}");
        (known, counted, gone) = (known + 1, counted + packets, gone + packets - left);
    }
    tell(&format!(
        "{nic}: {killed} kills of the {name}, {known} sessions with {counted} packets, of which {gone} were lost \
         after they were counted; {} lost with the NIC, {} with the host, {} flows reclaimed",
        number("/outcomes/lost-with-nic"),
        number("/outcomes/lost-with-host"),
        number("/recovery/flows"),
    ));
}

#[test]
fn a_native_nic_may_be_killed() {
    holds("native", NICS, 12);
}

/// Another one follows, and another relay.
#[test]
fn the_agent_of_a_local_card_may_be_killed() {
    holds("local", AGENTS, 12);
}

#[test]
fn the_host_of_a_local_card_may_be_killed() {
    holds("local", HOSTS, 8);
}

#[test]
fn a_host_may_be_killed() {
    holds("native", HOSTS, 12);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn an_emulated_nic_may_be_killed() {
    match emulator() {
        Ok(_) => holds("emulated", NICS, 6),
        Err(skipped) => tell(&skipped),
    }
}

/// A run ends with its NIC, unless states are durable or an option asks for restarts.
#[test]
fn no_restart_unless_states_are_durable_or_it_is_asked_for() {
    let room = room("nic-kills-given-up");
    let capture = room.join("given-up.pcap");
    captures::generate(Profile::Mix, 7, PACKETS, 600, &capture);
    let mut command = Command::new(program("keeper"));
    command.args(["run", "--json", "--nic", "native", "--in", "/dev/stdin", "--restarts", "0"]);
    let host = start_fed(&mut command, captures::paced(&capture));
    let mut killed = false;
    for _ in 0..200 {
        sleep(Duration::from_millis(10));
        if let Some(process) = nic_of(&host) {
            killed =
                Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success();
            break;
        }
    }
    let ended = host.end(LIMIT);
    assert!(killed && ended.code == Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the NIC process ended early (signal: 9"), "{}", ended.stderr);
}

/// Two shards whose packets read the merge of both: none waits for ever for a half that died.
fn goes_on_beside(victims: Victims) {
    let crowd = Of { program: "crowd", shards: "2", packets: 6_000 };
    let (report, _, _, killed) = run_and_kill(crowd, "native", victims, 4, &mut Draw(11));
    let outcomes: u64 =
        report["outcomes"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!((report["packets_in"].as_u64(), outcomes), (Some(6_000), 6_000), "{report:#}");
    assert!(killed > 0, "{report:#}");
}

#[test]
fn shards_go_on_when_a_host_dies_that_they_merge_with() {
    goes_on_beside(HOSTS);
}

#[test]
fn shards_go_on_when_a_nic_dies_that_they_merge_with() {
    goes_on_beside(NICS);
}
