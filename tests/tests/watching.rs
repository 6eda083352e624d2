//! A live run is watched while it runs: by control socket, metrics, and the live view.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use cora_tests::live_run::{Live, MEMORY, SOON, kill_half};
use cora_tests::process::{run as run_command, wait_until};
use cora_tests::workshop::cora;
use serde_json::Value;

/// The run's metrics, by sample.
fn scraped(socket: &Path) -> BTreeMap<String, String> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: cora\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.to_owned())
    };
    samples.map(sample).collect()
}

/// Socket, endpoint, live view and the report at the end agree to the packet.
#[test]
fn all_that_shows_a_run_shows_the_same() {
    // Nobody sends anything there, so the run goes on when all is handled.
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    let ports = format!("inside=mem:flows=50;size=60;count=5000,outside=udp:{free}");
    let run = Live::start("stateful-firewall", &ports, &["--metrics", "unix:metrics"]);
    let settled = || {
        let now = run.ask("outcomes");
        now["packets_in"] == 5000 && now["unsettled"] == 0
    };
    assert!(wait_until(SOON, settled), "{}", run.ask("snapshot"));
    // Sides are told less often than outcomes.
    let told = || run.ask("snapshot")["sides"]["nic"]["packets"].as_u64() > Some(0);
    assert!(wait_until(SOON, told), "{}", run.ask("snapshot"));
    let socket = run.room.join("socket");
    let mut top = cora();
    top.args(["top", "--once", "--json", "--every", "200"]).arg(&socket);
    let top = run_command(&mut top, SOON).well("top").json();
    let metrics = scraped(&run.room.join("metrics"));
    let (outcomes, snapshot) = (run.ask("outcomes"), run.ask("snapshot"));
    let words = run_command(cora().arg("outcomes").arg(&socket), SOON);
    let words = words.well("outcomes").stdout;
    let report = run.finish().json;
    for (name, count) in report["outcomes"].as_object().unwrap() {
        let (count, sample) =
            (count.as_u64(), format!("cora_outcomes_total{{outcome=\"{name}\"}}"));
        assert_eq!(outcomes["outcomes"][name].as_u64(), count, "{name}: {outcomes}");
        assert_eq!(snapshot["outcomes"]["outcomes"][name].as_u64(), count, "{name}");
        assert_eq!(top["snapshot"]["outcomes"]["outcomes"][name].as_u64(), count, "{name}");
        assert_eq!(metrics.get(&sample).cloned(), count.map(|it| it.to_string()), "{name}");
        assert!(words.contains(name.as_str()), "{name} is not in {words}");
    }
    assert_eq!(outcomes["outcomes"], report["outcomes"]);
    for side in ["nic", "host"] {
        for count in ["packets", "punts", "offloads", "made"] {
            let (now, end) = (&snapshot["sides"][side][count], &report["sides"][side][count]);
            assert_eq!(now, end, "{side} {count}");
            let sample = format!("cora_side_{count}_total{{side=\"{side}\",shard=\"0\"}}");
            assert_eq!(metrics[&sample], end.to_string(), "{side} {count}");
        }
    }
    for (port, at_end) in report["ports"].as_object().unwrap() {
        assert_eq!(outcomes["ports"][port]["received"], at_end["received"], "{port}");
    }
    let bursts = snapshot["shards"][0]["bursts_at_nic"].as_array().unwrap();
    assert!(bursts.iter().any(|count| count.as_u64() > Some(0)), "{bursts:?}");
}

/// Sums of both sides are one value, for people and for who scrapes the run.
#[test]
fn values_of_states_are_those_of_both_sides() {
    let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
    let ports = format!("inside=mem:flows=50;size=60;count=5000,outside=udp:{free}");
    let run = Live::start("flow-monitor", &ports, &["--metrics", "unix:metrics"]);
    let settled =
        || run.ask("outcomes")["packets_in"] == 5000 && run.ask("outcomes")["unsettled"] == 0;
    assert!(wait_until(SOON, settled), "{}", run.ask("snapshot"));
    let at_both = |side: &str| run.ask("snapshot")["sides"][side]["packets"].as_u64() > Some(0);
    assert!(wait_until(SOON, || at_both("nic") && at_both("host")), "{}", run.ask("snapshot"));
    let values = run.ask("values");
    let totals = &values["values"]["Totals"];
    assert_eq!(
        (&totals["udp_packets"], &totals["tcp_packets"]),
        (&5000.into(), &0.into()),
        "{values}"
    );
    let metrics = scraped(&run.room.join("metrics"));
    let sample = |field: &str| {
        metrics.get(&format!("cora_value{{state=\"Totals\",field=\"{field}\"}}")).cloned()
    };
    assert_eq!(sample("udp_packets").as_deref(), Some("5000"), "{metrics:?}");
    assert_eq!(sample("longest_packet"), Some(totals["longest_packet"].to_string()));
    // A scrape asks again, and adds nothing up twice.
    assert_eq!(
        scraped(&run.room.join("metrics")).get("cora_value{state=\"Totals\",field=\"bytes\"}"),
        Some(&totals["bytes"].to_string())
    );
    // Some of the packets were measured on their way.
    assert!(metrics.get("cora_latency_seconds_count").is_some_and(|frames| frames != "0"));
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}

/// The bundle for somebody who helps has what the run answers.
#[test]
fn a_bundle_has_the_answers_of_a_run() {
    let run = Live::start("firewall", MEMORY, &[]);
    let mut doctor = cora();
    doctor.args(["doctor", "--bundle", "b.tar.gz", "--control", "socket"]).current_dir(&run.room);
    let told = run_command(&mut doctor, SOON).well("doctor").stdout;
    assert!(!told.contains("(missing"), "{told}");
    let mut unpack = Command::new("tar");
    unpack.args(["xzf", "b.tar.gz"]).current_dir(&run.room);
    let _unpacked = run_command(&mut unpack, SOON).well("tar");
    let file = |name: &str| {
        let path = run.room.join("cora-bundle").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let status = run.ask("status");
    for of in ["status", "outcomes", "tables", "snapshot"] {
        let answer: Value = serde_json::from_str(&file(&format!("run/{of}.json"))).unwrap();
        assert_eq!(answer["schema"], format!("cora-{of}/1"));
        if of == "status" {
            assert_eq!(answer["plan"], status["plan"]);
        }
    }
    let listed: Vec<String> = file("MANIFEST")
        .lines()
        .skip(1)
        .filter_map(|line| Some(line.split(' ').next()?.to_owned()))
        .collect();
    assert_eq!(listed.len(), 8, "{listed:?}");
    for name in &listed {
        assert!(!file(name).is_empty(), "{name}");
    }
    assert_eq!(run.finish().code, Some(0));
}

/// Packets that died with a half have no outcome until the end tells them apart.
#[test]
fn what_a_dead_half_had_is_unsettled_until_the_end() {
    let run = Live::start("firewall", MEMORY, &[]);
    let came = || run.ask("status")["packets_in"].as_u64() > Some(20_000);
    assert!(wait_until(SOON, came));
    kill_half(&run, "__nic");
    assert_eq!(run.ask("status")["restarts"]["NIC"], 1);
    let now = run.ask("outcomes");
    let outcomes = now["outcomes"].as_object().unwrap();
    let settled: u64 = outcomes.values().filter_map(Value::as_u64).sum();
    let unsettled = now["unsettled"].as_u64().unwrap();
    assert_eq!(now["packets_in"].as_u64(), Some(settled + unsettled), "{now}");
    assert!(!outcomes.contains_key("lost-with-nic"), "{now}");
    let report = run.finish();
    assert_eq!(report.code, Some(0), "{}", report.log);
}
