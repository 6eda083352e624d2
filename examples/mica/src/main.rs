//! # mica: a key-value store in two regions
//!
//! The layout is MICA's (Lim et al., NSDI 2014), as a cache that forgets: a name has a home bucket
//! of seven items, and a tag of 16 bits tells these apart. Of a full bucket the oldest item goes. A
//! bucket is a line of a cache, so most questions read a line and an item.
//!
//! Try it:  `cargo cora run mica --messages udp:127.0.0.1:7000`, and send datagrams as the
//! `README.md` says.
//!
//! Expect:  the whole program on the NIC, with both regions.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]

use cora::prelude::*;

/// Items of a bucket.
const WAYS: u32 = 7;
/// Buckets: names have room for 458,752 items.
const BUCKETS: u32 = 1 << 16;

type Name = Bytes<23>;
type Value = Bytes<64>;

/// A question.
#[message(udp, port = 7000)]
enum Ask {
    Get { name: Name },
    Put { name: Name, value: Value },
}

#[message(udp)]
enum Answer {
    Is { value: Value },
    Nothing,
    Stored,
}

/// The tags of seven items, 0 where there is no item, and the place that goes next.
#[state(region, length = BUCKETS)]
struct Bucket {
    tags: [u16; WAYS as usize],
    next: u16,
}

/// An item. The items of a bucket stand side by side.
#[state(region, length = BUCKETS * WAYS)]
struct Item {
    name: Name,
    value: Value,
}

/// The hash of a name: each byte changes all bits (FNV-1a, and the end of MurmurHash3).
fn hash(name: &[u8]) -> u64 {
    let mixed = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |mixed, byte| {
        (mixed ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ mixed >> 33
}

/// Answers a question.
#[flow_handler]
fn mica(
    ask: &Ask,
    buckets: &mut Region<Bucket>,
    items: &mut Region<Item>,
    answers: &mut Outbox<Answer>,
) -> Verdict {
    let (Ask::Get { name } | Ask::Put { name, .. }) = ask;
    let hash = hash(name);
    let (home, tag) = (hash as u32 % BUCKETS, (hash >> 48) as u16 | 1);
    let bucket = *buckets.read(home)?;
    let mut found = None;
    for (way, _) in (0..WAYS).zip(bucket.tags).filter(|(_, it)| *it == tag) {
        let item = items.read(home * WAYS + way)?;
        if item.name == *name {
            found = Some((way, item.value));
        }
    }
    let Ask::Put { value, .. } = ask else {
        let answer = found.map_or(Answer::Nothing, |(_, value)| Answer::Is { value });
        answers.reply(answer)?;
        return Done;
    };
    let way = match found {
        Some((way, _)) => way,
        None => {
            let way = u32::from(bucket.next) % WAYS;
            let mut bucket = bucket;
            if let Some(place) = bucket.tags.get_mut(way as usize) {
                *place = tag;
            }
            bucket.next = (way as u16 + 1) % WAYS as u16;
            buckets.write(home, bucket)?;
            way
        }
    };
    items.write(home * WAYS + way, Item { name: *name, value: *value })?;
    answers.reply(Answer::Stored)?;
    Done
}

cora::app!(mica);

#[cfg(test)]
mod tests;
