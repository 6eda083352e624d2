//! Each side receives its own buckets.
//!
//! Buckets move by chance between all shards, or by load, while halves are killed. The run goes
//! on, every packet has one outcome, and no key has two owners. The oracle (`equivalence`) compares
//! runs without kills with the host alone.
//!
//! Buckets move by load away from an overloaded shard. The results are those of the host alone.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::draw::Draw;
use cora_tests::process::{Running, children, run, start_fed};
use cora_tests::workshop::{room, root, under};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);
const KILLS: u64 = 8;
const SHARDS: &str = "2";

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Kills any of the halves, each time another one. Returns how many were killed.
fn kill_some(running: &Running, moments: &mut Draw) -> u64 {
    let mut killed = 0;
    for _ in 0..KILLS {
        sleep(Duration::from_millis(100 + moments.below(300)));
        let halves = children(running.id());
        let Some(victim) = halves.get(moments.below(halves.len().max(1) as u64) as usize) else {
            continue;
        };
        let done = Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap();
        killed += u64::from(done.success());
    }
    killed
}

#[test]
fn whichever_half_dies_every_packet_has_an_outcome_and_every_key_one_owner() {
    let skewed = root().join("tests/plans/skewed.toml");
    let seed = std::env::var("CORA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let mut moments = Draw(seed);
    let chance = format!("random:{}", moments.below(1000));
    for (name, plan, moves, packets, least) in [
        ("firewall", Path::new("dealt"), &*chance, 24_000, 10),
        ("nat64", Path::new("dealt"), &*chance, 24_000, 10),
        // Its entries and its pool are durable at the host, and have hooks. Its merges take long in
        // an unoptimised build.
        ("nat", Path::new("dealt"), &*chance, 6_000, 5),
        // The deal takes three moves. More packets fill queues.
        ("firewall", &skewed, "adapt", 100_000, 3),
    ] {
        let program = &under(plan, &[name])[name];
        let room = room(&format!("dealt-kills-{name}"));
        let capture = room.join("in.pcap");
        captures::generate(Profile::Churn, 7, packets, 600, &capture);
        let mut command = Command::new(program);
        command.args(["run", "--json", "--nic", "native", "--in", "/dev/stdin"]);
        command.args(["--restarts", "20", "--shards", SHARDS, "--moves", moves]);
        command.arg("--out").arg(room.join("out.pcap"));
        command.arg("--state-out").arg(room.join("state.json"));
        let bytes = std::fs::read(&capture).unwrap();
        let running = start_fed(&mut command, move |mut to| {
            for piece in bytes.chunks(bytes.len() / 1_500) {
                if to.write_all(piece).is_err() {
                    break;
                }
                sleep(Duration::from_millis(2));
            }
        });
        let killed = kill_some(&running, &mut moments);
        let report = running.end(LIMIT).well(name).json();
        let what = format!("CORA_SEED={seed}, {name}, {moves}: {report:#}");
        let outcomes = report["outcomes"].as_object().unwrap();
        let outcomes: u64 = outcomes.values().filter_map(Value::as_u64).sum();
        assert_eq!((number(&report, "/packets_in"), outcomes), (packets, packets), "{what}");
        // Two keys with two owners each would be among them.
        assert_eq!(report["faults"], serde_json::json!([]), "{what}");
        let restarts = number(&report, "/restarts/NIC") + number(&report, "/restarts/host");
        assert!(killed > 0 && restarts >= killed.saturating_sub(2), "{killed} killed, {what}");
        assert!(number(&report, "/buckets/moves") > least, "{what}");
    }
}

/// Each tick of a timer runs once for each bucket, at the half that has it, and between the same
/// two packets as at a host alone.
#[test]
fn timers_tick_once_for_each_bucket_wherever_it_is() {
    let program = &under(Path::new("dealt"), &["meters"])["meters"];
    let room = room("dealt-timers");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Churn, 5, 2_000, 200, &capture);
    let ran = |nic: &str, more: &[&str]| {
        let state = room.join("state.json");
        let mut command = Command::new(program);
        command.args(["run", "--json", "--nic", nic, "--in"]).arg(&capture);
        command.arg("--out").arg(room.join("out.pcap")).arg("--state-out").arg(&state).args(more);
        let report = run(&mut command, LIMIT).well("meters").json();
        (report, std::fs::read(state).unwrap())
    };
    let (alone, state) = ran("off", &[]);
    for (shards, moves) in [("1", "random:1"), ("2", "random:2"), ("2", "random:3")] {
        let what = format!("{shards} shards, {moves}");
        let (report, kept) = ran("native", &["--shards", shards, "--moves", moves]);
        assert_eq!(report["outcomes"], alone["outcomes"], "{what}");
        assert!(kept == state, "{what}: another final state");
        assert!(number(&report, "/buckets/moves") > 5, "{what}: {report:#}");
    }
}

/// The rules are in force before the first packet; without `--moves` no bucket moves.
#[test]
fn buckets_stay_where_the_plan_deals_them() {
    let firewall = &under(Path::new("dealt"), &["firewall"])["firewall"];
    let room = room("dealt-stays");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 3, 3_000, 300, &capture);
    for shards in [1, 3] {
        let mut command = Command::new(firewall);
        command.args(["run", "--json", "--nic", "native", "--shards", &shards.to_string(), "--in"]);
        command.arg(&capture).arg("--out").arg(room.join("out.pcap"));
        let report = run(&mut command, LIMIT).well("firewall").json();
        assert_eq!(number(&report, "/buckets/moves"), 0, "{report:#}");
        assert!(number(&report, "/buckets/rule_operations") >= 128, "{report:#}");
        assert_eq!(number(&report, "/buckets/passed_on"), 0, "{report:#}");
        let halves = report["shards"].as_array().unwrap();
        assert_eq!(halves.len(), 2 * shards);
        for half in halves {
            // Each shard has packets at one side.
            let (nic, host) = (number(half, "/nic/packets"), number(half, "/host/packets"));
            assert!((nic > 0) != (host > 0), "{report:#}");
        }
    }
}

/// The results of a run: outcomes, the final state, and the packets of each flow, in their order.
#[derive(PartialEq)]
struct Left {
    outcomes: Value,
    state: Vec<u8>,
    flows: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
}

/// Runs the program on a capture, which comes as fast as it is taken.
fn left(program: &Path, words: &[&str], capture: &Path) -> (Left, Value) {
    let room = capture.parent().unwrap();
    let (output, state) = (room.join("out.pcap"), room.join("state.json"));
    let mut command = Command::new(program);
    command.args(["run", "--json", "--in"]).arg(capture).arg("--out").arg(&output);
    command.arg("--state-out").arg(&state).args(words);
    let report = run(&mut command, LIMIT).well(&format!("{words:?}")).json();
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    captures::each(&output, |_, packet| {
        let flow = packet.five_tuple().map(|flow| format!("{flow:?}").into_bytes());
        // Packets of no flow have no order.
        let flow = flow.unwrap_or_else(|_| packet.frame().to_vec());
        flows.entry(flow).or_default().push(packet.frame().to_vec());
    });
    let outcomes = report["outcomes"].clone();
    (Left { outcomes, state: std::fs::read(state).unwrap(), flows }, report)
}

/// Packets of a shard, at the side that has it.
fn packets(report: &Value, shard: usize) -> u64 {
    ["nic", "host"]
        .map(|side| number(report, &format!("/shards/{shard}/{side}/packets")))
        .iter()
        .sum()
}

/// The plan gives the NIC nearly all buckets. A capture comes as fast as it is taken, so the queue
/// of the NIC's shard is full, and the host's is empty.
#[test]
fn buckets_leave_an_overloaded_shard_and_no_result_shows_it() {
    let programs = under(&root().join("tests/plans/skewed.toml"), &["firewall", "nat64"]);
    for (name, profile) in [("firewall", Profile::Churn), ("nat64", Profile::Zipf)] {
        let program = &programs[name];
        let room = room(&format!("dealt-load-{name}"));
        let capture = room.join("in.pcap");
        captures::generate(profile, 7, 100_000, 4_000, &capture);
        let (alone, _) = left(program, &["--nic", "off"], &capture);
        let (stays, kept) = left(program, &["--nic", "native"], &capture);
        let (moves, moved) = left(program, &["--nic", "native", "--moves", "adapt"], &capture);
        for (found, report) in [(&stays, &kept), (&moves, &moved)] {
            assert_eq!(found.outcomes, alone.outcomes, "{name}: {report:#}");
            assert!(found.state == alone.state, "{name}: another final state, {report:#}");
            assert!(found.flows == alone.flows, "{name}: other packets of a flow, {report:#}");
            assert_eq!(report["faults"], serde_json::json!([]), "{name}: {report:#}");
        }
        assert_eq!(kept["buckets"]["by_load"], Value::Null, "{name}: {kept:#}");
        let load = |field: &str| number(&moved, &format!("/buckets/by_load/{field}"));
        assert!(load("moves") > 0 && load("buckets") >= load("moves"), "{name}: {moved:#}");
        assert_eq!(number(&moved, "/buckets/moves"), load("moves"), "{name}: {moved:#}");
        assert_eq!(load("first/from/shard"), 0, "{name}: {moved:#}");
        assert_eq!(load("first/to/shard"), 1, "{name}: {moved:#}");
        assert!(load("first/from/queue_percent") > 50, "{name}: {moved:#}");
        assert!(load("first/to/queue_percent") <= 20, "{name}: {moved:#}");
        let [before, after] = [&kept, &moved].map(|report| packets(report, 1));
        println!("{name}: {before} packets at the host's shard before, {after} after");
        assert!(after > before + before / 10, "{name}: {before} before, {after} after: {moved:#}");
    }
}

#[test]
fn the_report_says_why_and_there_is_no_log_of_flows() {
    let firewall = &under(Path::new("dealt"), &["firewall"])["firewall"];
    let room = room("dealt-why");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 3, 3_000, 300, &capture);
    let with = |moves: &str| {
        let mut command = Command::new(firewall);
        command.args(["run", "--moves", moves, "--in"]).arg(&capture);
        run(&mut command, LIMIT)
    };
    let why = with("adapt").well("adapt").stdout;
    assert!(why.contains("because of load"), "{why}");
    assert!(!with("plan").well("plan").stdout.contains("because of load"));
    let log = room.join("log");
    let refused = with(&format!("adapt:{}", log.display()));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("no flow moves under the plan `dealt`"), "{}", refused.stderr);
    assert!(!log.exists(), "a log that nobody writes");
}
