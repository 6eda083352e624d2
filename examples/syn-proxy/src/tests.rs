//! The handler, segment by segment.

use super::cookie::Offer;
use super::*;

const CLIENT: Address = Address::v4([198, 51, 100, 7]);
const SERVER: Address = Address::v4([10, 0, 0, 9]);
const CLIENT6: Address = Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
const SERVER6: Address = Address::v6([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
const SECOND: u64 = 1_000_000_000;
const FIN_ACK: u8 = 0x11;
const SYN: u8 = 2;
const RST: u8 = 4;
const RST_ACK: u8 = 0x14;
const ACK: u8 = 0x10;
const SYN_ACK: u8 = 0x12;
/// MSS 1400, SACK permitted, window scale 3.
const OFFER: [u8; 12] = [2, 4, 5, 0x78, 1, 1, 4, 2, 1, 3, 3, 3];
const CLIENT_SEQ: u32 = 0xffff_fffe;
const SERVER_SEQ: u32 = 77_000;

#[derive(Clone, Copy, Default)]
struct Segment<'a> {
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    options: &'a [u8],
    data: &'a [u8],
}

/// A frame with room to grow.
struct Wire {
    memory: [u8; 512],
    length: usize,
}

impl Wire {
    fn of(packet: &[u8]) -> Self {
        let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&[2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa], &kind[..], packet].concat();
        let mut memory = [0xee; 512];
        memory[..frame.len()].copy_from_slice(&frame);
        Self { memory, length: frame.len() }
    }

    fn packet(&mut self, meta: Meta) -> Packet<'_> {
        Packet::in_room(Roomy::new(&mut self.memory[..self.length + ROOM], self.length), meta)
    }

    /// The frame on the wire now; all its checksums are right.
    #[track_caller]
    fn read(&mut self) -> (FiveTuple, TcpHeader, TcpOptions, Vec<u8>) {
        let packet = self.packet(Meta::default());
        assert!(checksum::verify(&packet), "{packet:?}");
        let tcp = packet.tcp().expect("a segment");
        (packet.five_tuple().unwrap(), tcp, packet.tcp_options(), packet.payload().to_vec())
    }
}

fn ip([source, destination]: [Address; 2], protocol: u8, transport: &[u8]) -> Vec<u8> {
    let length = transport.len() as u16;
    let mut bytes = if let (Some(from), Some(to)) = (source.as_v4(), destination.as_v4()) {
        let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 50, protocol, 0, 0];
        head[2..4].copy_from_slice(&(20 + length).to_be_bytes());
        head.extend_from_slice(&[from, to].concat());
        let sum = checksum::internet(&head);
        head[10..12].copy_from_slice(&sum.to_be_bytes());
        head
    } else {
        let mut head = vec![0x60, 0, 0, 0, 0, 0, protocol, 50];
        head[4..6].copy_from_slice(&length.to_be_bytes());
        head.extend_from_slice(&[source.octets(), destination.octets()].concat());
        head
    };
    bytes.extend_from_slice(transport);
    bytes
}

fn tcp(ends: [Address; 2], ports: [u16; 2], segment: &Segment<'_>) -> Vec<u8> {
    let Segment { seq, ack, flags, window, options, data } = segment;
    let mut bytes = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
    bytes.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
    bytes.extend([((20 + options.len()) as u8 / 4) << 4, *flags]);
    bytes.extend(window.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend_from_slice(options);
    bytes.extend_from_slice(data);
    let sum = checksum::transport(ends[0], ends[1], protocol::TCP, &bytes);
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    ip(ends, protocol::TCP, &bytes)
}

/// A proxy, and the two ends that talk through it.
struct Bench {
    connections: cora::testing::TestTable<Connection>,
    settings: Settings,
    counts: Counts,
    now: u64,
    ends: [Address; 2],
}

impl Bench {
    fn new(ends: [Address; 2]) -> Self {
        Self {
            connections: cora::testing::table(),
            settings: Settings::default(),
            counts: cora::testing::replica(),
            now: 1000 * SECOND,
            ends,
        }
    }

    fn handle(&mut self, wire: &mut Wire, port: Port) -> Verdict {
        cora::testing::at(&mut self.connections, self.now);
        let mut packet = wire.packet(Meta { port, now: self.now, ..Meta::default() });
        let verdict =
            syn_proxy(&mut packet, &mut self.connections, &self.settings, &mut self.counts);
        wire.length = packet.len();
        cora::testing::commit(&mut self.counts);
        verdict
    }

    /// The client sends a segment; the result.
    fn client(&mut self, segment: Segment<'_>) -> (Verdict, Wire) {
        let mut wire = Wire::of(&tcp(self.ends, [5000, 80], &segment));
        let verdict = self.handle(&mut wire, Port::OUTSIDE);
        (verdict, wire)
    }

    fn server(&mut self, segment: Segment<'_>) -> (Verdict, Wire) {
        let [client, server] = self.ends;
        let mut wire = Wire::of(&tcp([server, client], [80, 5000], &segment));
        let verdict = self.handle(&mut wire, Port::INSIDE);
        (verdict, wire)
    }

    fn entries(&mut self) -> u64 {
        use cora::__private::core::state::Home as _;
        self.connections.entries(self.now)
    }

    /// The client's SYN with these options; the cookie that it gets.
    #[track_caller]
    fn knock(&mut self, options: &[u8]) -> (u32, TcpOptions) {
        let syn = Segment {
            seq: CLIENT_SEQ,
            flags: SYN,
            window: 64_000,
            options,
            data: b"early",
            ..Segment::default()
        };
        let (verdict, mut wire) = self.client(syn);
        assert_eq!(verdict, Redirect(Port::OUTSIDE));
        let (flow, tcp, said, data) = wire.read();
        assert_eq!((flow.source, flow.destination), (self.ends[1], self.ends[0]));
        assert_eq!((flow.source_port, flow.destination_port), (80, 5000));
        assert_eq!((tcp.flags.0, tcp.ack, tcp.window), (SYN_ACK, CLIENT_SEQ.wrapping_add(1), 0));
        assert!(data.is_empty());
        (tcp.seq, said)
    }

    /// Up to the server's SYN; the cookie.
    #[track_caller]
    fn open(&mut self, options: &[u8]) -> u32 {
        let (cookie, _) = self.knock(options);
        let (verdict, mut wire) = self.client(acknowledge(cookie));
        assert_eq!(verdict, Transmit);
        let (flow, tcp, ..) = wire.read();
        assert_eq!((flow.source, flow.destination), (self.ends[0], self.ends[1]));
        assert_eq!((tcp.flags.0, tcp.seq, tcp.ack), (SYN, CLIENT_SEQ, 0));
        cookie
    }

    /// Up to where the client knows that its window is open.
    #[track_caller]
    fn establish(&mut self, options: &[u8], server_options: &[u8]) -> u32 {
        let cookie = self.open(options);
        let (verdict, mut wire) = self.server(Segment { options: server_options, ..ANSWER });
        assert_eq!(verdict, Transmit);
        let (_, tcp, said, data) = wire.read();
        assert_eq!((tcp.flags.0, tcp.seq, tcp.ack), (ACK, cookie, CLIENT_SEQ.wrapping_add(1)));
        assert_eq!((said, data.len()), (TcpOptions::default(), 1));
        let (verdict, mut wire) = self.client(acknowledge(cookie));
        assert_eq!(verdict, Transmit);
        let (_, tcp, ..) = wire.read();
        assert_eq!(
            (tcp.flags.0, tcp.seq, tcp.ack),
            (ACK, CLIENT_SEQ.wrapping_add(1), SERVER_SEQ + 1)
        );
        cookie
    }
}

const ANSWER: Segment<'_> = Segment {
    seq: SERVER_SEQ,
    ack: CLIENT_SEQ.wrapping_add(1),
    flags: SYN_ACK,
    window: 64_000,
    options: &[],
    data: &[],
};

fn acknowledge(cookie: u32) -> Segment<'static> {
    let (seq, ack) = (CLIENT_SEQ.wrapping_add(1), cookie.wrapping_add(1));
    Segment { seq, ack, flags: ACK, window: 8_000, ..Segment::default() }
}

#[test]
fn a_connection_is_opened_spliced_and_closed() {
    for ends in [[CLIENT, SERVER], [CLIENT6, SERVER6]] {
        let mut bench = Bench::new(ends);
        let cookie = bench.establish(&OFFER, &[3, 3, 9, 0]);
        let seq = CLIENT_SEQ.wrapping_add(1);
        // A question, with a block of segments out of order.
        let [e0, e1, e2, e3] = cookie.wrapping_add(500).to_be_bytes();
        let block = [1, 1, 5, 10, e0, e1, e2, e3, e0, e1, e2, e3];
        let ask = Segment { options: &block, data: b"ask", ..acknowledge(cookie) };
        let (verdict, mut wire) = bench.client(ask);
        assert_eq!(verdict, Transmit);
        let (_, tcp, _, data) = wire.read();
        assert_eq!(
            (tcp.seq, tcp.ack, tcp.window, &data[..]),
            (seq, SERVER_SEQ + 1, 8_000, &b"ask"[..])
        );
        let head = if ends[0].is_v4() { 34 } else { 54 };
        let edge = (SERVER_SEQ + 500).to_be_bytes();
        assert_eq!(wire.memory[head + 24..head + 32], [edge, edge].concat());
        // The answer; its window is in another scale than promised.
        let tell = Segment {
            seq: SERVER_SEQ + 1,
            ack: seq.wrapping_add(3),
            flags: ACK,
            window: 100,
            data: b"tell",
            ..Segment::default()
        };
        let (verdict, mut wire) = bench.server(tell);
        assert_eq!(verdict, Transmit);
        let (_, tcp, _, data) = wire.read();
        assert_eq!(
            (tcp.seq, tcp.ack, &data[..]),
            (cookie.wrapping_add(1), seq.wrapping_add(3), &b"tell"[..])
        );
        assert_eq!(tcp.window, 400, "100 << 9 >> 7");
        // Both end.
        bench.server(Segment { seq: SERVER_SEQ + 5, flags: FIN_ACK, data: b"", ..tell }).0.unwrap();
        let end = Segment {
            seq: seq.wrapping_add(3),
            ack: cookie.wrapping_add(6),
            flags: FIN_ACK,
            ..acknowledge(cookie)
        };
        let (verdict, mut wire) = bench.client(end);
        assert_eq!((verdict, wire.read().1.ack), (Transmit, SERVER_SEQ + 6));
        bench.now += 121 * SECOND;
        assert_eq!(bench.entries(), 0);
    }
}

#[test]
fn what_was_offered_is_in_the_cookie() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let (_, said) = bench.knock(&OFFER);
    let told = TcpOptions {
        mss: Some(1300),
        window_scale: Some(7),
        sack_permitted: true,
        ..TcpOptions::default()
    };
    assert_eq!(said, told);
    let cookie = bench.knock(&OFFER).0;
    let (_, mut wire) = bench.client(acknowledge(cookie));
    let (_, tcp, said, _) = wire.read();
    assert_eq!(said, TcpOptions { window_scale: Some(3), ..told });
    assert_eq!(tcp.window, 64_000, "8000 << 3, as a SYN's");
    // Nothing offered, nothing told but a size.
    let mut bench = Bench::new([CLIENT6, SERVER6]);
    let none = TcpOptions { mss: Some(1220), ..TcpOptions::default() };
    assert_eq!(bench.knock(&[]).1, none);
    let cookie = bench.knock(&[]).0;
    let (_, mut wire) = bench.client(acknowledge(cookie));
    assert_eq!(wire.read().2, none);
    // Then windows stay as they are.
    bench.server(ANSWER).0.unwrap();
    let (_, mut wire) = bench.client(acknowledge(cookie));
    assert_eq!(wire.read().1.window, 8_000);
}

#[test]
fn a_server_that_scales_nothing_gets_whole_windows() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let cookie = bench.establish(&OFFER, &[]);
    let (_, mut wire) = bench.client(Segment { window: 9_000, ..acknowledge(cookie) });
    assert_eq!(wire.read().1.window, u16::MAX, "9000 << 3 is more than there can be");
    let (_, mut wire) =
        bench.server(Segment { flags: ACK, seq: SERVER_SEQ + 1, window: 12_800, ..ANSWER });
    assert_eq!(wire.read().1.window, 100);
}

#[test]
fn a_flood_leaves_no_entries() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    for number in 0..2_000_u16 {
        bench.ends[0] = Address::v4([203, 0, (number >> 8) as u8, number as u8]);
        bench.knock(&OFFER);
        // And acknowledgements made up.
        let guess = acknowledge(u32::from(number).wrapping_mul(0x9e37_79b9));
        assert_eq!(bench.client(guess).0, Redirect(Port::OUTSIDE));
    }
    assert_eq!(bench.entries(), 0);
    assert_eq!((bench.counts.syns_answered.value(), bench.counts.resets.value()), (2_000, 2_000));
    assert_eq!(bench.counts.opened.value(), 0);
}

#[test]
fn a_cookie_is_good_for_its_ends_its_number_and_its_time() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let (cookie, _) = bench.knock(&OFFER);
    let good = acknowledge(cookie);
    let other = Segment { seq: good.seq.wrapping_add(2), ..good };
    let changed = Segment { ack: good.ack ^ 1 << 9, ..good };
    for wrong in [other, changed] {
        let (verdict, mut wire) = bench.client(wrong);
        assert_eq!(verdict, Redirect(Port::OUTSIDE));
        let (_, tcp, ..) = wire.read();
        assert_eq!((tcp.flags.0, tcp.seq), (RST, wrong.ack));
    }
    bench.ends[0] = Address::v4([198, 51, 100, 8]);
    assert_eq!(bench.client(good).0, Redirect(Port::OUTSIDE));
    bench.ends[0] = CLIENT;
    bench.settings.secret[0] ^= 1;
    assert_eq!(bench.client(good).0, Transmit, "the secret of before");
    bench = Bench::new([CLIENT, SERVER]);
    bench.settings.secret[0] ^= 1;
    bench.settings.previous[0] ^= 1;
    assert_eq!(bench.client(good).0, Redirect(Port::OUTSIDE), "another secret");
    for (seconds, verdict) in [(68, Transmit), (138, Redirect(Port::OUTSIDE))] {
        let mut bench = Bench::new([CLIENT, SERVER]);
        bench.now += seconds * SECOND;
        assert_eq!(bench.client(good).0, verdict, "{seconds} s later");
    }
}

#[test]
fn every_offer_comes_back_from_its_cookie() {
    let (settings, bench) = (Settings::default(), Bench::new([CLIENT, SERVER]));
    let mut wire = Wire::of(&tcp(bench.ends, [5000, 80], &ANSWER));
    let flow = wire.read().0;
    for bits in 0..2_000_u64 {
        let said = TcpOptions {
            mss: (bits & 1 == 0).then_some(400 + bits as u16),
            window_scale: (bits % 3 != 0).then_some((bits % 15) as u8),
            sack_permitted: bits % 5 < 2,
            timestamps: None,
        };
        let (now, seq) = (bits * SECOND, (bits as u32).wrapping_mul(0x0101_0101));
        let (cookie, offer) = settings.cookie(&flow, seq, &said, now);
        assert_eq!(offer.sack, said.sack_permitted);
        assert!(offer.mss <= said.mss.unwrap_or(536).max(536));
        let (_, mut header, ..) = wire.read();
        header.ack = cookie.wrapping_add(1);
        for ahead in [0, 1] {
            header.seq = seq.wrapping_add(ahead);
            let read: Option<(u32, Offer)> = settings.offered(&flow, &header, now + 60 * SECOND);
            assert_eq!(read, Some((seq, offer)));
        }
    }
}

#[test]
fn a_lost_syn_is_sent_again_when_the_client_asks_for_its_window() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let cookie = bench.open(&OFFER);
    let probe = Segment { seq: CLIENT_SEQ, ..acknowledge(cookie) };
    let (verdict, mut wire) = bench.client(probe);
    assert_eq!((verdict, wire.read().1.flags.0, wire.read().1.seq), (Transmit, SYN, CLIENT_SEQ));
    assert_eq!(bench.entries(), 1);
    // Also where the first acknowledgement was lost, so that the probe opens.
    let mut bench = Bench::new([CLIENT, SERVER]);
    let (cookie, _) = bench.knock(&OFFER);
    let (verdict, mut wire) = bench.client(Segment { seq: CLIENT_SEQ, ..acknowledge(cookie) });
    assert_eq!((verdict, wire.read().1.flags.0, wire.read().1.seq), (Transmit, SYN, CLIENT_SEQ));
    // The server's answer again wakes the client again.
    for _ in 0..2 {
        let (verdict, mut wire) = bench.server(ANSWER);
        assert_eq!((verdict, wire.read().1.seq), (Transmit, cookie));
    }
}

#[test]
fn a_server_that_refuses_is_heard() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let cookie = bench.open(&OFFER);
    let no = Segment { seq: 0, flags: RST_ACK, ..ANSWER };
    assert_eq!(bench.server(Segment { ack: 9, ..no }).0, Drop(BadTcpState), "a guess");
    let (verdict, mut wire) = bench.server(no);
    let (_, tcp, ..) = wire.read();
    assert_eq!((verdict, tcp.flags.0, tcp.seq), (Transmit, RST_ACK, cookie.wrapping_add(1)));
    // The client may try again at once.
    bench.open(&OFFER);
    // A server that still has an old connection is told to forget it.
    let old = Segment { seq: 5, ack: 4_000, flags: ACK, ..Segment::default() };
    let (verdict, mut wire) = bench.server(old);
    let (_, tcp, ..) = wire.read();
    assert_eq!((verdict, tcp.flags.0, tcp.seq), (Redirect(Port::INSIDE), RST, 4_000));
    assert_eq!(bench.server(ANSWER).0, Transmit);
}

#[test]
fn a_client_that_gives_up_takes_the_server_s_connection_along() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let cookie = bench.open(&OFFER);
    let (verdict, mut wire) = bench.client(Segment { flags: RST_ACK, ..acknowledge(cookie) });
    let (_, tcp, ..) = wire.read();
    assert_eq!(
        (verdict, tcp.flags.0, tcp.seq, tcp.ack),
        (Transmit, RST, CLIENT_SEQ.wrapping_add(1), 0)
    );
    bench.now += 11 * SECOND;
    assert_eq!(bench.entries(), 0);
}

#[test]
fn what_inside_opens_passes_as_it_is() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let segments = [
        (Port::INSIDE, Segment { seq: 9, flags: SYN, options: &OFFER, ..Segment::default() }),
        (Port::OUTSIDE, Segment { seq: 70, ack: 10, flags: SYN_ACK, ..Segment::default() }),
        (Port::INSIDE, Segment { seq: 10, ack: 71, flags: ACK, data: b"x", ..Segment::default() }),
        (Port::OUTSIDE, Segment { seq: 71, ack: 11, flags: ACK, data: b"y", ..Segment::default() }),
    ];
    for (port, segment) in segments {
        let ends = if port == Port::INSIDE { [SERVER, CLIENT] } else { [CLIENT, SERVER] };
        let ports = if port == Port::INSIDE { [6000, 25] } else { [25, 6000] };
        let sent = tcp(ends, ports, &segment);
        let mut wire = Wire::of(&sent);
        assert_eq!(bench.handle(&mut wire, port), Transmit);
        assert_eq!(wire.memory[14..wire.length], sent);
    }
    assert_eq!(bench.counts.syns_answered.value(), 0);
    // Other transports, too; and a fragment of TCP is none that could be spliced.
    let mut other = Wire::of(&ip([CLIENT, SERVER], protocol::UDP, &[0, 1, 0, 2, 0, 8, 0, 0]));
    assert_eq!(bench.handle(&mut other, Port::OUTSIDE), Transmit);
    let mut fragment = tcp([CLIENT, SERVER], [5000, 80], &segments[0].1);
    fragment[6..8].copy_from_slice(&[0x20, 0]);
    fragment[10..12].fill(0);
    let sum = checksum::internet(&fragment[..20]);
    fragment[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(bench.handle(&mut Wire::of(&fragment), Port::OUTSIDE), Drop(Fragment));
}

#[test]
fn damage_opens_nothing() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let (cookie, _) = bench.knock(&OFFER);
    let mut wire = Wire::of(&tcp(bench.ends, [5000, 80], &acknowledge(cookie)));
    wire.memory[14 + 20 + 15] ^= 1;
    assert_eq!(bench.handle(&mut wire, Port::OUTSIDE), Drop(BAD_CHECKSUM));
    assert_eq!(bench.entries(), 0);
}

#[test]
fn an_error_quotes_what_the_server_sent() {
    let mut bench = Bench::new([CLIENT, SERVER]);
    let cookie = bench.establish(&OFFER, &[]);
    let sent = Segment { seq: cookie.wrapping_add(1), flags: ACK, data: b"too big", ..ANSWER };
    let quoted = tcp([SERVER, CLIENT], [80, 5000], &sent);
    let mut message = [&[3, 4, 0, 0, 0, 0, 5, 0], &quoted[..]].concat();
    let sum = checksum::internet(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let router = Address::v4([198, 51, 100, 1]);
    let mut wire = Wire::of(&ip([router, SERVER], protocol::ICMP, &message));
    assert_eq!(bench.handle(&mut wire, Port::OUTSIDE), Transmit);
    assert_eq!(wire.memory[14 + 28 + 24..14 + 28 + 28], (SERVER_SEQ + 1).to_be_bytes());
    assert!(checksum::verify(&wire.packet(Meta::default())));
}

#[test]
fn settings_are_read_or_refused() {
    let secret = "00112233445566778899aabbccddeeff";
    let read = Settings::configure(&format!("# ours\nsecret {secret}\nmss 1400\n")).unwrap();
    assert_eq!(read.secret, [0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff]);
    assert_eq!((read.previous, read.mss), (read.secret, 1400));
    let both = format!("secret {secret}\nprevious {}", secret.replace('0', "1"));
    assert_ne!(Settings::configure(&both).unwrap().previous, read.secret);
    for wrong in ["", "mss 1400", "secret 12", "secret", "secret +0112233445566778899aabbccddeeff"]
    {
        assert!(Settings::configure(wrong).is_err(), "{wrong}");
    }
    for wrong in ["mss 100", "mss many", "key 1", &format!("secret {secret}")] {
        assert!(Settings::configure(&format!("secret {secret}\n{wrong}")).is_err(), "{wrong}");
    }
}
