//! One client: an operation at a time, by UDP, and some writes by TCP.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::checker::{NEVER, Operation};
use crate::options::Options;
use crate::random::{Random, Ranks};

/// Bytes before the text in a datagram.
const HEAD: usize = 8;
/// Bits of a value that number a client's writes.
const WRITES: u32 = 40;

/// Common to all clients.
pub(crate) struct Shared<'a> {
    pub(crate) options: &'a Options,
    pub(crate) ranks: Ranks,
    pub(crate) begun: Instant,
    /// Items of this run have names of their own.
    pub(crate) run: u64,
    /// Operations that have begun.
    pub(crate) count: AtomicU64,
}

/// A client's experience.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) operations: Vec<Operation>,
    /// Nanoseconds of each answered read by UDP.
    pub(crate) reads: Vec<u32>,
    pub(crate) unanswered: u64,
    /// Answers that make no sense.
    pub(crate) faults: Vec<String>,
}

/// A client.
pub(crate) struct Client<'a> {
    shared: &'a Shared<'a>,
    number: u64,
    socket: UdpSocket,
    stream: Option<BufReader<TcpStream>>,
    random: Random,
    request: u16,
    writes: u64,
    bytes: Vec<u8>,
    seen: Seen,
}

impl<'a> Client<'a> {
    /// A client with a socket of its own.
    pub(crate) fn new(shared: &'a Shared<'a>, number: u64) -> Result<Self, String> {
        let options = shared.options;
        let at: SocketAddr = match options.server {
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(at).and_then(|socket| {
            socket.connect(options.server)?;
            socket.set_read_timeout(Some(options.patience))?;
            Ok(socket)
        });
        let socket = socket.map_err(|error| format!("no socket: {error}"))?;
        let random = Random::new(options.seed ^ number << 32);
        let (request, writes, bytes, seen) = (0, 0, vec![0; 2_048], Seen::default());
        Ok(Self { shared, number, socket, stream: None, random, request, writes, bytes, seen })
    }

    /// Does operations until all clients together have done all.
    pub(crate) fn run(mut self) -> Seen {
        let options = self.shared.options;
        while self.shared.count.fetch_add(1, Ordering::Relaxed) < options.operations {
            let item = self.shared.ranks.item(&mut self.random);
            if self.random.unit() < options.writes {
                let by_tcp = self.random.unit() < options.tcp;
                self.write(item, by_tcp);
            } else {
                self.read(item);
            }
        }
        self.seen
    }

    fn now(&self) -> u64 {
        self.shared.begun.elapsed().as_nanos() as u64 + 1
    }

    fn name(&self, item: u32) -> String {
        format!("{:x}:{item}", self.shared.run)
    }

    fn write(&mut self, item: u32, by_tcp: bool) {
        self.writes += 1;
        let value = (self.number + 1) << WRITES | self.writes;
        let (name, bytes) = (self.name(item), self.shared.options.bytes);
        let text = format!("set {name} 0 0 {bytes}\r\n{value:016x}{:.<1$}\r\n", "", bytes - 16);
        let begin = self.now();
        let answer = if by_tcp { self.by_tcp(&text) } else { self.by_udp(&text) };
        let end = match answer.as_deref() {
            Some(b"STORED\r\n") => self.now(),
            Some(other) => {
                self.fault(&text, other);
                NEVER
            }
            None => NEVER,
        };
        self.seen.unanswered += u64::from(end == NEVER);
        self.seen.operations.push(Operation { item, is_write: true, value, begin, end });
    }

    fn read(&mut self, item: u32) {
        let name = self.name(item);
        let text = format!("get {name}\r\n");
        let begin = self.now();
        let Some(answer) = self.by_udp(&text) else {
            self.seen.unanswered += 1;
            return;
        };
        let end = self.now();
        self.seen.reads.push(u32::try_from(end - begin).unwrap_or(u32::MAX));
        let value = match &answer[..] {
            b"END\r\n" => Some(0),
            _ => value_of(&answer, &name, self.shared.options.bytes),
        };
        match value {
            Some(value) => {
                self.seen.operations.push(Operation { item, is_write: false, value, begin, end });
            }
            None => self.fault(&text, &answer),
        }
    }

    fn fault(&mut self, asked: &str, answer: &[u8]) {
        self.seen.faults.push(format!("{asked:?}: {}", answer.escape_ascii()));
    }

    /// The answer to a datagram; `None` if none comes in time.
    fn by_udp(&mut self, text: &str) -> Option<Vec<u8>> {
        self.request = self.request.wrapping_add(1);
        let [high, low] = self.request.to_be_bytes();
        let datagram = [&[high, low, 0, 0, 0, 1, 0, 0], text.as_bytes()].concat();
        self.socket.send(&datagram).ok()?;
        let sent = Instant::now();
        while sent.elapsed() < self.shared.options.patience {
            match self.socket.recv(&mut self.bytes) {
                Ok(length) if length >= HEAD && self.bytes[..2] == [high, low] => {
                    return Some(self.bytes[HEAD..length].to_vec());
                }
                // An answer that comes late.
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        None
    }

    /// The line that answers a command by TCP; `None` if the connection breaks.
    fn by_tcp(&mut self, text: &str) -> Option<Vec<u8>> {
        let answer = self.exchange(text);
        if answer.is_none() {
            self.stream = None;
        }
        answer
    }

    fn exchange(&mut self, text: &str) -> Option<Vec<u8>> {
        let patience = self.shared.options.patience;
        if self.stream.is_none() {
            let stream = TcpStream::connect_timeout(&self.shared.options.server, patience).ok()?;
            stream.set_nodelay(true).ok()?;
            stream.set_read_timeout(Some(patience * 4)).ok()?;
            self.stream = Some(BufReader::new(stream));
        }
        let stream = self.stream.as_mut()?;
        stream.get_mut().write_all(text.as_bytes()).ok()?;
        let mut line = Vec::new();
        let length = stream.read_until(b'\n', &mut line).ok()?;
        (length > 0).then_some(line)
    }
}

/// The number in `VALUE NAME 0 BYTES`, the data, and `END`.
fn value_of(answer: &[u8], name: &str, bytes: usize) -> Option<u64> {
    let head = format!("VALUE {name} 0 {bytes}\r\n");
    let data = answer.strip_prefix(head.as_bytes())?.strip_suffix(b"\r\nEND\r\n")?;
    let number = data.get(..16).filter(|_| data.len() == bytes)?;
    u64::from_str_radix(str::from_utf8(number).ok()?, 16).ok()
}
