//! Moves of buckets in the report of a run: how many, what they cost, and why.

use std::fmt;

use serde::Serialize;

use crate::observe::text::grouped;

/// Moves of buckets between shards, and what they cost the flow table. The first moves deal the
/// buckets as the plan says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BucketMoves {
    /// Moves that are over, each of buckets from one shard to another.
    pub moves: u64,
    /// Of these, moves whose buckets began afresh, because a half died.
    pub afresh: u64,
    /// Buckets that stayed, because the flow table had no room for their rules.
    pub stayed: u64,
    /// Operations of the flow table.
    pub rule_operations: u64,
    /// Packets that came to the wrong shard, and were passed on.
    pub passed_on: u64,
    /// The longest move, in microseconds.
    pub longest_us: u64,
    /// Moves that the load caused, with `--moves adapt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_load: Option<BucketsByLoad>,
}

/// Moves of buckets that the load caused: the queue of one shard was more than half full, and
/// another's nearly empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BucketsByLoad {
    /// Moves.
    pub moves: u64,
    /// Buckets of all these moves.
    pub buckets: u64,
    /// How long the queues were so before each move, in milliseconds.
    pub after_ms: u64,
    /// Buckets that stayed at an overloaded shard, because each had more than half of its packets.
    pub elephants: u64,
    /// The first move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<LoadMove>,
    /// The last move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LoadMove>,
}

/// A move of buckets, with both shards as they were before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoadMove {
    /// Number of its buckets.
    pub buckets: u64,
    /// The overloaded shard.
    pub from: LoadSide,
    /// The shard that got the buckets.
    pub to: LoadSide,
}

/// A shard before a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoadSide {
    /// Its number.
    pub shard: u16,
    /// Its share of all packets of late.
    pub packets_percent: u8,
    /// How full its queue was.
    pub queue_percent: u8,
}

impl fmt::Display for BucketMoves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moves, afresh, stayed, passed_on, longest_us, by_load, .. } = *self;
        writeln!(
            f,
            "\nbuckets      {} moves, the longest took {} us",
            grouped(moves),
            grouped(longest_us)
        )?;
        for (number, what) in [
            (afresh, "moves began afresh, because a half died"),
            (stayed, "buckets stayed: the flow table had no room for their rules"),
            (passed_on, "packets came to the wrong shard and were passed on"),
        ] {
            if number > 0 {
                writeln!(f, "             {} {what}", grouped(number))?;
            }
        }
        by_load.as_ref().map_or(Ok(()), |by_load| write!(f, "{by_load}"))
    }
}

/// Why buckets moved, in words.
impl fmt::Display for BucketsByLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moves, buckets, after_ms, elephants, first, last } = self;
        let mut line = |text: fmt::Arguments<'_>| writeln!(f, "             {text}");
        if *moves > 0 {
            line(format_args!(
                "{} of the moves, of {} buckets, because of load: for {after_ms} ms the queue of one \
                 shard was more than half full, and another's nearly empty",
                grouped(*moves),
                grouped(*buckets)
            ))?;
        } else {
            line(format_args!(
                "none moved because of load: at no time was there for {after_ms} ms a shard with a \
                 queue more than half full, more packets than another whose queue was nearly empty, \
                 and buckets that would even that out"
            ))?;
        }
        if let Some(first) = first {
            line(format_args!("the first: {first}"))?;
        }
        if let Some(last) = last.filter(|_| *moves > 1) {
            line(format_args!("the last: {last}"))?;
        }
        if *elephants > 0 {
            line(format_args!(
                "{elephants} buckets stayed at an overloaded shard: each had more than half of its \
                 packets, and would only overload another"
            ))?;
        }
        Ok(())
    }
}

impl fmt::Display for LoadMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buckets, from, to } = self;
        write!(f, "{buckets} buckets from {from} to {to}")
    }
}

impl fmt::Display for LoadSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, packets_percent, queue_percent } = self;
        write!(
            f,
            "shard {shard} ({packets_percent} % of the packets, queue {queue_percent} % full)"
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::observe::buckets::{BucketMoves, BucketsByLoad, LoadMove, LoadSide};

    fn moved(buckets: u64) -> LoadMove {
        let side = |shard, packets_percent, queue_percent| LoadSide {
            shard,
            packets_percent,
            queue_percent,
        };
        LoadMove { buckets, from: side(0, 90, 98), to: side(1, 10, 2) }
    }

    #[test]
    fn the_text_says_why_buckets_moved() {
        let (first, last) = (Some(moved(8)), Some(moved(3)));
        let why = BucketsByLoad { moves: 2, buckets: 11, after_ms: 40, elephants: 0, first, last };
        let moves = BucketMoves { moves: 3, longest_us: 9_000, ..BucketMoves::default() };
        let plain = moves.to_string();
        assert_eq!(plain, "\nbuckets      3 moves, the longest took 9,000 us\n");
        let text = BucketMoves { by_load: Some(why), ..moves }.to_string();
        let told = text.strip_prefix(&plain).expect("the same in front");
        assert_eq!(
            told,
            "             2 of the moves, of 11 buckets, because of load: for 40 ms the queue of one \
             shard was more than half full, and another's nearly empty\n             \
             the first: 8 buckets from shard 0 (90 % of the packets, queue 98 % full) to shard 1 \
             (10 % of the packets, queue 2 % full)\n             \
             the last: 3 buckets from shard 0 (90 % of the packets, queue 98 % full) to shard 1 \
             (10 % of the packets, queue 2 % full)\n"
        );
        let once = BucketsByLoad { moves: 1, elephants: 2, ..why };
        let text = once.to_string();
        assert!(!text.contains("the last"), "{text}");
        assert!(text.contains("2 buckets stayed at an overloaded shard"), "{text}");
        let never = BucketsByLoad { after_ms: 40, ..BucketsByLoad::default() };
        assert!(never.to_string().contains("none moved because of load"), "{never}");
    }
}
