//! The messages between client and agent: packets of a local socket that keeps their bounds, each a
//! JSON object. Descriptors come with the first one.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest packet, in bytes.
const LONGEST: usize = 16 << 10;
/// Most sockets of an attachment.
pub(crate) const MOST_SOCKETS: usize = 8;
/// Descriptors before the sockets: regions, news, program.
pub(crate) const BEFORE_SOCKETS: usize = 3;
/// Room for descriptors: some more than there may be, so that too many are seen.
const MOST_FILES: usize = 16;

/// The first packet of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Ask {
    /// To run its program before its sockets. The descriptors of regions, news and program come
    /// with it, and then those of the sockets.
    Attach(Attach),
    /// How the tenants are.
    Tenants,
}

/// A program that is to be attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attach {
    /// The version of regions that it is built for.
    pub(crate) layout: u64,
    /// Its name, and the hash of its plan.
    pub(crate) program: String,
    pub(crate) plan: u64,
    /// The bytes of regions, and of news.
    pub(crate) bytes: [u64; 2],
    /// Bytes of memory that its NIC half needs.
    pub(crate) memory: u64,
    /// Its share of the time, beside those of others.
    pub(crate) weight: u16,
    /// Whether its NIC half may share a process with others of the same program.
    pub(crate) share_process: bool,
    /// A silence of its wire is told at this interval (ns), if at all.
    pub(crate) silence: Option<u64>,
    /// Where it is asked, for sockets that are bound to all addresses.
    pub(crate) at: Vec<String>,
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Say {
    /// Packets for these addresses go to the program, once its NIC half works.
    Attached { at: Vec<String> },
    /// Nothing is attached.
    Refused { why: String },
    /// The NIC half has ended with this status, as shells tell it.
    Ended { status: u8 },
}

/// Sends a packet with these descriptors.
pub(crate) fn send(
    to: impl AsFd,
    packet: &impl Serialize,
    files: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let bytes = serde_json::to_vec(packet).map_err(|_| Errno::INVAL)?;
    if bytes.len() > LONGEST {
        return Err(Errno::MSGSIZE);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(Errno::TOOBIG);
    }
    // A peer that is gone is an error here, and no signal.
    let flags = SendFlags::NOSIGNAL;
    sendmsg(to, &[IoSlice::new(&bytes)], &mut control, flags).map(drop)
}

/// Whether the other end of a socket that does not block is there, and says nothing.
pub(crate) fn is_silent(from: impl AsFd) -> bool {
    let mut byte = [0; 1];
    let came = recv(from, &mut byte, RecvFlags::empty());
    matches!(came, Err(Errno::AGAIN | Errno::INTR))
}

/// A packet that came.
#[derive(Debug)]
pub(crate) enum Came<T> {
    Packet(T, Vec<OwnedFd>),
    /// None yet.
    NotYet,
    /// None will come: the other end is closed.
    Closed,
    /// It is none of these packets.
    Nonsense,
}

/// Takes the next packet, if there is one; a socket that blocks waits for it.
pub(crate) fn receive<T: DeserializeOwned>(from: impl AsFd) -> Came<T> {
    let mut bytes = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let came = match recvmsg(from, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
        Ok(came) => came,
        Err(Errno::AGAIN | Errno::INTR) => return Came::NotYet,
        Err(_) => return Came::Closed,
    };
    // Descriptors of any packet are taken: those that are left would stay open.
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            files.extend(some);
        }
    }
    if came.bytes == 0 {
        return Came::Closed;
    }
    let is_whole = !came.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
    match serde_json::from_slice(bytes.get(..came.bytes).unwrap_or_default()) {
        Ok(packet) if is_whole => Came::Packet(packet, files),
        _ => Came::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("sockets")
    }

    #[test]
    fn a_packet_comes_with_its_descriptors() {
        let (one, other) = pair();
        assert!(matches!(receive::<Say>(&other), Came::NotYet));
        assert!(is_silent(&other));
        let file = std::fs::File::open("/dev/null").expect("it is there");
        let said = Say::Ended { status: 3 };
        send(&one, &said, &[file.as_fd(), file.as_fd()]).expect("it is sent");
        match receive::<Say>(&other) {
            Came::Packet(packet, files) => assert_eq!((packet, files.len()), (said, 2)),
            came => panic!("{came:?}"),
        }
        drop(one);
        assert!(!is_silent(&other));
        assert!(matches!(receive::<Say>(&other), Came::Closed));
    }

    #[test]
    fn what_is_no_packet_is_told_apart() {
        let (one, other) = pair();
        for text in
            ["", " ", "{", "{\"say\":\"ended\"}", "{\"say\":\"ended\",\"status\":1,\"x\":2}"]
        {
            rustix::net::send(&one, text.as_bytes(), SendFlags::empty()).expect("it is sent");
            let came = receive::<Say>(&other);
            assert!(matches!(came, Came::Nonsense | Came::Closed), "{text}: {came:?}");
        }
        let long = Say::Refused { why: "x".repeat(LONGEST) };
        assert_eq!(send(&one, &long, &[]), Err(Errno::MSGSIZE));
        rustix::net::send(&one, &vec![b' '; LONGEST + 5], SendFlags::empty()).expect("it is sent");
        assert!(matches!(receive::<Say>(&other), Came::Nonsense), "it is cut");
    }
}
