//! The oracle: what comes out of a program depends neither on the plan nor on which flows move
//! when.
//!
//! For each program and each capture, the host alone gives the result. Every plan, with the NIC
//! off, as a process of this machine and as the emulated aarch64 program, has to give the same: the
//! same outcomes, the same packets of each flow in the same order, and byte for byte the same final
//! state. So has every plan that splits with flows moved by chance while traffic runs.
//!
//! A run of some minutes has the plan that each program states, and all plans of one that is
//! written for it.
//!
//! | module | concept |
//! | --- | --- |
//! | `programs` | what is run, under which plans |
//! | `input` | captures as a program is to see them |
//! | `way` | one way of running a program on an input, and what it leaves |
//! | `oracle` | compares ways with the host alone |
//! | `comparer` | compares captures flow by flow |
//! | `order` | which packets leave in the order they came in |
//! | `chance` | how much is run with flows moved by chance |
//! | `table` | what ran |
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
use programs::{HALF, SEARCHED};

#[test]
fn firewall() {
    Oracle::of("firewall", &["nic-only", "split", HALF]).ask();
}

#[test]
fn nat() {
    Oracle::of("nat", &["nic-only", "split", HALF, SEARCHED]).ask();
}

#[test]
fn heavy_hitter() {
    Oracle::of("heavy-hitter", &["nic-only", "split"]).ask();
}

#[test]
fn balancer() {
    Oracle::of("balancer", &["nic-only", "split"]).ask();
}

#[test]
fn nat64() {
    Oracle::of("nat64", &["split"]).ask();
}

/// Blocks of ports, and one mapping for all that an inside address sends from a port.
#[test]
fn carrier_nat() {
    Oracle::of("carrier-nat", &["split"]).ask();
}

#[test]
fn bridge() {
    Oracle::of("bridge", &["split"]).ask();
}

#[test]
fn vxlan() {
    Oracle::of("vxlan", &["split"]).ask();
}

/// Most packets are answered, or become others.
#[test]
fn syn_proxy() {
    Oracle::of("syn-proxy", &["split"]).ask();
}

/// No example, but a program whose fragments follow their flows.
#[test]
fn fragments() {
    Oracle::of("fragments", &["nic-only", "split"]).ask();
}

/// No example, but a program that leaves much to take back.
#[test]
fn ledger() {
    Oracle::of("ledger", &["nic-only", "split", HALF]).ask();
}

/// Flows are grouped by a coarser key.
#[test]
fn policer() {
    Oracle::of("policer", &["split", SEARCHED]).ask();
}

#[test]
fn port_scan() {
    Oracle::of("port-scan", &["split"]).ask();
}

#[test]
fn connection_limiter() {
    Oracle::of("connection-limiter", &["split"]).ask();
}

#[test]
fn flow_monitor() {
    Oracle::of("flow-monitor", &["split"]).ask();
}

/// Entries that say themselves how long they live.
#[test]
fn stateful_firewall() {
    Oracle::of("stateful-firewall", &["split"]).ask();
}

/// No state belongs to a flow.
#[test]
fn heavy_prefixes() {
    Oracle::of("heavy-prefixes", &["split"]).ask();
}

/// Three handlers, whose tables know a connection by other keys each.
#[test]
fn chain() {
    Oracle::of("chain", &["split"]).ask();
}
