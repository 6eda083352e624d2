//! `ids` on streams in pieces. The capture has the right outcome of every packet. All halves agree
//! about the outcomes, the packets that leave, the states and the records, while flows move, too.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use cora::prelude::{TcpFlags, TcpSegment};
use cora::testing::{tcp, udp};
use cora_tests::cases::{Case, Traffic};
use cora_tests::draw::Draw;

const SIGNATURES: &str = "
web-attack reset tcp 80  server any any   /etc/passwd
malware    drop  any any client any any   |de ad|beef
leak       alert tcp any any    any exact TOP SECRET
policy     alert tcp any server 16  any   GET /old
";

/// Bytes that are scanned of each direction.
const DEPTH: usize = 1_920;
const PATTERN: &[u8] = b"/etc/passwd";

type Packets = Vec<(Vec<u8>, &'static str)>;

/// A connection, and its packets with their outcomes.
struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    packets: Packets,
}

impl Connection {
    /// After its handshake: the client's first byte has the number 1,000, the server's 5,000.
    fn open(number: u16) -> Self {
        let port = 20_000 + number;
        let (client, server) = if number.is_multiple_of(3) {
            let host = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1 + number);
            let server = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x80);
            ((host, port).into(), (server, 80).into())
        } else {
            let host = Ipv4Addr::from(0x0a00_0100 + u32::from(number));
            ((host, port).into(), (Ipv4Addr::new(192, 0, 2, 80), 80).into())
        };
        let mut connection = Self { client, server, packets: Vec::new() };
        connection.client(TcpFlags::SYN, 999, 0, &[], "transmit");
        connection.server(TcpFlags::SYN | TcpFlags::ACK, 4_999, 1_000, &[], "transmit");
        connection.client(TcpFlags::ACK, 1_000, 5_000, &[], "transmit");
        connection
    }

    fn client(&mut self, flags: TcpFlags, seq: u32, ack: u32, data: &[u8], outcome: &'static str) {
        let segment = TcpSegment { flags, seq, ack, window: 9_000, options: &[], data };
        self.packets.push((tcp(self.client, self.server, &segment), outcome));
    }

    fn server(&mut self, flags: TcpFlags, seq: u32, ack: u32, data: &[u8], outcome: &'static str) {
        let segment = TcpSegment { flags, seq, ack, window: 9_000, options: &[], data };
        self.packets.push((tcp(self.server, self.client, &segment), outcome));
    }

    fn ask(&mut self, place: usize, data: &[u8], outcome: &'static str) {
        self.client(TcpFlags::ACK, 1_000 + place as u32, 5_000, data, outcome);
    }

    /// The server has received all up to this place.
    fn answer(&mut self, place: usize, arrived: usize, data: &[u8], outcome: &'static str) {
        let ack = 1_000 + arrived as u32;
        self.server(TcpFlags::ACK, 5_000 + place as u32, ack, data, outcome);
    }
}

/// Bytes without a pattern.
fn filling(length: usize, draw: &mut Draw) -> Vec<u8> {
    (0..length).map(|_| b'a' + draw.below(26) as u8).collect()
}

/// A request with a pattern, in segments out of order that overlap. The segment that completes the
/// pattern is refused, and so are all later ones.
fn attack(number: u16, draw: &mut Draw) -> Packets {
    let mut connection = Connection::open(number);
    let place = 200 + draw.below(600) as usize;
    let stream = [filling(place, draw), PATTERN.to_vec(), filling(300, draw)].concat();
    let cuts = [0, 100, place - 50, place + 4, place + 60, stream.len()];
    let piece = |of: usize| &stream[cuts[of]..cuts[of + 1]];
    // The second half of the pattern comes first.
    for (of, outcome) in [(0, "transmit"), (3, "transmit"), (1, "transmit"), (1, "transmit")] {
        connection.ask(cuts[of], piece(of), outcome);
    }
    if draw.below(2) == 0 {
        connection.ask(cuts[1], &[b'#'; 20], "altered");
        connection.ask(cuts[3] + 10, b"#", "altered");
    }
    // Over the piece before.
    connection.ask(cuts[2] - 10, &stream[cuts[2] - 10..cuts[3]], "signature");
    connection.ask(cuts[4], piece(4), "signature");
    connection.answer(0, 100, b"what was that?", "signature");
    connection.packets
}

/// A long conversation without a pattern in its beginning.
fn harmless(number: u16, draw: &mut Draw) -> Packets {
    let mut connection = Connection::open(number);
    let (mut asked, mut answered) = (0, 0);
    for round in 0..10 {
        let question = filling(1 + draw.below(700) as usize, draw);
        connection.ask(asked, &question, "transmit");
        asked += question.len();
        let answer = filling(1 + draw.below(1_400) as usize, draw);
        if round == 1 {
            connection.answer(answered + answer.len(), asked, b"overtakes", "transmit");
        }
        connection.answer(answered, asked, &answer, "transmit");
        answered += answer.len() + if round == 1 { 9 } else { 0 };
        // The server has it already.
        connection.ask(asked - 1, b"?", "transmit");
    }
    if asked >= DEPTH {
        connection.ask(asked, b"GET /etc/passwd", "transmit");
    }
    let (end, back) = (1_000 + asked as u32 + 15, 5_000 + answered as u32);
    connection.client(TcpFlags::RST, end, back, &[], "transmit");
    connection.packets
}

/// Alerts alone, and an answer that is dropped without a word.
fn suspicious(number: u16, draw: &mut Draw) -> Packets {
    let mut connection = Connection::open(number);
    connection.ask(0, b"get /o", "transmit");
    connection.ask(6, b"ld HTTP/1.1 TOP SEC", "transmit");
    connection.ask(25, b"RET", "transmit");
    if draw.below(3) == 0 {
        connection.answer(0, 28, b"\xde", "transmit");
        connection.answer(2, 28, b"BEEF", "transmit");
        connection.answer(1, 28, b"\xad", "signature");
        connection.ask(28, b"hello?", "signature");
    } else {
        connection.answer(0, 28, b"\xde\xbe\xef", "transmit");
    }
    connection.packets
}

fn datagrams(number: u16, draw: &mut Draw) -> Packets {
    let Connection { client, mut server, .. } = Connection::open(number);
    server.set_port(5_353);
    let mut packets = vec![(udp(client, server, b"question"), "transmit")];
    if draw.below(2) == 0 {
        packets.push((udp(server, client, b"\xde\xadbeef"), "signature"));
        packets.push((udp(client, server, b"again"), "signature"));
    } else {
        packets.push((udp(server, client, b"answer"), "transmit"));
        packets.push((udp(server, client, b"\xde\xadbeef, too late"), "transmit"));
    }
    packets
}

#[test]
fn streams_are_refused_by_their_beginning() {
    let mut draw = Draw(11);
    let mut traffic = Traffic::default();
    for round in 0..3_u16 {
        let flows = (0..240_u16).map(|flow| {
            let number = round * 240 + flow;
            match number % 5 {
                0 => attack(number, &mut draw),
                1 | 2 => harmless(number, &mut draw),
                3 => suspicious(number, &mut draw),
                _ => datagrams(number, &mut draw),
            }
        });
        traffic.together(flows.collect());
    }
    let files = [("Signatures", SIGNATURES.to_owned())];
    let left = Case::new("ids", &files, traffic).recorded().holds();
    assert!(left.outcomes["signature"] > 300 && left.outcomes["altered"] > 50, "{left:?}");
    assert!(left.records.len() > 150, "{} records", left.records.len());
}
