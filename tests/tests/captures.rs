//! Irregular captures: truncated frames, a cut end, stamps that jump, interfaces described late, no
//! Ethernet headers, compression, and pipes.
//!
//! | module | concept |
//! | --- | --- |
//! | `made` | captures made byte by byte, and frames in them |

#[path = "captures/made.rs"]
mod made;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use cora_tests::process::{Ended, start, start_fed};
use cora_tests::workshop;
use made::{BEGIN, INSIDE, OUTSIDE, Pcapng, SECOND, datagram, frames_of, pcap};
use serde_json::Value;

const LIMIT: Duration = Duration::from_mins(2);
/// Words of a run with and without a NIC.
const WAYS: [&[&str]; 3] =
    [&["--nic", "off"], &["--nic", "native"], &["--nic", "off", "--shards", "2"]];

/// A run on a capture that writes another capture.
struct Run {
    room: PathBuf,
    ended: Ended,
}

impl Run {
    fn of(program: &str, capture: &[u8], words: &[&str]) -> Self {
        // Tests run in parallel, each in a room of its own.
        let name = std::thread::current().name().unwrap_or("capture").replace("::", "-");
        let room = workshop::room(&format!("captures-{name}"));
        let input = room.join("in.pcap");
        std::fs::write(&input, capture).expect("a capture is written");
        let mut command = Command::new(workshop::program(program));
        command.args(["run", "--json", "--in"]).arg(input);
        command.arg("--out").arg(room.join("out.pcap")).args(words);
        Self { ended: start(&mut command).end(LIMIT), room }
    }

    fn well(self) -> Self {
        Self { ended: self.ended.well("a capture"), ..self }
    }

    fn outcome(&self, name: &str) -> u64 {
        self.ended.json()["outcomes"][name].as_u64().unwrap_or(0)
    }

    /// Returns a value of the report about the capture.
    fn note(&self, name: &str) -> Value {
        self.ended.json()["capture"][name].clone()
    }

    /// Returns the captured bytes and the original length of each frame that left.
    fn out(&self) -> Vec<(Vec<u8>, u32)> {
        frames_of(&std::fs::read(self.room.join("out.pcap")).expect("a capture was written"))
    }
}

fn rates(room: &Path) -> String {
    let path = room.join("rates.txt");
    std::fs::write(&path, "rate 10.0.0.0/8 1000 10000\n").expect("rates are written");
    format!("Rates={}", path.display())
}

#[test]
fn frames_cut_by_a_snap_length_are_handled_by_their_headers() {
    let whole = datagram(INSIDE, OUTSIDE, 53, 1400);
    for (kept, enough) in [(41, false), (42, true), (1000, true)] {
        let frames: Vec<_> = (0..10).map(|at| (BEGIN + at, &whole[..kept], whole.len())).collect();
        let capture = pcap(1, &frames);
        for way in WAYS {
            let run = Run::of("flow-monitor", &capture, way).well();
            let name = if enough { "transmit" } else { "cut-when-captured" };
            assert_eq!(run.outcome(name), 10, "{kept} bytes, {way:?}");
            assert_eq!(run.note("cut_frames"), 10);
            for (bytes, original) in run.out() {
                assert_eq!((&bytes[..], original as usize), (&whole[..kept], whole.len()));
            }
            assert_eq!(run.out().len(), if enough { 10 } else { 0 });
        }
        // A handler of this program reads payloads.
        let run = Run::of("vxlan", &capture, WAYS[0]).well();
        assert_eq!((run.outcome("cut-when-captured"), run.outcome("truncated")), (10, 0));
    }
}

#[test]
fn what_is_whole_before_a_bad_end_is_handled_and_the_run_fails() {
    let frames: Vec<Vec<u8>> =
        (0..20).map(|port| datagram(INSIDE, OUTSIDE, 1000 + port, 60)).collect();
    let records: Vec<_> = frames.iter().map(|frame| (BEGIN, &frame[..], frame.len())).collect();
    let capture = pcap(1, &records);
    for cut in [1, 115] {
        for way in WAYS {
            let run = Run::of("firewall", &capture[..capture.len() - cut], way);
            let Ended { code, stderr, .. } = &run.ended;
            assert_eq!(*code, Some(1), "{stderr}");
            assert!(stderr.contains("byte"), "{stderr}");
            assert_eq!((run.outcome("transmit"), run.out().len()), (19, 19), "{cut}, {way:?}");
            let told = run.note("ends_early");
            assert!(told.as_str().is_some_and(|told| told.contains("in.pcap")), "{told}");
        }
    }
    // In the middle, a damaged record is only an error.
    let mut damaged = capture;
    damaged[24 + 8..24 + 12].copy_from_slice(&300_000_u32.to_le_bytes());
    damaged.resize(400_000, 0);
    let Ended { code, stdout, stderr, .. } = Run::of("firewall", &damaged, WAYS[0]).ended;
    assert!(code == Some(1) && stdout.is_empty() && stderr.contains("at byte 24"), "{stderr}");
}

#[test]
fn no_stamp_starves_anybody() {
    let frame = datagram(INSIDE, OUTSIDE, 53, 458);
    let stamps = |change: &dyn Fn(u64, u64) -> u64| {
        let all: Vec<u64> = (0..300).map(|at| change(at, BEGIN + at * SECOND / 10)).collect();
        let frames: Vec<_> = all.iter().map(|time| (*time, &frame[..], frame.len())).collect();
        pcap(1, &frames)
    };
    let day = 86_400 * SECOND;
    let cases: [(&str, Vec<u8>, &str, u64); 5] = [
        (
            "first ahead",
            stamps(&|at, time| if at == 0 { time + day } else { time }),
            "stray_stamps",
            1,
        ),
        (
            "three ahead",
            stamps(&|at, time| if at / 3 == 40 { time + day } else { time }),
            "stray_stamps",
            3,
        ),
        ("of 1970", stamps(&|at, time| if at == 99 { 7 } else { time }), "stray_stamps", 1),
        (
            "set back",
            stamps(&|at, time| if at > 99 { time - day } else { time }),
            "clock_set_back",
            1,
        ),
        ("in order", stamps(&|_, time| time), "stamps_back", 0),
    ];
    for (name, capture, note, count) in cases {
        for way in WAYS {
            let config = rates(&workshop::room("captures-rates"));
            let run = Run::of("policer", &capture, &[way, &["--config", &config]].concat()).well();
            assert_eq!(run.outcome("transmit"), 300, "{name}, {way:?}");
            let told = run.note(note).as_u64().unwrap_or(0);
            assert_eq!(told, count, "{name}, {way:?}");
        }
    }
}

#[test]
fn sides_are_those_of_interfaces_only_where_several_are_described_in_front() {
    let (out, answer) = (datagram(INSIDE, OUTSIDE, 53, 8), datagram(OUTSIDE, INSIDE, 53, 8));
    let allowed = |capture: &[u8], words: &[&str]| {
        let words = [&["--nic", "off"], words].concat();
        Run::of("firewall", capture, &words).well().outcome("transmit")
    };
    let given = ["--inside", "10.0.0.0/8"];
    // Sides by addresses: both packets are from outside, despite the interfaces described between
    // them.
    let late = Pcapng::new().interface().frame(0, &answer).interface().frame(0, &answer).bytes;
    assert_eq!((allowed(&late, &[]), allowed(&late, &given)), (0, 0));
    let late = Pcapng::new().interface().frame(0, &out).interface().frame(1, &out).bytes;
    assert_eq!((allowed(&late, &[]), allowed(&late, &given)), (2, 2));
    // Sides by interfaces: the first one is inside, for every sender.
    let both = Pcapng::new().interface().interface().frame(0, &answer).frame(1, &out).bytes;
    assert_eq!((allowed(&both, &[]), allowed(&both, &given)), (2, 1));
    let both = Pcapng::new().interface().interface().frame(1, &out).bytes;
    assert_eq!((allowed(&both, &[]), allowed(&both, &given)), (0, 1));
    // Each section counts alone.
    let two = Pcapng::new().interface().interface().frame(0, &answer).section();
    let other = datagram(OUTSIDE, INSIDE, 54, 8);
    let two = two.interface().frame(0, &other).frame(0, &out).bytes;
    assert_eq!(allowed(&two, &[]), 2);
}

#[test]
fn ethernet_headers_are_made_up_where_that_is_asked_for() {
    let frame = datagram(INSIDE, OUTSIDE, 53, 60);
    let packet = &frame[14..];
    for (link, before) in [(101, &[][..]), (228, &[]), (0, &[2, 0, 0, 0]), (108, &[0, 0, 0, 2])] {
        let record = [before, packet].concat();
        let capture = pcap(link, &[(BEGIN, &record, record.len())]);
        let refused = Run::of("firewall", &capture, WAYS[0]).ended;
        assert!(refused.code == Some(1) && refused.stderr.contains("--make-ethernet"));
        for way in WAYS {
            let run = Run::of("firewall", &capture, &[way, &["--make-ethernet"]].concat()).well();
            assert_eq!((run.outcome("transmit"), run.note("made_up_headers")), (1, 1.into()));
            let (bytes, original) = run.out().swap_remove(0);
            assert_eq!(bytes[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
            assert_eq!((&bytes[14..], original as usize), (packet, frame.len()));
        }
    }
    let radio = pcap(105, &[(BEGIN, &frame, frame.len())]);
    let refused = Run::of("firewall", &radio, &["--nic", "off", "--make-ethernet"]).ended;
    assert!(
        refused.code == Some(1) && refused.stderr.contains("IEEE 802.11"),
        "{}",
        refused.stderr
    );
}

/// A pipe joins programs: the capture goes to standard output, and the report to standard error.
#[test]
fn captures_go_through_pipes() {
    let frames: Vec<Vec<u8>> =
        (0..500).map(|port| datagram(INSIDE, OUTSIDE, 1000 + port, 60)).collect();
    let records: Vec<_> = frames.iter().map(|frame| (BEGIN, &frame[..], frame.len())).collect();
    let capture = pcap(1, &records);
    for nic in ["off", "native"] {
        let room = workshop::room(&format!("captures-pipes-{nic}"));
        let mut command = Command::new("sh");
        let script =
            "\"$1\" run --nic \"$2\" --in - --out - --json 2> \"$3/report\" > \"$3/out.pcap\"";
        let words = ["-c", script, "sh"];
        command.args(words).arg(workshop::program("firewall")).arg(nic).arg(&room);
        let fed = capture.clone();
        let ended = start_fed(&mut command, move |mut input| {
            // An early end of the program shows in its output.
            let _written = input.write_all(&fed);
        });
        let _ended = ended.end(LIMIT).well(nic);
        let report = std::fs::read_to_string(room.join("report")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["packets_out"], 500);
        assert_eq!(frames_of(&std::fs::read(room.join("out.pcap")).unwrap()).len(), 500);
    }
}

#[test]
fn a_packed_capture_is_read_as_it_is() {
    if Command::new("gzip").arg("--version").stdout(Stdio::null()).status().is_err() {
        return cora_tests::tell("SKIPPED gzip: not installed");
    }
    let frames: Vec<Vec<u8>> =
        (0..500).map(|port| datagram(INSIDE, OUTSIDE, 1000 + port, 60)).collect();
    let records: Vec<_> = frames.iter().map(|frame| (BEGIN, &frame[..], frame.len())).collect();
    let room = workshop::room("captures-packed");
    let path = room.join("whole.pcap");
    std::fs::write(&path, pcap(1, &records)).unwrap();
    let packed = Command::new("gzip").arg("-c").arg(&path).output().unwrap().stdout;
    let run = Run::of("firewall", &packed, WAYS[0]).well();
    assert_eq!((run.outcome("transmit"), run.out().len()), (500, 500));
    let cut = Run::of("firewall", &packed[..packed.len() - 100], WAYS[0]);
    let count = cut.out().len();
    assert!(cut.ended.code == Some(1) && count > 100 && count < 500, "{count} frames");
    assert_eq!(cut.outcome("transmit"), count as u64);
}
