#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]
use cora::prelude::*;

const TOO_MANY_SYNS: Reason = Reason::new("too-many-syns");
const WINDOW: u64 = 10_000_000_000; // nanoseconds
const LIMIT: u32 = 20;

/// What a source began in its current window.
#[state(key = SourceAddress, capacity = 65_536, idle = "1m")]
struct Source {
    since: u64,
    syns: u32,
}

/// A source may begin twenty connections in ten seconds.
#[flow_handler]
fn syn_limiter(packet: &mut Packet, sources: &mut Table<Source>) -> Verdict {
    let begins = packet.tcp().is_some_and(|tcp| tcp.flags.syn() && !tcp.flags.ack());
    if !begins {
        return Transmit;
    }
    let key = SourceAddress(packet.source()?);
    match sources.get_mut(&key) {
        Some(source) if packet.now() - source.since < WINDOW => {
            source.syns += 1;
            if source.syns > LIMIT {
                return Drop(TOO_MANY_SYNS);
            }
        }
        Some(source) => *source = Source { since: packet.now(), syns: 1 },
        None => sources.insert(key, Source { since: packet.now(), syns: 1 })?,
    }
    Transmit
}

cora::app!(syn_limiter);
