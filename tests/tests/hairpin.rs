//! Subscribers of `carrier-nat` reach each other: a packet for a public port leaves at port 2,
//! comes in there again, and goes to the endpoint that has that port. So it is of two buckets, one
//! after the other, and any number of shards gives the same.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cora::prelude::{Meta, Packet};
use cora_host::ingress::pcap::{PcapngWriter, Reader};
use cora_tests::process::run;
use cora_tests::tell;
use cora_tests::workshop::{emulator, program, room};
use serde_json::Value;

/// Upper bound on a run, which takes a second.
const LIMIT: Duration = Duration::from_mins(1);
const INSIDE: u8 = 0;
const OUTSIDE: u8 = 1;
const HAIRPIN: u8 = 2;
const SERVER: End = ([198, 51, 100, 9], 80);
/// Conversations, and rounds of each.
const PAIRS: u16 = 200;
const ROUNDS: u32 = 4;

type End = ([u8; 4], u16);

/// A datagram between two ends, at a port.
#[derive(Clone, Copy)]
struct Sent {
    at: u8,
    from: End,
    to: End,
}

/// The endpoint of a subscriber of 10.0.0.0/19 as others see it: its block of 1,024 ports, and
/// there the low nine bits of its own.
fn public(([.., host], port): End) -> End {
    ([192, 0, 2, 6], 1_024 + 1_024 * u16::from(host) + port % 512)
}

/// The datagrams of all conversations by turns, and how each has to leave.
fn traffic() -> Vec<(Sent, Sent)> {
    let pairs = (0..PAIRS).map(|number| {
        let alice = ([10, 0, 0, 1 + (number % 20) as u8], 20_000 + 37 * number);
        (alice, ([10, 0, 0, 30 + (number % 25) as u8], 30_000 + 53 * number))
    });
    let pairs: Vec<(End, End)> = pairs.collect();
    // From one to the other: out, and in again.
    let across = |from: End, to: End| {
        let between = Sent { at: HAIRPIN, from: public(from), to: public(to) };
        let came = Sent { at: INSIDE, from, to: public(to) };
        [(came, between), (between, Sent { at: INSIDE, from: public(from), to })]
    };
    let opened = pairs.iter().map(|(_, bob)| {
        let came = Sent { at: INSIDE, from: *bob, to: SERVER };
        (came, Sent { at: OUTSIDE, from: public(*bob), to: SERVER })
    });
    let mut all: Vec<(Sent, Sent)> = opened.collect();
    for _ in 0..ROUNDS {
        all.extend(pairs.iter().flat_map(|(alice, bob)| across(*alice, *bob)));
        all.extend(pairs.iter().flat_map(|(alice, bob)| across(*bob, *alice)));
    }
    all
}

/// What leaves, by port and flow: the numbers of its datagrams, in order.
type Left = BTreeMap<(u8, String), Vec<u32>>;

fn frame(sent: &Sent, number: u32) -> Vec<u8> {
    cora::testing::udp(sent.from, sent.to, &number.to_be_bytes())
}

fn note(left: &mut Left, port: u8, frame: &mut [u8]) {
    let packet = Packet::new(frame, Meta::default());
    let number = packet.payload()[..4].try_into().map(u32::from_be_bytes).unwrap();
    left.entry((port, packet.five_tuple().unwrap().to_string())).or_default().push(number);
}

/// The room of the runs, with the capture of all traffic.
fn prepare(all: &[(Sent, Sent)]) -> (PathBuf, PathBuf) {
    let room = room("hairpin");
    let input = room.join("in.pcapng");
    let mut writer = PcapngWriter::new(File::create(&input).unwrap()).unwrap();
    for name in ["inside", "outside", "hairpin"] {
        writer.describe(name).unwrap();
    }
    for (number, (came, _)) in (0..).zip(all) {
        let frame = frame(came, number);
        // A millisecond each.
        let time = u64::from(number) * 1_000_000;
        writer.write_cut(came.at.into(), time, &frame, frame.len() as u32).unwrap();
    }
    writer.flush().unwrap();
    (room, input)
}

/// What leaves, the outcomes, and the final state.
fn ran(room: &Path, input: &Path, nic: &str, shards: &str) -> (Left, Value, Vec<u8>) {
    let (output, state) = (room.join("out.pcapng"), room.join("state.json"));
    let mut command = Command::new(program("carrier-nat"));
    command.args(["run", "--json", "--nic", nic, "--shards", shards, "--in"]).arg(input);
    command.arg("--out").arg(&output).arg("--state-out").arg(&state);
    let report = run(&mut command, LIMIT).well(&format!("{nic}, {shards} shards")).json();
    let mut left = Left::new();
    let mut reader = Reader::open(&output).unwrap();
    while let Some(frame) = reader.next_frame().unwrap() {
        note(&mut left, frame.interface as u8, &mut frame.bytes.to_vec());
    }
    (left, report["outcomes"].clone(), fs::read(state).unwrap())
}

#[test]
fn subscribers_reach_each_other_on_any_number_of_shards() {
    let all = traffic();
    let (room, input) = prepare(&all);
    let mut wanted = Left::new();
    for (number, (_, leaves)) in (0..).zip(&all) {
        note(&mut wanted, leaves.at, &mut frame(leaves, number));
    }
    let nics: &[&str] = match emulator() {
        Ok(_) => &["off", "native", "emulated"],
        Err(skipped) => {
            tell(&skipped);
            &["off", "native"]
        }
    };
    let (_, outcomes, state) = ran(&room, &input, "off", "1");
    for nic in nics {
        for shards in ["1", "2", "4"] {
            let of = format!("{nic}, {shards} shards");
            let (left, told, kept) = ran(&room, &input, nic, shards);
            assert_eq!(left, wanted, "{of}");
            assert_eq!(told, outcomes, "{of}");
            assert!(kept == state, "{of}: another final state");
        }
    }
}
