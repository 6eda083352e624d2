//! # parcels: how long do they take from one depot to the next?
//!
//! To test: an actor pipeline from docs/language.md alone, in 60 lines. It answers to who scans.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

#[message(udp)]
struct Scan {
    #[key]
    parcel: u64,
    depot: u16,
}

#[message]
struct Leg {
    #[key]
    depots: u32,
    took: u64,
}

#[message(udp)]
struct Mean {
    depots: u32,
    took: u64,
}

#[state(key = u64, capacity = 65_536, idle = "1h")]
struct Parcel {
    depot: u16,
    since: u64,
}

#[state(key = u32, capacity = 4_096, idle = "never")]
struct Way {
    legs: u64,
    total: u64,
}

#[flow_handler]
fn see(scan: Scan, at: &Envelope, parcels: &mut Table<Parcel>, legs: &mut Outbox<Leg>) -> Verdict {
    let now = Parcel { depot: scan.depot, since: at.now() / 1_000_000 };
    let parcel = parcels.get_or_insert(scan.parcel, now)?;
    if parcel.depot != now.depot {
        let depots = u32::from(parcel.depot) << 16 | u32::from(now.depot);
        legs.send(Leg { depots, took: now.since - parcel.since })?;
        *parcel = now;
    }
    Done
}

#[flow_handler]
fn average(leg: Leg, ways: &mut Table<Way>, means: &mut Outbox<Mean>) -> Verdict {
    let way = ways.get_or_insert(leg.depots, Way { legs: 0, total: 0 })?;
    *way = Way { legs: way.legs + 1, total: way.total + leg.took };
    means.reply(Mean { depots: leg.depots, took: way.total / way.legs })?;
    Done
}

cora::app!(see, average);
