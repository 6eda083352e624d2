//! # subscribers: a read-mostly state of 32 MB
//!
//! To test, not to copy. A million subscribers are configured by a file, which is read with all
//! that `std` has; their addresses are looked up on both sides. Packets of others pass.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]
#![allow(clippy::large_stack_arrays, reason = "a value as large as this program is for")]

#[host_only]
use std::collections::BTreeMap;

use cora::prelude::*;

const MOST: usize = 1_000_000;

const BARRED: Reason = Reason::new("barred");

/// The rights of a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Plain)]
enum Tier {
    Open,
    Barred,
}

#[derive(Debug, Clone, Copy, Plain)]
struct Subscriber {
    address: Address,
    tier: Tier,
    number: u32,
}

/// All subscribers, in the order of their addresses.
#[state(read_mostly)]
struct Subscribers {
    generation: Generation,
    count: u32,
    all: [Subscriber; MOST],
}

impl Subscriber {
    const NOBODY: Self =
        Self { address: Address::v4([255; 4]), tier: Tier::Open, number: u32::MAX };
}

impl Default for Subscribers {
    fn default() -> Self {
        Self { generation: Generation::default(), count: 0, all: [Subscriber::NOBODY; MOST] }
    }
}

/// Lines are `ADDRESS open` and `ADDRESS barred`, in any order.
#[host_only]
impl Configure for Subscribers {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let mut tiers = BTreeMap::new();
        for line in text.lines() {
            let words: Vec<String> = line.split(' ').map(str::to_lowercase).collect();
            let (address, tier) = subscriber(&words)?;
            tiers.insert(address, tier);
        }
        let mut read = Self { count: tiers.len() as u32, ..Self::default() };
        if tiers.len() > MOST {
            return Err("more than a million subscribers");
        }
        for (number, ((address, tier), place)) in tiers.into_iter().zip(&mut read.all).enumerate() {
            *place = Subscriber { address: address.into(), tier, number: number as u32 };
        }
        Ok(read)
    }
}

#[host_only]
fn subscriber(words: &[String]) -> Result<(std::net::IpAddr, Tier), &'static str> {
    let [address, tier] = words else { return Err("a line is `ADDRESS open` or `ADDRESS barred`") };
    let tier = match tier.as_str() {
        "open" => Tier::Open,
        "barred" => Tier::Barred,
        _ => return Err("a tier is `open` or `barred`"),
    };
    Ok((address.parse().map_err(|_| "not an IP address")?, tier))
}

impl Subscribers {
    fn of(&self, address: Address) -> Option<&Subscriber> {
        let all = self.all.get(..self.count as usize).unwrap_or_default();
        let at = all.binary_search_by_key(&address.bits(), |it| it.address.bits()).ok()?;
        all.get(at)
    }
}

/// Packets by kind.
#[state(commutative)]
struct Seen {
    subscribers: Sum,
    highest: Max,
    others: Sum,
    by_address: CountMin<4, 131_072>,
}

/// Bars those who are barred.
#[flow_handler(transparent)]
fn bar(packet: &mut Headers, subscribers: &Subscribers, seen: &mut Seen) -> Verdict {
    let Ok(address) = packet.inside_address() else { return Transmit };
    let Some(subscriber) = subscribers.of(address) else {
        seen.others.add(1);
        return Transmit;
    };
    seen.subscribers.add(1);
    seen.highest.raise(u64::from(subscriber.number));
    seen.by_address.add(&SourceAddress(address), 1);
    if subscriber.tier == Tier::Barred {
        return Drop(BARRED);
    }
    Transmit
}

cora::app!(bar);
