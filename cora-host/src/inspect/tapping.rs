//! A tap under way: copies of packets become a pcapng file, an interface for each point, with the
//! outcome of each packet in its comment.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use cora_core::packet::Port;
use cora_port::capture::PcapngWriter;
use cora_runtime::link::message::{Label, Questions};
use cora_runtime::tap::{DROP, PUNT, PacketFilter, SNAP, WIRE_IN, WIRE_OUT};

use crate::inspect::lost::Lost;
use crate::inspect::packet::{self, flow, port_name};
use crate::inspect::question::TapRequest;
use crate::inspect::row::{Answered, side};

/// The points, by name, in the order of their interfaces.
const POINTS: [(&str, u16); 4] =
    [("wire-in", WIRE_IN), ("wire-out", WIRE_OUT), ("punt", PUNT), ("drop", DROP)];

/// The longest tap.
const LONGEST: Duration = Duration::from_hours(1);

/// How often waiting records are written.
const FLUSHED: Duration = Duration::from_millis(200);

/// The packets that are tapped, read from a request.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    /// The number of the tap: records of the one before may still be on their way.
    tap: u16,
    points: u16,
    every: u32,
    snap: u16,
    limit: u32,
    filter: [u8; PacketFilter::SIZE],
}

impl Wanted {
    /// Reads a request.
    ///
    /// # Errors
    /// A sentence with a right form.
    fn read(request: &TapRequest, tap: u16) -> Result<Self, String> {
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
        let filter = packet::filter(net.as_deref(), *port, protocol.as_deref())?;
        if *every == 0 || *limit == 0 {
            return Err("`every` and `limit` begin at 1".into());
        }
        let snap = (*snap).min(SNAP as u16);
        Ok(Self { tap, points: bits, every: *every, snap, limit: *limit, filter: filter.encoded() })
    }
}

/// A tap under way.
pub(super) struct Tapping {
    wanted: Wanted,
    request: TapRequest,
    sink: PcapngWriter<Box<dyn Write + Send>>,
    packets: BTreeMap<&'static str, u64>,
    written: u64,
    counts: Lost,
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
            counts: Lost::default(),
            until: now + lasts,
            flushed: now,
            failed: None,
        })
    }

    /// The order for halves.
    pub(super) fn order(&self) -> Questions<'_> {
        let Wanted { tap, points, every, snap, limit, filter } = &self.wanted;
        Questions::Tap {
            tap: *tap,
            points: *points,
            every: *every,
            snap: *snap,
            left: *limit,
            filter: filter.as_slice(),
        }
    }

    /// Takes a record of a shard's halves.
    pub(super) fn take(&mut self, shard: u16, told: &Questions<'_>) {
        match *told {
            Questions::Tapped {
                tap,
                stamp,
                length,
                missed,
                passed,
                at_nic,
                point,
                port,
                outcome: Label(outcome),
                frame,
            } if tap == self.wanted.tap && self.written < self.request.limit.into() => {
                self.counts.note(shard, side(at_nic != 0), missed, passed);
                let known = POINTS.iter().zip(0_u32..).find(|((_, bit), _)| *bit == point);
                let Some(((name, _), interface)) = known else { return };
                let side = side(at_nic != 0);
                let outcome = match outcome {
                    [] => "none-yet".into(),
                    _ => String::from_utf8_lossy(outcome),
                };
                let flow = flow(frame).map(|flow| format!(" flow=\"{flow}\"")).unwrap_or_default();
                let comment = format!(
                    "outcome={outcome} side={side} shard={shard} port={} number={}{flow}",
                    port_name(Port(port as u8)),
                    stamp.number
                );
                let time = stamp.meta.now;
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
                self.counts.on_the_way(shard, packets);
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
            missed: self.counts.missed(),
            passed_by: self.counts.passed_by(),
        })
    }
}
