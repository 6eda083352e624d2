//! Unsolicited traffic: connections, datagrams and pings from outside.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use super::INSIDE;
use crate::Result;
use crate::program;
use crate::site::Site;
use crate::verdict::Observed;

const TCP: u16 = INSIDE[0];
const UDP: u16 = INSIDE[1];
/// A datagram arrives well before this.
const SOON: Duration = Duration::from_millis(400);

pub(super) fn run(site: &Site) -> Result<Vec<Observed>> {
    let servers = site.clients.within(|| {
        let tcp = TcpListener::bind(("::", TCP))?;
        let udp = UdpSocket::bind(("::", UDP))?;
        udp.set_read_timeout(Some(Duration::from_millis(50)))?;
        std::io::Result::Ok((tcp, udp))
    });
    let servers = servers.join().map_err(|_| "a server inside panicked")?;
    let (_tcp, udp) = servers.map_err(|error| format!("servers inside: {error}"))?;
    let mut seen = Vec::new();
    for client in site.function.clients() {
        let outside = site.servers.within(move || (knock(client), send(client)));
        let mut ping = site.servers.command("ping");
        let ping = ping.args(["-n", "-q", "-c", "2", "-i", "0.05", "-W", "1"]);
        let pinged = program::run(ping.arg(client.to_string()), Duration::from_secs(40))?;
        let (opened, sent) = outside.join().map_err(|_| "a client outside panicked")?;
        sent.map_err(|error| format!("a datagram from outside: {error}"))?;
        let heard = udp.recv(&mut [0; 64]).is_ok();
        let heard = if heard { "heard" } else { "not heard" };
        let ping = if pinged.code == Some(0) { "answered" } else { "not answered" };
        let result = format!("TCP {opened}, UDP {heard}, ping {ping}");
        seen.push(Observed::compared(format!("from outside to {client}"), result));
    }
    Ok(seen)
}

fn knock(client: IpAddr) -> String {
    match TcpStream::connect_timeout(&SocketAddr::new(client, TCP), SOON) {
        Ok(_) => "opened".to_owned(),
        Err(error) if error.kind() == ErrorKind::TimedOut => "not answered".to_owned(),
        Err(error) => error.kind().to_string(),
    }
}

fn send(client: IpAddr) -> std::io::Result<()> {
    let any: IpAddr = if client.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let socket = UdpSocket::bind((any, 0))?;
    match socket.send_to(b"unasked", (client, UDP)) {
        // An error that came back earlier belongs to another datagram.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        sent => sent.map(drop),
    }
}
