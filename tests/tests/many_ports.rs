//! Runs with more than two ports: every frame leaves at its port, or is counted, whichever half
//! handles it. Frames come from captures, and from kernels by TAP, AF_XDP and AF_PACKET.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use cora::prelude::{Meta, Packet};
use cora_host::ingress::pcap::{PcapngWriter, Reader};
use cora_tests::draw::Draw;
use cora_tests::namespace::Namespace;
use cora_tests::process::{Running, run, send, start, wait_until};
use cora_tests::workshop::{emulator, program, room, under};
use cora_tests::{captures, control, tell};
use rustix::process::Signal;
use serde_json::Value;

/// Upper bound on a run, which takes a second.
const LIMIT: Duration = Duration::from_mins(1);

/// The ways of `10.K.0.0/16`, by K; another one is transmitted. The last two are to ports that a
/// live run of four does not have.
const WAYS: &str = "prefix,port,mirror\n10.0.0.0/16,0,255\n10.1.0.0/16,1,255\n10.2.0.0/16,2,255\n\
                    10.3.0.0/16,3,2\n10.9.0.0/16,9,255\n10.8.0.0/16,200,255\n";
const PORTS: [&str; 4] = ["inside", "outside", "dmz", "3"];

/// Where frames from a port to this K leave, in order.
fn leaves_at(from: u8, k: u8) -> &'static [u8] {
    match k {
        0 => &[0],
        1 => &[1],
        2 => &[2],
        3 => &[2, 3],
        9 => &[9],
        8 => &[0x7f],
        _ if from == 0 => &[1],
        _ => &[0],
    }
}

/// A frame: where it came in, its K, the client's port, and its number in the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sent {
    from: u8,
    k: u8,
    client: u16,
    number: u32,
}

impl Sent {
    fn frame(self) -> Vec<u8> {
        let Self { from, k, client, number } = self;
        cora::testing::udp(([10, from, 0, 1], client), ([10, k, 0, 2], 9), &number.to_be_bytes())
    }
}

/// Packets of some flows from each port to each K, in an order of chance.
fn traffic(packets: u32) -> Vec<Sent> {
    let mut draw = Draw(5);
    let mut one = |number| {
        let (from, k) = (draw.below(4) as u8, [0, 1, 2, 3, 7, 8, 9][draw.below(7) as usize]);
        Sent { from, k, client: 4_000 + draw.below(6) as u16, number }
    };
    (0..packets).map(&mut one).collect()
}

/// What has to leave at each port, flow by flow in its order.
type Left = BTreeMap<u8, BTreeMap<String, Vec<u32>>>;

fn expected(sent: &[Sent]) -> Left {
    let mut left = Left::new();
    for one in sent {
        for port in leaves_at(one.from, one.k) {
            note(&mut left, *port, &mut one.frame());
        }
    }
    left
}

fn note(left: &mut Left, port: u8, frame: &mut [u8]) {
    let packet = Packet::new(frame, Meta::default());
    let number = packet.payload()[..4].try_into().map(u32::from_be_bytes).unwrap();
    let flow = packet.five_tuple().unwrap().to_string();
    left.entry(port).or_default().entry(flow).or_default().push(number);
}

fn count(report: &Value, what: &str) -> u64 {
    report[what].as_u64().unwrap_or(0)
}

/// A directory with the ways.
struct Bench {
    room: PathBuf,
    sent: Vec<Sent>,
}

impl Bench {
    fn new(name: &str) -> Self {
        let room = room(name);
        fs::write(room.join("ways.csv"), WAYS).unwrap();
        Self { room, sent: traffic(6_000) }
    }

    fn socket(&self) -> PathBuf {
        self.room.join("socket")
    }

    fn ways(&self) -> String {
        format!("Way={}", self.room.join("ways.csv").display())
    }

    /// Runs between four ports, each a capture that is read and one that is written.
    fn live(&self, program: &Path, words: &[&str]) -> Value {
        let path = |end: &str, port: usize| self.room.join(format!("{end}{port}.pcap"));
        let mut ports = Vec::new();
        for (port, name) in PORTS.iter().enumerate() {
            let mut writer =
                cora_traffic::pcap::Writer::new(File::create(path("in", port)).unwrap()).unwrap();
            for one in self.sent.iter().filter(|one| usize::from(one.from) == port) {
                writer.write(u64::from(one.number), &one.frame()).unwrap();
            }
            let (input, output) = (path("in", port), path("out", port));
            ports.push(format!("{name}=pcap:{}+{}", input.display(), output.display()));
        }
        let mut command = Command::new(program);
        command.args(["run", "--json", "--live", &ports.join(","), "--config", &self.ways()]);
        let what = format!("{words:?}");
        let ended = run(command.args(words), LIMIT).well(&what);
        assert!(ended.stderr.contains("which this run does not have"), "{}", ended.stderr);
        let mut left = Left::new();
        for port in 0..PORTS.len() {
            captures::each(&path("out", port), |_, packet| {
                note(&mut left, port as u8, &mut packet.frame().to_vec());
            });
        }
        let mut wanted = expected(&self.sent);
        let nowhere = wanted.split_off(&(PORTS.len() as u8));
        let nowhere: usize = nowhere.values().flat_map(BTreeMap::values).map(Vec::len).sum();
        assert_eq!(left, wanted, "{what}");
        let report = ended.json();
        self.adds_up(&report, nowhere as u64, &what);
        report
    }

    /// Each frame is in the report, at its port.
    fn adds_up(&self, report: &Value, nowhere: u64, what: &str) {
        for (port, name) in PORTS.iter().enumerate() {
            let came = self.sent.iter().filter(|one| usize::from(one.from) == port).count();
            let told = &report["ports"][name];
            assert_eq!(count(told, "received"), came as u64, "{what}, {name}: {report}");
            assert_eq!(count(told, "number"), port as u64, "{report}");
        }
        assert_eq!(count(&report["dropped"], "no-port"), nowhere, "{what}: {report}");
        let copies = self.sent.iter().filter(|one| one.k == 3).count();
        let transmitted: u64 =
            PORTS.iter().map(|name| count(&report["ports"][name], "transmitted")).sum();
        let all = (self.sent.len() + copies) as u64;
        assert_eq!(transmitted + nowhere, all, "{what}: {report}");
        assert_eq!(count(report, "packets_out"), transmitted, "{what}: {report}");
    }
}

#[test]
fn every_frame_leaves_at_its_port_or_is_counted() {
    let bench = Bench::new("many-ports-live");
    let programs = under(Path::new("host-only"), &["junction"]);
    let report = bench.live(&programs["junction"], &[]);
    assert_eq!(count(&report["sides"]["nic"], "packets"), 0, "{report}");
    let report = bench.live(program("junction"), &[]);
    assert!(count(&report["sides"]["nic"], "packets") > 500, "{report}");
    for seed in ["random:1", "random:2"] {
        let report = bench.live(program("junction"), &["--moves", seed]);
        assert!(count(&report, "migrations") > 10, "{report}");
    }
    match emulator() {
        Ok(_) => drop(bench.live(program("junction"), &["--nic", "emulated"])),
        Err(skipped) => tell(&skipped),
    }
}

#[test]
fn interfaces_of_a_capture_are_ports_on_both_ways() {
    let bench = Bench::new("many-ports-capture");
    let (input, output) = (bench.room.join("in.pcapng"), bench.room.join("out.pcapng"));
    let mut writer = PcapngWriter::new(File::create(&input).unwrap()).unwrap();
    for name in PORTS {
        writer.describe(name).unwrap();
    }
    for one in &bench.sent {
        let frame = one.frame();
        let length = frame.len() as u32;
        writer.write_cut(one.from.into(), one.number.into(), &frame, length).unwrap();
    }
    writer.flush().unwrap();
    let wanted = expected(&bench.sent);
    for words in [
        &["--nic", "off"][..],
        &["--nic", "off", "--shards", "3"],
        &["--nic", "native"],
        &["--nic", "native", "--moves", "random:3"],
    ] {
        let mut command = Command::new(program("junction"));
        command.args(["run", "--json", "--config", &bench.ways(), "--in"]).arg(&input);
        let ended = run(command.arg("--out").arg(&output).args(words), LIMIT);
        let ended = ended.well(&format!("{words:?}"));
        let mut left = Left::new();
        let mut reader = Reader::open(&output).unwrap();
        while let Some(frame) = reader.next_frame().unwrap() {
            note(&mut left, frame.interface as u8, &mut frame.bytes.to_vec());
        }
        assert_eq!(left, wanted, "{words:?}: {}", ended.stdout);
    }
}

/// What a namespace's interface is called, except for a TAP interface.
const INTERFACE: &str = "n0";
/// The last of the addresses belongs to no namespace, and the way there leads to no port. The one
/// before belongs to the inside namespace, and has no way: what is transmitted gets there.
const ADDRESSES: [Ipv4Addr; 5] = [
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(10, 1, 0, 1),
    Ipv4Addr::new(10, 2, 0, 1),
    Ipv4Addr::new(10, 7, 0, 1),
    Ipv4Addr::new(10, 9, 0, 1),
];
/// The namespace of each address; nobody answers at the last.
const HOLDERS: [usize; 5] = [0, 1, 2, 0, 1];
const ECHO: u16 = 7;

/// Three networks, each at a port of a junction.
struct Site {
    running: Running,
    ends: Vec<Namespace>,
    _middle: Namespace,
}

impl Site {
    /// Builds the site; the error names a facility that this machine lacks.
    fn build(label: &str, kinds: [&str; 3], bench: &Bench) -> Result<Self, String> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("no /dev/net/tun".into());
        }
        let middle = Namespace::create(&format!("{label}-mid"))?;
        let (mut ends, mut ports) = (Vec::new(), Vec::new());
        for (at, kind) in kinds.iter().enumerate() {
            let end = Namespace::create(&format!("{label}-{at}"))?;
            let name = format!("m{at}{label}");
            if *kind != "tap:" {
                end.join(INTERFACE, &middle, &name)?;
                end.send_plain_frames(INTERFACE)?;
                middle.ip(&format!("link set {name} up"))?;
            }
            let (head, tail) = kind.split_at(kind.find(':').map_or(0, |at| at + 1));
            ports.push(format!("{}={head}{name}{tail}", PORTS[at]));
            ends.push(end);
        }
        let mut command = middle.command(&program("junction").display().to_string());
        command.args(["run", "--json", "--live", &ports.join(","), "--config", &bench.ways()]);
        command.arg("--control").arg(bench.socket());
        let running = start(&mut command);
        for (at, kind) in kinds.iter().enumerate() {
            let (end, name) = (&ends[at], format!("m{at}{label}"));
            if *kind == "tap:" {
                take(&middle, &name, end);
            }
            Self::address(end, at)?;
        }
        Ok(Self { running, ends, _middle: middle })
    }

    /// Gives a namespace its addresses, and tells it where the others are.
    fn address(end: &Namespace, at: usize) -> Result<(), String> {
        let mac = |at: usize| format!("02:00:00:00:77:0{at}");
        end.ip(&format!("link set {INTERFACE} address {}", mac(at)))?;
        end.ip(&format!("link set {INTERFACE} up"))?;
        for (address, holder) in ADDRESSES.iter().zip(HOLDERS).take(4) {
            if holder == at {
                end.ip(&format!("address add {address}/32 dev {INTERFACE}"))?;
            }
        }
        end.ip(&format!("route add 10.0.0.0/8 dev {INTERFACE}"))?;
        for (address, holder) in ADDRESSES.iter().zip(HOLDERS) {
            let lladdr = mac(holder);
            end.ip(&format!("neighbor add {address} lladdr {lladdr} dev {INTERFACE}"))?;
        }
        Ok(())
    }

    /// Ends the run, and returns its report.
    fn end(self) -> Value {
        send(self.running.id(), Signal::INT);
        self.running.end(LIMIT).well("three ports").json()
    }
}

/// Moves a TAP interface to its namespace, once the run has made it.
fn take(middle: &Namespace, name: &str, end: &Namespace) {
    let words = format!("link set {name} name {INTERFACE} netns {}", end.name());
    assert!(wait_until(LIMIT, || middle.ip(&words).is_ok()), "there is no interface {name}");
}

/// Questions from each namespace to each address of another one.
struct Talks {
    stop: Arc<AtomicBool>,
    /// Answered questions: of each pair.
    rounds: Vec<Arc<AtomicU64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Talks {
    fn begin(site: &Site) -> Self {
        let mut talks = Self { stop: Arc::default(), rounds: Vec::new(), threads: Vec::new() };
        for (address, holder) in ADDRESSES.into_iter().zip(HOLDERS).take(4) {
            let stop = Arc::clone(&talks.stop);
            let server = move || answer(address, &stop);
            talks.threads.push(site.ends[holder].within(server));
            for from in (0..3).filter(|from| *from != holder) {
                let (stop, rounds) = (Arc::clone(&talks.stop), Arc::<AtomicU64>::default());
                talks.rounds.push(Arc::clone(&rounds));
                let client = move || ask(ADDRESSES[from], address, &rounds, &stop);
                talks.threads.push(site.ends[from].within(client));
            }
        }
        talks
    }

    /// Whether each question is answered some times more.
    fn go_on(&self) -> bool {
        let rounds = || self.rounds.iter().map(|rounds| rounds.load(Ordering::Relaxed));
        let before: Vec<u64> = rounds().collect();
        wait_until(LIMIT, || rounds().zip(&before).all(|(now, before)| now >= before + 20))
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn socket(address: Ipv4Addr, port: u16) -> UdpSocket {
    let socket = UdpSocket::bind((address, port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    socket
}

/// Answers with the own address behind the question.
fn answer(address: Ipv4Addr, stop: &AtomicBool) {
    let socket = socket(address, ECHO);
    let mut bytes = [0; 64];
    while !stop.load(Ordering::Relaxed) {
        let Ok((8, client)) = socket.recv_from(&mut bytes) else { continue };
        bytes[8..12].copy_from_slice(&address.octets());
        // A port that is away for a moment loses it, as any network may.
        let _sent = socket.send_to(&bytes[..12], client);
    }
}

/// Asks until told to stop. An answer is that of the right server, to a question of this client.
fn ask(from: Ipv4Addr, to: Ipv4Addr, rounds: &AtomicU64, stop: &AtomicBool) {
    let socket = socket(from, 0);
    let (mut number, mut bytes) = (0_u64, [0; 64]);
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let _sent = socket.send_to(&number.to_be_bytes(), (to, ECHO));
        let Ok((length, _)) = socket.recv_from(&mut bytes) else { continue };
        let answered = u64::from_be_bytes(bytes[..8].try_into().unwrap());
        assert_eq!((length, &bytes[8..12]), (12, &to.octets()[..]), "{from} to {to}");
        assert!((1..=number).contains(&answered), "{from} to {to}: {answered} of {number}");
        rounds.fetch_add(1, Ordering::Relaxed);
    }
}

/// Three kernels talk to each other, before and after an upgrade.
fn talk(label: &str, kinds: [&str; 3]) {
    let bench = Bench::new(&format!("many-ports-{label}"));
    let label = format!("{label}{}", std::process::id() % 1_000_000);
    let site = match Site::build(&label, kinds, &bench) {
        Ok(site) => site,
        Err(why) => return tell(&format!("SKIPPED {label}: {why}")),
    };
    let talks = Talks::begin(&site);
    let mut lives = talks.go_on();
    let upgrade = control::ask(&bench.socket(), "upgrade drop-connections");
    let upgraded = || {
        let status = control::ask(&bench.socket(), "status").unwrap_or_default();
        status["upgrades"] == 1 && status["works"] == true
    };
    lives &= wait_until(LIMIT, upgraded) && talks.go_on();
    // Frames to a port that is not there.
    let astray = site.ends[2].within(|| {
        let socket = socket(ADDRESSES[2], 0);
        for _ in 0..10 {
            socket.send_to(b"astray", (ADDRESSES[4], ECHO)).unwrap();
        }
    });
    astray.join().unwrap();
    std::thread::sleep(Duration::from_millis(100));
    talks.end();
    let report = site.end();
    assert!(lives, "{label}: {upgrade:?} {report}");
    assert_eq!(report["upgrades"], 1, "{report}");
    assert_eq!(report["dropped"], serde_json::json!({ "no-port": 10 }), "{label}: {report}");
    let sum =
        |what: &str| -> u64 { PORTS.iter().map(|name| count(&report["ports"][name], what)).sum() };
    assert_eq!(sum("received"), count(&report, "packets_in"), "{label}: {report}");
    assert_eq!(sum("transmitted"), count(&report, "packets_out"), "{label}: {report}");
    for name in &PORTS[..3] {
        let port = &report["ports"][name];
        assert!(count(port, "received") > 50 && count(port, "transmitted") > 50, "{report}");
    }
}

#[test]
fn three_kernels_talk_by_tap() {
    talk("t", ["tap:"; 3]);
}

#[test]
fn three_kernels_talk_by_af_xdp_and_af_packet() {
    talk("x", ["xdp:", "packet:", "xdp:?attach=generic&mode=copy"]);
}
