//! State of an interface in the kernel: its number, MTU, link, and its receive offloads.
#![expect(unsafe_code, reason = "asks the kernel by `ioctl`, with structures of its headers")]

use std::ffi::{c_char, c_ulong};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::option::last;
use crate::{Link, PortError};

/// Least time between two queries of link and MTU.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// `ARPHRD_ETHER`.
const ETHERNET: u16 = 1;

// `include/uapi/linux/ethtool.h`.
const GET_DRIVER: u32 = 0x3;
const GET_LINK: u32 = 0xa;
const GET_FLAGS: u32 = 0x25;
const SET_FLAGS: u32 = 0x26;
const GET_GRO: u32 = 0x2b;
const SET_GRO: u32 = 0x2c;
const GET_CHANNELS: u32 = 0x3c;
/// `ETH_FLAG_LRO`: the card puts segments together.
const LRO: u32 = 1 << 15;
/// `ETH_FLAG_RXVLAN`: the card takes VLAN tags off.
pub(crate) const VLAN_OFF: u32 = 1 << 8;

/// `struct ethtool_value`.
#[repr(C)]
#[derive(Clone, Copy)]
struct OneValue {
    command: u32,
    data: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// An interface of this network namespace.
#[derive(Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    address: [u8; 6],
    pub(crate) mtu: usize,
    pub(crate) link: Link,
    socket: OwnedFd,
    asked: Instant,
    /// Offloads that were turned off here, to be turned on again at the end.
    gro: bool,
    flags: u32,
}

/// The address of an interface of this network namespace.
///
/// # Errors
/// When there is none of this name, or it carries no Ethernet.
pub fn address(name: &str) -> Result<[u8; 6], PortError> {
    Interface::find(name).map(|found| found.address)
}

impl Interface {
    /// Finds the interface of this name.
    pub(crate) fn find(name: &str) -> Result<Self, PortError> {
        let failed = |errno| PortError::of("a socket", name, "cap_net_raw", errno);
        let socket =
            socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
        let mut found = Self {
            name: name.to_owned(),
            index: 0,
            address: [0; 6],
            mtu: 0,
            link: Link::Down,
            socket: socket.map_err(failed)?,
            asked: Instant::now(),
            gro: false,
            flags: 0,
        };
        let mut request = found.request();
        found.ask(libc::SIOCGIFINDEX, &mut request).map_err(failed)?;
        // SAFETY: the kernel wrote the index.
        found.index = unsafe { request.ifr_ifru.ifru_ifindex }.cast_unsigned();
        found.ask(libc::SIOCGIFHWADDR, &mut request).map_err(failed)?;
        // SAFETY: the kernel wrote the address; its family is the hardware's type.
        let told = unsafe { request.ifr_ifru.ifru_hwaddr };
        if told.sa_family != ETHERNET {
            return Err(PortError::NotEthernet { name: name.to_owned(), kind: told.sa_family });
        }
        // C's `char` is signed on some machines.
        let byte = |at: usize| u8::from_ne_bytes(told.sa_data[at].to_ne_bytes());
        found.address = std::array::from_fn(byte);
        found.refresh()?;
        Ok(found)
    }

    /// Asks for MTU and link if that was long ago; returns whether it asked.
    pub(crate) fn look(&mut self) -> Result<bool, PortError> {
        if self.asked.elapsed() < ASK_EVERY {
            return Ok(false);
        }
        self.refresh()?;
        Ok(true)
    }

    /// Asks for MTU and link now.
    pub(crate) fn refresh(&mut self) -> Result<(), PortError> {
        self.asked = Instant::now();
        let gone = |errno| match errno {
            Errno::NODEV | Errno::NXIO => PortError::Gone { name: self.name.clone() },
            other => PortError::of("asking for its state", &self.name, "cap_net_raw", other),
        };
        let mut request = self.request();
        self.ask(libc::SIOCGIFINDEX, &mut request).map_err(gone)?;
        // SAFETY: the kernel wrote the index.
        let index = unsafe { request.ifr_ifru.ifru_ifindex }.cast_unsigned();
        if index != self.index {
            // This is another interface of the same name.
            return Err(PortError::Gone { name: self.name.clone() });
        }
        self.ask(libc::SIOCGIFMTU, &mut request).map_err(gone)?;
        // SAFETY: the kernel wrote the MTU.
        let mtu = usize::try_from(unsafe { request.ifr_ifru.ifru_mtu }).unwrap_or_default();
        self.ask(libc::SIOCGIFFLAGS, &mut request).map_err(gone)?;
        // SAFETY: the kernel wrote the flags.
        let flags = i32::from(unsafe { request.ifr_ifru.ifru_flags });
        self.mtu = mtu;
        // The interface's flag for the link is up to a second late.
        let carrier = self.ethtool(OneValue { command: GET_LINK, data: 0 });
        let passes = carrier.map_or(flags & libc::IFF_RUNNING != 0, |told| told.data != 0);
        let passes = passes && flags & libc::IFF_UP != 0;
        self.link = if passes { Link::Up } else { Link::Down };
        Ok(())
    }

    /// Returns the driver's name, if it has one.
    pub(crate) fn driver(&self) -> Option<String> {
        let asked = DriverInfo { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
        let told = self.ethtool(asked).ok()?;
        let name = told.driver.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    /// Returns the number of receive queues.
    pub(crate) fn queues(&self) -> u32 {
        let asked = Channels {
            command: GET_CHANNELS,
            most: [0; 4],
            receive: 0,
            transmit: 0,
            other: 0,
            combined: 0,
        };
        self.ethtool(asked).map_or(1, |told| (told.receive + told.combined).max(1))
    }

    /// Turns off GRO and LRO, because merged frames would be longer than the sent ones. Returns the
    /// names of the offloads that were turned off.
    pub(crate) fn keep_segments(&mut self) -> Vec<&'static str> {
        let mut done = Vec::new();
        let gro = self.ethtool(OneValue { command: GET_GRO, data: 0 }).is_ok_and(|it| it.data != 0);
        if gro && self.ethtool(OneValue { command: SET_GRO, data: 0 }).is_ok() {
            self.gro = true;
            done.push("gro");
        }
        if self.turn_off(LRO) {
            done.push("lro");
        }
        done
    }

    /// Turns off one of the old offload flags. Returns whether it was on, and is off now.
    pub(crate) fn turn_off(&mut self, flag: u32) -> bool {
        let flags = self.ethtool(OneValue { command: GET_FLAGS, data: 0 }).map_or(0, |it| it.data);
        if flags & flag == 0 {
            return false;
        }
        let without = OneValue { command: SET_FLAGS, data: flags & !flag };
        let done = self.ethtool(without).is_ok();
        if done {
            self.flags |= flag;
        }
        done
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: a `struct ifreq` is bytes, integers and addresses, all of which may be zero.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The last byte stays zero, to end the name.
        for (to, from) in request.ifr_name.iter_mut().take(15).zip(self.name.bytes()) {
            // C's `char` is signed on some machines.
            *to = c_char::from_ne_bytes([from]);
        }
        request
    }

    fn ask(&self, what: c_ulong, request: &mut libc::ifreq) -> Result<(), Errno> {
        let socket = self.socket.as_fd().as_raw_fd();
        // The request's type differs between C libraries. SAFETY: these requests read and write a
        // `struct ifreq` and nothing else; those that read more by a pointer in it are made by
        // `ethtool`, which sees to that.
        let done = unsafe { libc::ioctl(socket, what as _, std::ptr::from_mut(request)) };
        if done < 0 { Err(last()) } else { Ok(()) }
    }

    /// Sends a request to the driver. `question` is one of the structures above, which begin with
    /// their command and have the size that the kernel's headers give for it.
    fn ethtool<T: Copy>(&self, mut question: T) -> Result<T, Errno> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut question).cast();
        self.ask(libc::SIOCETHTOOL as c_ulong, &mut request)?;
        Ok(question)
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        if self.gro {
            // The interface may be gone, so a failure is ignored.
            let _set = self.ethtool(OneValue { command: SET_GRO, data: 1 });
        }
        if self.flags != 0 {
            let now =
                self.ethtool(OneValue { command: GET_FLAGS, data: 0 }).map_or(0, |it| it.data);
            let _set = self.ethtool(OneValue { command: SET_FLAGS, data: now | self.flags });
        }
    }
}
