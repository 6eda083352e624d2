//! TCP connections of the kernel's that go on until they are told to end, every byte of them
//! checked.
//!
//! Half of them are echoes: the client asks, the server answers. In the others the server talks by
//! itself and the client only listens, so that the middle must admit packets from outside before
//! any from inside follow them.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use cora_traffic::namespace::Namespace;
use rustix::net::sockopt;

/// A connection that stands still for so long is broken, unless the caller sets another time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that a talking server sends at once.
const SAID: usize = 400;

/// What a client has heard and checked.
#[derive(Debug, Default)]
struct Checked {
    exchanges: AtomicU64,
    bytes: AtomicU64,
}

/// Connections under way.
#[derive(Debug)]
pub struct Conversations {
    stop: Arc<AtomicBool>,
    /// The server talks on until the clients have ended.
    server_stop: Arc<AtomicBool>,
    /// What was checked, for each connection.
    checked: Vec<Arc<Checked>>,
    clients: Vec<JoinHandle<Result<(), String>>>,
    server: JoinHandle<()>,
}

impl Conversations {
    /// Opens `count` connections from one namespace to an address that leads to the other.
    ///
    /// # Panics
    /// When no server can listen there.
    pub fn open(from: &Namespace, to: &Namespace, address: SocketAddr, count: usize) -> Self {
        Self::open_patient(from, to, address, count, PATIENCE)
    }

    /// Opens connections that may stand still for `patience`, for those that are cut on purpose.
    ///
    /// # Panics
    /// When no server can listen there.
    pub fn open_patient(
        from: &Namespace,
        to: &Namespace,
        address: SocketAddr,
        count: usize,
        patience: Duration,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let server_stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&server_stop);
        // The middle may give the servers another address.
        let any: IpAddr = match address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let bind = to.within(move || TcpListener::bind((any, address.port())));
        // The server listens before any client connects.
        let listener = match bind.join() {
            Ok(Ok(listener)) => listener,
            Ok(Err(error)) => panic!("{address}: {error}"),
            Err(panicked) => std::panic::resume_unwind(panicked),
        };
        let server = spawn(move || serve(&listener, &stopped));
        let checked: Vec<_> = (0..count).map(|_| Arc::new(Checked::default())).collect();
        let clients = checked.iter().enumerate().map(|(number, checked)| {
            let (stop, checked) = (Arc::clone(&stop), Arc::clone(checked));
            from.within(move || {
                let talk = talk(address, number, patience, &stop, &checked);
                talk.map_err(|error| format!("connection {number}: {error}"))
            })
        });
        let clients = clients.collect();
        Self { stop, server_stop, checked, clients, server }
    }

    /// Returns the exchanges so far of each connection.
    pub fn rounds(&self) -> Vec<u64> {
        self.checked.iter().map(|checked| checked.exchanges.load(Ordering::Relaxed)).collect()
    }

    /// Returns the bytes that all clients have checked so far.
    pub fn bytes(&self) -> u64 {
        self.checked.iter().map(|checked| checked.bytes.load(Ordering::Relaxed)).sum()
    }

    /// Tells all to end, and waits for none: some may be cut. Others may listen at the address
    /// from now on.
    pub fn leave(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.server_stop.store(true, Ordering::Relaxed);
        drop(self.server.join());
    }

    /// Ends all connections. Returns their faults.
    pub fn end(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.clients.into_iter().map(JoinHandle::join);
        let faults = ended.filter_map(|ended| match ended {
            Ok(ended) => ended.err(),
            Err(_) => Some("a client panicked".to_owned()),
        });
        let faults = faults.collect();
        self.server_stop.store(true, Ordering::Relaxed);
        // Its threads end with their connections.
        drop(self.server.join());
        faults
    }
}

/// Returns the byte at a place of a connection's stream.
const fn byte(number: u8, place: u64) -> u8 {
    ((place * 31 + place / 251) as u8) ^ number
}

fn check(number: u8, from: u64, bytes: &[u8]) -> Result<(), String> {
    let wrong = (from..).zip(bytes).find(|(place, found)| **found != byte(number, *place));
    wrong.map_or(Ok(()), |(place, _)| Err(format!("the byte at {place} is another")))
}

fn serve(listener: &TcpListener, stop: &Arc<AtomicBool>) {
    listener.set_nonblocking(true).unwrap_or_else(|error| panic!("{error}"));
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => {
                let stop = Arc::clone(stop);
                // A connection that breaks here is noticed by its client.
                drop(spawn(move || answer(stream, &stop)));
            }
            Err(_) => sleep(Duration::from_millis(1)),
        }
    }
}

/// Serves a connection. Its first two bytes are its kind and its number.
fn answer(mut stream: TcpStream, stop: &AtomicBool) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    let mut head = [0; 2];
    stream.read_exact(&mut head)?;
    let [talks, number] = head;
    let mut place = 0;
    while talks == 1 && !stop.load(Ordering::Relaxed) {
        let said: Vec<u8> = (place..).take(SAID).map(|place| byte(number, place)).collect();
        stream.write_all(&said)?;
        place += SAID as u64;
        sleep(Duration::from_millis(20));
    }
    let mut buffer = [0; 4096];
    if talks == 0 {
        while let length @ 1.. = stream.read(&mut buffer)? {
            stream.write_all(&buffer[..length])?;
        }
    }
    Ok(())
}

/// Makes the kernel send keepalives for a client that waits, until its patience ends. The question
/// may have been acknowledged before the connection was cut. Then the client has nothing to
/// retransmit, and would be silent for good.
fn ask_on(stream: &TcpStream, patience: Duration) -> rustix::io::Result<()> {
    let every = Duration::from_secs(1);
    sockopt::set_tcp_keepidle(stream, every)?;
    sockopt::set_tcp_keepintvl(stream, every)?;
    sockopt::set_tcp_keepcnt(stream, patience.as_secs().clamp(1, 127) as u32)?;
    sockopt::set_socket_keepalive(stream, true)
}

fn talk(
    address: SocketAddr,
    number: usize,
    patience: Duration,
    stop: &AtomicBool,
    checked: &Checked,
) -> Result<(), String> {
    let told = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("nothing came for {patience:?}"),
        _ => error.to_string(),
    };
    let mut stream = TcpStream::connect_timeout(&address, patience).map_err(told)?;
    stream.set_read_timeout(Some(patience)).map_err(told)?;
    stream.set_nodelay(true).map_err(told)?;
    let (talks, number) = ((number % 2) as u8, number as u8);
    if talks == 0 {
        ask_on(&stream, patience).map_err(|error| told(error.into()))?;
    }
    stream.write_all(&[talks, number]).map_err(told)?;
    let mut place = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        let length = if talks == 1 { SAID } else { 1 + (place % 2999) as usize };
        let said: Vec<u8> = (place..).take(length).map(|place| byte(number, place)).collect();
        if talks == 0 {
            stream.write_all(&said).map_err(told)?;
        }
        let mut heard = vec![0; length];
        stream.read_exact(&mut heard).map_err(told)?;
        check(number, place, &heard)?;
        place += length as u64;
        checked.bytes.fetch_add(length as u64, Ordering::Relaxed);
        checked.exchanges.fetch_add(1, Ordering::Relaxed);
        if talks == 0 {
            sleep(Duration::from_millis(3));
        }
    }
    Ok(())
}
