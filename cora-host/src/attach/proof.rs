//! A socket as the proof that its address is held.
//!
//! The kernel tells the address that a socket is bound to, and its network namespace. Anybody can
//! make a namespace of his own, and bind any address there, so an agent believes sockets of the
//! namespaces behind its ports alone.
//!
//! A server as it is passes no socket. A user with the right to debug its process takes a duplicate
//! (`pidfd_getfd`).
#![expect(unsafe_code, reason = "asks the kernel about sockets")]

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, getsockname, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::attach::address::{ServedAt, Transport};

/// A network namespace: the kernel gives each another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Namespace(u64);

impl Namespace {
    /// The one of a socket.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> std::io::Result<Self> {
        /// `include/uapi/asm-generic/socket.h`, from Linux 5.14 on.
        const SO_NETNS_COOKIE: i32 = 71;
        let mut cookie = 0_u64;
        let mut length = size_of::<u64>() as u32;
        // SAFETY: the kernel writes at most `length` bytes to `cookie`, which has that many.
        let done = unsafe {
            let to = (&raw mut cookie).cast();
            let socket = socket.as_raw_fd();
            libc::getsockopt(socket, libc::SOL_SOCKET, SO_NETNS_COOKIE, to, &raw mut length)
        };
        if done == 0 { Ok(Self(cookie)) } else { Err(std::io::Error::last_os_error()) }
    }

    /// The own one.
    pub(crate) fn own() -> std::io::Result<Self> {
        Self::of(std::net::UdpSocket::bind("127.0.0.1:0")?.as_fd())
    }

    /// The one of this file, as `/run/netns/NAME` or `/proc/PID/ns/net`.
    pub(crate) fn at(path: &Path) -> std::io::Result<Self> {
        use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

        let file = fs::File::open(path)?;
        // A thread moves, and ends there.
        let there = std::thread::spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            let flags = rustix::net::SocketFlags::CLOEXEC;
            let socket =
                rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
            Self::of(socket.as_fd())
        });
        there.join().unwrap_or_else(|_| Err(std::io::ErrorKind::Other.into()))
    }
}

/// The address of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    transport: Transport,
    /// The address that it is bound to; unspecified for all of its namespace.
    bound: SocketAddr,
    pub(crate) namespace: Namespace,
}

impl Held {
    /// That of a UDP socket that is bound, or of a TCP socket that listens.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn by(socket: BorrowedFd<'_>) -> Result<Self, String> {
        let refused = |errno: rustix::io::Errno| format!("a descriptor is no socket: {errno}");
        let kind = sockopt::socket_type(socket).map_err(refused)?;
        let family = sockopt::socket_domain(socket).map_err(refused)?;
        if family != AddressFamily::INET && family != AddressFamily::INET6 {
            return Err("a socket is neither of UDP nor of TCP".to_owned());
        }
        let address = getsockname(socket).map_err(refused)?;
        let bound = SocketAddr::try_from(address)
            .map_err(|_| "a socket has no internet address".to_owned())?;
        let transport = match kind {
            SocketType::DGRAM => Transport::Udp,
            SocketType::STREAM if sockopt::socket_acceptconn(socket).map_err(refused)? => {
                Transport::Tcp
            }
            SocketType::STREAM => {
                return Err(format!(
                    "the TCP socket at {bound} does not listen: a connection is no proof that its \
                     address is held"
                ));
            }
            _ => return Err("a socket is neither of UDP nor of TCP".to_owned()),
        };
        if bound.port() == 0 {
            return Err(format!("a {} socket is bound to no port", transport.name()));
        }
        let namespace = Namespace::of(socket)
            .map_err(|cause| format!("the kernel does not tell a socket's namespace: {cause}"))?;
        Ok(Self { transport, bound, namespace })
    }

    /// The addresses among `asked` that it proves, or its own, if it is bound to one.
    pub(crate) fn proves(&self, socket: BorrowedFd<'_>, asked: &[ServedAt]) -> Vec<ServedAt> {
        let own = ServedAt { transport: self.transport, address: self.bound };
        let ip = self.bound.ip().to_canonical();
        if !ip.is_unspecified() {
            return vec![own];
        }
        let fits = |at: &&ServedAt| {
            at.transport == self.transport && at.address.port() == self.bound.port()
        };
        // It is bound to all addresses of its namespace, of which it can name those of IPv4.
        let there = addresses_beside(socket);
        let holds = |at: &&ServedAt| match at.address.ip().to_canonical() {
            IpAddr::V4(address) => there.contains(&address),
            IpAddr::V6(_) => false,
        };
        asked.iter().filter(fits).filter(holds).copied().collect()
    }
}

/// The IPv4 addresses of the interfaces in a socket's namespace.
fn addresses_beside(socket: BorrowedFd<'_>) -> Vec<Ipv4Addr> {
    const MOST: usize = 256;
    // SAFETY: plain data, for which zeroes are a value.
    let mut entries: [libc::ifreq; MOST] = unsafe { std::mem::zeroed() };
    let mut asked = libc::ifconf {
        ifc_len: i32::try_from(size_of_val(&entries)).unwrap_or(i32::MAX),
        ifc_ifcu: libc::__c_anonymous_ifc_ifcu { ifcu_req: entries.as_mut_ptr() },
    };
    // SAFETY: the kernel writes at most `ifc_len` bytes to `entries`, and how many to `ifc_len`.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFCONF as _, &raw mut asked) };
    if done != 0 {
        return Vec::new();
    }
    let there = usize::try_from(asked.ifc_len).unwrap_or(0) / size_of::<libc::ifreq>();
    let address = |entry: &libc::ifreq| {
        // SAFETY: for this request the kernel writes a socket address into each entry. Its bytes
        // are plain data, which can be read in any case.
        let address = unsafe { entry.ifr_ifru.ifru_addr };
        let [_, _, a, b, c, d, ..] = address.sa_data.map(|byte| byte.to_ne_bytes()[0]);
        (i32::from(address.sa_family) == libc::AF_INET).then(|| Ipv4Addr::new(a, b, c, d))
    };
    entries.iter().take(there).filter_map(address).collect()
}

/// The sockets of the processes of this machine at this address, in this network namespace.
///
/// # Errors
/// A sentence.
pub(crate) fn find(at: ServedAt) -> Result<OwnedFd, String> {
    let inodes = inodes(at);
    if inodes.is_empty() {
        return Err(format!(
            "no socket is bound to {at} in this network namespace: is the server up, and does it \
             listen by {}? (`ss -lnup` tells; memcached has UDP off, unless it gets -U PORT)",
            at.transport.name()
        ));
    }
    let mut denied = None;
    for inode in inodes {
        for (process, file) in owners(inode) {
            match take(process, file) {
                Ok(socket) => return Ok(socket),
                Err(cause) => denied = Some((process, cause)),
            }
        }
    }
    Err(match denied {
        Some((process, cause)) => format!(
            "process {} has the socket at {at}, and does not let it be taken: {cause}",
            process.as_raw_nonzero()
        ),
        None => format!(
            "the process with the socket at {at} can't be seen from here: be its user, or root"
        ),
    })
}

/// The numbers of sockets that are bound so. Exact ones come first.
fn inodes(at: ServedAt) -> Vec<u64> {
    // `TCP_LISTEN` and, for UDP, `TCP_CLOSE` (`include/net/tcp_states.h`).
    let state = match at.transport {
        Transport::Tcp => "0A",
        Transport::Udp => "07",
    };
    let (mut exact, mut all) = (Vec::new(), Vec::new());
    for name in [at.transport.name().to_owned(), format!("{}6", at.transport.name())] {
        let Ok(text) = fs::read_to_string(format!("/proc/net/{name}")) else { continue };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(its), Some(inode)) =
                (fields.get(1), fields.get(3), fields.get(9))
            else {
                continue;
            };
            let (Some(local), Ok(inode)) = (local_address(local), inode.parse()) else { continue };
            if *its != state || local.port() != at.address.port() {
                continue;
            }
            let (ip, wanted) = (local.ip().to_canonical(), at.address.ip().to_canonical());
            if ip == wanted {
                exact.push(inode);
            } else if ip.is_unspecified() && (ip.is_ipv6() || wanted.is_ipv4()) {
                all.push(inode);
            }
        }
    }
    exact.extend(all);
    exact
}

/// An address of `/proc/net`: its 32-bit words as this machine has them, and the port.
fn local_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    let (words, rest) = address.as_bytes().as_chunks::<8>();
    for word in words {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    if !rest.is_empty() {
        return None;
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        16 => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// Processes with this socket, and the number of the file there.
fn owners(inode: u64) -> impl Iterator<Item = (Pid, i32)> {
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(move |process| {
        let number = process.file_name().to_str().and_then(|name| name.parse().ok());
        let process_number = number.and_then(Pid::from_raw)?;
        let mut files = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let file = files.find(|file| {
            fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == &*wanted)
        })?;
        let file = file.file_name().to_str().and_then(|name| name.parse().ok())?;
        Some((process_number, file))
    })
}

/// A duplicate of a process's file.
fn take(process: Pid, file: i32) -> Result<OwnedFd, rustix::io::Errno> {
    let process = pidfd_open(process, PidfdFlags::empty())?;
    pidfd_getfd(process, file, PidfdGetfdFlags::empty())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn at(text: &str) -> ServedAt {
        text.parse().expect(text)
    }

    #[test]
    fn a_socket_is_found_by_its_address_and_taken() {
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        for at in [
            at(&format!("udp:{}", udp.local_addr().expect("it is bound"))),
            at(&format!("tcp:{}", tcp.local_addr().expect("it is bound"))),
        ] {
            let socket = find(at).expect("it is there");
            let held = Held::by(socket.as_fd()).expect("it is bound");
            assert_eq!(held.proves(socket.as_fd(), &[]), [at]);
            assert_eq!(held.namespace, Namespace::own().expect("there is one"));
        }
    }

    #[test]
    fn a_socket_at_all_addresses_proves_those_that_are_there() {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
        let port = socket.local_addr().expect("it is bound").port();
        let held = Held::by(socket.as_fd()).expect("it is bound");
        let (own, others) = (at(&format!("udp:127.0.0.1:{port}")), at("udp:127.0.0.1:1"));
        let foreign = at(&format!("udp:192.0.2.7:{port}"));
        let by_tcp = at(&format!("tcp:127.0.0.1:{port}"));
        assert_eq!(held.proves(socket.as_fd(), &[foreign, by_tcp, own, others]), [own]);
        assert_eq!(held.proves(socket.as_fd(), &[]), []);
        assert!(find(own).is_ok());
    }

    #[test]
    fn what_proves_nothing_is_refused_with_a_sentence() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let file = fs::File::open("/dev/null").expect("it is there");
        let (local, _) = std::os::unix::net::UnixStream::pair().expect("sockets");
        for (socket, why) in [
            (stream.as_fd(), "does not listen"),
            (file.as_fd(), "no socket"),
            (local.as_fd(), "neither of UDP nor of TCP"),
        ] {
            let refused = Held::by(socket).expect_err(why);
            assert!(refused.contains(why), "{refused}");
        }
        let refused = find(at("udp:127.0.0.1:9")).expect_err("nobody is there");
        assert!(refused.contains("is the server up"), "{refused}");
    }

    #[test]
    fn an_address_of_the_kernel_is_read() {
        let read = |text| local_address(text).map(|it| it.to_string());
        assert_eq!(read("0100007F:2BCB").as_deref(), Some("127.0.0.1:11211"));
        let v6 = "B80D0120000000000000000001000000:0007";
        assert_eq!(read(v6).as_deref(), Some("[2001:db8::1]:7"));
        assert_eq!(read("0100007F"), None);
        assert_eq!(read("01007F:0007"), None);
    }
}
