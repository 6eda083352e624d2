//! The client of the attacker: is attached at an address that it holds, and prints the agent's
//! answers.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use cora_runtime::link::region::{HashSeed, Identity, LAYOUT_VERSION, Region, generation};
use cora_runtime::link::ring::Producer;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, sendmsg, socket_with,
};
use serde_json::{Value, json};

use crate::deeds::WAYS;
use crate::memory::{layout, map, order};

/// The kind of the record that tells the time of a run.
const SETUP: u16 = (1 << 13) + 2;

/// Sealed memory, as a half may share it, or loose.
fn memory(bytes: usize, is_sealed: bool) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let made = memfd_create("region", flags).and_then(|file| {
        ftruncate(&file, bytes as u64)?;
        if is_sealed {
            let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
            fcntl_add_seals(&file, seals)?;
        }
        Ok(file)
    });
    made.unwrap_or_else(|errno| panic!("{errno}"))
}

/// An address and a port as a word.
fn word(address: &str) -> u64 {
    let address: SocketAddrV4 = address.parse().unwrap_or_else(|_| panic!("{address}"));
    u64::from(u32::from(*address.ip())) << 16 | u64::from(address.port())
}

/// Asks the agent, and prints its answers, a line each, until it closes the connection.
pub(crate) fn ask(words: &[String]) -> ExitCode {
    let [_, agent, way, own, rest @ ..] = words else { return ExitCode::FAILURE };
    let number = WAYS.iter().position(|(name, _)| name == way);
    let bytes = 2 * layout().bytes();
    let regions = memory(bytes, way != "loose");
    let news = memory(bytes, true);
    for file in [&regions, &news] {
        let words = map(file, bytes);
        let identity =
            Identity { plan: 1, generation: 1, seed: HashSeed(1), resident: false, afresh: false };
        let place = generation::place(words, 1);
        let region = Region::create(place, &layout(), identity);
        let region = region.unwrap_or_else(|error| panic!("{error}"));
        generation::announce(words, 1);
        // The time of the run.
        let mut wire = Producer::new(region.rings().wire_in);
        let setup = json!({ "now": 1_u64, "services": [] }).to_string();
        assert!(wire.push(SETUP, &[setup.as_bytes()]).is_ok(), "it is empty");
        wire.publish();
    }
    let mut addresses = [word(own); 4];
    for (at, address) in addresses.iter_mut().skip(1).zip(rest) {
        *at = word(address);
    }
    order(map(&regions, bytes), number.unwrap_or(0) as u64, addresses);
    let socket = UdpSocket::bind(own).unwrap_or_else(|error| panic!("{own}: {error}"));
    let program = std::fs::File::open("/proc/self/exe").unwrap_or_else(|error| panic!("{error}"));
    let connection = reach(agent);
    let stolen = way == "steal";
    let said = json!({
        "ask": "attach",
        "layout": LAYOUT_VERSION,
        "program": format!("attacker {way}"),
        "plan": 1,
        "bytes": [bytes, bytes],
        "memory": if way == "greedy" { u64::MAX } else { 1 << 20 },
        "weight": 1,
        "share_process": false,
        "silence": null,
        // That of the victim, of which it has no socket.
        "at": if stolen { vec![format!("udp:{}", rest[0])] } else { Vec::new() },
    });
    let files = [regions.as_fd(), news.as_fd(), program.as_fd(), socket.as_fd()];
    let text = if way == "babble" { "{\"ask\":\"all\"}".to_owned() } else { said.to_string() };
    send(&connection, text.as_bytes(), if way == "bare" { &files[..3] } else { &files });
    while let Some(said) = hear(&connection) {
        println!("{said}");
    }
    ExitCode::SUCCESS
}

fn reach(agent: &str) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let reached = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .and_then(|socket| connect(&socket, &SocketAddrUnix::new(agent)?).map(|()| socket));
    reached.unwrap_or_else(|errno| panic!("{agent}: {errno}"))
}

fn send(to: &OwnedFd, text: &[u8], files: &[std::os::fd::BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(files)), "there is room");
    let sent = sendmsg(to, &[IoSlice::new(text)], &mut control, SendFlags::empty());
    assert_eq!(sent, Ok(text.len()), "the agent is there");
}

fn hear(from: &OwnedFd) -> Option<Value> {
    let mut bytes = [0; 4096];
    let mut space = [MaybeUninit::uninit(); 64];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let length = recvmsg(from, parts, &mut control, RecvFlags::empty()).ok()?.bytes;
    serde_json::from_slice(bytes.get(..length)?).ok()
}
