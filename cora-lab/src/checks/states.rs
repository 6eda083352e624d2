//! Connections that are brought into each state of TCP, and left there until the tables are read.
//!
//! Where an end would go on by itself, its own kernel drops the segment that would do it.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use cora_traffic::namespace::Namespace;
use rustix::net::sockopt::set_socket_linger;

use super::{NOBODY, PROBES, SESSIONS, forged};
use crate::Result;
use crate::connections::{Connection, census};
use crate::function::Function;
use crate::program::run_well;
use crate::site::Site;
use crate::verdict::Observed;

/// The first scenario's port; the others follow.
pub(crate) const FIRST_PORT: u16 = 9101;
/// Connections in each state.
const EACH: usize = 3;
const PATIENCE: Duration = Duration::from_secs(5);
/// An acknowledgement is there, or a lost one would have been, well before this.
const A_WHILE: Duration = Duration::from_millis(60);

/// The actions on a port's connections, and the state that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// They stay open.
    Open,
    /// The client has nothing more to say.
    HalfClosed,
    /// The client closes, then the server.
    Closed,
    /// The server closes, then the client.
    ClosedByServer,
    /// The client resets.
    Reset,
    /// A host that knows its ends, but not its sequence numbers, sends a RST.
    Forged,
    /// The server never hears of it.
    Unanswered,
    /// The client's part of the handshake is lost.
    HalfOpen,
    /// The server's acknowledgement of the client's end is lost.
    EndUnheard,
    /// The client's acknowledgement of the server's end is lost.
    LastUnheard,
}

const SCENARIOS: [(Scenario, &str); 10] = [
    (Scenario::Open, "established"),
    (Scenario::HalfClosed, "half closed"),
    (Scenario::Closed, "closed by the client"),
    (Scenario::ClosedByServer, "closed by the server"),
    (Scenario::Reset, "reset by the client"),
    (Scenario::Unanswered, "SYN not answered"),
    (Scenario::HalfOpen, "handshake's last ACK lost"),
    (Scenario::EndUnheard, "ACK of the client's FIN lost"),
    (Scenario::LastUnheard, "ACK of the server's FIN lost"),
    (Scenario::Forged, "forged RST, out of window"),
];

/// Both ends of connections, which stay as they are while this lives.
#[derive(Debug, Default)]
pub(crate) struct Held {
    ends: Vec<TcpStream>,
}

/// Brings connections into all states.
///
/// # Errors
/// When one can't be opened.
pub(crate) fn bring_about(site: &Site) -> Result<Held> {
    let mut held = Held::default();
    let Some(server) = site.function.servers().into_iter().next() else { return Ok(held) };
    for ((scenario, what), port) in SCENARIOS.into_iter().zip(FIRST_PORT..) {
        let address = SocketAddr::new(server, port);
        let done = bring(site, scenario, address, &mut held);
        done.map_err(|error| format!("{what}: {error}"))?;
    }
    Ok(held)
}

fn bring(site: &Site, scenario: Scenario, address: SocketAddr, held: &mut Held) -> Result<()> {
    let port = address.port();
    match scenario {
        Scenario::Unanswered => lose(&site.servers, "input", &format!("tcp dport {port}"))?,
        Scenario::HalfOpen => lose(&site.clients, "output", &bare_ack("dport", port))?,
        _ => {}
    }
    let mut pairs = open(site, scenario, address).map_err(|error| error.to_string())?;
    match scenario {
        Scenario::EndUnheard => lose(&site.servers, "output", &bare_ack("sport", port))?,
        Scenario::LastUnheard => lose(&site.clients, "output", &bare_ack("dport", port))?,
        _ => {}
    }
    for (client, server) in &mut pairs {
        if scenario == Scenario::Forged {
            forge(site, client, server)?;
        }
        act(scenario, client, server).map_err(|error| error.to_string())?;
    }
    // Closed ends are dropped; the others stay as they are.
    let over = matches!(scenario, Scenario::Closed | Scenario::ClosedByServer | Scenario::Reset);
    if !over {
        held.ends.extend(pairs.into_iter().flat_map(|(client, server)| [client, server]));
    }
    Ok(())
}

fn bare_ack(port: &str, number: u16) -> String {
    format!("tcp {port} {number} tcp flags & (syn | ack | fin | rst | psh) == ack")
}

/// Makes a namespace's own kernel drop the packets that match.
fn lose(space: &Namespace, hook: &str, what: &str) -> Result<()> {
    let chain = format!("chain {hook} {{ type filter hook {hook} priority 0; }}");
    let rules = format!("table inet lose {{ {chain}\n }}\nadd rule inet lose {hook} {what} drop");
    run_well(space.command("nft").arg(rules), PATIENCE).map(drop)
}

fn open(
    site: &Site,
    scenario: Scenario,
    address: SocketAddr,
) -> io::Result<Vec<(TcpStream, TcpStream)>> {
    let panicked = |_| io::Error::other("a thread within a namespace panicked");
    let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
    let port = address.port();
    let bound = site.servers.within(move || TcpListener::bind((any, port)));
    let listener = bound.join().map_err(panicked)??;
    let mut pairs = Vec::new();
    for _ in 0..EACH {
        let patience = if scenario == Scenario::Unanswered { A_WHILE } else { PATIENCE };
        let opened = site.clients.within(move || TcpStream::connect_timeout(&address, patience));
        let opened = opened.join().map_err(panicked)?;
        if scenario == Scenario::Unanswered {
            if opened.is_ok() {
                return Err(io::Error::other("answered all the same"));
            }
            continue;
        }
        let client = opened?;
        let server = if scenario == Scenario::HalfOpen {
            // The server's kernel keeps it to itself until the handshake is over.
            client.try_clone()?
        } else {
            listener.accept()?.0
        };
        server.set_read_timeout(Some(PATIENCE))?;
        pairs.push((client, server));
    }
    Ok(pairs)
}

/// Makes the server's host send a RST with a sequence number out of window. The connection goes on:
/// the client ignores the RST.
fn forge(site: &Site, client: &TcpStream, server: &TcpStream) -> Result<()> {
    let ends = server.local_addr().and_then(|from| Ok((from, server.peer_addr()?)));
    let (from, to) = ends.map_err(|error| error.to_string())?;
    let sent = site.servers.within(move || forged::reset(from, to, 0x1357_9bdf));
    let sent = sent.join().map_err(|_| "a thread within a namespace panicked")?;
    sent.map_err(|error| format!("a raw socket: {error}"))?;
    std::thread::sleep(A_WHILE);
    client
        .take_error()
        .map_err(|error| error.to_string())?
        .map_or(Ok(()), |error| Err(error.to_string()))
}

fn act(scenario: Scenario, client: &mut TcpStream, server: &mut TcpStream) -> io::Result<()> {
    use std::net::Shutdown::{Both, Write};
    if !matches!(scenario, Scenario::HalfOpen | Scenario::EndUnheard | Scenario::LastUnheard) {
        client.write_all(b"?")?;
        server.read_exact(&mut [0])?;
    }
    let hears_the_end = |end: &mut TcpStream| match end.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other("data that nobody sent")),
    };
    match scenario {
        Scenario::Open | Scenario::Forged | Scenario::Unanswered | Scenario::HalfOpen => {}
        Scenario::HalfClosed | Scenario::EndUnheard => {
            client.shutdown(Write)?;
            hears_the_end(server)?;
        }
        Scenario::Closed => {
            client.shutdown(Write)?;
            hears_the_end(server)?;
            std::thread::sleep(A_WHILE);
            server.shutdown(Both)?;
        }
        Scenario::ClosedByServer => {
            server.shutdown(Write)?;
            client.set_read_timeout(Some(PATIENCE))?;
            hears_the_end(client)?;
            std::thread::sleep(A_WHILE);
            client.shutdown(Both)?;
        }
        Scenario::Reset => {
            // Closing it then resets it.
            set_socket_linger(&*client, Some(Duration::ZERO))?;
        }
        Scenario::LastUnheard => {
            client.shutdown(Write)?;
            hears_the_end(server)?;
            // The acknowledgement of the client's end must not be one with the server's.
            std::thread::sleep(A_WHILE);
            server.shutdown(Write)?;
        }
    }
    std::thread::sleep(A_WHILE / 6);
    Ok(())
}

/// Returns the table's states of each scenario's connections, and the census of all others:
/// connections of clients that close in an order of their own.
pub(crate) fn observe(function: Function, connections: &[Connection]) -> Vec<Observed> {
    // A NAT of IPv4 lets IPv6 pass, and keeps no state of it.
    let v6_too = function.public().is_none();
    let connections: Vec<&Connection> =
        connections.iter().filter(|it| v6_too || it.client.is_ipv4()).collect();
    let scenario = |connection: &Connection| {
        let port = Some(connection.server.port()).filter(|_| connection.protocol == "tcp")?;
        usize::from(port).checked_sub(FIRST_PORT.into()).filter(|at| *at < SCENARIOS.len())
    };
    let states = SCENARIOS.iter().enumerate().map(|(number, (_, what))| {
        let its = connections.iter().copied().filter(|it| scenario(it) == Some(number));
        Observed::compared(format!("state: {what}"), census(its))
    });
    let refused = |it: &Connection| it.protocol == "tcp" && it.server.port() == NOBODY;
    let is_other = |it: &Connection| {
        let port = it.server.port();
        let own = SESSIONS.contains(&port) || PROBES.contains(&port) || refused(it);
        scenario(it).is_none() && !own
    };
    let all = || connections.iter().copied();
    let of = |protocol: &str| {
        let its = all().filter(|it| is_other(it) && it.protocol == protocol);
        // An end that is gone answers a late retransmission of a FIN by a reset.
        let over = |state: &str| matches!(state, "time-wait" | "closed");
        let folded = its.cloned().map(|mut it| {
            it.state = it.state.map(|state| if over(&state) { "over".to_owned() } else { state });
            it
        });
        Observed::compared(
            format!("all other {protocol} entries"),
            census(folded.collect::<Vec<_>>().iter()),
        )
    };
    let refused = census(all().filter(|it| refused(it)));
    let refused = Observed::compared("state: SYN reset by the server", refused);
    states.chain([refused]).chain(["tcp", "udp", "icmp"].map(of)).collect()
}
