//! The servers outside: ordinary `std::net`, a thread per connection.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

/// Echoes all octets, until the client is done.
pub(super) const ECHO: u16 = 7001;
/// Receives a number, and sends as many octets.
pub(super) const SOURCE: u16 = 7002;
/// Answers datagrams with the same octets.
pub(super) const DATAGRAMS: u16 = 7003;
/// A web server with one page.
pub(super) const WEB: u16 = 8080;

/// One conversation, from the server's end.
type Serve = fn(TcpStream) -> io::Result<()>;

/// Opens all servers at one address; they end when `stop` is set.
pub(super) fn open<'scope>(
    scope: &'scope Scope<'scope, '_>,
    address: IpAddr,
    stop: &'scope AtomicBool,
) -> io::Result<()> {
    let servers: [(u16, Serve); 3] = [(ECHO, echo), (SOURCE, source), (WEB, web)];
    for (port, serve) in servers {
        let listener = TcpListener::bind((address, port))?;
        listener.set_nonblocking(true)?;
        scope.spawn(move || accept(scope, &listener, serve, stop));
    }
    let socket = UdpSocket::bind((address, DATAGRAMS))?;
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    scope.spawn(move || answer(&socket, stop));
    Ok(())
}

fn accept<'scope>(
    scope: &'scope Scope<'scope, '_>,
    listener: &TcpListener,
    serve: Serve,
    stop: &AtomicBool,
) {
    while !stop.load(Ordering::Relaxed) {
        if let Ok((stream, _)) = listener.accept() {
            // Clients reset and vanish on purpose: a failed conversation is a valid one.
            scope.spawn(move || patient(&stream).and_then(|()| serve(stream)));
        } else {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn patient(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(3)))?;
    stream.set_write_timeout(Some(Duration::from_secs(3)))
}

fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..length])?;
    }
}

fn source(mut stream: TcpStream) -> io::Result<()> {
    let mut wanted = [0; 4];
    stream.read_exact(&mut wanted)?;
    let mut left = u32::from_be_bytes(wanted) as usize;
    let block: Vec<u8> = (0..8192_u32).map(|at| at as u8).collect();
    while left > 0 {
        let length = left.min(block.len());
        stream.write_all(&block[..length])?;
        left -= length;
    }
    Ok(())
}

fn web(mut stream: TcpStream) -> io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") && request.len() < 1 << 16 {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => request.extend(&buffer[..length]),
        }
    }
    let page = "All work and no play makes a dull capture.\n".repeat(400);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n";
    write!(stream, "{head}Content-Length: {}\r\n\r\n{page}", page.len())
}

fn answer(socket: &UdpSocket, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            // A full queue may lose datagrams: UDP permits it.
            let _sent = socket.send_to(&buffer[..length], from);
        }
    }
}
