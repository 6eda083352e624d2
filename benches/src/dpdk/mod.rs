//! DPDK in the same run: `rte_hash` beside the flow table, `rte_ring` beside the ring.
//!
//! It is a C library of the system, not a crate, so it takes part only if it is installed (the
//! build script looks for it). It runs without huge pages of its own (`--no-huge`). Its tables and
//! rings are in memory of this program's allocator, like those of the crates, so all contestants
//! have the same pages.

mod ffi;
mod rte_hash;

pub(crate) use ffi::{Consumer, Element, Environment, Producer};

use crate::figure::Figure;

/// Measures the rows against DPDK.
pub(crate) fn run(quick: bool, wanted: &dyn Fn(&str) -> bool, tell: &mut dyn FnMut(Figure)) {
    let environment = match Environment::start() {
        Ok(environment) => environment,
        Err(error) => return eprintln!("DPDK does not start, its rows lack: {error}"),
    };
    if wanted("ring") {
        crate::ring::rte_ring::run(environment, quick, tell);
    }
    if wanted("table") {
        rte_hash::run(environment, quick, wanted, tell);
    }
}
