//! The counts of `cargo cora measure`, against counts by hand of the route of each packet of a
//! small capture.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use cora::__private::core::packet::checksum;
use cora_plan::Graph;
use cora_plan::demand::{Executed, Measured, Measurement, Observed, measured};
use cora_plan::traffic::Borders;
use cora_tests::workshop::{cora, program, programs, room, root};
use cora_tests::{captures, process, tell};
use cora_traffic::Profile;
use cora_traffic::pcap::Writer;

const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// An inside client, an outside server, and the NAT's own address.
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [203, 0, 113, 9];
const NAT: [u8; 4] = [192, 0, 2, 1];
/// The first port that the NAT leases.
const LEASED: u16 = 32_768;

type End = ([u8; 4], u16);

/// Returns an IPv4 packet with this protocol, and these bytes behind its ports. Its transport
/// checksum is irrelevant here.
fn ipv4(protocol: u8, from: End, to: End, fragment: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0];
    frame.extend((24 + rest.len() as u16).to_be_bytes());
    frame.extend([0, 1]);
    frame.extend(fragment.to_be_bytes());
    frame.extend([64, protocol, 0, 0]);
    frame.extend(from.0);
    frame.extend(to.0);
    let sum = checksum::internet(&frame[14..]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend(from.1.to_be_bytes());
    frame.extend(to.1.to_be_bytes());
    frame.extend(rest);
    frame
}

fn udp(from: End, to: End) -> Vec<u8> {
    ipv4(17, from, to, 0, &[0, 12, 0, 0, b'd', b'a', b't', b'a'])
}

fn tcp(from: End, to: End, flags: u8) -> Vec<u8> {
    ipv4(6, from, to, 0, &[0, 0, 0, 1, 0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0])
}

fn fragment() -> Vec<u8> {
    ipv4(17, (CLIENT, 7), (SERVER, 7), 0x2000, &[0; 8])
}

/// Returns an ARP request: neither program looks at it.
fn arp() -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([0x02, 0, 0, 0, 0, 2, 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.extend([0; 20]);
    frame
}

fn capture(name: &str, frames: &[Vec<u8>]) -> PathBuf {
    let path = room(&format!("measure-{name}")).join("tiny.pcap");
    let mut writer = Writer::new(File::create(&path).unwrap()).unwrap();
    for (number, frame) in (0..).zip(frames) {
        writer.write(1_000_000_000 + number * 1_000, frame).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// Builds the firewall and the NAT with a trace of their packets.
fn traced() -> &'static BTreeMap<String, PathBuf> {
    static TRACED: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    TRACED.get_or_init(|| {
        // The route of a packet is independent of speed.
        let words = ["--features", "cora/trace", "--package", "firewall", "--package", "nat"];
        programs(&words, Some(Path::new("host-only")), "traced")
    })
}

/// Returns the graph of a program, and its observations of a run.
fn observe(program: &Path, capture: &Path) -> (Graph, Observed) {
    let told = |words: &[&str]| {
        let output = Command::new(program).args(words).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {complaint}", program.display());
        String::from_utf8(output.stdout).unwrap()
    };
    let graph = Graph::from_json(&told(&["graph"])).unwrap();
    let observed = Observed::from_json(&told(&["trace", "--in", capture.to_str().unwrap()]));
    (graph, observed.unwrap())
}

/// Returns borders of two classes: flows of three packets and more, and the rest.
fn borders() -> BTreeMap<String, Borders> {
    let borders = || Borders::of([3, 1]);
    ["FiveTuple", "SourceAddress"].map(|key| (key.to_owned(), borders())).into()
}

/// Returns a route as its only handler's path: `write Session, transmit`.
fn spelled(graph: &Graph, steps: &[(usize, usize)]) -> String {
    let [(handler, path)] = steps else { panic!("one handler, and not {steps:?}") };
    let path = &graph.chain[*handler].paths[*path];
    let accesses = path.accesses.iter();
    let mut words: Vec<String> =
        accesses.map(|access| format!("{:?} {}", access.does, access.state)).collect();
    words.dedup();
    words.push(format!("{:?}", path.exit));
    words.join(", ").to_lowercase()
}

/// Counts packets by route, as text.
fn per_route(graph: &Graph, measured: &Measured) -> BTreeMap<String, u64> {
    let routes = measured.measurement.routes.iter().zip(measured.per_route());
    let mut counts = BTreeMap::new();
    for (route, packets) in routes {
        *counts.entry(spelled(graph, &route.steps)).or_default() += packets;
    }
    counts
}

fn counts(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(route, packets)| ((*route).to_owned(), *packets)).collect()
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn the_firewalls_packets_are_counted_as_by_hand() {
    let (client, server, stranger) = ((CLIENT, 4_000), (SERVER, 80), (SERVER, 4_444));
    let frames = [
        tcp(client, server, SYN),       // opens
        tcp(server, client, SYN | ACK), // is followed
        tcp(client, server, ACK),       // is followed
        tcp(client, server, 0),         // no valid segment: dropped
        tcp(client, server, RST | ACK), // is followed, and closes
        udp(stranger, client),          // from outside, unsolicited
        udp(client, stranger),          // opens
        udp(stranger, client),          // is followed
        fragment(),                     // has no five-tuple
        arp(),                          // passes
    ];
    let (graph, observed) = observe(&traced()["firewall"], &capture("firewall", &frames));
    let measured = measured(&graph, &observed, &borders(), "tiny").unwrap();
    assert_eq!(
        per_route(&graph, &measured),
        counts(&[
            ("drop", 1),
            ("transmit", 1),
            ("write connection, drop", 2),
            ("write connection, insert connection, transmit", 2),
            ("write connection, transmit", 4),
        ])
    );
    assert_eq!(measured.fits.exact, frames.len() as u64, "{:?}", measured.fits);
    // By five-tuple: the TCP connection has five packets, the exchange over UDP has three, and two
    // packets have no five-tuple.
    let classes = &measured.measurement.counts["FiveTuple"];
    let sums: Vec<u64> = classes.iter().map(|class| class.iter().sum()).collect();
    assert_eq!(sums, [8, 2], "the lightest class has what belongs to no flow");
    sums_agree(&measured.measurement);
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn the_nats_packets_are_counted_as_by_hand() {
    let (asker, web) = ((CLIENT, 5_000), (CLIENT, 6_000));
    let (dns, server) = ((SERVER, 53), (SERVER, 80));
    let frames = [
        udp(asker, dns),                           // leases the first port
        udp(asker, dns),                           // is translated
        udp(dns, (NAT, LEASED)),                   // is translated back
        udp(dns, (NAT, LEASED + 9)),               // unsolicited, and not forwarded: dropped
        tcp(web, server, SYN),                     // leases the second port
        tcp(server, (NAT, LEASED + 1), SYN | ACK), // is translated back
        tcp(web, server, 0),                       // no valid segment: dropped
        tcp(web, server, RST | ACK),               // closes: its port is leased on
        fragment(),                                // has no five-tuple
        arp(),                                     // passes
    ];
    let (graph, observed) = observe(&traced()["nat"], &capture("nat", &frames));
    let measured = measured(&graph, &observed, &borders(), "tiny").unwrap();
    assert_eq!(
        per_route(&graph, &measured),
        counts(&[
            ("drop", 1),
            ("transmit", 1),
            ("write session, read public, read forward, drop", 1),
            (
                "write session, read public, read times, read public, write portpool, read public, \
                 insert session, transmit",
                2
            ),
            ("write session, read times, drop", 1),
            ("write session, read times, transmit", 4),
        ])
    );
    assert_eq!(measured.fits.otherwise, 0, "{:?}", measured.fits);
    sums_agree(&measured.measurement);
}

/// Asserts that, for every key of classes, each packet is in one class and took one route.
fn sums_agree(measurement: &Measurement) {
    for (key, classes) in &measurement.counts {
        assert_eq!(classes.iter().flatten().sum::<u64>(), measurement.packets, "{key}");
    }
    let route = |key: &str, number: usize| -> u64 {
        measurement.counts[key].iter().map(|class| class[number]).sum()
    };
    for number in 0..measurement.routes.len() {
        assert_eq!(route("FiveTuple", number), route("SourceAddress", number), "route {number}");
    }
}

#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn a_build_that_notes_says_so_and_others_refuse() {
    let capture = capture("refused", &[arp()]);
    let output =
        Command::new(program("firewall")).args(["trace", "--in"]).arg(&capture).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("`cargo cora measure` makes one that does"), "{told}");
}

/// The whole command, with the emulators of this machine.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn the_command_keeps_what_it_measured() {
    let room = room("measure-command");
    let (capture, out) = (room.join("mix.pcap"), room.join("cora.measured.json"));
    captures::generate(Profile::Mix, 5, 3_000, 300, &capture);
    let mut command = cora();
    // A counted program needs a build near a release: the development profile does not optimise.
    command.args(["measure", "firewall", "--profile", "counted", "--in"]).arg(&capture);
    command.arg("--out").arg(&out);
    let ended = process::run(&mut command, std::time::Duration::from_mins(30)).well("measure");
    tell(&ended.stdout);
    let graph = cora_build::script::graph_of(&root().join("examples/firewall"), None).unwrap().0;
    let text = std::fs::read_to_string(&out).unwrap();
    let measurement = Measurement::from_json(&text, &graph).unwrap();
    assert!(measurement.packets >= 3_000 && measurement.capture == "mix", "{text}");
    // A packet that makes an entry costs more than one that finds an entry, at either side.
    let cost = |wanted: &str| {
        let mut routes = measurement.routes.iter();
        let route = routes.find(|route| spelled(&graph, &route.steps) == wanted).unwrap();
        (route.host, route.nic)
    };
    let steady = cost("write connection, transmit");
    let first = cost("write connection, insert connection, transmit");
    let more = |of: Executed, than: Executed| of.instructions > than.instructions;
    assert!(more(first.0, steady.0) && more(first.1, steady.1), "{first:?} and {steady:?}");
    for side in [steady.0, steady.1] {
        assert!((100.0..5_000.0).contains(&side.instructions), "{steady:?}");
        // No predictor knows the next flow; but most branches of a packet are equal to those of any
        // other.
        assert!((0.01..20.0).contains(&side.mispredictions), "{steady:?}");
    }
}
