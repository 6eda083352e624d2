//! Connections that outside clients open to inside servers, in captures for a SYN proxy. The
//! clients acknowledge its cookies, so its answers to their openings are learnt first.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use cora::prelude::{Address, Packet, checksum, protocol};
use cora_traffic::pcap::Writer;

use crate::captures::each;

/// Clients. Every fifth never acknowledges anything.
const CLIENTS: u16 = 400;
const FIN_ACK: u8 = 0x11;
const SYN: u8 = 2;
const RST_ACK: u8 = 0x14;
const PSH_ACK: u8 = 0x18;
const ACK: u8 = 0x10;
const SYN_ACK: u8 = 0x12;
/// Options: maximum segment size, selective acknowledgements, window scale.
const OFFER: [u8; 12] = [2, 4, 5, 0xb4, 1, 1, 4, 2, 1, 3, 3, 8];
const MILLISECOND: u64 = 1_000_000;

/// A client's connection. Its segments follow each other at equal distances.
struct Connection {
    number: u16,
    client: Address,
    server: Address,
    /// The next sequence numbers of the client and of the server, in each one's own count.
    next: [u32; 2],
    server_first: u32,
    cookie: u32,
    at: u64,
    frames: Vec<(u64, Vec<u8>)>,
}

/// The sender of a segment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Client,
    Server,
}

impl Connection {
    fn new(number: u16, begins: u64) -> Self {
        let [high, low] = number.to_be_bytes();
        let is_six = number % 4 == 3;
        let six = |first: [u8; 4]| {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&first);
            octets[14..].copy_from_slice(&[high, low]);
            Address::v6(octets)
        };
        let (client, server) = if is_six {
            (six([0x20, 1, 0xd, 0xb8]), six([0xfd, 9, 0, 0]))
        } else {
            (Address::v4([198, 18, high, low]), Address::v4([10, 99, 0, low % 50]))
        };
        let first = |salt: u32| (u32::from(number) + salt).wrapping_mul(0x9e37_79b9);
        let (next, server_first) = ([first(0), first(7)], first(7));
        let (cookie, at, frames) = (0, begins, Vec::new());
        Self { number, client, server, next, server_first, cookie, at, frames }
    }

    const fn port(&self) -> u16 {
        20_000 + self.number
    }

    /// Adds the next segment. It acknowledges everything that the other end has sent, as this end
    /// knows it.
    fn say(&mut self, end: End, flags: u8, options: &[u8], data: &[u8]) {
        let [client, server] = self.next;
        // The cookie stands in for the server's first number until the server has sent it.
        let heard = self.cookie.wrapping_add(server.wrapping_sub(self.server_first).max(1));
        let (seq, ack) = if end == End::Client { (client, heard) } else { (server, client) };
        let ack = if flags & ACK == 0 { 0 } else { ack };
        let window = 3_000 + self.number;
        let words = ((20 + options.len()) as u8 / 4) << 4;
        let (from, to) = (self.port().to_be_bytes(), [0, 80]);
        let ports = if end == End::Client { [from, to] } else { [to, from] };
        let mut segment = ports.concat();
        segment.extend([seq.to_be_bytes(), ack.to_be_bytes()].concat());
        segment.extend([words, flags]);
        segment.extend(window.to_be_bytes());
        segment.extend([0; 4]);
        segment.extend_from_slice(options);
        segment.extend_from_slice(data);
        let ends = [self.client, self.server];
        let ends = if end == End::Client { ends } else { [ends[1], ends[0]] };
        let sum = checksum::transport(ends[0], ends[1], protocol::TCP, &segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        let frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &ip(ends, &segment)].concat();
        self.frames.push((self.at, frame));
        self.at += MILLISECOND * u64::from(1 + self.number % 5);
        let counts = data.len() as u32 + u32::from(flags & 3 != 0);
        let mine = &mut self.next[usize::from(end == End::Server)];
        *mine = mine.wrapping_add(counts);
    }

    fn options(&self) -> &'static [u8] {
        if self.number.is_multiple_of(7) { &[] } else { &OFFER }
    }

    fn knock(&mut self) {
        self.say(End::Client, SYN, self.options(), b"");
    }

    /// Adds the whole connection, once the proxy's answer is known.
    fn talk(&mut self, cookie: u32) {
        self.cookie = cookie;
        self.knock();
        if self.number % 5 == 4 {
            return;
        }
        self.say(End::Client, ACK, &[], b"");
        if self.number % 11 == 10 {
            return self.say(End::Server, RST_ACK, &[], b"");
        }
        self.say(End::Server, SYN_ACK, self.options(), b"");
        self.say(End::Client, ACK, &[], b"");
        for round in 0..3 + self.number % 6 {
            let question = vec![round as u8; usize::from(self.number % 90)];
            self.say(End::Client, PSH_ACK, &[], &question);
            self.say(End::Server, PSH_ACK, &[], &vec![!round as u8; 300]);
            let edge = self.cookie.wrapping_add(900).to_be_bytes();
            let block = [&[1, 1, 5, 10][..], &edge, &edge].concat();
            self.say(End::Client, ACK, &block, b"");
        }
        if self.number % 6 != 5 {
            self.say(End::Server, FIN_ACK, &[], b"");
            self.say(End::Client, FIN_ACK, &[], b"");
            self.say(End::Server, ACK, &[], b"");
        }
    }
}

/// Returns the type of an Ethernet frame, and an IP packet around a segment.
fn ip([source, destination]: [Address; 2], segment: &[u8]) -> Vec<u8> {
    let length = segment.len() as u16;
    let head = if let (Some(from), Some(to)) = (source.as_v4(), destination.as_v4()) {
        let mut head = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 55, protocol::TCP, 0, 0];
        head[2..4].copy_from_slice(&(20 + length).to_be_bytes());
        head.extend([from, to].concat());
        let sum = checksum::internet(&head).to_be_bytes();
        head[10..12].copy_from_slice(&sum);
        [&[8, 0][..], &head].concat()
    } else {
        let mut head = vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol::TCP, 55];
        head[6..8].copy_from_slice(&length.to_be_bytes());
        head.extend([source.octets(), destination.octets()].concat());
        head
    };
    [&head[..], segment].concat()
}

/// Returns the clients, spread over the time of a capture, and the frames of the capture.
fn clients(original: &Path) -> (Vec<Connection>, Vec<(u64, Vec<u8>)>) {
    let mut frames = Vec::new();
    each(original, |time, packet| frames.push((time, packet.frame().to_vec())));
    let times = || frames.iter().map(|(time, _)| *time);
    let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let begins = |number: u16| first + (last - first) * u64::from(number) / u64::from(CLIENTS);
    ((0..CLIENTS).map(|number| Connection::new(number, begins(number))).collect(), frames)
}

fn write(mut frames: Vec<(u64, Vec<u8>)>, out: &Path) {
    frames.sort_by_key(|(time, _)| *time);
    let to = File::create(out).map(BufWriter::new);
    let to = to.unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let mut writer = Writer::new(to).unwrap_or_else(|error| panic!("{error}"));
    for (time, frame) in frames {
        writer.write(time, &frame).unwrap_or_else(|error| panic!("{error}"));
    }
    writer.finish().unwrap_or_else(|error| panic!("{error}"));
}

/// Returns whether the packet is an opening of one of these clients, seen by a server.
pub fn is_opening(packet: &Packet<'_>) -> bool {
    let is_theirs = packet.source().is_ok_and(|source| {
        let octets = source.octets();
        source.as_v4().map_or(octets[..4] == [0x20, 1, 0xd, 0xb8], |four| four[..2] == [198, 18])
    });
    is_theirs && packet.tcp_flags().is_some_and(|flags| flags.0 == SYN)
}

/// Puts the clients' openings into a capture.
pub fn knocks(original: &Path, out: &Path) {
    let (clients, mut frames) = clients(original);
    for mut client in clients {
        client.knock();
        frames.append(&mut client.frames);
    }
    write(frames, out);
}

/// Puts whole connections into the capture; `answered` is the proxy's output on their openings.
pub fn connections(original: &Path, answered: &Path, out: &Path) {
    let mut cookies = BTreeMap::new();
    each(answered, |_, packet| {
        if let (Ok(flow), Some(tcp)) = (packet.five_tuple(), packet.tcp())
            && tcp.flags.0 == SYN_ACK
        {
            cookies.insert((flow.destination, flow.destination_port), tcp.seq);
        }
    });
    let (clients, mut frames) = clients(original);
    for mut client in clients {
        let cookie = cookies.get(&(client.client, client.port()));
        let cookie = cookie.unwrap_or_else(|| panic!("client {} got no answer", client.number));
        client.talk(*cookie);
        frames.append(&mut client.frames);
    }
    write(frames, out);
}
