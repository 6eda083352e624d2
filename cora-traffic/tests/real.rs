//! Real traffic, if this machine allows it; else a stand-in that states its origin.

use std::fs::File;
use std::path::Path;

use cora_traffic::pcap::Reader;
use cora_traffic::{Mode, Summary, real};

mod sound;

#[test]
fn real_traffic_is_like_that_on_a_wire() {
    let directory = tempfile::tempdir().unwrap();
    let traffic = real(directory.path()).unwrap();
    let capture = || File::open(&traffic.captures[0]).unwrap();
    let summary = Summary::of(capture()).unwrap();
    match &traffic.mode {
        Mode::Generated { why } => {
            eprintln!("no real traffic on this machine: {why}");
            assert!(!why.is_empty());
            assert_eq!(summary.packets, 20_000);
        }
        Mode::Real { lacking } => {
            check(&summary, lacking);
            for frame in Reader::new(capture()).unwrap() {
                let bytes = frame.unwrap().bytes;
                assert_eq!(sound::check(&bytes), Ok(()), "{bytes:02x?}");
            }
            assert!(repeated_openings(capture()) > 0, "a connection was asked for again");
            assert!(no_namespace_is_left(), "namespaces of this process are gone");
        }
    }
}

fn check(summary: &Summary, lacking: &[String]) {
    assert!(summary.longest <= 1_514, "no frame is longer than the wire takes: {summary}");
    assert!(summary.packets > 1_500 && summary.flows > 80, "{summary}");
    assert!(summary.tcp > 1_000 && summary.udp > 40 && summary.icmp > 30, "{summary}");
    assert!(summary.fragments > 10, "{summary}");
    if !lacking.iter().any(|what| what.contains("IPv6")) {
        assert!(summary.v6 > 500, "{summary}");
    }
    assert!(summary.from_inside > summary.packets / 4, "{summary}");
}

/// Returns the number of repeated SYN segments: same addresses, ports and sequence number.
fn repeated_openings(capture: File) -> usize {
    let openings: Vec<Vec<u8>> = Reader::new(capture)
        .expect("a capture")
        .map(|frame| frame.expect("a frame").bytes)
        .filter(|bytes| sound::tcp_flags(bytes) == Some(2))
        .map(|bytes| bytes[26..42].to_vec())
        .collect();
    let different: std::collections::BTreeSet<&Vec<u8>> = openings.iter().collect();
    openings.len() - different.len()
}

fn no_namespace_is_left() -> bool {
    let ours = format!("cora-{}-", std::process::id());
    let Ok(entries) = Path::new("/run/netns").read_dir() else { return true };
    !entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(&ours))
}
