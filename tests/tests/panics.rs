//! A handler that panics on a capture, or never returns, ends the run with the packet's name. A
//! live run drops that packet, names it, and goes on.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cora_host::ingress::pcap::Writer;
use cora_tests::process::{Ended, run};
use cora_tests::workshop::{program, room, under};
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(2);

/// Writes forty packets, one per flow; the flow to `port` has the 12th and the 31st.
fn capture(name: &str, port: u16) -> std::path::PathBuf {
    let path = room(name).join("in.pcap");
    let mut frames = Vec::new();
    for number in 0..40_u16 {
        let (source, port) =
            if matches!(number, 11 | 30) { (9, port) } else { (number + 1_000, 53) };
        frames.push(cora::testing::udp(([10, 0, 0, 1], source), ([192, 0, 2, 1], port), b"?"));
    }
    let mut writer = Writer::new(Vec::new()).expect("memory");
    for (time, frame) in frames.iter().enumerate() {
        writer.write(time as u64 * 1_000_000, frame).expect("memory");
    }
    std::fs::write(&path, writer.finish().expect("memory")).expect("it is ours");
    path
}

fn ended(program: &Path, nic: &str, capture: &Path) -> Ended {
    let mut command = Command::new(program);
    command.args(["run", "--nic", nic, "--patience", "2", "--in"]).arg(capture);
    run(&mut command, LIMIT)
}

#[track_caller]
fn names(ended: &Ended, capture: &Path, port: u16, says: &str) {
    let flow = format!("udp 10.0.0.1:9 > 192.0.2.1:{port}");
    let packet = format!("packet 31 of {} ({flow})", capture.display());
    assert!(ended.stderr.contains(&packet) && ended.stderr.contains(says), "{}", ended.stderr);
    assert_ne!(ended.code, Some(0));
}

#[test]
fn a_panic_names_its_packet() {
    let capture = capture("panics", 13);
    names(&ended(program("panics"), "off", &capture), &capture, 13, "a handler panicked in");
    let nic_only = under(Path::new("nic-only"), &["panics"]).remove("panics").expect("it is built");
    for nic in ["native", "emulated"] {
        names(&ended(&nic_only, nic, &capture), &capture, 13, "the NIC process ended early");
    }
}

#[test]
fn a_loop_without_end_names_its_packet() {
    let capture = capture("loops", 14);
    names(&ended(program("panics"), "off", &capture), &capture, 14, "a handler runs for 2 s");
    let nic_only = under(Path::new("nic-only"), &["panics"]).remove("panics").expect("it is built");
    names(&ended(&nic_only, "native", &capture), &capture, 14, "has not moved for 2 s");
}

/// Returns the report of a live run on the capture, and its log.
fn live(program: &Path, nic: &str, capture: &Path) -> (Value, String) {
    let empty = capture.with_file_name("empty.pcap");
    let writer = Writer::new(Vec::new()).expect("memory");
    std::fs::write(&empty, writer.finish().expect("memory")).expect("it is ours");
    let ports = format!("inside=pcap:{},outside=pcap:{}", capture.display(), empty.display());
    let mut command = Command::new(program);
    command.args(["run", "--json", "--nic", nic, "--patience", "1", "--live", &ports]);
    let ended = run(&mut command, LIMIT).well("live");
    (ended.json(), ended.stderr)
}

#[test]
fn a_live_run_drops_what_a_handler_dies_of() {
    let on_nic = under(Path::new("nic-only"), &["panics"]).remove("panics").expect("it is built");
    let host = under(Path::new("host-only"), &["panics"]).remove("panics").expect("it is built");
    for (name, port, how) in [("live-panics", 13, "ended ("), ("live-loops", 14, "stood still for")]
    {
        let capture = capture(name, port);
        for (half, program) in [("NIC", &on_nic), ("host", &host)] {
            let (report, said) = live(program, "native", &capture);
            let outcomes = report["outcomes"].as_object().unwrap();
            let count = |name: &str| outcomes.get(name).and_then(Value::as_u64).unwrap_or(0);
            assert_eq!(count("handler-panicked"), 1, "{name}, {half}: {report:#}");
            let sum: u64 = outcomes.values().filter_map(Value::as_u64).sum();
            assert_eq!(sum, 40, "{name}, {half}: {report:#}");
            assert_eq!(report["restarts"][half], 1, "{name}, {half}: {report:#}");
            assert!(said.contains(&format!("the {half} process")) && said.contains(how), "{said}");
            assert!(said.contains("in a handler of packet 31 of this run"), "{said}");
        }
    }
}
