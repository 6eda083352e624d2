//! The oracle: the output of a program depends neither on the plan nor on the moves of flows.
//!
//! For each program and each capture, the host alone gives the result. Every plan must give the
//! same result with the NIC off, as a process of this machine, and as the emulated aarch64 program.
//! The result is the outcomes, the packets of each flow in order, and the final state byte for
//! byte. It also holds for every split plan with random moves of flows under traffic.
//!
//! A quick run has the plan that each program states, and all plans of a program that is written
//! for it.
//!
//! | module | concept |
//! | --- | --- |
//! | `programs` | the programs and their plans |
//! | `input` | captures in the form that a program needs |
//! | `way` | one way of running a program on an input, and its results |
//! | `oracle` | compares ways with the host alone |
//! | `comparer` | compares captures flow by flow |
//! | `order` | groups of packets that leave in their order of arrival |
//! | `chance` | the goal for runs with random moves |
//! | `table` | sums over the runs |
//!
//! `CORA_TESTS=all` (`cargo xtask oracle --full`) has every plan, and at least a million packets
//! and ten thousand moves for each program and each kind of NIC.

#[path = "equivalence/chance.rs"]
mod chance;
#[path = "equivalence/comparer.rs"]
mod comparer;
#[path = "equivalence/input.rs"]
mod input;
#[path = "equivalence/oracle.rs"]
mod oracle;
#[path = "equivalence/order.rs"]
mod order;
#[path = "equivalence/programs.rs"]
mod programs;
#[path = "equivalence/table.rs"]
mod table;
#[path = "equivalence/way.rs"]
mod way;

use oracle::Oracle;
use programs::{DEALT, HALF, SEARCHED};

#[test]
fn firewall() {
    Oracle::of("firewall", &["nic-only", "split", HALF, DEALT]).ask();
}

#[test]
fn nat() {
    Oracle::of("nat", &["nic-only", "split", HALF, SEARCHED, DEALT]).ask();
}

#[test]
fn heavy_hitter() {
    Oracle::of("heavy-hitter", &["nic-only", "split", DEALT]).ask();
}

#[test]
fn balancer() {
    Oracle::of("balancer", &["nic-only", "split", DEALT]).ask();
}

#[test]
fn nat64() {
    Oracle::of("nat64", &["split", DEALT]).ask();
}

/// Blocks of ports, and one mapping for all packets of an inside address from a port.
#[test]
fn carrier_nat() {
    Oracle::of("carrier-nat", &["split", DEALT]).ask();
}

#[test]
fn bridge() {
    Oracle::of("bridge", &["split"]).ask();
}

/// The flows are those to one destination, and the neighbours are a state of the host.
#[test]
fn gateway() {
    Oracle::of("gateway", &["nic-only", "split"]).ask();
}

#[test]
fn vxlan() {
    Oracle::of("vxlan", &["split"]).ask();
}

/// The proxy answers or changes most packets.
#[test]
fn syn_proxy() {
    Oracle::of("syn-proxy", &["split"]).ask();
}

/// Not an example: a program that keeps fragments with their flows.
#[test]
fn fragments() {
    Oracle::of("fragments", &["nic-only", "split"]).ask();
}

/// Not an example: keys of the payload, and keys within tenants.
#[test]
fn tenants() {
    Oracle::of("tenants", &["nic-only", "split"]).ask();
}

/// Not an example: a program with many changes to revert.
#[test]
fn ledger() {
    Oracle::of("ledger", &["nic-only", "split", HALF]).ask();
}

/// Flows in groups of a coarser key.
#[test]
fn policer() {
    Oracle::of("policer", &["split", SEARCHED, DEALT]).ask();
}

#[test]
fn port_scan() {
    Oracle::of("port-scan", &["split"]).ask();
}

#[test]
fn connection_limiter() {
    Oracle::of("connection-limiter", &["split", DEALT]).ask();
}

#[test]
fn flow_monitor() {
    Oracle::of("flow-monitor", &["split", DEALT]).ask();
}

/// Entries that set their own lifetime.
#[test]
fn stateful_firewall() {
    Oracle::of("stateful-firewall", &["split"]).ask();
}

/// A small entry for each connection, and two of 2 KB while its beginning is scanned.
#[test]
fn ids() {
    Oracle::of("ids", &["split"]).ask();
}

/// No state belongs to a flow.
#[test]
fn heavy_prefixes() {
    Oracle::of("heavy-prefixes", &["split"]).ask();
}

/// Not an example: packets are judged by the merged counts of both sides.
#[test]
fn crowd() {
    Oracle::of("crowd", &["nic-only", "split"]).ask();
}

/// Not an example: timers of buckets, and of the program.
#[test]
fn meters() {
    Oracle::of("meters", &["split"]).ask();
}

/// Three handlers; the tables of each know a connection by other keys.
#[test]
fn chain() {
    Oracle::of("chain", &["split", DEALT]).ask();
}
