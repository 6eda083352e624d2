//! A client, which asks until it has an answer, and notes its history.

use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cora::prelude::*;

use crate::history::{Deed, Event};
use crate::wire::{Answer, Command, Datagram, Name, Operation, Said, Told, Value};

/// After how long a client asks again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a client asks until it gives up.
const LIMIT: Duration = Duration::from_mins(1);

/// The work of clients.
#[derive(Clone)]
pub struct Wanted {
    pub nodes: Vec<SocketAddr>,
    pub group: u32,
    pub names: u64,
    /// Of a hundred operations, so many are puts.
    pub puts: u64,
    /// A number that no earlier run had: its names have no values yet, and its clients are new.
    pub run: u64,
    /// Times of events count from here.
    pub begin: Instant,
}

impl Wanted {
    /// As many puts as gets, of a thousand names.
    pub fn new(nodes: Vec<SocketAddr>) -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (run, begin) = (since.as_micros() as u64, Instant::now());
        Self { nodes, group: 1, names: 1_000, puts: 50, run, begin }
    }
}

/// A client, which does one thing at a time.
pub struct Client {
    wanted: Wanted,
    socket: UdpSocket,
    /// The node that it asks.
    node: usize,
    name: u64,
    number: u64,
    random: u64,
    /// Questions that were asked again.
    pub again: u64,
    pub took: Vec<Duration>,
    pub events: Vec<Event>,
}

impl Client {
    /// The client of this number.
    ///
    /// # Errors
    /// If there is no socket for it.
    pub fn new(wanted: &Wanted, number: u64) -> Result<Self, String> {
        let any = if wanted.nodes[0].is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).map_err(|error| format!("no socket: {error}"))?;
        let limited = socket.set_read_timeout(Some(AGAIN));
        limited.map_err(|error| format!("no time limit for a socket: {error}"))?;
        Ok(Self {
            wanted: wanted.clone(),
            socket,
            node: number as usize % wanted.nodes.len(),
            name: (wanted.run << 10) + number,
            number: 0,
            random: wanted.run << 10 | number << 1 | 1,
            again: 0,
            took: Vec::new(),
            events: Vec::new(),
        })
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Asks until there is an answer.
    fn ask(&mut self, operation: Operation) -> Result<Told, String> {
        self.number += 1;
        let number = self.number;
        let command = Command { client: self.name, number, operation };
        let said = Said::Request { command };
        let question = cora::testing::written(&Datagram { group: self.wanted.group, said });
        let start = Instant::now();
        let mut buffer = [0; 2_048];
        while start.elapsed() < LIMIT {
            // While nobody has the address, the kernel refuses.
            let _refused = self.socket.send_to(&question, self.wanted.nodes[self.node]);
            let sent = Instant::now();
            while let Ok((length, _)) = self.socket.recv_from(&mut buffer) {
                let Ok(answer) = Answer::of_datagram(&buffer[..length]) else { continue };
                if answer.number != number {
                    continue;
                }
                match answer.said {
                    Told::Elsewhere { leader } => {
                        let leader = usize::from(leader) % self.wanted.nodes.len();
                        if leader == self.node {
                            // None leads yet.
                            thread::sleep(Duration::from_millis(10));
                        }
                        self.node = leader;
                        break;
                    }
                    Told::Busy => {
                        thread::sleep(Duration::from_millis(1));
                        break;
                    }
                    said => return Ok(said),
                }
            }
            self.again += 1;
            if sent.elapsed() >= AGAIN {
                self.node = (self.node + 1) % self.wanted.nodes.len();
            }
        }
        Err(format!("no node answers within {} s: do they run?", LIMIT.as_secs()))
    }

    /// Does one operation on a random name.
    ///
    /// # Errors
    /// If no node answers, or one says nonsense.
    pub fn operate(&mut self) -> Result<(), String> {
        let (run, name) = (self.wanted.run, self.random(self.wanted.names));
        let name = format!("{run:x}:{name}");
        let key = Name::of(name.as_bytes()).map_err(|_| "a long name")?;
        let is_put = self.random(100) < self.wanted.puts;
        let value = format!("{:x}:{}", self.name, self.number + 1);
        let operation = if is_put {
            let value = Value::of(value.as_bytes()).map_err(|_| "a long value")?;
            Operation::Put { name: key, value }
        } else {
            Operation::Get { name: key }
        };
        let begin = self.wanted.begin;
        let start = begin.elapsed();
        let said = self.ask(operation)?;
        let end = begin.elapsed();
        let deed = match said {
            Told::Stored { .. } if is_put => Deed::Wrote(Some(value.into_bytes())),
            Told::Is { value } if !is_put => Deed::Read(Some(value.to_vec())),
            Told::Nothing if !is_put => Deed::Read(None),
            said => return Err(format!("{said:?} is no answer to this question")),
        };
        self.took.push(end.saturating_sub(start));
        let (start, end) = (start.as_nanos() as u64, Some(end.as_nanos() as u64));
        self.events.push(Event { name: name.into_bytes(), start, end, deed });
        Ok(())
    }
}
