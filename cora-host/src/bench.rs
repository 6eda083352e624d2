//! The program in memory: how fast it is when frames cost nothing but a copy.
//!
//! One pass over the whole capture fills the tables; then each line on standard input asks for another
//! pass, over what follows the first `--warm` packets, and is answered by a line of JSON. So whoever asks
//! can let several programs take turns.

use std::io::{BufRead as _, Write as _};
use std::path::Path;

use cora_core::app::App;
use cora_core::message::Stamp;
use cora_core::migration::burst::{BURST_BYTES, Frames};
use cora_core::migration::{Arrival, Burst, HostHalf, NicHalf};
use cora_core::packet::{Meta, Packet, Port};
use cpu_time::ThreadTime;

use crate::RunError;
use crate::inside::Inside;
use crate::run::{Seeded, configure};
use crate::wire::Source;
use crate::worker::Direct;

/// Which half runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// The host's, without a NIC.
    Host,
    /// The NIC's, in a process of this machine; for plans that run all of it there.
    Nic,
}

/// Frames in memory, one behind the other.
#[derive(Default)]
pub(crate) struct Traffic {
    bytes: Vec<u8>,
    frames: Vec<Frame>,
}

/// What a frame in memory is known by: as little as a driver's descriptor says.
#[derive(Clone, Copy)]
struct Frame {
    time: u64,
    length: u32,
    port: Port,
}

impl Traffic {
    pub(crate) fn load(path: &Path, inside: Inside) -> Result<Self, RunError> {
        let mut source = Source::open(path, inside)?;
        let mut traffic = Self::default();
        let mut buffer = vec![0; BURST_BYTES];
        while let Some((stamp, length)) = source.next(&mut buffer)? {
            traffic.bytes.extend_from_slice(&buffer[..length]);
            let Meta { now: time, port, .. } = stamp.meta;
            traffic.frames.push(Frame { time, length: length as u32, port });
        }
        Ok(traffic)
    }

    /// Frames.
    pub(crate) const fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames that go to each of `pairs` pairs, as `pair_of` says, and how many of each are among the
    /// first `warm`.
    pub(crate) fn split(
        &self,
        pairs: usize,
        warm: usize,
        pair_of: impl Fn(&Packet<'_>) -> u32,
    ) -> Vec<(Self, usize)> {
        let mut parts: Vec<(Self, usize)> = (0..pairs).map(|_| (Self::default(), 0)).collect();
        let mut rest = &self.bytes[..];
        let mut buffer = vec![0; BURST_BYTES];
        for (number, frame) in self.frames.iter().enumerate() {
            let (bytes, behind) = rest.split_at(frame.length as usize);
            rest = behind;
            let copy = &mut buffer[..bytes.len()];
            copy.copy_from_slice(bytes);
            let meta = Meta { time: frame.time, now: frame.time, port: frame.port };
            let pair = pair_of(&Packet::new(copy, meta)) as usize;
            let (part, warm_part) = &mut parts[pair];
            part.bytes.extend_from_slice(bytes);
            part.frames.push(*frame);
            *warm_part += usize::from(number < warm);
        }
        parts
    }

    /// Hands the frames from number `from` on out in bursts, each copied once.
    pub(crate) fn replay(
        &self,
        from: usize,
        buffer: &mut [u8],
        mut run: impl FnMut(&mut Burst<'_>) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (before, frames) = self.frames.split_at(from.min(self.frames.len()));
        let begin: usize = before.iter().map(|frame| frame.length as usize).sum();
        let mut bytes = self.bytes.get(begin..).unwrap_or_default();
        let mut left = frames.iter();
        while !left.as_slice().is_empty() {
            let mut frames = Frames::new(buffer);
            let mut burst = Burst::new();
            while !burst.is_full() {
                let Some(room) = frames.room() else { break };
                let Some(Frame { time, length, port }) = left.next().copied() else { break };
                let (frame, rest) = bytes.split_at(length as usize);
                room[..frame.len()].copy_from_slice(frame);
                bytes = rest;
                let meta = Meta { time, now: time, port };
                let stamp = Stamp { meta, number: 0, horizon: time, egress: port };
                // There is room: the loop's condition.
                let _ = burst.push(Arrival::new(stamp, frames.keep(frame.len())));
            }
            run(&mut burst)?;
        }
        Ok(())
    }
}

/// Loads, warms up, and runs a pass per line of standard input.
pub(crate) fn bench<A: App>(
    input: &Path,
    inside: Inside,
    configurations: &[(String, std::path::PathBuf)],
    half: Half,
    warm: usize,
) -> Result<(), RunError> {
    let traffic = Traffic::load(input, inside)?;
    // Always the same seed: the same work in every run.
    let seeded = Seeded(1);
    let mut app = seeded.app::<A>()?;
    configure(&mut app, configurations)?;
    let mut out = 0_u64;
    let mut direct = Direct { leave: |_: &Stamp, _: Port, _: &[u8]| out += 1 };
    match half {
        Half::Host => {
            let mut memory = seeded.memory(HostHalf::bytes(&mut app))?;
            let mut host = HostHalf::create(app, &mut memory, false).map_err(RunError::Memory)?;
            passes(&traffic, warm, |burst| Ok(host.burst(burst, &mut direct)?))
        }
        Half::Nic => {
            let mut memory = seeded.memory(NicHalf::bytes(&mut app))?;
            let mut nic = NicHalf::create(app, &mut memory).map_err(RunError::Memory)?;
            passes(&traffic, warm, |burst| {
                nic.burst(burst, &mut direct);
                Ok(())
            })
        }
    }
}

fn passes(
    traffic: &Traffic,
    warm: usize,
    mut run: impl FnMut(&mut Burst<'_>) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let mut buffer = vec![0; BURST_BYTES];
    traffic.replay(0, &mut buffer, &mut run)?;
    let failed = |cause| RunError::System { what: "standard input and output", cause };
    let mut output = std::io::stdout();
    writeln!(output, "ready").map_err(failed)?;
    for line in std::io::stdin().lock().lines() {
        line.map_err(failed)?;
        let start = ThreadTime::now();
        traffic.replay(warm, &mut buffer, &mut run)?;
        let ns = start.elapsed().as_nanos();
        let packets = traffic.frames.len().saturating_sub(warm);
        writeln!(output, "{{\"packets\":{packets},\"ns\":{ns}}}").map_err(failed)?;
    }
    Ok(())
}
