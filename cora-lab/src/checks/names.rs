//! Questions to dnsmasq, each from a port of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::over;
use crate::Result;
use crate::program::Service;
use crate::site::Site;
use crate::verdict::Observed;

const QUESTIONS: u16 = 20;
/// The address of every name.
const ANSWER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

pub(super) fn run(site: &Site) -> Result<Vec<Observed>> {
    let mut dnsmasq = site.servers.command("dnsmasq");
    dnsmasq.args(["--no-daemon", "--no-resolv", "--no-hosts", "--conf-file=/dev/null"]);
    dnsmasq.args(["--pid-file=", "--user=root", "--port=53", "--cache-size=0"]);
    let server =
        Service::start_until(dnsmasq.arg(format!("--address=/lab.test/{ANSWER}")), "started")?;
    let seen = site.function.servers().into_iter().map(|address| {
        let asked = site.clients.within(move || ask_all(SocketAddr::new(address, 53)));
        let answered = asked.join().map_err(|_| "a client panicked")?;
        let result = format!("{answered} of {QUESTIONS} answered rightly");
        Ok(Observed::compared(over("DNS", address), result))
    });
    let seen = seen.collect();
    drop(server);
    seen
}

fn ask_all(server: SocketAddr) -> u16 {
    (0..QUESTIONS).map(|number| u16::from(ask(server, number).unwrap_or(false))).sum()
}

/// Asks for `hostN.lab.test`, and again after a while as stubs do. Returns whether the answer is
/// right.
fn ask(server: SocketAddr, number: u16) -> std::io::Result<bool> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let question = question(number);
    let begun = Instant::now();
    let mut answer = [0; 512];
    loop {
        socket.send(&question)?;
        match socket.recv(&mut answer) {
            Ok(length) => return Ok(is_right(&answer[..length], &question)),
            Err(error) if begun.elapsed() > Duration::from_secs(3) => return Err(error),
            Err(_) => {}
        }
    }
}

/// Returns a question by RFC 1035: identifier, flags with "recursion desired", type A, class IN.
fn question(number: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [0x4000 | number, 0x0100, 1, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    for label in [format!("host{number}").as_str(), "lab", "test"] {
        bytes.push(label.len() as u8);
        bytes.extend(label.bytes());
    }
    bytes.extend([0, 0, 1, 0, 1]);
    bytes
}

/// Returns whether this answers the question, without an error, by the address.
fn is_right(answer: &[u8], question: &[u8]) -> bool {
    let same_question = answer.get(12..question.len()) == question.get(12..);
    let is_answer = answer.len() > 12 && answer[2] & 0x80 != 0 && answer[3].is_multiple_of(16);
    same_question && is_answer && answer[..2] == question[..2] && answer.ends_with(&ANSWER.octets())
}
