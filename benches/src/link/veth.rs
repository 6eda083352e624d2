//! Two namespaces, joined by a veth pair for each way of frames, and the wires at both ends.

use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cora_host::parts::Wire;
use cora_measure::ThreadTime;
use cora_traffic::namespace::Namespace;
use rustix::thread::{sched_getaffinity, sched_setaffinity};

use super::Took;
use crate::ring::pair::stay_on;

/// The ways to an interface.
pub(super) const WAYS: [&str; 2] = ["packet", "xdp"];

/// A veth pair for each way.
pub(super) struct Veths {
    pub(super) pairs: Vec<Pair>,
    _ends: [Namespace; 2],
}

/// The wires at both ends of a veth pair.
pub(super) struct Pair {
    pub(super) way: &'static str,
    pub(super) here: Wire,
    pub(super) there: Wire,
}

impl Veths {
    /// Builds them; the error names a facility that this machine lacks.
    pub(super) fn build() -> Result<Self> {
        let ends = [Namespace::create("link-host"), Namespace::create("link-card")];
        let [here, there] = ends.map(|end| end.map_err(Error::other));
        let (here, there) = (here?, there?);
        let mut pairs = Vec::new();
        for (number, way) in WAYS.into_iter().enumerate() {
            let names = [format!("h{number}"), format!("c{number}")];
            here.join(&names[0], &there, &names[1]).map_err(Error::other)?;
            let addresses = [1, 2].map(|end| format!("02:00:00:00:0{number}:0{end}"));
            for ((end, name), address) in [&here, &there].into_iter().zip(&names).zip(&addresses) {
                set_up(end, name, address)?;
            }
            let open = |end: &Namespace, at: usize| -> Result<Wire> {
                let peer = format!("{way}:{},{}", names[at], addresses[1 - at]);
                let peer = peer.parse().map_err(Error::other)?;
                let opened = end.visit(|| Wire::to(&peer)).map_err(Error::other)?;
                opened.map_err(Error::other)
            };
            pairs.push(Pair { way, here: open(&here, 0)?, there: open(&there, 1)? });
        }
        Ok(Self { pairs, _ends: [here, there] })
    }
}

/// Brings an end of a veth pair up, with an address, and with nothing of the kernel on it.
pub(crate) fn set_up(network: &Namespace, name: &str, address: &str) -> Result<()> {
    let quiet = network.set(&format!("ipv6/conf/{name}/disable_ipv6"), "1");
    quiet.and_then(|()| network.send_plain_frames(name)).map_err(Error::other)?;
    network.ip(&format!("link set dev {name} address {address} up")).map_err(Error::other)
}

impl Pair {
    /// Runs `here` on one processor and `there` on another, which is told when `here` is over.
    pub(super) fn run<T>(
        &mut self,
        here: impl FnOnce(&mut Wire) -> Result<T>,
        there: impl FnOnce(&mut Wire, &AtomicBool) -> Result<()> + Send,
    ) -> Result<(T, Duration)> {
        let cores = sched_getaffinity(None).unwrap_or_default();
        let (over, Self { here: wire, there: other, .. }) = (AtomicBool::new(false), self);
        let took = std::thread::scope(|scope| {
            let peer = scope.spawn(|| {
                stay_on(1, &cores);
                let begun = ThreadTime::now();
                there(other, &over).map(|()| begun.elapsed())
            });
            stay_on(0, &cores);
            let begun = ThreadTime::now();
            let done = here(wire);
            let cpu = begun.elapsed();
            over.store(true, Ordering::Release);
            let peers =
                peer.join().unwrap_or_else(|_| Err(Error::other("the other end failed")))?;
            Ok((done?, cpu + peers))
        });
        let _ignored = sched_setaffinity(None, &cores);
        took
    }

    /// The same for work that counts what came back, and the frames with it.
    pub(super) fn time(
        &mut self,
        here: impl FnOnce(&mut Wire) -> Result<(u64, u64)>,
        there: impl FnOnce(&mut Wire, &AtomicBool) -> Result<()> + Send,
    ) -> Result<Took> {
        let begun = Instant::now();
        let ((count, frames), cpu) = self.run(here, there)?;
        Ok(Took { count, frames, wall: begun.elapsed(), cpu })
    }
}
