//! Programs that take messages, live at a UDP socket: each question is answered, also while halves
//! are killed, and the report accounts for each datagram and each message.
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cora::testing::udp;
use cora_tests::draw::Draw;
use cora_tests::process::{Ended, run};
use cora_tests::workshop::{build, cargo, room, target, variable};
use cora_traffic::pcap::Writer;

use cora_tests::served::{Served, built, conserves, count, free};

/// The plans, each of which is a build of its own.
const PLANS: [&str; 3] = ["split", "host-only", "nic-only"];
/// Upper bound on the time until a question is answered.
const LIMIT: Duration = Duration::from_secs(25);
/// After how long a question is asked again.
const AGAIN: Duration = Duration::from_millis(150);
/// Kills of a run.
const KILLS: u64 = 6;
/// Coordinators that ask at once, while halves are killed.
const ASKERS: u64 = 4;

/// The variant of a step among the datagrams, and that of a vote.
const ASK: u8 = 0;
const VOTE: u8 = 1;
const READ: u8 = 0;
const LOCK: u8 = 1;
const COMMIT: u8 = 4;
const IS: u8 = 0;
const GRANTED: u8 = 1;
const SETTLED: u8 = 5;

/// Tells threads to stop when it is dropped, by a test that fails, too.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A step of a transaction of the client 7, in Cora's wire form.
fn step(row: u64, transaction: u64, step: u8, rest: &[u8]) -> Vec<u8> {
    let ends = [row, 7, transaction].map(u64::to_le_bytes).concat();
    [&[ASK], &ends[..], &[step], rest].concat()
}

/// The vote in the answer to a step.
fn vote(answer: &[u8]) -> &[u8] {
    assert_eq!(answer[0], VOTE);
    // Behind the client, the transaction and the row.
    &answer[25..]
}

/// A coordinator of transactions.
struct Coordinator {
    node: SocketAddr,
    asked: u64,
    /// Questions that were asked again.
    again: u64,
}

impl Coordinator {
    const fn new(node: SocketAddr) -> Self {
        Self { node, asked: 0, again: 0 }
    }

    /// The answer to a question, which is asked again until there is one. Each has a socket of its
    /// own, so that no late answer is taken for that to another.
    fn ask(&mut self, question: &[u8]) -> Vec<u8> {
        let at = if self.node.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
        let socket = UdpSocket::bind(at).unwrap();
        socket.set_read_timeout(Some(AGAIN)).unwrap();
        socket.connect(self.node).unwrap();
        let (start, mut buffer) = (Instant::now(), [0; 128]);
        loop {
            // While nobody has the address, the kernel refuses.
            let _refused = socket.send(question);
            self.asked += 1;
            if let Ok(length) = socket.recv(&mut buffer) {
                return buffer[..length].to_vec();
            }
            self.again += 1;
            assert!(start.elapsed() < LIMIT, "it is not answered");
        }
    }

    /// The version of a row.
    fn version(&mut self, row: u64) -> u32 {
        let answer = self.ask(&step(row, 0, READ, &[]));
        let is = vote(&answer);
        assert_eq!((is[0], is.len()), (IS, 46));
        u32::from_le_bytes(is[1..5].try_into().unwrap())
    }

    /// A transaction of one row, from this version; returns the next.
    fn change(&mut self, row: u64, transaction: u64, version: u32) -> u32 {
        let lock = step(row, transaction, LOCK, &version.to_le_bytes());
        assert_eq!(vote(&self.ask(&lock))[..5], [&[GRANTED], &lock[26..]].concat(), "row {row}");
        let content = [&version.to_le_bytes()[..], &[transaction as u8; 40]].concat();
        let commit = step(row, transaction, COMMIT, &content);
        assert_eq!(vote(&self.ask(&commit)), [SETTLED]);
        version + 1
    }
}

#[test]
fn transactions_are_answered_at_a_socket() {
    for (plan, at) in PLANS.into_iter().zip(["127.0.0.1", "::1", "127.0.0.1"]) {
        let served = Served::start("transactions", plan, at, &[]);
        let mut coordinator = Coordinator::new(served.address);
        let mut versions = [0; 50];
        let mut draw = Draw(3);
        for transaction in 1..=300 {
            let row = draw.below(50) as usize;
            let version = coordinator.version(row as u64);
            assert_eq!(version, versions[row], "{plan}: row {row}");
            versions[row] = coordinator.change(row as u64, transaction, version);
        }
        assert_eq!(vote(&coordinator.ask(&step(1, 0, READ, &[]))).len(), 46);
        // No step of a transaction, and nobody answers.
        let socket = UdpSocket::bind((at, 0)).unwrap();
        socket.send_to(&[1, 2, 3], served.address).unwrap();
        served.wait_for(coordinator.asked + 1);
        let report = served.end();
        conserves(&report);
        assert_eq!(coordinator.again, 0, "{plan}: loopback loses nothing");
        let messages = &report["messages"];
        assert_eq!(count(&messages["in"]), coordinator.asked + 1);
        // Each step goes on to its row.
        assert_eq!(count(&messages["done"]), 2 * coordinator.asked);
        assert_eq!((count(&messages["dropped"]), count(&messages["lost"])), (1, 0), "{messages:#}");
        let of = &messages["by_handler"]["participant"];
        assert_eq!(count(&of["answers"]), coordinator.asked, "{of:#}");
        let of = &messages["by_handler"]["receive"];
        let asked = coordinator.asked;
        assert_eq!((count(&of["datagrams"]), count(&of["sent"])), (asked + 1, asked));
        let port = &report["ports"]["messages"];
        assert_eq!(count(&port["transmitted"]), coordinator.asked, "{port:#}");
    }
}

/// Changes rows of its own, one after the other, until it is told to stop. `keeps`: none may be
/// lost. Returns what it asked.
fn change_rows(node: SocketAddr, first: u64, keeps: bool, stop: &AtomicBool) -> Coordinator {
    let mut coordinator = Coordinator::new(node);
    let mut draw = Draw(first);
    let (mut versions, mut transaction) = ([0; 20], first);
    while !stop.load(Ordering::Relaxed) {
        let at = draw.below(20) as usize;
        let row = first + at as u64;
        transaction += 1;
        let version = coordinator.version(row);
        if keeps {
            assert_eq!(version, versions[at], "row {row}");
            versions[at] = coordinator.change(row, transaction, version);
        }
    }
    coordinator
}

#[test]
fn committed_rows_outlive_both_halves() {
    for plan in PLANS {
        // Under the other plans a half may die with the rows.
        let keeps = plan == "split";
        let mut served = Served::start("transactions", plan, "127.0.0.1", &[]);
        let (node, stop) = (served.address, AtomicBool::new(false));
        let coordinators: Vec<Coordinator> = thread::scope(|scope| {
            let stops = Stops(&stop);
            let change = |at: u64| {
                let stop = &stop;
                scope.spawn(move || change_rows(node, at * 1000, keeps, stop))
            };
            let threads: Vec<_> = (1..=ASKERS).map(change).collect();
            let mut draw = Draw(5);
            for kill in 0..KILLS {
                thread::sleep(Duration::from_millis(50 + draw.below(200)));
                served.kill(if kill % 2 == 0 { "__nic" } else { "__host" });
            }
            served.works_again();
            thread::sleep(Duration::from_millis(100));
            drop(stops);
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let report = served.end();
        conserves(&report);
        let messages = &report["messages"];
        let again: u64 = coordinators.iter().map(|it| it.again).sum();
        let answered = coordinators.iter().map(|it| it.asked - it.again).sum::<u64>();
        // Each asks one question at a time, and may be answered as a half dies.
        let unsure = ASKERS * KILLS;
        let lost = count(&messages["lost"]);
        assert!(lost <= again + unsure, "{plan}: {again} again, {messages:#}");
        let done = count(&messages["by_handler"]["participant"]["done"]);
        assert!(done + unsure >= answered, "{plan}: {answered} answered, {messages:#}");
        let killed = ["NIC", "host"].map(|half| count(&report["restarts"][half]));
        assert_eq!(killed, [KILLS / 2; 2], "{plan}");
    }
}

/// The client of the example `transactions`, against these nodes.
fn client(benchmark: &str, nodes: &[SocketAddr], jobs: u64, more: &[&str]) -> Ended {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let words = ["build", "--package", "transactions", "--example", "client"];
        let _built = build(cargo().args(words)).well("the client");
    });
    let mut command = Command::new(target().join("debug/examples/client"));
    command.args([benchmark, "--transactions", &jobs.to_string()]).args(more);
    for node in nodes {
        command.args(["--node", &node.to_string()]);
    }
    run(&mut command, Duration::from_mins(4) + Duration::from_millis(2 * jobs))
}

/// Asserts that all checks of the client hold, with all ends known.
fn all_holds(of: &str, ended: Ended) {
    let said = format!("{}{}", ended.stderr, ended.stdout);
    let ended = ended.well(of);
    assert!(ended.stdout.contains("strictly serialisable, and each version"), "{of}: {said}");
    assert!(ended.stdout.ends_with("all checks hold\n"), "{of}: {said}");
    assert!(ended.stdout.contains("; 0 unknown;"), "{of}: {said}");
}

/// Two nodes, each with half of the rows.
fn two_nodes(plan: &str) -> [Served; 2] {
    let addresses = ["127.0.0.1", "127.0.0.2"].map(free);
    let room = room(&format!("messages-live-nodes-{plan}"));
    addresses.map(|own| {
        let line = |node| format!("{} {node}\n", if node == own { "own" } else { "node" });
        let file = room.join(format!("{}.txt", own.ip()));
        std::fs::write(&file, addresses.map(line).concat()).unwrap();
        let nodes = format!("Nodes={}", file.display());
        Served::start_at("transactions", plan, own, &["--config", &nodes])
    })
}

#[test]
fn benchmarks_are_serialisable_on_two_nodes() {
    for plan in PLANS {
        let nodes = two_nodes(plan);
        for benchmark in ["tatp", "smallbank"] {
            let words = ["--rows", "1000", "--clients", "16"];
            let addresses = nodes.each_ref().map(|node| node.address);
            all_holds(plan, client(benchmark, &addresses, 1_000, &words));
        }
        for node in nodes {
            conserves(&node.end());
        }
    }
}

/// Each half of each node dies again and again. A long run says `CORA_JOBS=1000000`.
#[test]
fn money_is_conserved_whichever_half_dies() {
    let jobs = variable("CORA_JOBS", 20_000);
    for benchmark in ["smallbank", "tatp"] {
        // The other one is for long runs.
        if benchmark == "tatp" && jobs <= 20_000 {
            continue;
        }
        let mut nodes = two_nodes("split");
        let is_over = AtomicBool::new(false);
        let (ended, kills) = thread::scope(|scope| {
            let stops = Stops(&is_over);
            let words = ["--rows", "1000", "--clients", "32", "--give-up", "600"];
            let addresses = nodes.each_ref().map(|node| node.address);
            let is_over = &is_over;
            let client = scope.spawn(move || {
                let _stops = Stops(is_over);
                client(benchmark, &addresses, jobs, &words)
            });
            let (mut draw, mut kills) = (Draw(17), 0);
            let most = 8 + jobs as usize / 10_000;
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(200 + draw.below(800)));
                if kills == most {
                    continue;
                }
                let half = ["__nic", "__host"][kills / 2 % 2];
                nodes[kills % 2].kill(half);
                kills += 1;
            }
            drop(stops);
            (client.join().unwrap(), kills)
        });
        all_holds(benchmark, ended);
        assert!(kills >= 4, "{kills} kills");
        for mut node in nodes {
            node.works_again();
            conserves(&node.end());
        }
    }
}

/// A text in Cora's wire form.
fn text(words: &str) -> Vec<u8> {
    [&(words.len() as u16).to_le_bytes()[..], words.as_bytes()].concat()
}

/// Sends a text with this word alone until the listener hears of the word.
fn make_known(word: &str, node: SocketAddr, listener: &UdpSocket) -> u64 {
    let asker = UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_read_timeout(Some(AGAIN)).unwrap();
    let many = vec![word; 120 / (word.len() + 1)].join(" ");
    let (start, mut buffer, mut texts) = (Instant::now(), [0; 2048], 0);
    loop {
        let _refused = asker.send_to(&text(&many), node);
        let sent = Instant::now();
        texts += 1;
        while sent.elapsed() < AGAIN
            && let Ok(length) = listener.recv(&mut buffer)
        {
            let heard = &buffer[..length];
            if heard.windows(word.len()).any(|part| part == word.as_bytes()) {
                return texts;
            }
        }
        assert!(start.elapsed() < LIMIT, "nobody hears of {word}");
    }
}

/// The configuration of `analytics` with this listener.
fn wanted(listener: &UdpSocket, plan: &str) -> String {
    let file = room(&format!("messages-live-wanted-{plan}")).join("wanted.txt");
    std::fs::write(&file, format!("listener {}\n", listener.local_addr().unwrap())).unwrap();
    format!("Wanted={}", file.display())
}

#[test]
fn rankings_are_heard() {
    for (plan, shards) in PLANS.into_iter().flat_map(|plan| [(plan, "1"), (plan, "3")]) {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        let wanted = wanted(&listener, plan);
        let words = ["--config", &wanted, "--shards", shards];
        let served = Served::start("analytics", plan, "127.0.0.1", &words);
        let known = |number| make_known(&format!("word{number}"), served.address, &listener);
        let texts: u64 = (0..6).map(known).sum();
        served.wait_for(texts);
        let report = served.end();
        conserves(&report);
        let messages = &report["messages"];
        let of = |handler: &str, what: &str| count(&messages["by_handler"][handler][what]);
        let words = texts * 20;
        assert_eq!(count(&messages["in"]), texts);
        assert_eq!((count(&messages["sent"]), count(&messages["lost"])), (2 * words, 0));
        let all = ["filter", "counter", "ranker"].map(|it| (of(it, "in"), of(it, "sent")));
        assert_eq!(all, [(texts, words), (words, words), (words, 0)], "{plan}, {shards} shards");
        assert!(of("ranker", "answers") >= 6);
    }
}

/// Sends texts of many words until it is told to stop; returns their number.
fn send_texts(node: SocketAddr, stop: &AtomicBool) -> u64 {
    let asker = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (mut draw, mut texts) = (Draw(9), 0);
    while !stop.load(Ordering::Relaxed) {
        let words: Vec<String> = (0..20).map(|_| format!("w{}", draw.below(3000))).collect();
        let _refused = asker.send_to(&text(&words.join(" ")), node);
        texts += 1;
        thread::sleep(Duration::from_millis(5));
    }
    texts
}

/// Messages are under way between the halves, in both directions, as one of them dies.
#[test]
fn rankings_are_heard_whichever_half_dies() {
    for (plan, shards) in [("nic-only", "1"), ("split", "1"), ("split", "2"), ("host-only", "2")] {
        let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
        let wanted = wanted(&listener, plan);
        let words = ["--config", &wanted, "--shards", shards];
        let mut served = Served::start("analytics", plan, "127.0.0.1", &words);
        let (node, stop) = (served.address, AtomicBool::new(false));
        let texts = thread::scope(|scope| {
            let stops = Stops(&stop);
            let texts = scope.spawn(|| send_texts(node, &stop));
            for number in 0..KILLS {
                make_known(&format!("word{number}"), node, &listener);
                served.kill(if number % 2 == 0 { "__nic" } else { "__host" });
            }
            make_known("last", node, &listener);
            drop(stops);
            texts.join().unwrap()
        });
        served.works_again();
        let report = served.end();
        conserves(&report);
        let messages = &report["messages"];
        if plan == "split" {
            assert_eq!(count(&report["broke_protocol"]), 0, "{report:#}");
        }
        let [came, sent, lost] = ["in", "sent", "lost"].map(|what| count(&messages[what]));
        // The socket holds what comes while a half is away.
        assert!(came >= texts / 2, "{plan}: {messages:#}");
        // What no handler took found no room, or the host was away.
        let mut taken = count(&messages["dropped"]);
        for handler in ["filter", "counter", "ranker"] {
            let of = &messages["by_handler"][handler];
            taken += count(&of["in"]) - count(&of["dropped"]);
        }
        // Messages to another shard of the round in which a host died are known there alone.
        let unknown = (taken + lost).checked_sub(came + sent);
        let most = if shards == "1" { 0 } else { sent / 10 };
        assert!(unknown.is_some_and(|unknown| unknown <= most), "{plan}: {messages:#}");
        assert!(lost < taken, "{plan}: {messages:#}");
    }
}

#[test]
fn a_capture_of_messages_is_accounted_for() {
    let room = room("messages-live-capture");
    let capture = room.join("texts.pcap");
    let mut writer = Writer::new(BufWriter::new(File::create(&capture).unwrap())).unwrap();
    let node = SocketAddr::from(([10, 0, 1, 1], 7000));
    for number in 0..400_u64 {
        let from = SocketAddr::from(([10, 0, 0, 1], 4000 + number as u16));
        let good = text(&format!("a b{} c{}", number % 7, number % 30));
        // Each tenth is cut.
        let contents = if number % 10 == 9 { &good[..good.len() - 1] } else { &good[..] };
        writer.write(number * 10_000, &udp(from, node, contents)).unwrap();
    }
    writer.finish().unwrap();
    for plan in PLANS {
        for (nic, shards) in [("native", "1"), ("off", "1"), ("native", "3"), ("off", "3")] {
            let mut command = Command::new(built("analytics", plan));
            command.args(["run", "--json", "--nic", nic, "--shards", shards, "--messages"]);
            command.arg(&capture);
            let report = run(&mut command, LIMIT).well(plan).json();
            conserves(&report);
            let messages = &report["messages"];
            assert_eq!(count(&messages["in"]), 400);
            assert_eq!(count(&messages["sent"]), 2 * 3 * 360, "{plan}: {messages:#}");
            assert_eq!((count(&messages["dropped"]), count(&messages["lost"])), (40, 0));
            let filter = &messages["by_handler"]["filter"];
            assert_eq!((count(&filter["done"]), count(&filter["dropped"])), (360, 40), "{plan}");
        }
    }
}

#[test]
fn a_table_tells_who_took_what() {
    let capture = room("messages-live-table").join("one.pcap");
    let mut writer = Writer::new(BufWriter::new(File::create(&capture).unwrap())).unwrap();
    let [node, from] = [([10, 0, 1, 1], 7000), ([10, 0, 0, 1], 4000)].map(SocketAddr::from);
    writer.write(1, &udp(from, node, &text("one two"))).unwrap();
    writer.finish().unwrap();
    let mut command = Command::new(built("analytics", "split"));
    let told = run(command.args(["run", "--messages"]).arg(&capture), LIMIT).well("a table").stdout;
    let row = told.lines().find(|line| line.starts_with("  counter")).expect(&told);
    let counts: Vec<&str> = row.split_whitespace().skip(1).collect();
    assert_eq!(counts, ["0", "2", "2", "0", "2", "0"], "{told}");
    assert!(told.contains("= packets in and messages sent (5)"), "{told}");
}

/// What a run on these words says, which is refused.
fn refused(program: &Path, words: &[&str]) -> String {
    let ended = run(Command::new(program).arg("run").args(words), LIMIT);
    assert_ne!(ended.code, Some(0), "{words:?}");
    ended.stderr
}

#[test]
fn what_can_not_be_is_said() {
    let transactions = built("transactions", "split");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = format!("udp:{}", taken.local_addr().unwrap());
    for (words, why) in [
        (&["--messages", taken.as_str()][..], "is in use: another program has this address"),
        (&["--messages", "udp:192.0.2.77:7000"], "no interface here has this address"),
        (&["--messages", "udp:here"], "write udp:ADDRESS:PORT"),
        (&["--messages", "a.pcap", "--in", "b.pcap"], "--messages and --in: say one of them"),
        (&["--messages", "udp:127.0.0.1:9", "--out", "b.pcap"], "--out is for captures"),
    ] {
        let said = refused(&transactions, words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    let packets = built("empty-chain", "split");
    let said = refused(&packets, &["--messages", "udp:127.0.0.1:7000"]);
    assert!(said.contains("no handler of `empty-chain` does"), "{said}");
}
