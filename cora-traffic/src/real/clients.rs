//! Clients of the inside: each function runs one kind of conversation.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SendFlags, SocketType, bind, connect, ipproto, sendto, socket};

use super::network::{SILENT_V4, inside};
use super::servers::{DATAGRAMS, ECHO, SOURCE};
use crate::wire::{self, End, Path, Tags};

/// The server of the clients, and the deadline for new conversations; later ones are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    pub(super) address: IpAddr,
    pub(super) until: Instant,
}

impl Server {
    fn in_time(self) -> io::Result<()> {
        if Instant::now() < self.until { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

/// Runs many small conversations, a few at a time.
pub(super) fn many_small(server: Server) {
    thread::scope(|scope| {
        for worker in 0..6_u16 {
            scope.spawn(move || {
                for turn in 0..8 {
                    ignore(small(server, worker * 8 + turn));
                }
            });
        }
    });
}

fn small(server: Server, number: u16) -> io::Result<()> {
    let mut stream = open(number, server, ECHO)?;
    let mut buffer = [0; 600];
    for turn in 0..=number % 3 {
        let length = 20 + usize::from(number * 37 + turn * 11) % 500;
        stream.write_all(&vec![b'a' + turn as u8; length])?;
        stream.read_exact(&mut buffer[..length])?;
    }
    Ok(())
}

/// Runs large transfers both ways at once; TCP repeats segments that the wire loses.
pub(super) fn large(server: Server) {
    thread::scope(|scope| {
        scope.spawn(move || ignore(download(server, 700_000)));
        scope.spawn(move || ignore(upload(server, 300_000)));
    });
}

fn download(server: Server, length: u32) -> io::Result<()> {
    let mut stream = open(1, server, SOURCE)?;
    stream.write_all(&length.to_be_bytes())?;
    io::copy(&mut stream, &mut io::sink()).map(|_| ())
}

fn upload(server: Server, length: usize) -> io::Result<()> {
    let mut stream = open(2, server, ECHO)?;
    let mut back = stream.try_clone()?;
    let reader = thread::spawn(move || io::copy(&mut back, &mut io::sink()));
    stream.write_all(&vec![0x55; length])?;
    stream.shutdown(Shutdown::Write)?;
    drop(reader.join());
    Ok(())
}

/// Closes the client's side first, while the server goes on sending.
pub(super) fn half_closed(server: Server) -> io::Result<()> {
    let mut stream = open(3, server, SOURCE)?;
    stream.write_all(&30_000_u32.to_be_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut stream, &mut io::sink()).map(|_| ())
}

/// Closes connections by a reset, in the middle of a transfer.
pub(super) fn reset(server: Server) -> io::Result<()> {
    for number in 0..4 {
        let mut stream = open(number, server, SOURCE)?;
        stream.write_all(&200_000_u32.to_be_bytes())?;
        let mut some = [0; 4_000];
        stream.read_exact(&mut some)?;
        sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
    }
    Ok(())
}

/// Opens connections and sends datagrams to closed ports: resets and ICMP errors.
pub(super) fn refused(server: Server) {
    for number in 0..5 {
        ignore(open(number, server, 9).map(|_| ()));
        ignore(datagram(number, server, 9 + number, 40));
    }
}

/// Opens a connection without an answer; the kernel repeats its SYN after a second.
pub(super) fn unanswered() {
    let address = SocketAddr::from((SILENT_V4, 443));
    ignore(TcpStream::connect_timeout(&address, Duration::from_millis(1_400)).map(|_| ()));
}

/// Sends small datagrams, and some that need fragments.
pub(super) fn datagrams(server: Server) {
    for number in 0..40 {
        ignore(datagram(number, server, DATAGRAMS, 30 + usize::from(number) * 9));
    }
    for length in [1_472, 1_473, 3_000, 6_000, 9_000] {
        ignore(datagram(1, server, DATAGRAMS, length));
    }
}

fn datagram(number: u16, server: Server, port: u16, length: usize) -> io::Result<()> {
    server.in_time()?;
    let socket = UdpSocket::bind((inside(number, server.address.is_ipv6()), 0))?;
    socket.connect((server.address, port))?;
    socket.set_read_timeout(Some(Duration::from_millis(150)))?;
    socket.send(&vec![0x61; length])?;
    socket.recv(&mut vec![0; length]).map(|_| ())
}

/// Sends ICMP echo from a raw socket, large ones in fragments; the other end's kernel answers.
pub(super) fn echo(server: Server) -> io::Result<()> {
    let v6 = server.address.is_ipv6();
    let (family, protocol) = if v6 {
        (AddressFamily::INET6, ipproto::ICMPV6)
    } else {
        (AddressFamily::INET, ipproto::ICMP)
    };
    for number in 0..5_u16 {
        let socket = socket(family, SocketType::RAW, Some(protocol))?;
        let from = inside(number, v6);
        bind(&socket, &SocketAddr::new(from, 0))?;
        let end = |address| End { mac: [0; 6], address, port: 0 };
        let path = Path {
            from: end(from),
            to: end(server.address),
            tags: Tags::None,
            hops: 64,
            id: 0,
            options: false,
        };
        let kind = if v6 { [128, 0] } else { [8, 0] };
        let [a, b] = (0x4300 + number).to_be_bytes();
        for (sequence, length) in [(1, 56), (2, 56), (3, 1_400), (4, 2_500)] {
            let message = wire::icmp(&path, kind, [a, b, 0, sequence], &vec![0x70; length]);
            sendto(&socket, &message, SendFlags::empty(), &SocketAddr::new(server.address, 0))?;
            thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// Tries a closed TCP port and a closed UDP port of the inside, from outside.
pub(super) fn intrude(server: Server) {
    for number in 0..4 {
        let host = inside(number, server.address.is_ipv6());
        let address = SocketAddr::new(host, 22);
        ignore(TcpStream::connect_timeout(&address, Duration::from_millis(300)).map(|_| ()));
        ignore(
            UdpSocket::bind((server.address, 0))
                .and_then(|socket| socket.send_to(b"who is there?", (host, 161)).map(|_| ())),
        );
    }
}

/// Opens a connection from one of the inside addresses.
fn open(number: u16, server: Server, port: u16) -> io::Result<TcpStream> {
    server.in_time()?;
    let v6 = server.address.is_ipv6();
    let family = if v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket(family, SocketType::STREAM, None)?;
    let patience = Some(Duration::from_secs(2));
    sockopt::set_socket_timeout(&socket, Timeout::Send, patience)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, patience)?;
    bind(&socket, &SocketAddr::new(inside(number, v6), 0))?;
    connect(&socket, &SocketAddr::new(server.address, port))?;
    Ok(TcpStream::from(socket))
}

/// Ignores failures, which are part of the traffic: refused, reset, lost.
fn ignore(outcome: io::Result<()>) {
    drop(outcome);
}
