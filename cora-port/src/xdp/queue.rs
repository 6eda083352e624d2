//! One queue of an interface: a socket, with its rings and its memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options, xdp_statistics,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING,
    XDP_UMEM_PGOFF_COMPLETION_RING, XDP_UMEM_PGOFF_FILL_RING, XdpMmapOffsets, XdpOptionsFlags,
    XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use super::frames::{COMING, Entry, Frames, LEAVING};
use super::name::Mode;
use super::ring::Ring;
use crate::mapping::Mapping;

/// Entries of the rings for frames that came and for frames that leave.
const RING: u32 = 2048;
/// How long the socket of a process that has just ended may remain: the kernel defers its end.
const LINGERS: Duration = Duration::from_secs(1);
/// Calls in a row that make the kernel send: in copy mode, it takes 32 frames per call.
const KICKS: u32 = RING / 32 + 8;

/// A socket, and the memory that it shares with the kernel.
#[derive(Debug)]
pub(super) struct Queue {
    socket: OwnedFd,
    pub(super) frames: Frames,
    pub(super) is_zero_copy: bool,
}

impl Queue {
    /// Binds to a queue of an interface. An error names the step that the kernel refused.
    pub(super) fn open(
        interface: u32,
        queue: u32,
        mode: Mode,
        chunk_bytes: usize,
    ) -> Result<Self, (&'static str, Errno)> {
        let told = |what| move |errno| (what, errno);
        let opened = socket().map_err(told("an AF_XDP socket"))?;
        let bytes = (COMING + LEAVING) as usize * chunk_bytes;
        let memory = Mapping::anonymous(bytes).map_err(told("memory for frames"))?;
        let registered = XdpUmemReg {
            addr: memory.start(),
            len: bytes as u64,
            chunk_size: chunk_bytes as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        set_xdp_umem_reg(&opened, registered).map_err(told("registering memory (`ulimit -l`)"))?;
        let frames = rings(&opened, memory, chunk_bytes).map_err(told("AF_XDP rings"))?;
        bind_to(&opened, interface, queue, mode).map_err(told("binding an AF_XDP socket"))?;
        let options = xdp_options(&opened).map_err(told("asking an AF_XDP socket"))?;
        let is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        Ok(Self { socket: opened, frames, is_zero_copy })
    }

    /// Hands over the next frame that came.
    pub(super) fn take(&mut self, each: &mut dyn FnMut(&mut [u8])) -> Option<Entry> {
        self.frames.take(each)
    }

    /// Ends a burst: the kernel gets its chunks back, and is called if it waits for them.
    pub(super) fn settle(&self) {
        self.frames.settle();
        if self.frames.fill.needs_wakeup() {
            // The call only wakes the kernel; it returns no data.
            let _called = recv(&self.socket, &mut [0_u8; 0][..], RecvFlags::DONTWAIT);
        }
    }

    /// Makes the kernel send the placed frames, and takes chunks back. Returns the number of
    /// invalid entries. An error tells that the link is down, or the interface gone.
    pub(super) fn send(&mut self) -> Result<u64, Errno> {
        self.frames.transmit.publish();
        let mut damaged = self.frames.reclaim();
        for _ in 0..KICKS {
            if self.frames.transmit.unread() == 0 || !self.frames.transmit.needs_wakeup() {
                break;
            }
            match send(&self.socket, &[], SendFlags::DONTWAIT) {
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => {}
                Err(other) => return Err(other),
            }
            damaged += self.frames.reclaim();
        }
        Ok(damaged)
    }

    /// Returns the number of frames that the kernel dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        let told = xdp_statistics(&self.socket);
        told.map_or(0, |told| told.rx_dropped + told.rx_ring_full.unwrap_or_default())
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Opens an unbound socket.
pub(super) fn socket() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)
}

fn rings(socket: &OwnedFd, memory: Mapping, chunk_bytes: usize) -> Result<Frames, Errno> {
    set_xdp_umem_fill_ring_size(socket, COMING)?;
    set_xdp_umem_completion_ring_size(socket, RING)?;
    set_xdp_rx_ring_size(socket, RING)?;
    set_xdp_tx_ring_size(socket, RING)?;
    let XdpMmapOffsets { rx, tx, fr, cr } = xdp_mmap_offsets(socket)?;
    let coming = (
        ring(socket, &fr, COMING, XDP_UMEM_PGOFF_FILL_RING)?,
        ring(socket, &rx, RING, XDP_PGOFF_RX_RING)?,
    );
    let leaving = (
        ring(socket, &tx, RING, XDP_PGOFF_TX_RING)?,
        ring(socket, &cr, RING, XDP_UMEM_PGOFF_COMPLETION_RING)?,
    );
    Ok(Frames::new(memory, chunk_bytes, coming, leaving))
}

fn ring<const BYTES: usize>(
    socket: &OwnedFd,
    offsets: &XdpRingOffset,
    size: u32,
    place: u64,
) -> Result<Ring<BYTES>, Errno> {
    let memory = Mapping::of_file(socket.as_fd(), Ring::<BYTES>::bytes(offsets, size), place)?;
    Ring::new(memory, offsets, size).ok_or(Errno::PROTO)
}

fn bind_to(socket: &OwnedFd, interface: u32, queue: u32, mode: Mode) -> Result<(), Errno> {
    let flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP
        | match mode {
            // The kernel tries zero copy, and then a copy.
            Mode::Auto => SocketAddrXdpFlags::empty(),
            Mode::Copy => SocketAddrXdpFlags::XDP_COPY,
            Mode::ZeroCopy => SocketAddrXdpFlags::XDP_ZEROCOPY,
        };
    let address = SocketAddrXdp::new(flags, interface, queue);
    let deadline = Instant::now() + LINGERS;
    loop {
        match bind(socket, &address) {
            Err(Errno::BUSY) if Instant::now() < deadline => sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
}
