//! Each side receives its own buckets, and buckets move by chance between all shards, while halves
//! are killed. The run goes on, every packet has one outcome, and no key has two owners.
//!
//! The oracle (`equivalence`) compares runs without kills with the host alone.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use cora_tests::captures;
use cora_tests::draw::Draw;
use cora_tests::process::{Running, children, start_fed};
use cora_tests::workshop::{room, under};
use cora_traffic::Profile;
use serde_json::Value;

/// Upper bound on a run; a longer one hangs.
const LIMIT: Duration = Duration::from_mins(2);
const PACKETS: u64 = 24_000;
const KILLS: u64 = 8;
const SHARDS: &str = "2";

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// Kills any of the halves, each time another one. Returns how many were killed.
fn kill_some(run: &Running, moments: &mut Draw) -> u64 {
    let mut killed = 0;
    for _ in 0..KILLS {
        sleep(Duration::from_millis(100 + moments.below(300)));
        let halves = children(run.id());
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
    let programs = under(Path::new("dealt"), &["firewall", "nat64", "nat"]);
    let seed = std::env::var("CORA_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let mut moments = Draw(seed);
    for name in ["firewall", "nat64", "nat"] {
        let room = room(&format!("dealt-kills-{name}"));
        let capture = room.join("in.pcap");
        captures::generate(Profile::Churn, 7, PACKETS, 600, &capture);
        let mut command = Command::new(&programs[name]);
        command.args(["run", "--json", "--nic", "native", "--in", "/dev/stdin"]);
        command.args(["--restarts", "20", "--shards", SHARDS, "--moves"]);
        command.arg(format!("random:{}", moments.below(1000)));
        command.arg("--out").arg(room.join("out.pcap"));
        command.arg("--state-out").arg(room.join("state.json"));
        let bytes = std::fs::read(&capture).unwrap();
        let run = start_fed(&mut command, move |mut to| {
            for piece in bytes.chunks(bytes.len() / 1_500) {
                if to.write_all(piece).is_err() {
                    break;
                }
                sleep(Duration::from_millis(2));
            }
        });
        let killed = kill_some(&run, &mut moments);
        let report = run.end(LIMIT).well(name).json();
        let what = format!("CORA_SEED={seed}, {name}: {report:#}");
        let outcomes = report["outcomes"].as_object().unwrap();
        let outcomes: u64 = outcomes.values().filter_map(Value::as_u64).sum();
        assert_eq!((number(&report, "/packets_in"), outcomes), (PACKETS, PACKETS), "{what}");
        // Two keys with two owners each would be among them.
        assert_eq!(report["faults"], serde_json::json!([]), "{what}");
        let restarts = number(&report, "/restarts/NIC") + number(&report, "/restarts/host");
        assert!(killed > 0 && restarts >= killed.saturating_sub(2), "{killed} killed, {what}");
        assert!(number(&report, "/buckets/moves") > 10, "{what}");
    }
}

/// Each tick of a timer runs once for each bucket, at the half that has it, and between the same two
/// packets as at a host alone.
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
        let report = cora_tests::process::run(&mut command, LIMIT).well("meters").json();
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

/// The first moves deal the buckets; without `--moves` there are no others.
#[test]
fn buckets_stay_where_the_plan_deals_them() {
    let firewall = &under(Path::new("dealt"), &["firewall"])["firewall"];
    let room = room("dealt-stays");
    let capture = room.join("in.pcap");
    captures::generate(Profile::Mix, 3, 3_000, 300, &capture);
    for (shards, moves) in [("1", 1), ("3", 5)] {
        let mut command = Command::new(firewall);
        command.args(["run", "--json", "--nic", "native", "--shards", shards, "--in"]);
        command.arg(&capture).arg("--out").arg(room.join("out.pcap"));
        let report = cora_tests::process::run(&mut command, LIMIT).well("firewall").json();
        assert_eq!(number(&report, "/buckets/moves"), moves, "{report:#}");
        assert_eq!(number(&report, "/buckets/passed_on"), 0, "{report:#}");
        let halves = report["shards"].as_array().unwrap();
        assert_eq!(halves.len() as u64, moves + 1);
        for half in halves {
            // Each shard has packets at one side.
            let (nic, host) = (number(half, "/nic/packets"), number(half, "/host/packets"));
            assert!((nic > 0) != (host > 0), "{report:#}");
        }
    }
}
