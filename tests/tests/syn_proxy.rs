//! A live SYN proxy between two kernels. Their data arrives byte for byte, from either first
//! speaker; a refused client gets a reset; and a flood of openings from spoofed addresses leaves no
//! entries.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cora::prelude::{Address, checksum, protocol};
use cora_tests::conversations::Conversations;
use cora_tests::namespace::Namespace;
use cora_tests::process::{Running, start};
use cora_tests::{tell, workshop};
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const CONNECTIONS: usize = 8;
/// Openings of a flood.
const FLOOD: u32 = 20_000;
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Inside servers, outside clients, and a namespace with the proxy between them.
struct Site {
    running: Running,
    state: PathBuf,
    servers: Namespace,
    clients: Namespace,
    _middle: Namespace,
}

impl Site {
    /// Builds the site; the error names a facility that this machine lacks.
    fn build(label: &str, plan: &str) -> Result<Self, String> {
        let [servers, middle, clients] =
            ["in", "mid", "out"].map(|end| Namespace::create(&format!("{label}-{end}")));
        let (servers, middle, clients) = (servers?, middle?, clients?);
        for (namespace, near, far) in [(&servers, "i0", "i1"), (&clients, "o0", "o1")] {
            let far_name = format!("{far}s{}", std::process::id() % 1_000_000);
            namespace.ip(&format!("link add name {near} type veth peer name {far_name}"))?;
            namespace.ip(&format!("link set dev {far_name} name {far} netns {}", middle.name()))?;
            namespace.ip(&format!("link set dev {near} up"))?;
            middle.ip(&format!("link set dev {far} up"))?;
            // The sender of a veth leaves checksums and segments to a card, but there is none.
            namespace.send_plain_frames(near)?;
        }
        servers.ip(&format!("address add {SERVER}/24 dev i0"))?;
        servers.ip("address add fd77::1/64 dev i0 nodad")?;
        servers.ip("route add default dev i0")?;
        servers.ip("-6 route add 2001:db8:9::/64 dev i0")?;
        clients.ip("address add 203.0.113.1/32 dev o0")?;
        clients.ip("address add 2001:db8:9::1/64 dev o0 nodad")?;
        clients.ip("route add 10.0.0.0/8 dev o0")?;
        clients.ip("-6 route add fd77::/64 dev o0")?;
        let program = workshop::under(Path::new(plan), &["syn-proxy"]).remove("syn-proxy");
        let state = workshop::room(&format!("syn-proxy-{label}")).join("state.json");
        let mut command = Command::new("ip");
        command.args(["netns", "exec", middle.name()]).arg(program.unwrap());
        command.args([
            "run",
            "--json",
            "--nic",
            "native",
            "--live",
            "inside=packet:i1,outside=packet:o1",
        ]);
        command.arg("--state-out").arg(&state);
        Ok(Self { running: start(&mut command), state, servers, clients, _middle: middle })
    }

    /// Ends the run, and returns its report and its final state.
    fn end(self) -> (Value, Value) {
        let pid = Pid::from_raw(self.running.id().cast_signed()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let ended = self.running.end(Duration::from_secs(40));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let state = std::fs::read_to_string(&self.state).unwrap();
        (serde_json::from_str(&ended.stdout).unwrap(), serde_json::from_str(&state).unwrap())
    }

    /// Lets the server speak first, and returns the time until the client has read all.
    fn banner(&self, port: u16) -> Duration {
        let listening = self.servers.within(move || TcpListener::bind((SERVER, port)).unwrap());
        let listener = listening.join().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"220 ready\n").unwrap();
        });
        let client = self.clients.within(move || {
            let begun = Instant::now();
            let mut stream = connect(port).unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            assert_eq!(said, "220 ready\n");
            begun.elapsed()
        });
        server.join().unwrap();
        client.join().unwrap()
    }

    /// Returns the result of a client's read from a port without a listener.
    fn refusal(&self, port: u16) -> std::io::Result<usize> {
        self.clients.within(move || connect(port)?.read(&mut [0; 1])).join().unwrap()
    }

    /// Sends openings from unused addresses and ports.
    fn flood(&self) {
        let flood = self.clients.within(|| {
            let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).unwrap();
            for number in 0..FLOOD {
                let [_, a, b, c] = number.to_be_bytes();
                let packet = opening(Ipv4Addr::new(198, 18 + (a & 1), b, c), 1024 + u16::from(c));
                sendto(&raw, &packet, SendFlags::empty(), &SocketAddrV4::new(SERVER, 0)).unwrap();
                // No faster than a process on a busy machine can read.
                if number % 256 == 0 {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        flood.join().unwrap();
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    let patience = Duration::from_secs(20);
    let stream = TcpStream::connect_timeout(&SocketAddr::from((SERVER, port)), patience)?;
    stream.set_read_timeout(Some(patience))?;
    Ok(stream)
}

/// Returns a SYN; the kernel sets the checksum of its IP header.
fn opening(from: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, protocol::TCP, 0, 0];
    packet.extend([from.octets(), SERVER.octets()].concat());
    let mut segment = [&port.to_be_bytes()[..], &[0, 7, 1, 2, 3, 4, 0, 0, 0, 0, 0x50, 2]].concat();
    segment.extend([0xff, 0xff, 0, 0, 0, 0]);
    let ends = [from, SERVER].map(|address| Address::v4(address.octets()));
    let sum = checksum::transport(ends[0], ends[1], protocol::TCP, &segment);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    packet.extend(segment);
    packet
}

/// Waits until each connection has made `more` exchanges.
fn goes_on(talks: &Conversations, more: u64) -> bool {
    let before = talks.rounds();
    let deadline = Instant::now() + Duration::from_secs(40);
    while Instant::now() < deadline {
        if before.iter().zip(talks.rounds()).all(|(before, now)| now >= before + more) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {value:#}"))
}

fn passes(label: &str, plan: &str) {
    let site = match Site::build(label, plan) {
        Ok(site) => site,
        Err(why) => {
            tell(&format!("SKIPPED syn-proxy {label}: {why}"));
            return;
        }
    };
    let open = |address: &str, count| {
        Conversations::open(&site.clients, &site.servers, address.parse().unwrap(), count)
    };
    let (four, six) = (open("10.77.0.1:7", CONNECTIONS), open("[fd77::1]:8", 2));
    let begun = Instant::now();
    let mut lives = goes_on(&four, 5) && goes_on(&six, 5);
    let first = begun.elapsed();
    site.flood();
    lives &= goes_on(&four, 5);
    let banner = site.banner(25);
    let refused = site.refusal(9);
    let faults = [four.end(), six.end()].concat();
    std::thread::sleep(Duration::from_millis(300));
    let (report, state) = site.end();
    assert!(lives && faults.is_empty(), "{label}: {faults:?}; {report:#}");
    assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::ConnectionReset), "{label}");
    let entries = state["states"]["Connection"].as_array().map(Vec::len);
    let [answered, opened] =
        ["syns_answered", "opened"].map(|of| number(&state, &format!("/states/Counts/{of}")));
    tell(&format!(
        "syn-proxy {label}: {CONNECTIONS} + 2 connections went on within {first:?}, a banner took \
         {banner:?}, {answered} SYNs answered, {opened} opened, {entries:?} entries left"
    ));
    assert_eq!(opened, CONNECTIONS as u64 + 4, "{label}");
    // A socket may lose a part of a flood, and counts it; but not most of it.
    assert!(answered > u64::from(FLOOD) / 2, "{label}: {answered} answered; {report:#}");
    assert!(entries.unwrap() <= opened as usize, "{label}: {state:#}");
}

/// The host answers SYNs, because packets without an entry are the host's; the NIC splices.
#[test]
fn kernels_talk_through_cookies_under_a_split() {
    passes("sp", "split");
}

/// The NIC does all of it.
#[test]
#[ignore = "minutes: cargo xtask test --all"]
fn kernels_talk_through_cookies_on_the_nic() {
    passes("sn", "nic-only");
}
