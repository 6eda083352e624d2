//! A tap under way: copies of packets become a pcapng file, an interface for each point, with the
//! outcome of each packet in its comment.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use cora_core::key::{FiveTuple, PacketKey as _, Prefix};
use cora_core::packet::{Meta, Packet};
use cora_port::capture::PcapngWriter;
use cora_runtime::link::message::{Label, Questions};
use cora_runtime::tap::{DROP, PUNT, PacketFilter, SNAP, WIRE_IN, WIRE_OUT};

use crate::inspect::question::TapRequest;
use crate::inspect::row::{Answered, side};

/// The points, by name, in the order of their interfaces.
const POINTS: [(&str, u16); 4] =
    [("wire-in", WIRE_IN), ("wire-out", WIRE_OUT), ("punt", PUNT), ("drop", DROP)];

/// Protocols that have names here; others are numbers.
const PROTOCOLS: [(&str, u8); 5] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("icmpv6", 58), ("sctp", 132)];

/// The longest tap.
const LONGEST: Duration = Duration::from_hours(1);

/// How often waiting records are written.
const FLUSHED: Duration = Duration::from_millis(200);

/// The packets that are tapped, read from a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The number of the tap: records of the one before may still be on their way.
    tap: u16,
    points: u16,
    every: u32,
    snap: u16,
    limit: u32,
    filter: [u8; PacketFilter::SIZE],
}

impl Wanted {
    /// The order for halves.
    pub(super) fn order(&self) -> Questions<'_> {
        let Self { tap, points, every, snap, limit, filter } = self;
        Questions::Tap {
            tap: *tap,
            points: *points,
            every: *every,
            snap: *snap,
            left: *limit,
            filter: filter.as_slice(),
        }
    }

    /// The order that ends it.
    pub(super) fn end() -> Questions<'static> {
        Questions::Tap { tap: 0, points: 0, every: 1, snap: 0, left: 0, filter: &[] }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// A sentence with a right form.
    pub(super) fn read(request: &TapRequest, tap: u16) -> Result<Self, String> {
        let TapRequest { points, net, port, protocol, every, snap, limit, .. } = request;
        let mut bits = 0;
        for name in points {
            let (_, bit) = POINTS.iter().find(|(known, _)| known == name).ok_or_else(|| {
                format!("no point is called `{name}`: there are wire-in, wire-out, punt, drop")
            })?;
            bits |= bit;
        }
        if bits == 0 {
            return Err("say a point: wire-in, wire-out, punt, drop".into());
        }
        let net = net.as_deref().map(|text| {
            text.parse::<Prefix>()
                .map_err(|why| format!("`net` is a prefix such as 10.0.0.0/8; `{text}`: {why}"))
        });
        let protocol = protocol.as_deref().map(|text| {
            let name = text.to_ascii_lowercase();
            let known = PROTOCOLS.iter().find(|(known, _)| *known == name);
            known.map(|(_, number)| *number).or_else(|| name.parse().ok()).ok_or_else(|| {
                format!("`protocol` is tcp, udp, icmp, icmpv6, sctp or a number, not `{text}`")
            })
        });
        if *every == 0 || *limit == 0 {
            return Err("`every` and `limit` begin at 1".into());
        }
        let filter =
            PacketFilter { protocol: protocol.transpose()?, port: *port, net: net.transpose()? };
        let snap = (*snap).min(SNAP as u16);
        Ok(Self { tap, points: bits, every: *every, snap, limit: *limit, filter: filter.encoded() })
    }
}

/// A tap under way.
pub(super) struct Tapping {
    pub(super) wanted: Wanted,
    request: TapRequest,
    sink: PcapngWriter<Box<dyn Write + Send>>,
    packets: BTreeMap<&'static str, u64>,
    written: u64,
    /// Copies that found no room, by shard and place.
    missed: BTreeMap<(u16, &'static str), u64>,
    until: Instant,
    flushed: Instant,
    failed: Option<String>,
}

impl Tapping {
    /// Opens the file.
    ///
    /// # Errors
    /// A sentence, if that can't be done or the request makes no sense.
    pub(super) fn begin(request: &TapRequest, tap: u16) -> Result<Self, String> {
        let wanted = Wanted::read(request, tap)?;
        let (path, failed) =
            (&request.file, |error| format!("{}: {error}", request.file.display()));
        if !path.is_absolute() {
            return Err("`file` is a whole path, from / on".into());
        }
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file: Box<dyn Write + Send> = Box::new(file.map_err(failed)?);
        let mut sink = PcapngWriter::new(file).map_err(failed)?;
        for (name, _) in POINTS {
            sink.describe(name).map_err(failed)?;
        }
        sink.flush().map_err(failed)?;
        let now = Instant::now();
        let lasts = Duration::from_secs(request.seconds).min(LONGEST);
        Ok(Self {
            wanted,
            request: request.clone(),
            sink,
            packets: BTreeMap::new(),
            written: 0,
            missed: BTreeMap::new(),
            until: now + lasts,
            flushed: now,
            failed: None,
        })
    }

    /// Takes a record of a shard's halves.
    pub(super) fn take(&mut self, shard: u16, told: &Questions<'_>) {
        match *told {
            Questions::Tapped {
                tap,
                time,
                number,
                length,
                missed,
                at_nic,
                point,
                port,
                outcome: Label(outcome),
                frame,
            } if tap == self.wanted.tap && self.written < self.request.limit.into() => {
                let known = POINTS.iter().zip(0_u32..).find(|((_, bit), _)| *bit == point);
                let Some(((name, _), interface)) = known else { return };
                let side = side(at_nic != 0);
                self.missed.insert((shard, side), missed.into());
                let outcome = match outcome {
                    [] => "none-yet".into(),
                    _ => String::from_utf8_lossy(outcome),
                };
                let flow = flow(frame).map(|flow| format!(" flow=\"{flow}\"")).unwrap_or_default();
                let comment = format!(
                    "outcome={outcome} side={side} shard={shard} port={} number={number}{flow}",
                    port_name(port)
                );
                let written = self.sink.write_noted(interface, time, frame, length, &comment);
                match written {
                    Ok(()) => {
                        *self.packets.entry(name).or_default() += 1;
                        self.written += 1;
                    }
                    Err(error) => self.fail(&error),
                }
            }
            Questions::Missed { packets } => {
                self.missed.insert((shard, "way"), packets);
            }
            _ => {}
        }
    }

    fn fail(&mut self, error: &std::io::Error) {
        self.failed = Some(format!("{}: {error}", self.request.file.display()));
    }

    /// Whether it is over. Now and then writes waiting records.
    pub(super) fn is_over(&mut self) -> bool {
        if self.flushed.elapsed() > FLUSHED {
            self.flushed = Instant::now();
            if let Err(error) = self.sink.flush() {
                self.fail(&error);
            }
        }
        self.failed.is_some()
            || self.written >= self.request.limit.into()
            || Instant::now() >= self.until
    }

    /// The records that were written.
    ///
    /// # Errors
    /// If some of it could not be.
    pub(super) fn end(mut self) -> Result<Answered, String> {
        if let Err(error) = self.sink.flush() {
            self.fail(&error);
        }
        if let Some(why) = self.failed {
            return Err(why);
        }
        Ok(Answered::Tapped {
            schema: "cora-tap/1",
            file: self.request.file,
            written: self.written,
            packets: self.packets,
            missed: self.missed.into_values().sum(),
        })
    }
}

/// The flow of a frame, if it is whole and has one.
fn flow(frame: &[u8]) -> Option<FiveTuple> {
    let mut bytes = frame.to_vec();
    FiveTuple::of_packet(&Packet::new(&mut bytes, Meta::default())).ok()
}

fn port_name(port: u16) -> String {
    match port {
        0 => "inside".into(),
        1 => "outside".into(),
        number => number.to_string(),
    }
}
