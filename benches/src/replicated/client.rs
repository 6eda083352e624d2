//! The client of the example's nodes over UDP: one socket, and as many of the example's clients as
//! puts are outstanding. Each of those asks the next one when it has its answer.

use std::io::{Error, ErrorKind, Result};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

use super::outstanding::{Outstanding, Took};
use super::wire::{self, Said};

/// Without an answer for so long, all is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// A put is stored after this time at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client of three nodes.
#[derive(Debug)]
pub(super) struct Client {
    socket: UdpSocket,
    nodes: Vec<SocketAddrV4>,
    /// The node that is asked.
    leader: usize,
    turn: u64,
}

impl Client {
    pub(super) fn of(nodes: Vec<SocketAddrV4>) -> Result<Self> {
        let socket = UdpSocket::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
        socket.set_read_timeout(Some(AGAIN))?;
        Ok(Self { socket, nodes, leader: 0, turn: 0 })
    }

    /// Puts for so long, with so many outstanding; at least one put is stored.
    pub(super) fn run(&mut self, window: usize, time: Duration) -> Result<Took> {
        let mut puts = Outstanding::of(window);
        let (begun, mut heard) = (Instant::now(), Instant::now());
        let mut stored = 0;
        while begun.elapsed() < time || stored == 0 {
            self.fill(&mut puts)?;
            if self.hear(&mut puts)? {
                (stored, heard) = (stored + 1, Instant::now());
            } else if heard.elapsed() > PATIENCE {
                return Err(Error::new(ErrorKind::TimedOut, "no node stores anything"));
            }
        }
        Ok(puts.end())
    }

    /// Each client that waits for nothing asks.
    fn fill(&mut self, puts: &mut Outstanding) -> Result<()> {
        let free: Vec<usize> = puts.free().collect();
        for client in free {
            self.turn += 1;
            let number = wire::number(client, self.turn);
            puts.ask(client, number, Instant::now());
            self.send(number)?;
        }
        Ok(())
    }

    /// Takes an answer; returns whether a put is stored.
    fn hear(&mut self, puts: &mut Outstanding) -> Result<bool> {
        let mut answer = [0; 256];
        let said = match self.socket.recv(&mut answer) {
            Ok(length) => wire::answer(&answer[..length]),
            Err(error) if is_silence(&error) => {
                // The leader is gone, or there is none yet: somebody knows.
                self.leader = (self.leader + 1) % self.nodes.len();
                self.repeat(puts)?;
                None
            }
            Err(error) => return Err(error),
        };
        let Some((number, said)) = said else { return Ok(false) };
        let client = wire::client_of(number);
        match said {
            Said::Stored => return Ok(puts.answered(client, number, Instant::now())),
            _ if !puts.waits(client, number) => {}
            Said::Elsewhere(leader) => {
                if leader % self.nodes.len() == self.leader {
                    std::thread::sleep(Duration::from_millis(5));
                }
                self.leader = leader % self.nodes.len();
                self.send(number)?;
            }
            Said::Busy => self.send(number)?,
        }
        Ok(false)
    }

    /// All that waits is asked again.
    fn repeat(&self, puts: &Outstanding) -> Result<()> {
        puts.numbers().try_for_each(|number| self.send(number))
    }

    fn send(&self, number: u64) -> Result<()> {
        match self.socket.send_to(&wire::request(number), self.nodes[self.leader]) {
            // Nobody is there yet.
            Err(error) if !is_silence(&error) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Nobody says anything, or the kernel says that nobody is there.
fn is_silence(error: &Error) -> bool {
    use ErrorKind::{ConnectionRefused, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// Three sockets: the third one leads, loses some datagrams, and stores each number once.
    #[test]
    fn the_client_finds_the_leader_and_asks_again_what_is_lost() {
        let sockets: Vec<UdpSocket> =
            (0..3).map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")).collect();
        let address = |socket: &UdpSocket| match socket.local_addr() {
            Ok(std::net::SocketAddr::V4(address)) => address,
            other => panic!("{other:?}"),
        };
        let nodes = sockets.iter().map(address).collect();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for (me, socket) in sockets.iter().enumerate() {
                let stop = &stop;
                let time = Some(Duration::from_millis(5));
                socket.set_read_timeout(time).expect("a time limit");
                scope.spawn(move || {
                    let (mut buffer, mut came) = ([0; 256], 0);
                    while !stop.load(Ordering::Relaxed) {
                        let Ok((_, from)) = socket.recv_from(&mut buffer) else { continue };
                        came += 1;
                        if came % 50 == 7 {
                            continue;
                        }
                        let mut answer = [&buffer[..4], &buffer[13..21]].concat();
                        match me {
                            2 => answer.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0]),
                            _ => answer.extend_from_slice(&[3, 2]),
                        }
                        let _gone = socket.send_to(&answer, from);
                    }
                });
            }
            let ran =
                Client::of(nodes).and_then(|mut client| client.run(4, Duration::from_millis(600)));
            stop.store(true, Ordering::Relaxed);
            let stored = ran.expect("it is stored").count();
            assert!(stored > 50, "{stored} stored");
        });
    }
}
