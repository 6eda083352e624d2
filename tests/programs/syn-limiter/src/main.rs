//! Limits how many connections a source may begin.
#![cfg_attr(all(feature = "nic", target_os = "none"), no_std, no_main)]
use cora::prelude::*;

const TOO_MANY_SYNS: Reason = Reason::new("too-many-syns");
const WINDOW: u64 = 10_000_000_000; // nanoseconds

/// The connections that a source began in its current window.
#[state(key = SourceAddress, capacity = 65_536, idle = "1m")]
struct Source {
    since: u64,
    syns: u32,
}

/// How many a source may begin in a window.
#[state(read_mostly)]
struct Limit {
    syns: u32,
}

impl Default for Limit {
    fn default() -> Self {
        Self { syns: 20 }
    }
}

impl Configure for Limit {
    fn configure(text: &str) -> Result<Self, &'static str> {
        let syns = text.trim().parse().map_err(|_| "write one number, for example 20")?;
        Ok(Self { syns })
    }
}

#[flow_handler]
fn syn_limiter(packet: &mut Headers, sources: &mut Table<Source>, limit: &Limit) -> Verdict {
    if !packet.tcp_flags().is_some_and(|flags| flags.syn() && !flags.ack()) {
        return Transmit;
    }
    let key = SourceAddress(packet.source()?);
    match sources.get_mut(&key) {
        Some(source) if packet.now() - source.since < WINDOW => {
            source.syns += 1;
            if source.syns > limit.syns {
                return Drop(TOO_MANY_SYNS);
            }
        }
        Some(source) => *source = Source { since: packet.now(), syns: 1 },
        None => sources.insert(key, Source { since: packet.now(), syns: 1 })?,
    }
    Transmit
}

cora::app!(syn_limiter);

#[cfg(test)]
mod tests {
    use super::*;
    use cora::testing;

    /// A SYN from 10.0.0.1, `now` nanoseconds after the start.
    fn syn(now: u64, sources: &mut Table<Source>) -> Verdict {
        let mut tcp = [0; 20];
        (tcp[12], tcp[13]) = (5 << 4, 2); // five words of header; SYN
        let mut frame = testing::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64, protocol::TCP, &tcp);
        let mut packet = Packet::new(&mut frame, Meta { now, ..Meta::default() });
        testing::at(sources, now);
        syn_limiter(&mut packet, sources, &Limit { syns: 2 })
    }

    #[test]
    fn a_source_waits_for_its_next_window() {
        let mut sources = testing::table();
        assert_eq!(syn(0, &mut sources), Transmit);
        assert_eq!(syn(1, &mut sources), Transmit);
        assert_eq!(syn(2, &mut sources), Drop(TOO_MANY_SYNS));
        assert_eq!(syn(WINDOW, &mut sources), Transmit);
    }
}
