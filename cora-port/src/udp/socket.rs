//! The socket, and many datagrams by one system call.
#![expect(unsafe_code, reason = "`recvmmsg` and `sendmmsg` take arrays of pointers")]

use std::mem::MaybeUninit;
use std::net::{SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::option::{get, last, set};

/// Datagrams of one system call, at most.
pub(super) const MOST: usize = 32;

/// Bytes of received datagrams that wait, if the system allows as many.
const WAITING_BYTES: i32 = 4 << 20;

/// `SK_MEMINFO_DROPS` of `include/uapi/linux/sock_diag.h`.
const DROPS: usize = 8;

/// Opens a socket at this address.
pub(super) fn open(address: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    let fd = socket.as_fd();
    // More than the system allows is refused or cut: bursts find less room then.
    let _forced = set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &WAITING_BYTES)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &WAITING_BYTES));
    rustix::net::bind(&socket, address)?;
    Ok(socket)
}

/// Datagrams that found no room since the socket was opened.
pub(super) fn dropped(socket: BorrowedFd<'_>) -> Result<u32, Errno> {
    let told: [u32; DROPS + 1] = get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO)?;
    Ok(told[DROPS])
}

/// The arguments of a system call for [`MOST`] datagrams: for each an address, and its bytes.
struct Call {
    names: [libc::sockaddr_storage; MOST],
    parts: [libc::iovec; MOST],
    headers: [libc::mmsghdr; MOST],
}

impl Call {
    fn new() -> Self {
        // SAFETY: all of it is numbers and pointers, for which zero is a value.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Points the first headers to their addresses, of these lengths, and parts. Nothing may move
    /// until the call is over.
    fn point(&mut self, lengths: impl Iterator<Item = u32>) -> *mut libc::mmsghdr {
        let with = self.headers.iter_mut().zip(&mut self.names).zip(&mut self.parts);
        for (((header, name), part), length) in with.zip(lengths) {
            header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
            header.msg_hdr.msg_namelen = length;
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        self.headers.as_mut_ptr()
    }
}

/// Fills at most [`MOST`] rooms with a datagram each, in order. Tells the number, the sender and
/// the length of each; the sender is none if it has no address. Returns how many came.
pub(super) fn receive<'a, I: Iterator<Item = &'a mut [u8]>>(
    socket: BorrowedFd<'_>,
    rooms: I,
    mut each: impl FnMut(usize, Option<SocketAddr>, usize),
) -> Result<usize, Errno> {
    let mut call = Call::new();
    let mut count = 0;
    for (part, room) in call.parts.iter_mut().zip(rooms) {
        *part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
        count += 1;
    }
    let length = size_of::<libc::sockaddr_storage>() as u32;
    let headers = call.point(std::iter::repeat_n(length, count));
    // The C libraries disagree about the type of flags.
    let (flags, no_limit) = (libc::MSG_DONTWAIT as _, std::ptr::null_mut());
    // SAFETY: the first `count` headers point to an address and a part each, which do not move
    // until behind the call. Each part is a room that is borrowed for longer, with its length.
    let came =
        unsafe { libc::recvmmsg(socket.as_raw_fd(), headers, count as u32, flags, no_limit) };
    let came = usize::try_from(came).map_err(|_| last())?.min(count);
    for (at, (header, name)) in call.headers.iter().zip(&call.names).take(came).enumerate() {
        each(at, sender(name, header.msg_hdr.msg_namelen), header.msg_len as usize);
    }
    Ok(came)
}

/// Sends at most [`MOST`] datagrams, in order. Returns the number of those that left; an error is
/// of the first one.
pub(super) fn send<'a>(
    socket: BorrowedFd<'_>,
    datagrams: impl Iterator<Item = (&'a SocketAddr, &'a [u8])>,
) -> Result<usize, Errno> {
    let mut call = Call::new();
    let mut lengths = [0; MOST];
    let mut count = 0;
    for (to, contents) in datagrams.take(MOST) {
        lengths[count] = write_name(&mut call.names[count], to);
        // The kernel only reads it.
        let place = contents.as_ptr().cast_mut().cast();
        call.parts[count] = libc::iovec { iov_base: place, iov_len: contents.len() };
        count += 1;
    }
    let headers = call.point(lengths.into_iter().take(count));
    let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _;
    // SAFETY: the first `count` headers point to an address and a part each, which do not move
    // until behind the call. Each part is a datagram that is borrowed for longer, with its length.
    // The kernel writes to the headers alone.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers, count as u32, flags) };
    usize::try_from(sent).map_err(|_| last())
}

/// The sender in an address that the kernel wrote.
fn sender(name: &libc::sockaddr_storage, length: u32) -> Option<SocketAddr> {
    let (place, length) = (std::ptr::from_ref(name), length as usize);
    match i32::from(name.ss_family) {
        libc::AF_INET if length >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: the storage is as long and as aligned as any address, and any bits are one of
            // these numbers.
            let name = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let address = name.sin_addr.s_addr.to_ne_bytes();
            Some(SocketAddr::from((address, u16::from_be(name.sin_port))))
        }
        libc::AF_INET6 if length >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: as above.
            let name = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let (address, port) = (name.sin6_addr.s6_addr.into(), u16::from_be(name.sin6_port));
            Some(SocketAddrV6::new(address, port, 0, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Writes an address for the kernel; returns its length.
fn write_name(name: &mut libc::sockaddr_storage, address: &SocketAddr) -> u32 {
    let place = std::ptr::from_mut(name);
    match address {
        SocketAddr::V4(address) => {
            let it = libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is as long and as aligned as any address.
            unsafe { place.cast::<libc::sockaddr_in>().write(it) };
            size_of::<libc::sockaddr_in>() as u32
        }
        SocketAddr::V6(address) => {
            let it = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(it) };
            size_of::<libc::sockaddr_in6>() as u32
        }
    }
}
