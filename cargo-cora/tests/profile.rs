//! `cargo cora profile`: from a capture to a profile to plan with.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cora_plan::traffic::{Class, Traffic};
use cora_traffic::{Form, Profile, Ranked, generate};

fn profile(directory: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-cora"));
    command.current_dir(directory).args(["cora", "profile"]);
    command.args(line.split_whitespace()).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The profile that the command draws from a generated capture.
fn drawn(ranked: &Ranked, packets: u64, more: &str) -> (Traffic, String) {
    let directory = tempfile::tempdir().unwrap();
    let capture = fs::File::create(directory.path().join("a.pcap")).unwrap();
    ranked.write(1, packets, std::io::BufWriter::new(capture)).unwrap();
    let output = profile(directory.path(), &format!("a.pcap {more}"));
    assert!(output.status.success(), "{}", stderr(&output));
    (Traffic::load(directory.path().join("a.toml").to_str().unwrap()).unwrap(), stdout(&output))
}

/// Share of all packets that the flows up to a rank have.
fn share_of(classes: &[Class], mut left: f64) -> f64 {
    let bins = classes.iter().flat_map(|class| &class.bins);
    bins.map(|bin| {
        let part = (left / bin.flows).clamp(0.0, 1.0);
        left -= bin.flows;
        part * bin.share
    })
    .sum()
}

/// Counts of generated traffic equal the built-in profile of the same name.
#[test]
fn a_generated_capture_has_the_classes_of_its_name() {
    let names = [
        "zipf:flows=1000,s=0.99",
        "zipf:flows=2000,s=1.26,bytes=200",
        "uniform:flows=50,bytes=900",
    ];
    for name in names {
        let builtin = Traffic::load(name).unwrap();
        let (counted, told) = drawn(&name.parse().unwrap(), 100_000, "");
        assert!((counted.mean_bytes - builtin.mean_bytes).abs() < 1e-6, "{name}");
        let is_told = told.contains("; 128.0 cross where handlers take headers alone");
        assert_eq!(is_told, name.ends_with("bytes=900"), "{told}");
        for (key, wanted) in &builtin.by_key {
            let found = &counted.by_key[key];
            let crossing = |classes: &[Class]| classes[0].head_bytes;
            assert!((crossing(found) - crossing(wanted)).abs() < 1e-6, "{name} {key}");
            let flows: f64 = wanted.iter().map(|class| class.flows).sum();
            for rank in [10.0, flows / 10.0, flows / 2.0] {
                let (found, wanted) = (share_of(found, rank), share_of(wanted, rank));
                assert!(
                    (found - wanted).abs() < 0.02,
                    "{name} {key} {rank}: {found}, not {wanted}"
                );
            }
        }
        // Where a class ends is up to the flows with equally many packets there; how many classes
        // there are is not.
        let classes = |traffic: &Traffic| traffic.by_key["FiveTuple"].len();
        assert_eq!(classes(&counted), classes(&builtin), "{name}");
    }
}

#[test]
fn equal_flows_are_one_class_and_churn_opens_them() {
    let (still, told) = drawn(&"uniform:flows=500".parse().unwrap(), 20_000, "");
    let classes = &still.by_key["FiveTuple"];
    assert_eq!((classes.len(), classes[0].name.as_str()), (1, "all flows"));
    assert!((classes[0].flows - 500.0).abs() < 1e-6);
    assert!((classes[0].opens - 500.0 / 20_000.0).abs() < 1e-6);
    assert!(told.contains("packets               20,000"), "{told}");
    assert!(told.contains("flows                    500   500 at a time, idle after 1m"), "{told}");

    // 20 s of a thousand packets a second: each flow is replaced every 100 s and idle after one.
    let ranked = Ranked {
        rate: 1_000,
        churn: 5_000,
        form: Form::Connections,
        flows: 500,
        exponent: 0,
        bytes: 100,
    };
    let (churning, told) = drawn(&ranked, 20_000, "--idle 4s");
    let flows: f64 = churning.by_key["FiveTuple"].iter().map(|class| class.flows).sum();
    assert!(
        (510.0..560.0).contains(&flows),
        "500, and those that were replaced 4 s ago at most: {flows}"
    );
    assert!(told.contains("idle after 4s"), "{told}");
    assert!(
        churning.title.contains("drawn from a.pcap: 20,000 packets in 2"),
        "{}",
        churning.title
    );
}

#[test]
fn packets_without_a_flow_are_counted_and_told() {
    let directory = tempfile::tempdir().unwrap();
    let capture = fs::File::create(directory.path().join("odd.pcap")).unwrap();
    generate(Profile::Odd, 1, 4_000, 300, std::io::BufWriter::new(capture)).unwrap();
    let output = profile(directory.path(), "odd.pcap --out p.toml --name strange");
    let told = stdout(&output);
    assert!(
        told.contains("without a flow") && told.contains("not IP, broken, or fragments"),
        "{told}"
    );
    assert!(stderr(&output).contains("4,000 packets read in "), "{}", stderr(&output));
    let text = fs::read_to_string(directory.path().join("p.toml")).unwrap();
    assert_eq!(Traffic::parse(&text).unwrap().name, "strange");
    // The same capture gives the same bytes, whatever the order of a map.
    profile(directory.path(), "odd.pcap --out again.toml --name strange");
    assert_eq!(fs::read_to_string(directory.path().join("again.toml")).unwrap(), text);
}

fn refused(directory: &Path, line: &str, code: i32, complaint: &str) {
    let output = profile(directory, line);
    assert_eq!(output.status.code(), Some(code), "`{line}`: {}", stderr(&output));
    assert!(stderr(&output).contains(complaint), "`{line}`: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "`{line}`");
}

#[test]
fn what_is_no_capture_or_damaged_is_told_with_its_byte() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut whole = Vec::new();
    "uniform:flows=3".parse::<Ranked>().unwrap().write(1, 10, &mut whole).unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = here.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    write("cut.pcap", &whole[..whole.len() - 5]);
    write("none.pcap", b"not a capture at all");
    write("empty.pcap", b"");
    write("silent.pcap", &whole[..24]);
    refused(here, "cut.pcap", 1, "cut.pcap: ");
    refused(here, "cut.pcap", 1, "byte 744");
    refused(here, "none.pcap", 1, "none.pcap: ");
    refused(here, "empty.pcap", 1, "empty.pcap: ");
    refused(here, "silent.pcap", 1, "none of its 0 packets belongs to a flow");
    refused(here, "nowhere.pcap", 1, "nowhere.pcap: ");
    refused(here, "cut.pcap --idle 60", 2, "write it like 60s");
    refused(here, "cut.pcap --inside 10.0.0.0", 2, "10.0.0.0/8");
    assert!(!here.join("cut.toml").exists(), "nothing is written when something is wrong");
    write("a.pcap", &whole);
    write("a.toml", b"something = \"else\"\n");
    refused(here, "a.pcap", 2, "no traffic profile: say where to write with `--out FILE`");
}
