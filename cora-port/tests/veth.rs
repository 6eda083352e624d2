//! Ports at both ends of a veth: frames arrive once, in order and unchanged, and each failure has a
//! name. Needs root; elsewhere each test prints a line that begins with SKIPPED.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

#[path = "veth/pair.rs"]
mod pair;

use std::io::Write as _;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cora_port::{Counters, Link, OnReceive, Port, PortError};
use pair::Pair;

/// Every kind of port for an interface.
const KINDS: [&str; 3] = ["packet:{}", "xdp:{}?attach=native", "xdp:{}?attach=generic&mode=copy"];
/// Time limit, far longer than frames take to arrive.
const SOON: Duration = Duration::from_secs(5);

fn named(kind: &str, interface: &str) -> String {
    kind.replace("{}", interface)
}

/// Makes a frame of this length that begins with its number.
fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    for (at, byte) in frame.iter_mut().enumerate().skip(18) {
        *byte = (at as u32 ^ number) as u8;
    }
    frame
}

/// Collects frames until there are `count` of them, or [`SOON`] has passed.
fn collect(port: &mut dyn Port, count: usize) -> Vec<Vec<u8>> {
    let (mut frames, begun) = (Vec::new(), Instant::now());
    while frames.len() < count && begun.elapsed() < SOON {
        let came = port.receive(32, &mut |frame| frames.push(frame.to_vec())).unwrap();
        if came == 0 {
            sleep(Duration::from_millis(1));
        }
    }
    frames
}

/// Waits until `is_so` holds.
fn wait(port: &mut dyn Port, what: &str, mut is_so: impl FnMut(&dyn Port) -> bool) {
    let begun = Instant::now();
    while !is_so(port) {
        assert!(begun.elapsed() < SOON, "{what}: {port:?}");
        port.look().unwrap();
        sleep(Duration::from_millis(5));
    }
}

fn send(port: &mut dyn Port, frames: &[Vec<u8>]) -> usize {
    let mut taken = 0;
    for burst in frames.chunks(32) {
        let burst: Vec<&[u8]> = burst.iter().map(Vec::as_slice).collect();
        taken += port.transmit(&burst);
        port.flush().unwrap();
    }
    taken
}

#[test]
fn frames_arrive_unchanged_and_in_order_in_both_directions() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let Some(pair) = Pair::new(&format!("order{number}")) else { return };
        let mut a = pair.open(0, &named(kind, "a")).unwrap();
        let mut b = pair.open(1, "packet:b").unwrap();
        assert_eq!((a.link(), a.mtu()), (Link::Up, 1500), "{kind}");
        let sent: Vec<_> = (0..600).map(|it| frame(it, 60 + (it as usize * 7) % 1455)).collect();
        assert_eq!(send(a.as_mut(), &sent), sent.len(), "{kind}: {a:?}");
        assert_eq!(collect(b.as_mut(), sent.len()), sent, "{kind} sends");
        assert_eq!(send(b.as_mut(), &sent), sent.len(), "{kind}");
        assert_eq!(collect(a.as_mut(), sent.len()), sent, "{kind} receives");
        // No port receives its own frames.
        assert_eq!(a.receive(32, &mut |_| ()).unwrap(), 0, "{kind}");
        assert_eq!(b.receive(32, &mut |_| ()).unwrap(), 0, "{kind}");
        let both = |port: &dyn Port| (port.counters().received, port.counters().transmitted);
        assert_eq!((both(a.as_ref()), both(b.as_ref())), ((600, 600), (600, 600)), "{kind}");
        let dropped = a.counters().outcomes().iter().map(|(_, count)| count).sum::<u64>();
        assert_eq!(dropped, 0, "{kind}: {:?}", a.counters());
    }
}

#[test]
fn what_can_not_leave_has_a_name() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let Some(pair) = Pair::new(&format!("names{number}")) else { return };
        let mut a = pair.open(0, &named(kind, "a")).unwrap();
        assert_eq!(a.transmit(&[&frame(0, 1515), &frame(1, 1514), &[0; 13]]), 1, "{kind}");
        a.flush().unwrap();
        let counters = a.counters();
        assert_eq!((counters.too_long, counters.not_taken, counters.transmitted), (1, 1, 1));
        pair.ip(1, "link set dev b down").unwrap();
        wait(a.as_mut(), "the link goes down", |a| a.link() == Link::Down);
        assert_eq!(a.transmit(&[&frame(2, 60)]), 0, "{kind}");
        assert_eq!(a.counters().link_down, 1, "{kind}");
        assert_eq!(a.receive(32, &mut |_| ()).unwrap(), 0, "{kind}: no error");
        pair.ip(1, "link set dev b up").unwrap();
        wait(a.as_mut(), "the link comes up", |a| a.link() == Link::Up);
        let mut b = pair.open(1, "packet:b").unwrap();
        assert_eq!(send(a.as_mut(), &[frame(3, 60)]), 1, "{kind}");
        assert_eq!(collect(b.as_mut(), 1), [frame(3, 60)], "{kind}");
        // Now the interface itself goes down, not its other end.
        pair.ip(0, "link set dev a down").unwrap();
        wait(a.as_mut(), "the link goes down", |a| a.link() == Link::Down);
        pair.ip(0, "link set dev a up").unwrap();
        wait(a.as_mut(), "the link comes up", |a| a.link() == Link::Up);
        assert_eq!(send(b.as_mut(), &[frame(4, 60)]), 1, "{kind}");
        assert_eq!(collect(a.as_mut(), 1), [frame(4, 60)], "{kind}");
    }
}

#[test]
fn a_new_mtu_counts_at_once_and_a_lost_interface_is_an_error() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let Some(pair) = Pair::new(&format!("mtu{number}")) else { return };
        let mut a = pair.open(0, &named(kind, "a")).unwrap();
        pair.ip(0, "link set dev a mtu 1000").unwrap();
        wait(a.as_mut(), "the MTU", |a| a.mtu() == 1000);
        assert_eq!(a.transmit(&[&frame(0, 1015), &frame(1, 1014)]), 1, "{kind}");
        pair.ip(0, "link delete dev a").unwrap();
        let begun = Instant::now();
        let error = loop {
            match a.look() {
                Err(error) => break error,
                Ok(()) => assert!(begun.elapsed() < SOON, "{kind}"),
            }
            sleep(Duration::from_millis(5));
        };
        assert!(matches!(&error, PortError::Gone { name } if name == "a"), "{kind}: {error}");
    }
}

/// Sends from the other namespace's kernel by a socket. It leaves the checksum to a card, but a
/// veth has none.
fn from_a_kernel(kind: &str, label: &str) -> Option<(Vec<Vec<u8>>, Counters, OnReceive)> {
    let pair = Pair::new(label)?;
    let mut b = pair.open(1, &named(kind, "b")).unwrap();
    pair.ip(0, "address add 10.0.0.1/24 dev a").unwrap();
    pair.ip(0, "neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a").unwrap();
    pair.within(0, || {
        let socket = UdpSocket::bind("10.0.0.1:7").unwrap();
        for size in [1_usize, 100, 1471] {
            socket.send_to(&vec![5; size], "10.0.0.2:8").unwrap();
        }
    });
    let frames = collect(b.as_mut(), 3);
    Some((frames, b.counters(), b.checksums().on_receive))
}

/// Whether the checksum of UDP over IPv4 without options is right.
fn is_right(frame: &[u8]) -> bool {
    let length = u32::from(u16::from_be_bytes([frame[38], frame[39]]));
    let end = 34 + length as usize;
    let mut bytes = frame[26..end].to_vec();
    bytes.resize(bytes.len().next_multiple_of(2), 0);
    let words = bytes.as_chunks::<2>().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair)));
    let mut sum = words.sum::<u32>() + 17 + length;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

#[test]
fn checksums_that_a_sender_left_are_finished_and_counted() {
    let xdp = ["xdp:{}?attach=native", "xdp:{}?attach=generic"]
        .map(|kind| (kind, OnReceive::FinishedByLook));
    let kinds = [("packet:{}", OnReceive::Finished)].into_iter().chain(xdp);
    for (number, (kind, expected)) in kinds.enumerate() {
        let told = from_a_kernel(kind, &format!("sums{number}"));
        let Some((frames, counters, promised)) = told else { return };
        assert_eq!(promised, expected, "{kind}");
        assert_eq!(frames.len(), 3, "{kind}: {counters:?}");
        assert!(frames.iter().all(|frame| is_right(frame)), "{kind}");
        assert_eq!(counters.checksums_finished, 3, "{kind}");
    }
    let left = from_a_kernel("xdp:{}?checksum=leave", "sums-left");
    let Some((frames, counters, promised)) = left else { return };
    assert_eq!((promised, frames.len()), (OnReceive::AsTheyCame, 3));
    assert!(!frames.iter().any(|frame| is_right(frame)), "they are as they came");
    assert_eq!(counters.checksums_unfinished, 3);
}

#[test]
fn a_vlan_tag_arrives_where_it_was() {
    let Some(pair) = Pair::new("vlan") else { return };
    let mut a = pair.open(0, "packet:a").unwrap();
    let mut b = pair.open(1, "packet:b").unwrap();
    let mut tagged = frame(9, 1518);
    tagged[12..16].copy_from_slice(&[0x81, 0, 0x20, 7]);
    // The port sends the tag as bytes; the kernel sends it as metadata beside the frame.
    assert_eq!(send(a.as_mut(), &[tagged.clone()]), 1);
    assert_eq!(collect(b.as_mut(), 1), [tagged]);
    if let Err(why) = pair.ip(0, "link add link a name a.7 type vlan id 7") {
        // Written directly, because the test harness would hold back `eprintln!`.
        let _told = writeln!(std::io::stderr(), "SKIPPED a tag of the kernel's: {why}");
        return;
    }
    pair.ip(0, "link set dev a.7 up").unwrap();
    pair.ip(0, "address add 10.0.0.1/24 dev a.7").unwrap();
    pair.ip(0, "neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a.7").unwrap();
    pair.within(0, || {
        let socket = UdpSocket::bind("10.0.0.1:7").unwrap();
        socket.send_to(b"tagged", "10.0.0.2:8").unwrap();
    });
    let frames = collect(b.as_mut(), 1);
    assert_eq!(frames[0][12..18], [0x81, 0, 0, 7, 8, 0]);
    let untagged = [&frames[0][..12], &frames[0][16..]].concat();
    assert!(is_right(&untagged), "its checksum is finished behind the tag");
}

#[test]
fn what_finds_no_room_in_a_ring_is_counted() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let Some(pair) = Pair::new(&format!("room{number}")) else { return };
        let mut b = pair.open(1, &named(kind, "b")).unwrap();
        let mut a = pair.open(0, "packet:a").unwrap();
        let sent: Vec<_> = (0..6000).map(|it| frame(it, 60)).collect();
        let taken = send(a.as_mut(), &sent);
        let came = collect(b.as_mut(), taken).len() as u64;
        wait(b.as_mut(), "the kernel tells", |b| b.counters().receive_ring_full > 0);
        let full = b.counters().receive_ring_full;
        assert_eq!((came + full, b.counters().received), (taken as u64, came), "{kind}");
    }
}

/// Queues of the interface in [`by_queues`], and datagrams per flow.
const QUEUES: usize = 4;
const EACH: u8 = 20;

/// Sends datagrams of several flows from the first namespace's kernel, which spreads them over its
/// queues. Returns the received numbers of each flow.
fn by_queues(kind: &str, label: &str) -> Option<(Vec<Vec<u8>>, String)> {
    const FLOWS: u16 = 48;
    let pair = Pair::with_queues(label, QUEUES)?;
    let mut b = pair.open(1, &named(kind, "b")).unwrap();
    pair.ip(0, "address add 10.0.0.1/24 dev a").unwrap();
    pair.ip(0, "neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev a").unwrap();
    pair.within(0, || {
        let sockets = (0..FLOWS).map(|flow| UdpSocket::bind(("10.0.0.1", 1000 + flow)).unwrap());
        let sockets: Vec<_> = sockets.collect();
        for number in 0..EACH {
            for socket in &sockets {
                socket.send_to(&[number], "10.0.0.2:8").unwrap();
            }
        }
    });
    let mut flows = vec![Vec::new(); usize::from(FLOWS)];
    for frame in collect(b.as_mut(), usize::from(FLOWS) * usize::from(EACH)) {
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        flows[usize::from(port - 1000)].push(frame[42]);
    }
    Some((flows, b.notes().join("; ")))
}

#[test]
fn several_queues_bring_each_flow_whole_and_in_order() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        let Some((flows, notes)) = by_queues(kind, &format!("queues{number}")) else { return };
        let whole: Vec<u8> = (0..EACH).collect();
        assert!(flows.iter().all(|flow| *flow == whole), "{kind}: {notes}: {flows:?}");
    }
    // With one socket only some flows come, so all of them came by several queues.
    let Some((flows, notes)) = by_queues("xdp:{}?queues=1", "queues-one") else { return };
    let came = flows.iter().filter(|flow| !flow.is_empty()).count();
    assert!(came > 0 && came < flows.len() * 3 / 4, "{notes}: {flows:?}");
}

#[test]
fn what_can_not_be_had_is_told_with_what_to_type() {
    let Some(pair) = Pair::new("errors") else { return };
    for kind in ["packet:none", "xdp:none"] {
        let error = pair.open(0, kind).unwrap_err().to_string();
        assert!(error.contains("`none`") && error.contains("`ip link`"), "{error}");
    }
    let error = pair.open(0, "packet:lo").map(drop).unwrap_err();
    assert!(matches!(error, PortError::NotEthernet { .. }), "{error}");
    let error = pair.open(0, "xdp:a?queues=64").unwrap_err().to_string();
    assert!(error.contains("xdp:a?queues=1"), "{error}");
    let error = pair.open(0, "xdp:a?mode=zerocopy").unwrap_err().to_string();
    assert!(error.contains("mode=auto"), "a veth copies: {error}");
    let first = pair.open(0, "xdp:a").unwrap();
    let error = pair.open(0, "xdp:a").unwrap_err().to_string();
    assert!(error.contains("in use") && error.contains("xdp off"), "{error}");
    drop(first);
    drop(pair.open(0, "xdp:a").expect("it is free again"));
    pair.ip(0, "link set dev a mtu 9000").unwrap();
    let error = pair.open(0, "xdp:a").unwrap_err().to_string();
    assert!(error.contains("mtu 3818") && error.contains("packet:a"), "{error}");
    for (kind, right) in [("packet:a", "cap_net_raw"), ("xdp:b", "cap_net_admin")] {
        let end = usize::from(kind.ends_with('b'));
        let error = pair.within(end, move || {
            let none = rustix::thread::CapabilitySets {
                effective: rustix::thread::CapabilitySet::empty(),
                permitted: rustix::thread::CapabilitySet::empty(),
                inheritable: rustix::thread::CapabilitySet::empty(),
            };
            rustix::thread::set_capabilities(None, none).unwrap();
            cora_port::open(&kind.parse().unwrap()).map(drop).unwrap_err().to_string()
        });
        assert!(error.contains("not allowed") && error.contains(right), "{kind}: {error}");
    }
}
