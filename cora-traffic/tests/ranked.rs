//! Flows by a law: the same everywhere, sound, and with the shares of the law.

#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;

use cora_traffic::pcap::Reader;
use cora_traffic::{Form, Ranked};

mod sound;

fn frames(name: &str, form: Form, packets: usize) -> Vec<Vec<u8>> {
    let ranked = Ranked { form, ..name.parse().unwrap() };
    ranked.frames(1).take(packets).map(|frame| frame.bytes).collect()
}

/// Returns the client's address and port, which distinguish flows.
fn client(frame: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let is_answer = frame[26] != 10;
    let (address, port) = if is_answer { (30, 36) } else { (26, 34) };
    (frame[address..address + 4].to_vec(), frame[port..port + 2].to_vec())
}

fn counts(frames: &[Vec<u8>]) -> Vec<u64> {
    let mut counts: BTreeMap<_, u64> = BTreeMap::new();
    for frame in frames {
        *counts.entry(client(frame)).or_default() += 1;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_by_key(|count| std::cmp::Reverse(*count));
    counts
}

/// Returns the FNV-1a hash of 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &octet| {
        (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn the_same_seed_makes_the_same_octets_everywhere() {
    let hashes = ["zipf:flows=1000,s=0.99", "uniform:flows=300,churn=0.1,bytes=200"].map(|name| {
        let mut capture = Vec::new();
        name.parse::<Ranked>().unwrap().write(7, 5_000, &mut capture).unwrap();
        format!("{:016x}", hash(&capture))
    });
    assert_eq!(hashes, ["0fa0ca86e89b4a8d", "3c02e7be77087bd0"]);
}

#[test]
fn frames_are_sound_and_of_one_length() {
    for form in [Form::Datagrams, Form::Connections] {
        for bytes in [60, 64, 65, 1_514] {
            let name = format!("zipf:flows=40,s=1.1,bytes={bytes},churn=0.01");
            for (number, frame) in frames(&name, form, 3_000).iter().enumerate() {
                sound::check(frame).unwrap_or_else(|why| panic!("{number}: {why}: {frame:02x?}"));
                let is_handshake = form == Form::Connections && frame[47] & 8 == 0;
                assert_eq!(frame.len(), if is_handshake { 60 } else { bytes });
            }
        }
    }
}

/// Shares of the first ten flows in thousandths, from the sum of `k^-s`.
#[test]
fn ranks_have_the_shares_of_the_law() {
    for (name, ten) in [
        ("zipf:flows=1000,s=0.99", 382),
        ("zipf:flows=1000,s=1.26", 619),
        ("zipf:flows=10000,s=1.1", 406),
    ] {
        let counts = counts(&frames(name, Form::Datagrams, 50_000));
        let share = counts[..10].iter().sum::<u64>() / 50;
        assert!(share.abs_diff(ten) <= 8, "{name}: {share}");
    }
    let even = counts(&frames("uniform:flows=100", Form::Datagrams, 50_000));
    assert_eq!(even.len(), 100);
    assert!(even[0] < 600 && even[99] > 400, "{even:?}");
}

#[test]
fn flows_talk_both_ways_and_churn_makes_new_ones() {
    let still = frames("uniform:flows=50", Form::Datagrams, 10_000);
    assert_eq!(counts(&still).len(), 50);
    let out = still.iter().filter(|frame| frame[26] == 10).count();
    assert!((4_950..=5_050).contains(&out), "{out}");
    // A flow that is replaced before its first packet does not count.
    let churned = counts(&frames("uniform:flows=50,churn=0.1", Form::Datagrams, 10_000)).len();
    assert!((850..1_050).contains(&churned), "{churned} of at most 1,050");
}

/// Sequence numbers of a TCP flow are contiguous; acknowledgements cover all segments before.
#[test]
fn sequence_numbers_go_on() {
    let frames = frames("uniform:flows=1,bytes=100", Form::Connections, 40);
    let number =
        |frame: &[u8], at: usize| u32::from_be_bytes(frame[at..at + 4].try_into().unwrap());
    let (mut next, mut flags) = ([None, None], Vec::new());
    for (at, frame) in frames.iter().enumerate() {
        let side = at % 2;
        let (sequence, acknowledged) = (number(frame, 38), number(frame, 42));
        if let Some(next) = next[side] {
            assert_eq!(sequence, next, "frame {at}");
        }
        if at > 0 {
            assert_eq!(Some(acknowledged), next[1 - side], "frame {at}");
        }
        let length = match at {
            0 | 1 => 1,
            2 => 0,
            _ => 46,
        };
        next[side] = Some(sequence.wrapping_add(length));
        flags.push(frame[47]);
    }
    assert_eq!(flags[..5], [0x02, 0x12, 0x10, 0x18, 0x18]);
}

#[test]
fn a_capture_holds_what_was_asked_for() {
    let mut capture = Vec::new();
    let ranked = Ranked { rate: 1_000, ..Ranked::default() };
    let summary = ranked.write(3, 2_000, &mut capture).unwrap();
    assert_eq!((summary.packets, summary.udp, summary.bytes), (2_000, 2_000, 128_000));
    let times: Vec<u64> =
        Reader::new(&capture[..]).unwrap().map(|frame| frame.unwrap().time).collect();
    let seconds = (times[1_999] - times[0]) / 1_000_000;
    assert!((1_900..2_100).contains(&seconds), "{seconds} ms for 2,000 packets at 1,000 a second");
    assert!(times.is_sorted());
}
