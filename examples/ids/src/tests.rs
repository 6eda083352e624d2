//! The detector, packet by packet.

use std::sync::OnceLock;

use cora::testing::{self, TestOutbox, TestTable, at, commit, replica, table};

use super::*;
use crate::automaton::TRANSITIONS;
use crate::head::DEPTH;

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 50_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 80);
const SECOND: u64 = 1_000_000_000;

const ALTERED: Verdict = Drop(Reason::new("altered"));
const FORGOTTEN: Verdict = Drop(Reason::new("forgotten"));
const SCATTERED: Verdict = Drop(Reason::new("scattered"));

const FILE: &str = "
# A comment, and an empty line

web-attack reset tcp any server any any   /etc/passwd
malware    drop  any any any    any any   |de ad|Beef
leak       alert tcp any any    any exact TOP SECRET
policy     alert tcp 80  server 12  any   hello
exploit    alert tcp 22  any    any any   hello
tunnel     reset tcp any client any any   tunnelled
";

/// Signatures are larger than the stack of a test.
fn configure(text: &str) -> Result<Box<Signatures>, &'static str> {
    let text = text.to_owned();
    let make = move || Signatures::configure(&text).map(Box::new);
    std::thread::Builder::new().stack_size(64 << 20).spawn(make).unwrap().join().unwrap()
}

fn signatures() -> &'static Signatures {
    static MADE: OnceLock<Box<Signatures>> = OnceLock::new();
    MADE.get_or_init(|| configure(FILE).unwrap())
}

/// The number of a kind.
fn kind(name: &str) -> usize {
    compile::NAMES.iter().position(|one| *one == name).unwrap()
}

struct Bench {
    connections: TestTable<Connection>,
    heads: TestTable<Head>,
    signatures: &'static Signatures,
    alerts: Alerts,
    out: TestOutbox,
    now: u64,
    client: ([u8; 4], u16),
    server: ([u8; 4], u16),
}

impl Bench {
    fn new() -> Self {
        Self {
            connections: table(),
            heads: table(),
            signatures: signatures(),
            alerts: replica(),
            out: testing::outbox(),
            now: SECOND,
            client: CLIENT,
            server: SERVER,
        }
    }

    /// After the handshake: the client's first byte has the number 100, the server's 700.
    fn open() -> Self {
        let mut bench = Self::new();
        bench.handshake();
        bench
    }

    fn handshake(&mut self) {
        assert_eq!(self.client(TcpFlags::SYN, 99, 0, &[]), Transmit);
        assert_eq!(self.server(TcpFlags::SYN | TcpFlags::ACK, 699, 100, &[]), Transmit);
        assert_eq!(self.client(TcpFlags::ACK, 100, 700, &[]), Transmit);
    }

    fn frame(&mut self, mut frame: Vec<u8>, port: Port) -> Verdict {
        self.out.clear();
        at(&mut self.connections, self.now);
        at(&mut self.heads, self.now);
        let meta = Meta { port, now: self.now, ..Meta::default() };
        let verdict = testing::in_room(&mut frame, meta, |packet| {
            let (connections, heads) = (&mut self.connections, &mut self.heads);
            let (alerts, out) = (&mut self.alerts, &mut self.out);
            inspect(packet, connections, heads, self.signatures, alerts, out)
        });
        commit(&mut self.alerts);
        verdict
    }

    fn client(&mut self, flags: TcpFlags, seq: u32, ack: u32, data: &[u8]) -> Verdict {
        let segment = TcpSegment { flags, seq, ack, data, ..TcpSegment::default() };
        self.frame(testing::tcp(self.client, self.server, &segment), Port::INSIDE)
    }

    fn server(&mut self, flags: TcpFlags, seq: u32, ack: u32, data: &[u8]) -> Verdict {
        let segment = TcpSegment { flags, seq, ack, data, ..TcpSegment::default() };
        self.frame(testing::tcp(self.server, self.client, &segment), Port::OUTSIDE)
    }

    /// Data of the client, at this place of its stream.
    fn ask(&mut self, place: usize, data: &[u8]) -> Verdict {
        self.client(TcpFlags::ACK, (place as u32).wrapping_add(100), 700, data)
    }

    /// Data of the server; the client's bytes up to this place have arrived.
    fn answer(&mut self, place: usize, arrived: usize, data: &[u8]) -> Verdict {
        self.server(TcpFlags::ACK, 700 + place as u32, 100 + arrived as u32, data)
    }

    fn count(&self, name: &str) -> u64 {
        self.alerts.kinds.value(kind(name))
    }

    /// The key of the connection between [`CLIENT`] and [`SERVER`].
    fn key() -> FiveTuple {
        FiveTuple {
            source: Address::v4(CLIENT.0),
            destination: Address::v4(SERVER.0),
            source_port: CLIENT.1,
            destination_port: SERVER.1,
            protocol: protocol::TCP,
        }
    }

    /// Whether the client's direction has a buffer, and the server's.
    fn heads(&self) -> [bool; 2] {
        [Self::key(), Self::key().reversed()].map(|key| self.heads.contains(&key))
    }
}

#[test]
fn a_pattern_is_found_wherever_it_is_cut_and_in_any_order() {
    let bytes = b"GET /../ETC/passwd HTTP/1.1\r\n";
    let end = 18;
    for cut in 1..bytes.len() {
        let (one, two) = bytes.split_at(cut);
        let mut bench = Bench::open();
        let first = if cut >= end { Drop(SIGNATURE) } else { Transmit };
        assert_eq!(bench.ask(0, one), first, "{cut}");
        assert_eq!(bench.ask(cut, two), Drop(SIGNATURE), "{cut}");
        let mut bench = Bench::open();
        assert_eq!(bench.ask(cut, two), Transmit, "behind a gap, {cut}");
        assert_eq!(bench.ask(0, one), Drop(SIGNATURE), "{cut}");
        assert_eq!(bench.count("web-attack"), 1);
        assert_eq!(bench.heads(), [false; 2], "the buffer is freed");
    }
}

/// A stream in pieces of any size, in any order, some of them twice and over others: the flow is
/// refused by the piece that completes the pattern, and not before.
#[test]
fn any_segments_are_put_together() {
    let mut random = 7_u64;
    let mut below = |most: usize| {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 33) as usize % most
    };
    for round in 0..500 {
        let mut stream: Vec<u8> = (0..DEPTH).map(|_| b'a' + below(26) as u8).collect();
        let place = below(DEPTH - 11);
        stream[place..place + 11].copy_from_slice(b"/eTc/PASSWD");
        let mut bench = Bench::open();
        let mut has = vec![false; DEPTH];
        let mut verdict = Transmit;
        for _ in 0..100_000 {
            // Near the first gap, so that few chunks lie behind it.
            let gap = has.iter().position(|has| !has).unwrap();
            let from = (gap + below(600)).saturating_sub(300).min(DEPTH - 1);
            let to = (from + 1 + below(200)).min(DEPTH);
            verdict = bench.ask(from, &stream[from..to]);
            if verdict == SCATTERED {
                continue;
            }
            has[from..to].fill(true);
            let is_whole = has[..place + 11].iter().all(|has| *has);
            let expected = if is_whole { Drop(SIGNATURE) } else { Transmit };
            assert_eq!(verdict, expected, "round {round}: {from} to {to}, pattern at {place}");
            if is_whole {
                break;
            }
        }
        assert_eq!(verdict, Drop(SIGNATURE));
    }
}

#[test]
fn the_buffer_is_freed_when_the_beginning_was_scanned() {
    let mut bench = Bench::open();
    assert_eq!(bench.heads(), [false; 2], "no data, no buffer");
    assert_eq!(bench.ask(0, &[b'x'; 1_400]), Transmit);
    assert_eq!(bench.heads(), [true, false]);
    assert_eq!(bench.answer(0, 1_400, &[b'y'; 1_400]), Transmit);
    assert_eq!(bench.heads(), [true, true]);
    assert_eq!(bench.ask(1_400, &[b'x'; 1_400]), Transmit);
    assert_eq!(bench.heads(), [false, true]);
    assert_eq!(bench.answer(1_400, 2_800, &[b'y'; 1_400]), Transmit);
    assert_eq!(bench.heads(), [false; 2]);
    // Behind the beginning nothing is scanned, and no buffer made.
    assert_eq!(bench.ask(2_800, b"/etc/passwd"), Transmit);
    assert_eq!(bench.ask(1_000, b"zzz"), Transmit);
    assert_eq!(bench.heads(), [false; 2]);
}

#[test]
fn a_pattern_has_to_end_within_the_beginning() {
    for (place, verdict) in [(DEPTH - 11, Drop(SIGNATURE)), (DEPTH - 10, Transmit)] {
        let mut bench = Bench::open();
        assert_eq!(bench.ask(0, &vec![b'x'; place]), Transmit);
        assert_eq!(bench.ask(place, b"/etc/passwd and more"), verdict);
    }
    // Far behind it, and far before it.
    let mut bench = Bench::open();
    for place in [DEPTH, 100_000, 1 << 30, 1 << 31, (1 << 32) - 1] {
        assert_eq!(bench.ask(place, b"x"), Transmit, "{place}");
    }
    assert_eq!(bench.heads(), [false; 2]);
}

#[test]
fn other_content_does_not_pass() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"/etc/xasswd"), Transmit);
    assert_eq!(bench.ask(0, b"/etc/passwd"), ALTERED);
    assert_eq!(bench.ask(4, b"/p"), ALTERED);
    assert_eq!(bench.ask(10, b"D HTTP"), ALTERED, "upper case is other content, too");
    assert_eq!(bench.ask(0, b"/etc/xasswd"), Transmit, "the same once more");
    assert_eq!(bench.ask(5, b"xasswd HTTP"), Transmit, "and more");
    // Behind a gap.
    assert_eq!(bench.ask(30, b"abcdef"), Transmit);
    assert_eq!(bench.ask(28, b"..abX"), ALTERED);
    assert_eq!(bench.ask(16, b"..............abcdefgh"), Transmit);
    assert_eq!(bench.ask(37, b"hi /etc/passwd"), Drop(SIGNATURE));
}

#[test]
fn what_has_arrived_may_be_sent_again_with_anything() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"GET / HTTP"), Transmit);
    assert_eq!(bench.ask(9, b"?"), ALTERED);
    assert_eq!(bench.answer(0, 10, b""), Transmit);
    assert_eq!(bench.ask(9, b"?"), Transmit, "keeps the connection alive");
    assert_eq!(bench.ask(8, b"??/etc/passwd"), Drop(SIGNATURE), "the rest is new");
    // Nobody has received what was not sent.
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"GET"), Transmit);
    assert_eq!(bench.answer(0, 2_000, b""), Transmit);
    assert_eq!(bench.ask(0, b"PUT"), ALTERED);
}

#[test]
fn more_gaps_than_are_kept_wait_for_a_repetition() {
    let mut bench = Bench::open();
    for place in [10, 20, 30, 40] {
        assert_eq!(bench.ask(place, b"/etc"), Transmit);
    }
    assert_eq!(bench.ask(50, b"/etc"), SCATTERED);
    assert_eq!(bench.ask(14, b"123456"), Transmit, "closes a gap");
    assert_eq!(bench.ask(50, b"/etc"), Transmit);
    assert_eq!(bench.ask(54, b"/passwd"), Transmit);
    assert_eq!(bench.ask(0, &[b'x'; 10]), Transmit);
    assert_eq!(bench.ask(24, b"123456"), Transmit);
    assert_eq!(bench.ask(34, b"123456"), Transmit);
    assert_eq!(bench.ask(44, b"123456"), Drop(SIGNATURE));
}

#[test]
fn a_scan_goes_on_after_its_buffer_was_forgotten() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"GET /etc"), Transmit);
    bench.now += 31 * SECOND;
    assert_eq!(bench.ask(0, b"GET /xyz"), FORGOTTEN, "nobody knows the first copy");
    assert_eq!(bench.ask(6, b"tcx"), FORGOTTEN);
    assert_eq!(bench.ask(10, b"asswd"), Transmit);
    assert_eq!(bench.ask(8, b"/p"), Drop(SIGNATURE));
    // What has arrived needs no copy.
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"GET /etc"), Transmit);
    assert_eq!(bench.answer(0, 8, b""), Transmit);
    bench.now += 31 * SECOND;
    assert_eq!(bench.ask(7, b"c"), Transmit);
    assert_eq!(bench.ask(6, b"tc/passwd"), Drop(SIGNATURE));
}

#[test]
fn both_ends_get_a_reset_or_none_does() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"/etc/passwd"), Drop(SIGNATURE));
    let ports: Vec<Port> = testing::sent(&bench.out).into_iter().map(|(port, _)| port).collect();
    assert_eq!(ports, [Port::OUTSIDE, Port::INSIDE]);
    assert_eq!(bench.answer(0, 0, b"data under way"), Drop(SIGNATURE));
    assert_eq!(testing::sent(&bench.out).len(), 2);
    // The sender repeats itself, with pauses.
    bench.now += 200 * SECOND;
    assert_eq!(bench.ask(0, b"/etc/passwd"), Drop(SIGNATURE));
    // Another connection may begin.
    bench.handshake();
    assert_eq!(bench.ask(0, b"GET / HTTP"), Transmit);
    assert_eq!(bench.ask(10, b"\xde\xadbeef"), Drop(SIGNATURE));
    assert!(bench.out.is_empty(), "dropped without a word");
    assert_eq!(bench.count("malware"), 1);
}

#[test]
fn alerts_count_once_a_flow_and_let_it_pass() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"TOP SECRET, TOP SECRET"), Transmit);
    assert_eq!(bench.answer(0, 22, b"TOP SECRET"), Transmit);
    assert_eq!(bench.count("leak"), 1);
    let key = Bench::key();
    let connection = *bench.connections.get(&key).unwrap();
    let told = testing::record(&connection, &key, End::Idle);
    assert!(told.contains(&(FIREWALL_EVENT, vec![1])), "{told:?}");
    assert!(told.contains(&(MATCHED, vec![0, 1 << kind("leak")])), "{told:?}");
    assert!(told.contains(&(DECIDED_BY, vec![0, 3])), "{told:?}");
    assert_eq!(bench.ask(22, b"/etc/passwd"), Drop(SIGNATURE), "an alert is no permission");
}

#[test]
fn columns_say_which_streams_match() {
    let mut bench = Bench::open();
    assert_eq!(bench.answer(0, 0, b"/etc/passwd tOP SECRET"), Transmit, "to the client");
    assert_eq!(bench.ask(0, b"TOP SECRe tunnelled"), Transmit);
    assert_eq!((bench.count("web-attack"), bench.count("leak")), (0, 0));
    assert_eq!(bench.answer(22, 0, b"tunnelled"), Drop(SIGNATURE));
    for (before, count) in [(0, 1), (7, 1), (8, 0)] {
        let mut bench = Bench::open();
        assert_eq!(bench.ask(0, &vec![b'x'; before]), Transmit);
        assert_eq!(bench.ask(before, b"Hello"), Transmit);
        assert_eq!(bench.count("policy"), count, "behind {before}");
        assert_eq!(bench.count("exploit"), 0, "of another port");
    }
    let mut bench = Bench { server: (SERVER.0, 22), ..Bench::new() };
    bench.handshake();
    assert_eq!(bench.answer(0, 0, b"hello"), Transmit);
    assert_eq!((bench.count("policy"), bench.count("exploit")), (0, 1));
}

#[test]
fn the_first_datagram_of_each_direction_is_scanned() {
    let (asks, answers) = ((CLIENT, SERVER, Port::INSIDE), (SERVER, CLIENT, Port::OUTSIDE));
    let long = [vec![0; DEPTH], b"\xde\xadBEEF".to_vec()].concat();
    let mut bench = Bench::new();
    let mut send = |(from, to, port): (_, _, Port), data: &[u8]| {
        bench.frame(testing::udp(from, to, data), port)
    };
    assert_eq!(send(asks, &[]), Transmit);
    assert_eq!(send(asks, b"question"), Transmit);
    assert_eq!(send(asks, b"\xde\xadbeef"), Transmit, "the second one");
    assert_eq!(send(answers, b".\xde\xadBEEF."), Drop(SIGNATURE));
    assert_eq!(send(asks, b"question"), Drop(SIGNATURE), "the flow is refused");
    assert!(bench.out.is_empty());
    assert_eq!(bench.count("malware"), 1);
    let mut bench = Bench::new();
    assert_eq!(bench.frame(testing::udp(CLIENT, SERVER, &long), Port::INSIDE), Transmit);
    assert_eq!(bench.heads(), [false; 2]);
}

#[test]
fn data_of_a_syn_is_scanned() {
    let mut bench = Bench::new();
    assert_eq!(bench.client(TcpFlags::SYN, 99, 0, b"GET /etc"), Transmit);
    assert_eq!(bench.server(TcpFlags::SYN | TcpFlags::ACK, 699, 108, &[]), Transmit);
    assert_eq!(bench.ask(8, b"/passwd"), Drop(SIGNATURE));
    let mut bench = Bench::new();
    assert_eq!(bench.client(TcpFlags::SYN, 99, 0, b"/etc/passwd"), Drop(SIGNATURE));
}

#[test]
fn the_answered_syn_says_where_the_stream_begins() {
    let mut bench = Bench::new();
    assert_eq!(bench.client(TcpFlags::SYN, 9_999, 0, &[]), Transmit);
    bench.handshake();
    assert_eq!(bench.ask(0, b"/etc/passwd"), Drop(SIGNATURE));
    // Another answer changes nothing.
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"/etc"), Transmit);
    assert_eq!(bench.server(TcpFlags::SYN | TcpFlags::ACK, 5_000, 9_000, &[]), Transmit);
    assert_eq!(bench.ask(4, b"/passwd"), Drop(SIGNATURE));
}

#[test]
fn numbers_may_wrap_around() {
    let mut bench = Bench::new();
    let start = u32::MAX - 3;
    assert_eq!(bench.client(TcpFlags::SYN, start - 1, 0, &[]), Transmit);
    assert_eq!(bench.server(TcpFlags::SYN | TcpFlags::ACK, 699, start, &[]), Transmit);
    assert_eq!(bench.client(TcpFlags::ACK, start.wrapping_add(5), 700, b"passwd"), Transmit);
    assert_eq!(bench.client(TcpFlags::ACK, start, 700, b"/etc/"), Drop(SIGNATURE));
}

#[test]
fn a_connection_that_began_unseen_is_scanned_from_there() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(5_000, b"abc /etc"), Transmit);
    assert_eq!(bench.ask(5_008, b"/passwd"), Drop(SIGNATURE));
    // The server is the end with the lower port, whoever was seen first.
    let mut bench = Bench::new();
    assert_eq!(bench.answer(9_000, 5_000, b"/etc/passwd"), Transmit, "to the client");
    assert_eq!(bench.ask(5_000, b"/etc/passwd"), Drop(SIGNATURE));
    let mut bench = Bench::new();
    let fin = TcpFlags::FIN | TcpFlags::ACK;
    assert_eq!(bench.client(fin, 1, 1, b"/etc/passwd"), Drop(reasons::BadTcpState));
}

#[test]
fn the_end_of_a_connection_frees_its_buffers() {
    let mut bench = Bench::open();
    let fin = TcpFlags::FIN | TcpFlags::ACK;
    assert_eq!(bench.ask(0, b"question"), Transmit);
    assert_eq!(bench.answer(0, 8, b"answer"), Transmit);
    assert_eq!(bench.client(fin, 108, 706, &[]), Transmit);
    assert_eq!(bench.server(fin, 706, 109, &[]), Transmit);
    assert_eq!(bench.heads(), [true; 2]);
    assert_eq!(bench.client(TcpFlags::ACK, 109, 707, &[]), Transmit);
    assert_eq!(bench.heads(), [false; 2]);
    // A reset that the receiver ignores ends no scan.
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"/etc"), Transmit);
    assert_eq!(bench.client(TcpFlags::RST, 77_777, 0, &[]), Transmit);
    assert_eq!(bench.ask(4, b"/passwd"), Drop(SIGNATURE));
}

#[test]
fn a_connection_between_the_same_ports_begins_anew() {
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"a long question without an answer"), Transmit);
    assert_eq!(bench.client(TcpFlags::RST | TcpFlags::ACK, 110, 700, &[]), Transmit);
    assert_eq!(bench.client(TcpFlags::SYN, 4_999, 0, &[]), Transmit);
    assert_eq!(bench.server(TcpFlags::SYN | TcpFlags::ACK, 699, 5_000, &[]), Transmit);
    assert_eq!(bench.client(TcpFlags::ACK, 5_000, 700, b"other bytes"), Transmit);
    assert_eq!(bench.client(TcpFlags::ACK, 5_011, 700, b"/etc/passwd"), Drop(SIGNATURE));
}

#[test]
fn wrong_checksums_fragments_and_errors() {
    let mut bench = Bench::open();
    let segment =
        TcpSegment { flags: TcpFlags::ACK, seq: 100, ack: 700, data: b"abc", ..<_>::default() };
    let mut damaged = testing::tcp(CLIENT, SERVER, &segment);
    damaged[54] ^= 1;
    assert_eq!(bench.frame(damaged, Port::INSIDE), Drop(BadChecksum));
    assert_eq!(bench.ask(0, b"abc"), Transmit, "the damaged copy is no copy");
    let quoted = testing::tcp(CLIENT, SERVER, &segment)[14..].to_vec();
    let error = [&[3, 1, 0, 0, 0, 0, 0, 0], &quoted[..]].concat();
    let error = testing::ipv4(SERVER.0, CLIENT.0, 64, protocol::ICMP, &error);
    assert_eq!(bench.frame(error, Port::OUTSIDE), Transmit);
    let other = testing::ipv4(CLIENT.0, SERVER.0, 64, 47, &[0; 20]);
    assert_eq!(bench.frame(other, Port::INSIDE), Transmit);
    let mut fragment = testing::ipv4(CLIENT.0, SERVER.0, 64, protocol::TCP, &[0; 40]);
    fragment[20..22].copy_from_slice(&[0, 9]);
    let sum = checksum::internet(&[&fragment[14..24], &[0, 0], &fragment[26..34]].concat());
    fragment[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(bench.frame(fragment, Port::INSIDE), Drop(reasons::Fragment));
}

/// All that the buffer has is scanned by the new version; a flow does not count twice.
#[test]
fn another_version_scans_a_beginning_anew() {
    let mut second = configure("scan drop tcp any any any any secret").unwrap();
    second.generation = Generation::new(9);
    let mut bench = Bench::open();
    assert_eq!(bench.ask(0, b"TOP SECRET, /etc"), Transmit);
    bench.signatures = Box::leak(second);
    assert_eq!(bench.ask(16, b"/passwd"), Drop(SIGNATURE), "by what came before");
    assert_eq!((bench.count("leak"), bench.count("scan")), (1, 1));
    assert_eq!(bench.count("web-attack"), 0);
}

#[test]
fn files_with_faults_are_refused() {
    for (line, word) in [
        ("worm drop tcp any any any any abc", "kind"),
        ("scan log tcp any any any any abc", "action"),
        ("scan drop icmp any any any any abc", "protocol"),
        ("scan drop tcp 0 any any any abc", "port"),
        ("scan drop tcp any left any any abc", "direction"),
        ("scan drop tcp any any -1 any abc", "within"),
        ("scan drop tcp any any any lower abc", "case"),
        ("scan drop tcp any any any any ab", "128 bytes"),
        ("scan drop tcp any any any any", "a line is"),
        ("scan drop tcp any any any any abc|4|", "hexadecimal"),
        ("scan drop tcp any any any any abc|4g|", "hexadecimal"),
        ("scan drop tcp any any any any abc|44", "hexadecimal"),
    ] {
        let fault = configure(line).map(|_| ()).unwrap_err();
        assert!(fault.contains(word), "{line}: {fault}");
    }
    let row = |pattern: String| format!("scan drop tcp any any any any {pattern}\n");
    let alike: String = (0..17).map(|n| row(format!("{}abc", "x".repeat(n)))).collect();
    assert!(configure(&alike).map(|_| ()).unwrap_err().contains("more than 16"));
    let many: String = (0..2_049).map(|n| row(format!("{n:04}"))).collect();
    assert!(configure(&many).map(|_| ()).unwrap_err().contains("2,048"));
    let long: String = (0..2_000).map(|n| row(format!("{n:04}{}", "long".repeat(25)))).collect();
    assert!(configure(&long).map(|_| ()).unwrap_err().contains("nodes"));
    let none = configure("# nothing\n").unwrap();
    assert_eq!((none.first_end, none.transitions.len()), (1, TRANSITIONS));
}

/// Each row of the example's file is found, and its other columns are as they say.
#[test]
fn the_sample_file_is_read() {
    let text = include_str!("../signatures.txt");
    let sample: &'static Signatures = Box::leak(configure(text).unwrap());
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(rows, 19);
    let request = b"GET /../../../etc/ HTTP/1.1\r\nUser-Agent: sqlmap/1.8\r\n\r\n";
    let mut bench = Bench { signatures: sample, ..Bench::new() };
    bench.handshake();
    assert_eq!(bench.ask(0, request), Drop(SIGNATURE));
    assert_eq!((bench.count("web-attack"), bench.count("scan")), (1, 1));
    let question = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x02C2\x07malware\x04test\0\0\x01\0\x01";
    let dns = (SERVER.0, 53);
    let mut bench = Bench { signatures: sample, ..Bench::new() };
    let frame = testing::udp(CLIENT, dns, question);
    assert_eq!(bench.frame(frame, Port::INSIDE), Drop(SIGNATURE));
    let banner = b"SSH-1.99-old\r\n";
    let mut bench = Bench { signatures: sample, server: (SERVER.0, 22), ..Bench::new() };
    bench.handshake();
    assert_eq!(bench.answer(0, 0, banner), Transmit);
    assert_eq!(bench.count("policy"), 1);
}
