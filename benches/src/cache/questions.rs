//! The questions that clients ask memcached, and its answers.

use std::fs::File;
use std::io::{BufWriter, Result};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::Path;
use std::time::Duration;

use cora_traffic::pcap::Writer;

use crate::asked::{Asks, LONGEST, frame};
use crate::keys::{Skew, mix};

/// Bytes of a value.
pub(super) const VALUE: usize = 64;
/// Time between two packets of a capture (ns).
const PACE: u64 = 1_000;
/// Time at the beginning of a capture in which the cache answers nothing (ns).
const QUIET: u64 = 50_000_000;

/// Client and server in a capture: private addresses come from inside.
const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, 1), 40_000);
pub(super) const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 11_211);

/// Questions for items that are drawn; some of them for items that nobody has.
#[derive(Clone, Debug)]
pub(super) struct Questions {
    items: Vec<u64>,
    next: usize,
    /// Of 1,000 questions, so many are for items that are there.
    there: u64,
}

impl Questions {
    pub(super) fn of(items: u64, skew: Skew, draws: usize, there: u64) -> Self {
        Self { items: skew.draws(items, draws, 42), next: 0, there }
    }

    /// Writes a capture: each of the items is asked for and answered, then all questions are asked.
    /// Returns the number of packets before these.
    pub(super) fn save(&mut self, items: u64, path: &Path) -> Result<usize> {
        let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
        let mut at = PACE;
        let mut question = [0; LONGEST];
        let length = get(&mut question, 0, "name", 0);
        writer.write(at, &frame(CLIENT, SERVER, &question[..length]))?;
        at += QUIET;
        for item in 0..items {
            let request = item as u16;
            let length = get(&mut question, request, "name", item);
            writer.write(at, &frame(CLIENT, SERVER, &question[..length]))?;
            let answer = format!("VALUE name:{item:010} 0 {VALUE}\r\n{:x<VALUE$}\r\nEND\r\n", "");
            let answer = [&head(request)[..], answer.as_bytes()].concat();
            writer.write(at + PACE, &frame(SERVER, CLIENT, &answer))?;
            at += 2 * PACE;
        }
        self.next = 0;
        for _ in 0..self.items.len() {
            let length = self.next(&mut question);
            writer.write(at, &frame(CLIENT, SERVER, &question[..length]))?;
            at += PACE;
        }
        writer.finish()?;
        Ok(1 + 2 * items as usize)
    }
}

impl Asks for Questions {
    /// After all questions, they begin again.
    fn next(&mut self, out: &mut [u8; LONGEST]) -> usize {
        let number = self.next;
        self.next = (number + 1) % self.items.len();
        let is_there = mix(number as u64) % 1_000 < self.there;
        get(out, number as u16, if is_there { "name" } else { "none" }, self.items[number])
    }
}

/// The head of a datagram in memcached's protocol.
const fn head(request: u16) -> [u8; 8] {
    let [high, low] = request.to_be_bytes();
    [high, low, 0, 0, 0, 1, 0, 0]
}

fn get(out: &mut [u8; LONGEST], request: u16, kind: &str, item: u64) -> usize {
    let question = [&head(request)[..], format!("get {kind}:{item:010}\r\n").as_bytes()].concat();
    out[..question.len()].copy_from_slice(&question);
    question.len()
}

/// Puts all items there, from a thread in the client's network.
pub(super) fn store(items: u64, server: SocketAddrV4) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    for item in 0..items {
        let set = format!("set name:{item:010} 0 0 {VALUE}\r\n{:x<VALUE$}\r\n", "");
        let set = [&head(item as u16)[..], set.as_bytes()].concat();
        // The first ones may come before the server listens.
        for _ in 0..500 {
            if socket.send(&set).is_ok() && socket.recv(&mut [0; 64]).is_ok() {
                break;
            }
        }
    }
    Ok(())
}
