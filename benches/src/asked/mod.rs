//! Servers that a client asks over UDP, and the processor time that their answers take.
//!
//! | module | concept |
//! | --- | --- |
//! | `client` | one socket with many questions outstanding |
//! | `processes` | a server's processes, and their time |
//! | `datagram` | a question as a frame |
//! | `wire` | client and server in namespaces |

mod client;
mod datagram;
mod processes;
mod wire;

pub(crate) use client::Client;
pub(crate) use datagram::frame;
pub(crate) use processes::Server;
pub(crate) use wire::{BETWEEN, CLIENT, WIRE, ends};

use std::io::Result;
use std::process::Command;
use std::time::Duration;

/// Questions, one behind the other, without an end.
pub(crate) trait Asks {
    /// Writes the next question, and returns its length.
    fn next(&mut self, out: &mut [u8; LONGEST]) -> usize;
}

/// Most bytes of a question.
pub(crate) const LONGEST: usize = 64;

/// Starts the server, and has a client ask it; returns the processor time per answer (ns) of all
/// its processes.
pub(crate) fn time_per_answer(
    command: &mut Command,
    client: impl FnOnce() -> Result<Client>,
    asks: &mut impl Asks,
    time: Duration,
) -> Result<f64> {
    let server = Server::start(command)?;
    let mut client = client()?;
    client.wait(asks)?;
    client.run(asks, time / 3)?;
    let before = server.cpu()?;
    let answers = client.run(asks, time)?;
    let took = server.cpu()?.saturating_sub(before);
    Ok(took.as_nanos() as f64 / answers.max(1) as f64)
}
