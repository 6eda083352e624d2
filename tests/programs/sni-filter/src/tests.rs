//! Names, wherever a client's first message is cut.

use cora::testing::{self, TestOutbox, TestRows, TestTable};

use super::*;

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 5_000);
const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 443);

fn vector(width: usize, bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_be_bytes();
    [&length[4 - width..], bytes].concat()
}

fn extension(kind: u16, bytes: &[u8]) -> Vec<u8> {
    [kind.to_be_bytes().to_vec(), vector(2, bytes)].concat()
}

/// A client's first message; its name, if it says one, stands between two other extensions.
fn message(name: Option<&str>) -> Vec<u8> {
    let name = name.map(|name| {
        let name = [vec![0], vector(2, name.as_bytes())].concat();
        extension(0, &vector(2, &name))
    });
    let extensions =
        [extension(0x0a0a, &[]), name.unwrap_or_default(), extension(43, &[2, 3, 4])].concat();
    let body = [
        vec![3, 3],
        vec![7; 32],
        vector(1, &[9; 32]),
        vector(2, &[0x13, 1]),
        vector(1, &[0]),
        vector(2, &extensions),
    ]
    .concat();
    [vec![1], vector(3, &body)].concat()
}

/// A message in TLS records of at most so many bytes.
fn records(message: &[u8], most: usize) -> Vec<u8> {
    message.chunks(most).flat_map(|piece| [vec![22, 3, 1], vector(2, piece)].concat()).collect()
}

fn hello(name: &str) -> Vec<u8> {
    records(&message(Some(name)), 16_384)
}

struct Bench {
    connections: TestTable<Connection>,
    blocked: TestRows<Blocked>,
    out: TestOutbox,
}

impl Bench {
    /// After a client's SYN with the sequence number 99.
    fn new() -> Self {
        let blocked = testing::configured("name\nads.example\nMALWARE.test.\n");
        let mut bench = Self { connections: testing::table(), blocked, out: testing::outbox() };
        assert_eq!(bench.segment(TcpFlags::SYN, 99, &[]), Transmit);
        bench
    }

    fn frame(&mut self, mut frame: Vec<u8>, port: Port) -> Verdict {
        self.out.clear();
        testing::in_room(&mut frame, Meta { port, ..Meta::default() }, |packet| {
            filter(packet, &mut self.connections, &self.blocked, &mut self.out)
        })
    }

    /// A segment of the client's.
    fn segment(&mut self, flags: TcpFlags, seq: u32, data: &[u8]) -> Verdict {
        let segment = TcpSegment { flags, seq, ack: 1, data, ..TcpSegment::default() };
        self.frame(testing::tcp(CLIENT, SERVER, &segment), Port::INSIDE)
    }

    fn data(&mut self, seq: u32, data: &[u8]) -> Verdict {
        self.segment(TcpFlags::ACK, seq, data)
    }

    /// The server's answer to the SYN.
    fn answer(&mut self) -> Verdict {
        let flags = TcpFlags::SYN | TcpFlags::ACK;
        let segment = TcpSegment { flags, ack: 100, ..TcpSegment::default() };
        self.frame(testing::tcp(SERVER, CLIENT, &segment), Port::OUTSIDE)
    }

    /// After the handshake.
    fn open() -> Self {
        let mut bench = Self::new();
        assert_eq!(bench.answer(), Transmit);
        assert_eq!(bench.data(100, &[]), Transmit);
        bench
    }

    /// The name and the event in the record of the only connection.
    fn name(&self) -> Option<(String, u8)> {
        let (source, destination) = (Address::v4(CLIENT.0), Address::v4(SERVER.0));
        let (source_port, destination_port, protocol) = (CLIENT.1, SERVER.1, protocol::TCP);
        let key = FiveTuple { source, destination, source_port, destination_port, protocol };
        let connection = self.connections.get(&key).expect("it is there");
        let told = testing::record(connection, &key, End::Idle);
        let of = |wanted| Some(&told.iter().find(|(element, _)| *element == wanted)?.1);
        let name = String::from_utf8(of(element::HTTP_REQUEST_HOST)?.clone()).expect("a name");
        Some((name, of(FIREWALL_EVENT)?[0]))
    }
}

#[test]
fn a_message_may_be_cut_anywhere() {
    let bytes = hello("www.ADS.example");
    for cut in 0..=bytes.len() {
        let mut bench = Bench::open();
        let (one, two) = bytes.split_at(cut);
        // The name's last byte decides; behind it is one more extension of seven bytes.
        let is_whole = cut >= bytes.len() - 7;
        assert_eq!(bench.data(100, one), if is_whole { Drop(BLOCKED) } else { Transmit }, "{cut}");
        assert_eq!(bench.data(100 + cut as u32, two), Drop(BLOCKED), "{cut}");
        assert_eq!(bench.name(), Some(("www.ADS.example".to_owned(), 3)), "{cut}");
    }
}

#[test]
fn records_and_segments_of_one_byte_make_no_difference() {
    for most in [1, 2, 7, 100] {
        let mut bench = Bench::open();
        let bytes = records(&message(Some("malware.test")), most);
        let verdicts: Vec<_> =
            (100..).zip(bytes.chunks(1)).map(|(seq, byte)| bench.data(seq, byte)).collect();
        let refused = verdicts.iter().position(|verdict| *verdict != Transmit).expect("it is");
        assert!(verdicts[refused..].iter().all(|verdict| *verdict == Drop(BLOCKED)), "{most}");
    }
}

#[test]
fn both_ends_get_a_reset() {
    let mut bench = Bench::open();
    assert_eq!(bench.data(100, &hello("ads.example")), Drop(BLOCKED));
    let sent = testing::sent(&bench.out);
    let read = |frame: &[u8]| {
        let mut frame = frame.to_vec();
        let packet = Packet::new(&mut frame, Meta::default());
        assert!(checksum::verify(&packet));
        let tcp = packet.tcp().expect("it is TCP");
        (tcp.destination_port, tcp.seq, tcp.flags)
    };
    let [(Port::OUTSIDE, on), (Port::INSIDE, back)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!(read(on), (443, 100, TcpFlags::RST));
    assert_eq!(read(back), (5_000, 1, TcpFlags::RST));
    // Packets under way are dropped, and another connection may begin.
    assert_eq!(bench.segment(TcpFlags::RST, 100, &[]), Drop(BLOCKED));
    assert!(bench.out.is_empty());
    assert_eq!(bench.segment(TcpFlags::SYN, 7_000, &[]), Transmit);
    assert_eq!(bench.name(), None);
}

#[test]
fn other_names_pass_and_are_told() {
    for name in ["example", "xads.example", "ads.example.org", "www.example.org"] {
        let mut bench = Bench::open();
        assert_eq!(bench.data(100, &hello(name)), Transmit, "{name}");
        assert_eq!(bench.name(), Some((name.to_owned(), 1)));
    }
}

#[test]
fn without_a_name_all_passes_and_none_is_told() {
    let long = "n".repeat(254);
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: ads.example\r\n\r\n".to_vec(),
        records(&message(None), 16_384),
        records(&[vec![2], message(Some("ads.example"))[1..].to_vec()].concat(), 16_384),
        hello(&long),
    ] {
        let mut bench = Bench::open();
        assert_eq!(bench.data(100, &bytes), Transmit);
        assert_eq!(bench.data(100 + bytes.len() as u32, &hello("ads.example")), Transmit);
        assert_eq!(bench.name(), None);
    }
}

#[test]
fn segments_out_of_order_come_again() {
    let bytes = hello("ads.example");
    let (one, two) = bytes.split_at(60);
    let mut bench = Bench::open();
    assert_eq!(bench.data(160, two), Drop(TOO_EARLY));
    assert_eq!(bench.data(100, one), Transmit);
    assert_eq!(bench.data(100, one), Transmit, "a repetition");
    assert_eq!(bench.data(100, &bytes), Drop(BLOCKED), "both together");
}

#[test]
fn what_has_no_syn_or_no_ports_passes() {
    let mut bench = Bench::open();
    let data = hello("ads.example");
    let segment = TcpSegment { flags: TcpFlags::ACK, data: &data, ..TcpSegment::default() };
    let other = testing::tcp(([10, 0, 0, 2], 1), SERVER, &segment);
    assert_eq!(bench.frame(other, Port::INSIDE), Transmit);
    assert_eq!(bench.frame(testing::udp(CLIENT, SERVER, &data), Port::INSIDE), Transmit);
}
