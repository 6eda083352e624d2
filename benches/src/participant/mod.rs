//! The participant of the example `transactions` beside a UDP server by hand that does the same:
//! processor time per answer.
//!
//! A server by hand has the kernel's network stack between itself and its client, whatever it does.
//! In memory, Cora's participant has nothing there: that compares a path without a kernel with one
//! through it. Over a veth pair, both are between the same client and the same interface: the
//! server has a socket, Cora has AF_XDP. Over the loopback both have a socket. There, the time is
//! that of all processes of a server, in the kernel too. What the kernel does for the client's
//! frames on their way in, it does on the client's account in all cases.
//!
//! The participant is at the NIC half, a process of this machine. No copies are kept of its rows,
//! as the server by hand keeps none.
//!
//! | module | concept |
//! | --- | --- |
//! | `steps` | what is asked |
//! | `server` | the participant by hand |
//! | `ways` | loopback and veth |

mod server;
mod steps;
mod ways;

use std::io::Result;
use std::net::{SocketAddrV4, UdpSocket};
use std::path::Path;
use std::time::Duration;

use crate::asked::time_per_answer;
use crate::figure::Figure;
use crate::program::Program;
use crate::turns::Turns;
use steps::Steps;
use ways::Way;

/// The prefix of these figures.
pub(crate) const NAME: &str = "participant";
/// The example.
const PROGRAM: &str = "transactions";
/// Rows that are asked for.
const ROWS: u64 = 100_000;
/// Rows that are drawn.
const DRAWS: usize = 1 << 17;
/// The argument that makes this program the server by hand.
pub(crate) const SERVER: &str = "--participant";

/// Goals: in memory, and over a veth pair.
const GOAL_IN_MEMORY: f64 = 5.0;
const GOAL_OVER_VETH: f64 = 2.0;

/// Is the server by hand, at this address, until it is ended.
pub(crate) fn serve(address: SocketAddrV4) -> Result<()> {
    let rows = usize::try_from(ROWS).unwrap_or(usize::MAX);
    server::Participant::new(rows).serve(&UdpSocket::bind(address)?)
}

/// Measures all of it.
pub(crate) fn run(programs: &Path, quick: bool, tell: &mut dyn FnMut(Figure)) -> Result<()> {
    let rounds = if quick { 3 } else { 9 };
    let program = programs.join(PROGRAM);
    let loopback = Way::loopback();
    let mut alone = Program::start_half(&program, "nic", &capture(programs)?, warm()?)?;
    let [mut in_memory, mut sockets, mut by_hand] = [const { Vec::new() }; 3];
    for round in 0..=rounds {
        let took = [
            alone.turn()?.ns_per_packet(),
            over(&loopback, &mut loopback.cora(&program), quick)?,
            over(&loopback, &mut loopback.by_hand()?, quick)?,
        ];
        if round > 0 {
            let all = [&mut in_memory, &mut sockets, &mut by_hand];
            all.into_iter().zip(took).for_each(|(all, took)| all.push(took));
        }
    }
    drop(alone);
    let [in_memory, sockets, by_hand] = [in_memory, sockets, by_hand].map(Turns::new);
    let mut figure = |way: &str, cora: &Turns, by_hand: &Turns, goal| {
        let name = format!("{NAME}/{way}");
        tell(Figure::of_times(name, cora, by_hand, "a UDP server by hand", goal));
    };
    figure("in memory", &in_memory, &by_hand, GOAL_IN_MEMORY);
    figure("loopback, sockets", &sockets, &by_hand, 0.0);
    let veth = match Way::veth() {
        Ok(veth) => veth,
        Err(why) => {
            eprintln!("SKIPPED {NAME}/veth: {why}");
            return Ok(());
        }
    };
    let [mut xdp, mut by_hand] = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        xdp.push(over(&veth, &mut veth.cora(&program), quick)?);
        by_hand.push(over(&veth, &mut veth.by_hand()?, quick)?);
    }
    figure("veth, AF_XDP", &Turns::new(xdp), &Turns::new(by_hand), GOAL_OVER_VETH);
    Ok(())
}

/// The steps as a capture.
fn capture(room: &Path) -> Result<std::path::PathBuf> {
    let path = room.join("participant.pcap");
    Steps::of(ROWS, DRAWS).save(ROWS, &path)?;
    Ok(path)
}

/// Packets at the capture's beginning that make all rows.
fn warm() -> Result<usize> {
    usize::try_from(ROWS).map_err(std::io::Error::other)
}

/// Starts the server, and has a client ask it; returns the processor time per answer (ns).
fn over(way: &Way, command: &mut std::process::Command, quick: bool) -> Result<f64> {
    let time = Duration::from_millis(if quick { 500 } else { 1_500 });
    time_per_answer(command, || way.client(), &mut Steps::of(ROWS, DRAWS), time)
}
