//! Captures, and replies sent to the addresses where a NAT or a balancer expects them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::thread::sleep;
use std::time::Duration;

use cora::prelude::{Address, FiveTuple, Meta, Packet};
use cora_traffic::pcap::{Reader, Writer};
use cora_traffic::{Mode, Profile, SERVICE_V4};

use crate::workshop::is_full;

/// Bytes that [`paced`] writes at once: about 50 packets.
const PIECE: usize = 16 * 1024;
const PAUSE: Duration = Duration::from_millis(1);

/// A capture on disk.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The name of the capture in tables.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

/// Backends that appear in no capture.
pub const BACKENDS: [Ipv4Addr; 4] = [
    Ipv4Addr::new(192, 0, 2, 11),
    Ipv4Addr::new(192, 0, 2, 12),
    Ipv4Addr::new(192, 0, 2, 13),
    Ipv4Addr::new(192, 0, 2, 14),
];

/// Generates one capture of each profile: 3,000 packets long, or 12,000 in a full run. A full run
/// also has one of 100,000 packets and more than 10,000 flows.
pub fn generated(directory: &Path) -> Vec<Capture> {
    let profiles = Profile::ALL.into_iter().zip(11..);
    let packets = if is_full() { 12_000 } else { 3_000 };
    let small =
        profiles.map(|(profile, seed)| (profile.name(), profile, seed, packets, packets / 10));
    let big = is_full().then_some(("big", Profile::Mix, 7, 100_000, 10_000));
    small
        .chain(big)
        .map(|(name, profile, seed, packets, flows)| {
            let path = directory.join(format!("{name}.pcap"));
            generate(profile, seed, packets, flows, &path);
            Capture { name: name.to_owned(), path }
        })
        .collect()
}

/// Generates one capture.
pub fn generate(profile: Profile, seed: u64, packets: u64, flows: u64, path: &Path) {
    let summary = cora_traffic::generate(profile, seed, packets, flows, create(path));
    let summary = summary.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(summary.packets >= packets && summary.flows > 0, "{}: {summary}", path.display());
}

/// Returns real traffic, or its substitute, and a sentence that names the kind.
pub fn real(directory: &Path) -> (Vec<Capture>, String) {
    let traffic = cora_traffic::real(directory).unwrap_or_else(|error| panic!("{error}"));
    let (name, said) = match &traffic.mode {
        Mode::Real { lacking } if lacking.is_empty() => ("real", "real traffic".to_owned()),
        Mode::Real { lacking } => ("real", format!("real traffic, but {}", lacking.join("; "))),
        Mode::Generated { why } => ("stand-in", format!("NO real traffic, generated: {why}")),
    };
    let captures = traffic.captures.into_iter().enumerate().map(|(number, path)| {
        let name = if number == 0 { name.to_owned() } else { format!("{name}-{number}") };
        Capture { name, path }
    });
    (captures.collect(), said)
}

fn open(path: &Path) -> BufReader<File> {
    BufReader::new(File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn create(path: &Path) -> BufWriter<File> {
    BufWriter::new(File::create(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Writes a file piece by piece, with a pause after each, so that flows have time to move.
pub fn paced(path: &Path) -> impl FnOnce(ChildStdin) + Send + use<> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    move |mut to| {
        for piece in bytes.chunks(PIECE) {
            if to.write_all(piece).is_err() {
                break;
            }
            sleep(PAUSE);
        }
    }
}

/// Calls `with` on every packet and its time, in the order of the capture.
pub fn each(path: &Path, mut with: impl FnMut(u64, &mut Packet<'_>)) {
    let frames =
        Reader::new(open(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for frame in frames {
        let mut frame = frame.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        with(frame.time, &mut Packet::new(&mut frame.bytes, Meta::default()));
    }
}

/// Counts the packets of a capture that satisfy `so`.
pub fn count(path: &Path, mut so: impl FnMut(&Packet<'_>) -> bool) -> u64 {
    let mut count = 0;
    each(path, |_, packet| count += u64::from(so(packet)));
    count
}

/// Sends replies to the addresses to which a NAT moved their flows, and returns their number.
/// `translated` is the output of the NAT.
pub fn readdress(original: &Path, translated: &Path, out: &Path) -> u64 {
    cora_traffic::readdress(open(original), open(translated), create(out))
        .unwrap_or_else(|error| panic!("{}: {error}", original.display()))
}

/// Returns the service that a balancer spreads: the generator's service, or, in a capture without
/// openings to it, the server that most TCP openings go to.
pub fn service(capture: &Path) -> Ipv4Addr {
    let mut asked = BTreeMap::<Address, u64>::new();
    each(capture, |_, packet| {
        let opens = packet.tcp().is_some_and(|tcp| tcp.flags.syn() && !tcp.flags.ack());
        if let (true, true, Ok(server)) = (opens, packet.is_ipv4(), packet.destination()) {
            *asked.entry(server).or_default() += 1;
        }
    });
    if asked.contains_key(&Address::v4(SERVICE_V4.octets())) {
        return SERVICE_V4;
    }
    let most = asked.into_iter().max_by_key(|(_, times)| *times);
    let bytes = most.and_then(|(server, _)| server.octets().last_chunk().copied());
    bytes.map_or(SERVICE_V4, |bytes: [u8; 4]| Ipv4Addr::from(bytes))
}

/// Returns the balancer's configuration for a service.
pub fn backends(service: Ipv4Addr) -> String {
    let backends: Vec<String> =
        BACKENDS.iter().map(|backend| format!("backend {backend}\n")).collect();
    format!("service {service}\n{}", backends.concat())
}

/// Returns whether an address is one of the backends.
pub fn is_backend(address: Address) -> bool {
    BACKENDS.iter().any(|backend| address == Address::v4(backend.octets()))
}

/// Makes the service's replies come from the backends that a balancer chose for their connections,
/// and returns their number. `balanced` is its output on the same capture.
pub fn reply_from_backends(original: &Path, balanced: &Path, service: Ipv4Addr, out: &Path) -> u64 {
    let service = Address::v4(service.octets());
    let mut chosen = BTreeMap::<FiveTuple, Address>::new();
    each(balanced, |_, packet| {
        if let Ok(flow) = packet.five_tuple()
            && is_backend(flow.destination)
        {
            chosen.insert(FiveTuple { destination: service, ..flow }, flow.destination);
        }
    });
    let mut moved = 0;
    let mut writer = Writer::new(create(out)).unwrap_or_else(|error| panic!("{error}"));
    each(original, |time, packet| {
        if let Ok(flow) = packet.five_tuple()
            && flow.source == service
            && let Some(&backend) = chosen.get(&flow.reversed())
        {
            moved += u64::from(packet.set_source(backend).is_ok());
        }
        writer.write(time, packet.frame()).unwrap_or_else(|error| panic!("{error}"));
    });
    writer.finish().unwrap_or_else(|error| panic!("{error}"));
    moved
}

/// Reverts a balancer's changes to packets on their way to a backend. They then share a flow with
/// the replies, which carry the service's address. The Ethernet address then names the backend.
///
/// Unreverted, they may share a flow with untranslated replies of an expired connection. That is
/// another flow, whose order among these is free.
pub fn before_balancing(balanced: &Path, service: Ipv4Addr, out: &Path) {
    let service = Address::v4(service.octets());
    let mut writer = Writer::new(create(out)).unwrap_or_else(|error| panic!("{error}"));
    each(balanced, |time, packet| {
        let backend = packet.five_tuple().map(|flow| flow.destination).ok();
        let backend = backend.filter(|destination| is_backend(*destination));
        let undone = backend.filter(|_| packet.set_destination(service).is_ok());
        let mut frame = packet.frame().to_vec();
        if let Some(backend) = undone {
            frame
                .iter_mut()
                .zip(backend.octets().into_iter().skip(10))
                .for_each(|(to, from)| *to = from);
        }
        writer.write(time, &frame).unwrap_or_else(|error| panic!("{error}"));
    });
    writer.finish().unwrap_or_else(|error| panic!("{error}"));
}
