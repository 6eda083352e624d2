//! Both sockets, and requests to them. One only receives and one only sends: so only received
//! frames carry the kernel's description of checksums.
#![expect(unsafe_code, reason = "binds to an interface, for which no library has the address")]

use std::ffi::c_int;
use std::mem::size_of;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socket_with};

use crate::option::{get, last, set};

/// `ETH_P_ALL`, in network byte order.
const EVERYTHING: u16 = 3_u16.to_be();

/// Opens a socket for all received frames, with its ring.
pub(super) fn receiving(index: u32, ring: libc::tpacket_req) -> Result<OwnedFd, Errno> {
    let socket = open()?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &ring)?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
    promiscuous(socket.as_fd(), index)?;
    bind(socket.as_fd(), index, EVERYTHING)?;
    Ok(socket)
}

/// Opens a socket for sending, with its ring.
pub(super) fn sending(index: u32, ring: libc::tpacket_req) -> Result<OwnedFd, Errno> {
    let socket = open()?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_TX_RING, &ring)?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
    // With no protocol, it receives nothing.
    bind(socket.as_fd(), index, 0)?;
    Ok(socket)
}

/// Opens a socket that only keeps an interface promiscuous as long as it is open.
pub(crate) fn promiscuity(index: u32) -> Result<OwnedFd, Errno> {
    let socket = open()?;
    promiscuous(socket.as_fd(), index)?;
    Ok(socket)
}

/// Checks that this process may open a packet socket.
pub(crate) fn attempt() -> Result<(), Errno> {
    open().map(drop)
}

/// Makes the kernel send the frames in the ring.
pub(super) fn kick(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    send(socket, &[], SendFlags::DONTWAIT).map(drop)
}

/// Returns the number of frames that found no room since the last call.
pub(super) fn dropped(socket: BorrowedFd<'_>) -> Result<u32, Errno> {
    let told: libc::tpacket_stats = get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
    Ok(told.tp_drops)
}

/// Clears the socket's pending error, for example that the link went down.
pub(super) fn clear_error(socket: BorrowedFd<'_>) {
    let _noted: Result<c_int, Errno> = get(socket, libc::SOL_SOCKET, libc::SO_ERROR);
}

fn open() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // With no protocol until it is bound, it receives no frames of other interfaces.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    let version = libc::tpacket_versions::TPACKET_V2 as c_int;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
    Ok(socket)
}

fn promiscuous(socket: BorrowedFd<'_>, index: u32) -> Result<(), Errno> {
    let request = libc::packet_mreq {
        mr_ifindex: index.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

fn bind(socket: BorrowedFd<'_>, index: u32, protocol: u16) -> Result<(), Errno> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol,
        sll_ifindex: index.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: the kernel reads `length` bytes, which are an address of this family.
    let done =
        unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) };
    if done == 0 { Ok(()) } else { Err(last()) }
}
