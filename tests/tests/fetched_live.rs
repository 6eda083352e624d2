//! A store with items that the NIC fetches, live at a UDP socket while halves are killed: each read
//! has a value of some moment between question and answer. And a tree that a tool loads.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use cora_tests::draw::Draw;
use cora_tests::process::run;
use cora_tests::tell;
use cora_tests::workshop::{build, cargo, room, target, variable};

use cora_tests::served::{Served, conserves, count};

/// Clients, each with names of its own, which nobody else puts.
const CLIENTS: u64 = 4;
const NAMES: u64 = 8;
/// Kills of a run: of the NIC half, the host half, and so on.
const KILLS: u64 = 6;
/// Time until a question is asked again, and for a question in all.
const AGAIN: Duration = Duration::from_millis(150);
const LIMIT: Duration = Duration::from_secs(25);

/// An example under a plan of its own, at its port. No other test has this address.
fn start(name: &str, plan: &str, at: &str) -> Served {
    Served::start_at(name, &format!("examples/{name}/{plan}"), at.parse().unwrap(), &[])
}

/// What all clients know of a name. Its values are 1, 2 and so on.
#[derive(Debug, Default)]
struct Name {
    /// The last put that has begun, and the last one that is done.
    begun: AtomicU64,
    done: AtomicU64,
    /// The highest value that a read has returned.
    seen: AtomicU64,
    /// The kills of host halves, which lose all items, before the last put that is done began: each
    /// counts at its begin and at its end.
    kills: AtomicU64,
}

/// Whether a read may return this: at its begin `least` had been stored or seen, and at its end the
/// put of `most` had begun. Without an item, the name may have been lost meanwhile.
fn may_read(value: Option<u64>, least: u64, most: u64, may_be_lost: bool) -> bool {
    match value {
        Some(value) => (least..=most).contains(&value),
        None => least == 0 || may_be_lost,
    }
}

#[test]
fn the_check_finds_what_is_stale_or_from_nowhere() {
    assert!(may_read(Some(5), 5, 6, false) && may_read(Some(6), 5, 6, false));
    assert!(!may_read(Some(4), 5, 6, true), "stale, though another item may be lost");
    assert!(!may_read(Some(7), 5, 6, false), "from nowhere");
    assert!(
        !may_read(None, 5, 6, false) && may_read(None, 5, 6, true) && may_read(None, 0, 0, false)
    );
}

/// A client of the store with one question at a time.
struct Client {
    node: SocketAddr,
    socket: UdpSocket,
}

impl Client {
    fn new(node: SocketAddr) -> Self {
        Self { node, socket: Self::socket(node) }
    }

    fn socket(node: SocketAddr) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(node).unwrap();
        socket.set_read_timeout(Some(AGAIN)).unwrap();
        socket
    }

    /// Asks until there is an answer.
    fn ask(&mut self, question: &[u8]) -> Vec<u8> {
        let (begun, mut buffer, mut times) = (Instant::now(), [0; 128], 0);
        loop {
            assert!(begun.elapsed() < LIMIT, "no answer");
            let _refused = self.socket.send(question);
            times += 1;
            if let Ok(length) = self.socket.recv(&mut buffer) {
                if times > 1 {
                    // Other answers to this question are not for the next one.
                    self.socket = Self::socket(self.node);
                }
                return buffer[..length].to_vec();
            }
        }
    }

    fn put(&mut self, name: &str, value: u64) {
        let answer =
            self.ask(&[&[1][..], &text(name.as_bytes()), &text(&value.to_le_bytes())].concat());
        assert_eq!(answer, [2], "it is stored");
    }

    fn get(&mut self, name: &str) -> Option<u64> {
        let answer = self.ask(&[&[0][..], &text(name.as_bytes())].concat());
        match answer[..] {
            [0, 8, 0, ref value @ ..] => Some(u64::from_le_bytes(value.try_into().unwrap())),
            [1] => None,
            _ => panic!("{answer:?}"),
        }
    }
}

/// Bytes in Cora's wire form.
fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

/// Puts its own names and reads all, until told to stop. Returns the number of its reads.
fn work(
    number: u64,
    node: SocketAddr,
    names: &[Name],
    (kills, is_over): (&AtomicU64, &AtomicBool),
) -> u64 {
    let (mut client, mut draw, mut reads) = (Client::new(node), Draw(number), 0);
    while !is_over.load(SeqCst) {
        if draw.below(8) == 0 {
            let at = number * NAMES + draw.below(NAMES);
            let name = &names[at as usize];
            let before = kills.load(SeqCst);
            let value = 1 + name.begun.fetch_add(1, SeqCst);
            client.put(&format!("name:{at}"), value);
            name.done.store(value, SeqCst);
            name.kills.store(before, SeqCst);
            continue;
        }
        let at = draw.below(CLIENTS * NAMES);
        let name = &names[at as usize];
        let least = name.done.load(SeqCst).max(name.seen.load(SeqCst));
        let before = name.kills.load(SeqCst);
        let value = client.get(&format!("name:{at}"));
        let most = name.begun.load(SeqCst);
        // An odd number: a host half was being killed when the put began.
        let may_be_lost = kills.load(SeqCst) > before || before % 2 == 1;
        assert!(
            may_read(value, least, most, may_be_lost),
            "{value:?} of name {at}, which was between {least} and {most}: {name:?}"
        );
        name.seen.fetch_max(value.unwrap_or(0), SeqCst);
        reads += 1;
    }
    reads
}

/// A long run says `CORA_SECONDS=600`.
#[test]
fn reads_are_of_their_time_whichever_half_dies() {
    let mut served = start("mica", "fetched.toml", "127.0.0.71:7000");
    let names: Vec<Name> = (0..CLIENTS * NAMES).map(|_| Name::default()).collect();
    let (kills, is_over, node) = (AtomicU64::new(0), AtomicBool::new(false), served.address);
    let pause = Duration::from_millis(1_000 * variable("CORA_SECONDS", 6) / KILLS);
    let reads: u64 = thread::scope(|scope| {
        let shared = (&kills, &is_over);
        let names = &names[..];
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || work(number, node, names, shared)))
            .collect();
        for kill in 0..KILLS {
            thread::sleep(pause);
            if clients.iter().any(thread::ScopedJoinHandle::is_finished) {
                break;
            }
            if kill % 2 == 0 {
                served.kill("__nic");
            } else {
                kills.fetch_add(1, SeqCst);
                served.kill("__host");
                kills.fetch_add(1, SeqCst);
            }
        }
        thread::sleep(pause);
        is_over.store(true, SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    let report = served.end();
    conserves(&report);
    let at_nic = count(&report["sides"]["nic"]["packets"]);
    tell(&format!("{reads} reads, {at_nic} messages answered at the NIC since its last death"));
    assert!(reads > 1_000 && at_nic > 50, "{report:#}");
}

#[test]
fn a_tool_loads_a_tree_and_finds_all_of_it() {
    let served = start("btree", "cora.toml", "127.0.0.72:7001");
    let words = ["build", "--package", "btree", "--example", "tree"];
    let _built = build(cargo().args(words)).well("the tool");
    let pairs = room("fetched-live-tree").join("pairs.csv");
    let lines: Vec<String> =
        (0..20_000_u64).map(|key| format!("{},{}", 3 * key, key * key)).collect();
    std::fs::write(&pairs, lines.join("\n")).unwrap();
    let tool = |words: &[&str]| {
        let mut command = Command::new(target().join("debug/examples/tree"));
        run(command.arg(served.address.to_string()).args(words), Duration::from_mins(1))
    };
    let file = pairs.to_string_lossy();
    let empty = tool(&["find", "3"]);
    assert_eq!((empty.code, &*empty.stdout), (Some(1), "3 is not there\n"));
    let loaded = tool(&["load", &file]).well("loading").stdout;
    assert!(loaded.starts_with("20000 keys loaded, in 668 nodes"), "{loaded}");
    let checked = tool(&["check", &file]).well("checking").stdout;
    assert!(checked.starts_with("20000 keys looked up, "), "{checked}");
    assert!(checked.ends_with("; 0 were not found, or had another value\n"), "{checked}");
    let found = tool(&["find", "9", "10"]);
    assert_eq!((found.code, &*found.stdout), (Some(1), "9,9\n10 is not there\n"));
    let report = served.end();
    conserves(&report);
    let at = |side: &str| count(&report["sides"][side]["packets"]);
    assert!(at("nic") > 20_000 && at("host") < 1_500, "{report:#}");
}
