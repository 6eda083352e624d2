//! Packets that the router sends of its own accord: ICMP, and questions for next hops. Each bucket
//! of destinations may have so many in a second, so nobody makes the router flood a link.

use cora::prelude::*;

/// Answers and errors of ICMP (RFC 1812, 4.3.2.8).
pub(crate) const MOST_ERRORS: u32 = 64;
/// Next hops that are asked for, each once.
const MOST_HOPS: usize = 8;

pub(crate) const TOO_MANY_ERRORS: Reason = Reason::new("too-many-errors");

/// The part of it that the destinations of a bucket used in this second.
#[state(per = Bucket)]
pub(crate) struct Budget {
    second: u32,
    errors: u32,
    asked: u8,
    hops: [Address; MOST_HOPS],
}

impl From<Bucket> for Budget {
    fn from(_: Bucket) -> Self {
        Self { second: 0, errors: 0, asked: 0, hops: [Address::v6([0; 16]); MOST_HOPS] }
    }
}

impl Budget {
    /// One more packet of ICMP.
    pub(crate) fn take_error(&mut self, now: u32) -> Result<(), Reason> {
        self.begin(now);
        self.errors += 1;
        if self.errors > MOST_ERRORS { Err(TOO_MANY_ERRORS) } else { Ok(()) }
    }

    /// Whether to ask for this next hop now.
    pub(crate) fn take_question(&mut self, hop: Address, now: u32) -> bool {
        self.begin(now);
        let asked = usize::from(self.asked);
        if self.hops.iter().take(asked).any(|other| *other == hop) {
            return false;
        }
        let Some(place) = self.hops.get_mut(asked) else { return false };
        *place = hop;
        self.asked += 1;
        true
    }

    /// Another second has its own budget.
    fn begin(&mut self, now: u32) {
        if self.second != now {
            (self.second, self.errors, self.asked) = (now, 0, 0);
        }
    }
}
