//! Records of flows: each flow of a capture becomes one record with the data of its packets, under
//! every plan and for all moves of flows. `flows` is a capture of flows that end in every way, and
//! its expected records.

#[path = "records/flows.rs"]
mod flows;

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora_tests::ipfix::Decoder;
use cora_tests::process::{start, start_fed};
use cora_tests::{captures, tell, workshop};
use cora_traffic::Profile;
use flows::Row;

const LIMIT: Duration = Duration::from_mins(2);

/// A way of running the program.
#[derive(Clone, Copy)]
struct Way {
    plan: &'static str,
    nic: &'static str,
    paced: bool,
    more: &'static [&'static str],
}

const HOST: Way = Way { plan: "host-only", nic: "off", paced: false, more: &[] };

/// Returns the host alone, as it was built: the baseline of the other ways.
fn host_alone() -> Way {
    Way { plan: workshop::plan_of_host_alone(), ..HOST }
}

fn other_ways() -> Vec<Way> {
    let split = Way { plan: "split", nic: "native", paced: true, more: &[] };
    let mut ways = vec![
        Way { nic: "off", ..split },
        Way { paced: false, ..split },
        split,
        Way { more: &["--moves", "random:1"], ..split },
        Way { more: &["--moves", "random:2"], ..split },
        Way { more: &["--moves", "random:3"], ..split },
        Way { paced: false, more: &["--shards", "2"], ..split },
    ];
    if workshop::is_full() {
        ways.push(Way { plan: "nic-only", nic: "native", ..HOST });
    }
    match workshop::emulator() {
        Ok(_) => ways.push(Way { nic: "emulated", ..split }),
        Err(skipped) => tell(&skipped),
    }
    ways
}

fn program(plan: &str) -> PathBuf {
    workshop::under(Path::new(plan), &["flow-monitor"])
        .remove("flow-monitor")
        .expect("it was built")
}

/// Returns the records of a run, sorted, and the number of transmitted packets.
fn records(way: Way, capture: &Path, room: &Path) -> (Vec<Row>, u64) {
    let file = room.join("records.ipfix");
    let mut command = Command::new(program(way.plan));
    let from = if way.paced { Path::new("/dev/stdin") } else { capture };
    command.args(["run", "--json", "--nic", way.nic, "--in"]).arg(from);
    command.arg("--ipfix").arg(&file).args(way.more);
    let what = format!("{command:?} on {}", capture.display());
    let running = if way.paced {
        start_fed(&mut command, captures::paced(capture))
    } else {
        start(&mut command)
    };
    let report = running.end(LIMIT).well(&what).json();
    let mut decoder = Decoder::default();
    decoder.file(&std::fs::read(&file).expect("records were written"));
    assert_eq!(
        report["records"]["exported"].as_u64(),
        Some(decoder.records.len() as u64),
        "{what}"
    );
    assert_eq!(report["records"]["lost"].as_u64(), Some(0), "{what}");
    // A short capture may have been read before the first flow could move.
    if way.plan == "split" && way.nic != "off" && way.paced {
        assert!(report["migrations"].as_u64() > Some(0), "{what}: nothing moved");
    }
    (rows(&decoder), report["outcomes"]["transmit"].as_u64().expect("a count"))
}

fn rows(decoder: &Decoder) -> Vec<Row> {
    let mut rows: Vec<Row> = decoder.records.iter().map(Row::of).collect();
    rows.sort();
    rows
}

/// The capture has every reason for an end, and each record agrees with it.
#[test]
fn records_are_what_the_capture_says_under_every_plan() {
    let room = workshop::room("records");
    let capture = room.join("flows.pcap");
    let expected = flows::write(&capture, 7, 900);
    for reason in 1..=4 {
        let count = expected.iter().filter(|row| row.reason == reason).count();
        assert!(count > 20, "{count} records with reason {reason}");
    }
    for way in [host_alone()].into_iter().chain(other_ways()) {
        let (found, _) = records(way, &capture, &room);
        let of = format!("plan {}, NIC {}, {:?}", way.plan, way.nic, way.more);
        let differ = expected.iter().zip(&found).find(|(expected, found)| expected != found);
        assert!(
            found == expected,
            "{of}: {} records, {} expected: {differ:?}",
            found.len(),
            expected.len()
        );
    }
}

/// The records of generated traffic, which has packets without a flow, and errors about other
/// flows.
#[test]
fn records_are_those_of_the_host_alone() {
    let room = workshop::room("records-generated");
    for (profile, seed) in [(Profile::Mix, 21), (Profile::Closing, 22), (Profile::Churn, 23)] {
        let capture = room.join(format!("{}.pcap", profile.name()));
        captures::generate(profile, seed, 12_000, 1_200, &capture);
        let (expected, transmitted) = records(host_alone(), &capture, &room);
        let packets: u64 = expected.iter().map(|row| row.packets + row.reply_packets).sum();
        assert!(
            packets <= transmitted && packets * 10 > transmitted * 9,
            "{packets} of {transmitted}"
        );
        for way in other_ways() {
            let (found, _) = records(way, &capture, &room);
            assert!(found == expected, "{}: plan {}, NIC {}", profile.name(), way.plan, way.nic);
        }
    }
}

/// A collector gets all records, and none of them before its template.
#[test]
fn a_collector_gets_the_same_records() {
    let room = workshop::room("records-collector");
    let capture = room.join("flows.pcap");
    let expected = flows::write(&capture, 8, 300);
    let collector = UdpSocket::bind("127.0.0.1:0").unwrap();
    collector.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let address = collector.local_addr().unwrap();
    let mut command = Command::new(program("host-only"));
    command.args(["run", "--json", "--nic", "off", "--in"]).arg(&capture);
    command.arg("--ipfix").arg(format!("udp:{address}"));
    let _report = start(&mut command).end(LIMIT).well("a collector").json();
    let mut decoder = Decoder::default();
    let mut message = vec![0; 65_536];
    while let Ok(length) = collector.recv(&mut message) {
        assert!(length <= 1400, "{length} bytes");
        decoder.message(&message[..length]);
    }
    assert_eq!(rows(&decoder), expected);
}

/// A common reader agrees, if it is installed.
#[test]
fn tshark_reads_them() {
    if Command::new("tshark").arg("--version").output().is_err() {
        return tell("SKIPPED tshark: not installed (Debian: apt-get install tshark)");
    }
    let room = workshop::room("records-tshark");
    let capture = room.join("flows.pcap");
    let expected = flows::write(&capture, 9, 300);
    let (found, _) = records(host_alone(), &capture, &room);
    assert_eq!(found, expected);
    let mut command = Command::new("tshark");
    command.arg("-r").arg(room.join("records.ipfix"));
    // One value of every record, with commas between the values of a message.
    command.args(["-T", "fields", "-e", "cflow.flow_end_reason", "-e", "cflow.packets"]);
    let said = start(&mut command).end(LIMIT).well("tshark");
    let mut reasons = Vec::new();
    let mut packets = 0;
    for line in said.stdout.lines() {
        let (these, counts) = line.split_once('\t').unwrap();
        reasons.extend(these.split(',').filter_map(|reason| reason.parse::<u8>().ok()));
        packets += counts.split(',').filter_map(|count| count.parse::<u64>().ok()).sum::<u64>();
    }
    let mut own: Vec<u8> = expected.iter().map(|row| row.reason).collect();
    own.sort_unstable();
    reasons.sort_unstable();
    assert_eq!(reasons, own, "tshark's reasons");
    let both: u64 = expected.iter().map(|row| row.packets + row.reply_packets).sum();
    assert_eq!(packets, both, "tshark's packets, both ways");
}

/// A program without records says so.
#[test]
fn a_program_without_records_says_so() {
    let program = workshop::program("firewall");
    let mut command = Command::new(program);
    command.args(["run", "--nic", "off", "--in", "none.pcap", "--ipfix", "none.ipfix"]);
    let ended = start(&mut command).end(LIMIT);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no state of firewall is `recorded`"), "{}", ended.stderr);
}
