//! Crossings: both halves on a core each, busy all the time, with the rings of a run between them.
//!
//! A side's time is its busy time, without waits for the other. Its share of handling is measured
//! without the other side (`handling`); the rest is the crossing. Flows move when they are closed
//! and opened again under a plan that lets the NIC own all of them: the time beyond handling and
//! crossing is the moving.

use std::io::Result;
use std::path::Path;

use super::child::{Program, number};
use super::handling::{FrameTimes, SideTimes};
use super::program::Plan;
use super::rounds::Times;
use super::traffic::{Capture, LONG, MOVING, MOVING_BLOCK, SHORT};

/// Flows that packets cross of: as few as where handling is measured hot.
const FLOWS: u64 = 1_000;
/// Flows that move, one after the other.
const MOVED: u64 = 1 << 13;
/// Of a packet of theirs, how many close a flow; and as many open one.
const CLOSING: f64 = MOVING as f64 / MOVING_BLOCK as f64;
/// Of a turn's time, how much may have been taken away from its threads.
const ROBBED: f64 = 0.03;
/// Turns that are taken until one is left alone.
const TRIES: usize = 2;

/// Pairs at work.
#[derive(Debug)]
pub(crate) struct Pairs {
    short: Program,
    long: Program,
    owned: Program,
    sought: Program,
    moving: Program,
}

/// Nanoseconds of a packet at the NIC and at the host, and how many of a packet's flows moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Turn {
    nic: f64,
    host: f64,
    /// Packets handled at the NIC, of one.
    at_nic: f64,
    moves: f64,
    /// Time that was taken away from either thread, of one.
    robbed: f64,
}

/// A round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Round {
    /// All packets cross, unseen by the NIC.
    short: Turn,
    /// The same, with long frames.
    long: Turn,
    /// The NIC owns all flows.
    owned: Turn,
    /// It owns none, and looks for each.
    sought: Turn,
    /// Flows end and begin, and move.
    moving: Turn,
}

impl Pairs {
    /// Starts them.
    pub(crate) fn new(room: &Path, packets: u64) -> Result<Self> {
        let short = Capture::steady(room, FLOWS, packets, SHORT)?;
        let long = Capture::steady(room, FLOWS, packets / 16, LONG)?;
        let start = |plan, capture| Program::start(plan, "pair", capture);
        Ok(Self {
            short: start(Plan::HostOnly, &short)?,
            long: start(Plan::HostOnly, &long)?,
            owned: start(Plan::SplitAll, &short)?,
            sought: start(Plan::SplitNone, &short)?,
            moving: start(Plan::SplitAll, &Capture::moving(room, MOVED)?)?,
        })
    }

    /// A round; every pair has both cores to itself.
    pub(crate) fn round(&mut self) -> Result<Round> {
        Ok(Round {
            short: turn(&mut self.short)?,
            long: turn(&mut self.long)?,
            owned: turn(&mut self.owned)?,
            sought: turn(&mut self.sought)?,
            moving: turn(&mut self.moving)?,
        })
    }
}

/// A turn that was left alone, or else the one that was robbed of the least time: what is taken
/// away from one side makes the other seem busy.
fn turn(program: &mut Program) -> Result<Turn> {
    let mut best = one_turn(program)?;
    for _ in 1..TRIES {
        if best.robbed <= ROBBED {
            break;
        }
        let next = one_turn(program)?;
        if next.robbed < best.robbed {
            best = next;
        }
    }
    Ok(best)
}

fn one_turn(program: &mut Program) -> Result<Turn> {
    let told = program.turn()?;
    let packets = number(&told, "packets")?.max(1.0);
    let of = |key: &str| Ok::<f64, std::io::Error>(number(&told, key)? / packets);
    // Not every kernel tells it.
    let robbed = number(&told, "robbed_ns").unwrap_or_default();
    Ok(Turn {
        nic: of("nic_busy_ns")?,
        host: of("host_busy_ns")?,
        at_nic: of("at_nic")?,
        moves: of("offloads")?,
        robbed: robbed / number(&told, "ns")?.max(1.0),
    })
}

/// The costs of crossings, each with its rounds.
#[derive(Clone, Debug)]
pub(crate) struct Crossings {
    pub(crate) nic: Times,
    pub(crate) host: Times,
    pub(crate) byte: Times,
    pub(crate) owner: Times,
    pub(crate) nic_move: Times,
    pub(crate) host_move: Times,
    /// Of a thousand packets where flows come and go, how many made one move.
    pub(crate) moves: f64,
    /// Of the time of the turns, how much was taken away from their threads.
    pub(crate) robbed: f64,
}

/// The time of handling without the other side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alone<'a> {
    pub(crate) frames: &'a FrameTimes,
    pub(crate) nic: &'a SideTimes,
    pub(crate) host: &'a SideTimes,
    /// A frame beyond its bytes and instructions, at the NIC.
    pub(crate) packet_ns: f64,
}

impl Crossings {
    /// The results of the rounds.
    pub(crate) fn of(rounds: &[Round], alone: Alone<'_>) -> Self {
        let frames = alone.frames;
        let each = |of: &dyn Fn(&Round) -> f64| Times::new(rounds.iter().map(of).collect());
        let slope = |long: f64, short: f64| (long - short) / (LONG - SHORT) as f64;
        // The model's cost of receiving is not the crossing's.
        let byte = each(&|round| {
            let nic = slope(round.long.nic, round.short.nic) - frames.byte_ns();
            let host = slope(round.long.host, round.short.host) - frames.byte_ns();
            f64::midpoint(nic, host).max(0.0)
        });
        let carried = byte.median() * SHORT as f64;
        let received = alone.packet_ns + frames.byte_ns() * SHORT as f64 + carried;
        let nic = each(&|round| (round.short.nic - received).max(0.0));
        let host = each(&|round| (round.short.host - alone.host.hot() - carried).max(0.0));
        let owner = each(&|round| {
            let owned = round.owned.nic - alone.nic.hot();
            let sought = round.sought.nic - round.short.nic;
            f64::midpoint(owned, sought).max(0.0)
        });
        let owned = median(rounds, |round| round.owned.nic);
        let passed_on = median(rounds, |round| round.sought.nic);
        let served = median(rounds, |round| round.sought.host);
        // Closing is dearer than a hit, and so is opening: of both together, half each.
        let closing = CLOSING * (alone.nic.churn.median() - alone.nic.hot());
        let opening = CLOSING * (alone.host.churn.median() - alone.host.hot());
        let nic_move = each(&|Round { moving, .. }| {
            let handled = moving.at_nic * owned + (1.0 - moving.at_nic) * passed_on + closing;
            per_move(moving.nic - handled, moving.moves)
        });
        let host_move = each(&|Round { moving, .. }| {
            per_move(moving.host - (1.0 - moving.at_nic) * served - opening, moving.moves)
        });
        let moves = 1_000.0 * median(rounds, |round| round.moving.moves);
        let robbed = median(rounds, |round| {
            let turns = [round.short, round.long, round.owned, round.sought, round.moving];
            turns.iter().map(|turn| turn.robbed).sum::<f64>() / turns.len() as f64
        });
        Self { nic, host, byte, owner, nic_move, host_move, moves, robbed }
    }
}

fn per_move(rest: f64, moves: f64) -> f64 {
    if moves > 0.0 { (rest / moves).max(0.0) } else { 0.0 }
}

fn median(rounds: &[Round], of: impl Fn(&Round) -> f64) -> f64 {
    Times::new(rounds.iter().map(of).collect()).median()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::counts::{CARRIED, HOST, NIC};

    #[test]
    fn what_handling_takes_is_taken_off() {
        let once = |time: f64| Times::new(vec![time]);
        let frames = FrameTimes { short: once(5.0), long: once(5.0 + 0.02 * 1_440.0) };
        let nic = SideTimes::of(NIC, vec![(1_000, once(40.0))], once(60.0));
        let host = SideTimes::of(HOST, vec![(1_000, once(30.0))], once(50.0));
        let packet_ns = frames.packet_ns(1.0 / CARRIED);
        let received = packet_ns + 0.02 * SHORT as f64;
        let turn = |nic, host, at_nic, moves| Turn { nic, host, at_nic, moves, robbed: 0.01 };
        let sides = |bytes: usize| {
            (received + 70.0 + 0.03 * bytes as f64, 30.0 + 50.0 + 0.03 * bytes as f64)
        };
        let (short, long) = (sides(SHORT), sides(LONG));
        let copied = 0.02 * (LONG - SHORT) as f64;
        let handled = 0.9 * 55.0 + 0.1 * (short.0 + 15.0) + CLOSING * 20.0;
        let opened = 0.1 * short.1 + CLOSING * 20.0;
        let round = Round {
            short: turn(short.0, short.1, 0.0, 0.0),
            long: turn(long.0 + copied, long.1 + copied, 0.0, 0.0),
            owned: turn(55.0, 0.0, 1.0, 0.0),
            sought: turn(short.0 + 15.0, short.1, 0.0, 0.0),
            moving: turn(handled + 0.06 * 400.0, opened + 0.06 * 300.0, 0.9, 0.06),
        };
        let alone = Alone { frames: &frames, nic: &nic, host: &host, packet_ns };
        let found = Crossings::of(&[round], alone);
        for (what, found, made) in [
            ("nic", &found.nic, 70.0),
            ("host", &found.host, 50.0),
            ("byte", &found.byte, 0.03),
            ("owner", &found.owner, 15.0),
            ("nic_move", &found.nic_move, 400.0),
            ("host_move", &found.host_move, 300.0),
        ] {
            assert!((found.median() - made).abs() < 1e-6, "{what}: {} for {made}", found.median());
        }
        assert!((found.moves - 60.0).abs() < 1e-9);
    }
}
