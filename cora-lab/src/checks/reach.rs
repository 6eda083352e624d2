//! ping, traceroute, and the errors that reach a client: for closed ports, and for packets that are
//! too long.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use super::{NOBODY, over};
use crate::Result;
use crate::program::{self, Output};
use crate::site::{FAR_MTU, Site};
use crate::verdict::Observed;

const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn run(site: &Site) -> Result<Vec<Observed>> {
    let each = site.function.servers().into_iter().map(|server| to(site, server));
    Ok(each.collect::<Result<Vec<_>>>()?.concat())
}

fn to(site: &Site, server: IpAddr) -> Result<Vec<Observed>> {
    let told = server.to_string();
    let client = |program: &str, words: &str| {
        let mut command: Command = site.clients.command(program);
        command.args(words.split(' ')).arg(&told);
        program::run(&mut command, PATIENCE)
    };
    let pinged = client("ping", &format!("-n -c {PINGS} -i 0.02 -w 5"))?;
    let mut seen = vec![Observed::compared(over("ping", server), replies(&pinged))];
    // A balancer's service is four hosts: the hops depend on the host that is asked.
    if site.function.servers().len() > 1 {
        let traced = client("traceroute", "-n -q 1 -N 1 -w 2 -m 6")?;
        seen.push(Observed::compared(over("traceroute", server), hops(&traced, &told)));
    }
    let long = format!("-n -c 1 -W 2 -M do -s {FAR_MTU}");
    let refused = client("ping", &long)?;
    seen.push(Observed::compared(over("packet too long", server), too_long(&refused)));
    let nobody = SocketAddr::new(server, NOBODY);
    let asked = site.clients.within(move || (tcp(nobody), udp(nobody)));
    let (tcp, udp) = asked.join().map_err(|_| "a client panicked")?;
    seen.push(Observed::compared(over("TCP to a closed port", server), tcp));
    seen.push(Observed::compared(over("UDP to a closed port", server), udp));
    Ok(seen)
}

/// Number of awaited answers.
const PINGS: u64 = 10;

/// Returns `10 answered`. With a deadline, ping goes on until so many were; without, it doesn't
/// wait for late answers. On a busy machine it sends more, and some more are answered. The captures
/// show the packets lost meanwhile.
fn replies(pinged: &Output) -> String {
    let text = pinged.text();
    let line = text.lines().find(|line| line.contains("packets transmitted")).unwrap_or_default();
    let mut numbers =
        line.split(|letter: char| !letter.is_ascii_digit()).filter(|it| !it.is_empty());
    match (numbers.next(), numbers.next()) {
        (Some(_), Some(came)) => {
            let came = came.parse().map_or(0, |came: u64| came.min(PINGS));
            let doubled = if line.contains("duplicates") { ", some twice" } else { "" };
            format!("{came} answered{doubled}")
        }
        _ => format!("ping says: {}{}", text.trim(), pinged.stderr.trim()),
    }
}

/// Returns the host that answered at each hop; the server by that word.
fn hops(traced: &Output, server: &str) -> String {
    let text = traced.text();
    let hops = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1));
    let hops: Vec<&str> = hops.map(|hop| if hop == server { "server" } else { hop }).collect();
    if hops.is_empty() { traced.stderr.trim().to_owned() } else { hops.join(", ") }
}

/// Returns ping's line on a packet that is too long: the reporting host and the MTU.
fn too_long(pinged: &Output) -> String {
    let text = format!("{}{}", pinged.text(), pinged.stderr);
    let line = text.lines().find(|line| line.contains("mtu"));
    line.map_or_else(|| format!("nobody said so: {}", text.trim()), str::to_owned)
}

fn tcp(to: SocketAddr) -> String {
    match TcpStream::connect_timeout(&to, Duration::from_secs(2)) {
        Ok(_) => "opened".to_owned(),
        Err(error) => error.kind().to_string(),
    }
}

fn udp(to: SocketAddr) -> String {
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let asked = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.set_read_timeout(Some(Duration::from_secs(2)))?;
        socket.connect(to)?;
        socket.send(b"is anybody there?")?;
        socket.recv(&mut [0; 64])
    });
    match asked {
        Ok(_) => "answered".to_owned(),
        Err(error) if error.kind() == ErrorKind::WouldBlock => "nothing came".to_owned(),
        Err(error) => error.kind().to_string(),
    }
}
