//! A capture as a traffic profile: its flows in classes by rate, and the share of each class that a
//! plan gives the NIC.

use cora_core::bucket::Bucket;
use cora_core::key::{Address, FiveTuple, InsideAddress, SourceAddress, protocol};
use cora_plan::Placement;
use cora_plan::traffic::{Bin, Class, Traffic};
use cora_plan::vocabulary::{BucketsBy, Sides};
use cora_runtime::ownership::share_of;
use cora_runtime::steering::{Deal, Steering};

use super::cases::{Case, Feed};
use super::frames::{Capture, ends};
use crate::traffic::FRAME;

/// Flows of the heaviest class; each next class has [`TIMES`] times more.
const FIRST: usize = 8;
const TIMES: usize = 4;
/// Upper bound on the bins of a class.
const BINS: usize = 8;

/// The seed of a program that is measured.
const SEED: u64 = 1;

/// Returns the profile of a capture, and per class the share of its packets from flows that the
/// plan lets the NIC own. The plan decides by a hash or a port of each flow's key, so the share is
/// known before a run.
pub(crate) fn profile(case: &Case, capture: &Capture, plan: &Placement) -> (Traffic, Vec<f64>) {
    let ranked = ranked(case.flows, &capture.draws);
    let packets = capture.draws.len() as f64;
    let (mut classes, mut shares) = (Vec::new(), Vec::new());
    let (mut rest, mut size, mut before) = (&ranked[..], FIRST, 0);
    while !rest.is_empty() {
        let (heads, tail) = rest.split_at(size.min(rest.len()));
        let name = if before == 0 { "the top" } else { "the next" };
        let count: u64 = heads.iter().map(|(_, count)| count).sum();
        let owned: u64 = heads
            .iter()
            .filter(|(flow, _)| is_nics(plan, &key(case.nf.feed, *flow)))
            .map(|(_, count)| count)
            .sum();
        shares.push(if count > 0 { owned as f64 / count as f64 } else { 0.0 });
        classes.push(Class {
            name: format!("{name} {}", heads.len()),
            flows: heads.len() as f64,
            share: count as f64 / packets,
            // The opening packets come before the measured ones.
            opens: 0.0,
            seconds: None,
            mean_bytes: FRAME as f64,
            head_bytes: FRAME as f64,
            bins: bins(heads, packets),
        });
        before += heads.len();
        size *= TIMES;
        rest = tail;
    }
    let by_key = [("FiveTuple".to_owned(), classes)].into();
    let name = format!("{}-{}", case.flows, case.skew.name());
    let title = "made for the comparison".to_owned();
    (Traffic { name, title, mean_bytes: FRAME as f64, mpps: None, by_key }, shares)
}

/// Returns flows and their packets, heaviest first.
fn ranked(flows: u64, draws: &[u64]) -> Vec<(u64, u64)> {
    let mut counts = vec![0_u64; flows as usize];
    for flow in draws {
        counts[*flow as usize] += 1;
    }
    let mut ranked: Vec<(u64, u64)> = (0..).zip(counts).collect();
    ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    ranked
}

fn bins(heads: &[(u64, u64)], packets: f64) -> Vec<Bin> {
    let length = heads.len().div_ceil(BINS).max(1);
    heads
        .chunks(length)
        .map(|bin| Bin {
            flows: bin.len() as f64,
            share: bin.iter().map(|(_, count)| count).sum::<u64>() as f64 / packets,
        })
        .collect()
}

/// Returns the key of the flow's packets from the side that begins.
fn key(feed: Feed, flow: u64) -> FiveTuple {
    let ((source, source_port), (destination, destination_port)) = ends(feed, flow);
    FiveTuple {
        source: Address::v4(source),
        destination: Address::v4(destination),
        source_port,
        destination_port,
        protocol: protocol::UDP,
    }
}

/// Returns whether the NIC may own this flow under the plan.
fn is_nics(plan: &Placement, key: &FiveTuple) -> bool {
    if plan.sides == Sides::Dealt {
        return Deal::gives_nic(bucket(plan, key), plan.nic_buckets);
    }
    part(&plan.group, key) < plan.nic_share
}

/// Returns the part of this flow, out of 1024 parts.
fn part(group: &str, key: &FiveTuple) -> u16 {
    match group {
        "SourceAddress" => share_of(&SourceAddress(key.source)),
        "InsideAddress" => share_of(&InsideAddress(key.source)),
        _ => share_of(key),
    }
}

/// Returns the bucket of this flow, which is begun from the end that has the bucket's port.
fn bucket(plan: &Placement, key: &FiveTuple) -> Bucket {
    let steering = Steering::new(SEED, Deal::even(1));
    match (plan.buckets_by, &*plan.group) {
        (BucketsBy::InsidePort | BucketsBy::OutsidePort, _) => Bucket::of_port(key.source_port),
        (BucketsBy::Ports, _) => steering.bucket_of_ports(key),
        (BucketsBy::Group, "SourceAddress") => steering.bucket_of(&SourceAddress(key.source)),
        (BucketsBy::Group, "InsideAddress") => steering.bucket_of(&InsideAddress(key.source)),
        (BucketsBy::Group, _) => steering.bucket_of(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_in_one_bin() {
        let draws: Vec<u64> = (0..10_000).map(|n| n % 100 * (n % 7)).collect();
        let ranked = ranked(1_000, &draws);
        assert_eq!(ranked.len(), 1_000);
        assert!(ranked.is_sorted_by(|a, b| a.1 >= b.1));
        let bins = bins(&ranked, 10_000.0);
        let (flows, share) =
            bins.iter().fold((0.0, 0.0), |(f, s), bin| (f + bin.flows, s + bin.share));
        assert!((flows - 1_000.0).abs() < 1e-9 && (share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn about_half_of_the_flows_are_below_half() {
        let below =
            (0..10_000).filter(|flow| part("FiveTuple", &key(Feed::FromInside, *flow)) < 512);
        assert!((4_800..5_200).contains(&below.count()));
    }
}
