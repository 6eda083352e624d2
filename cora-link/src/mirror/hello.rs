//! The host's call: a description of its region. The card makes the same one.

use crate::end::UNKNOWN_SESSION;
use cora_runtime::link::region::{HashSeed, Identity, LAYOUT_VERSION, LayoutError, RegionLayout};

/// The region of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Bytes of the rings' data.
    pub rings: [usize; 4],
    /// The region's identity.
    pub identity: Identity,
    /// Whether packets come in at the card, by ports of its own.
    pub ports: bool,
    /// Whether the host wants to know only whether the card would serve it.
    pub asks: bool,
}

/// What the programs at both ends must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Build {
    /// The version of the region's layout.
    pub layout: u64,
    /// The plan's hash.
    pub plan: u64,
}

impl Build {
    /// This build of Cora, for a program with this plan.
    pub const fn of_plan(plan: u64) -> Self {
        Self { layout: LAYOUT_VERSION, plan }
    }

    /// The build that a call is for. Its place in a call is the same in all versions.
    pub fn called(call: &[u8]) -> Option<Self> {
        let (words, _) = call.as_chunks::<8>();
        let [layout, plan] = words.first_chunk()?.map(u64::from_le_bytes);
        Some(Self { layout, plan })
    }
}

/// Why a card refuses a call. The number crosses the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The host's program has another layout of regions.
    #[error("the card's program is of another version of Cora: both must come from one build")]
    OtherLayout,
    /// The host's program was built for another plan.
    #[error("the card's program was built for another plan: both must come from one build")]
    OtherPlan,
    /// The card knows no such session.
    #[error("the card ended the session, or its agent was started again")]
    Over,
    /// The host expects ports at the card, and there are none.
    #[error("the card has no ports: start its agent with --live inside=PORT,outside=PORT")]
    NoPorts,
    /// The card has ports, and the host has packets of its own.
    #[error(
        "the card has ports of its own: run with `--live card`, or start its agent without --live"
    )]
    HasPorts,
    /// The call makes no sense.
    #[error("the card does not understand the call")]
    Nonsense,
    /// The card has no memory for the region, or can't start a NIC half.
    #[error("the card can't start a NIC half: its own words say why")]
    Unable,
    /// The host only asked.
    #[error("the card is there, and would serve this host")]
    Asked,
}

impl Refusal {
    /// By their numbers on the link.
    const ALL: [Self; 8] = [
        Self::Over,
        Self::OtherLayout,
        Self::OtherPlan,
        Self::NoPorts,
        Self::HasPorts,
        Self::Nonsense,
        Self::Unable,
        Self::Asked,
    ];

    /// Its number on the link.
    pub fn code(self) -> u64 {
        Self::ALL.iter().position(|it| *it == self).map_or(UNKNOWN_SESSION, |at| at as u64)
    }

    /// The refusal with this number; an unknown one makes no sense.
    pub fn of_code(code: u64) -> Self {
        let at = usize::try_from(code).ok();
        at.and_then(|at| Self::ALL.get(at).copied()).unwrap_or(Self::Nonsense)
    }
}

const WORDS: usize = 9;

impl Hello {
    /// The words of a call.
    pub fn encode(&self) -> Vec<u8> {
        let Identity { plan, generation, seed, resident, afresh } = self.identity;
        let (ports, asks) = (u64::from(self.ports) << 2, u64::from(self.asks) << 3);
        let flags = u64::from(resident) | u64::from(afresh) << 1 | ports | asks;
        let [wire_in, wire_out, punt, back] = self.rings.map(|bytes| bytes as u64);
        let words: [u64; WORDS] =
            [LAYOUT_VERSION, plan, generation, seed.0, flags, wire_in, wire_out, punt, back];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Whether this is a call that only asks, of whatever build.
    pub fn only_asks(call: &[u8]) -> bool {
        let flags = call.as_chunks::<8>().0.get(4).map_or(0, |word| u64::from_le_bytes(*word));
        flags & 8 != 0
    }

    /// The hello in a call, for a program with this plan on a card with ports or without.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn decode(call: &[u8], plan: u64, has_ports: bool) -> Result<Self, Refusal> {
        let (words, rest) = call.as_chunks::<8>();
        let version = words.first().map(|word| u64::from_le_bytes(*word));
        let version = version.ok_or(Refusal::Nonsense)?;
        if version != LAYOUT_VERSION {
            return Err(Refusal::OtherLayout);
        }
        let words: &[[u8; 8]; WORDS] = words.try_into().map_err(|_| Refusal::Nonsense)?;
        let [_, of, generation, seed, flags, rings @ ..] = words.map(u64::from_le_bytes);
        if !rest.is_empty() || generation == 0 {
            return Err(Refusal::Nonsense);
        }
        if of != plan {
            return Err(Refusal::OtherPlan);
        }
        let rings = rings.map(|bytes| usize::try_from(bytes).unwrap_or(0));
        let (resident, afresh) = (flags & 1 != 0, flags & 2 != 0);
        let identity = Identity { plan, generation, seed: HashSeed(seed), resident, afresh };
        let (ports, asks) = (flags & 4 != 0, flags & 8 != 0);
        let hello = Self { rings, identity, ports, asks };
        hello.layout().map_err(|_| Refusal::Nonsense)?;
        match (ports, has_ports) {
            (true, false) => Err(Refusal::NoPorts),
            (false, true) => Err(Refusal::HasPorts),
            _ => Ok(hello),
        }
    }

    /// The layout of its region.
    ///
    /// # Errors
    /// If a ring's size is impossible.
    pub const fn layout(&self) -> Result<RegionLayout, LayoutError> {
        RegionLayout::new(self.rings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let identity =
            Identity { plan: 7, generation: 3, seed: HashSeed(5), resident: false, afresh: true };
        Hello { rings: [1 << 20, 1 << 20, 1 << 19, 1 << 19], identity, ports: false, asks: false }
    }

    #[test]
    fn a_hello_is_read_as_it_was_written() {
        let words = hello().encode();
        assert!(words.len() <= crate::frame::LONGEST_CALL);
        assert_eq!(Hello::decode(&words, 7, false), Ok(hello()));
        let asks = Hello { asks: true, ..hello() };
        assert_eq!(Hello::decode(&asks.encode(), 7, false), Ok(asks));
        assert!(Hello::only_asks(&asks.encode()) && !Hello::only_asks(&words));
    }

    #[test]
    fn a_call_tells_its_build_first() {
        let words = hello().encode();
        assert_eq!(Build::called(&words), Some(Build::of_plan(7)));
        assert_eq!(Build::called(&words[..16]), Some(Build::of_plan(7)));
        assert_eq!(Build::called(&words[..15]), None);
    }

    #[test]
    fn both_sides_agree_where_packets_come_in() {
        let there = Hello { ports: true, ..hello() };
        assert_eq!(Hello::decode(&there.encode(), 7, true), Ok(there));
        assert_eq!(Hello::decode(&there.encode(), 7, false), Err(Refusal::NoPorts));
        assert_eq!(Hello::decode(&hello().encode(), 7, true), Err(Refusal::HasPorts));
    }

    #[test]
    fn a_hello_of_another_build_is_refused_with_the_reason() {
        let words = hello().encode();
        assert_eq!(Hello::decode(&words, 8, false), Err(Refusal::OtherPlan));
        let with = |word: usize, value: u64| {
            let mut words = hello().encode();
            words[8 * word..8 * word + 8].copy_from_slice(&value.to_le_bytes());
            Hello::decode(&words, 7, false)
        };
        assert_eq!(with(0, LAYOUT_VERSION + 1), Err(Refusal::OtherLayout));
        for (word, value) in [(2, 0), (5, 3), (8, u64::MAX)] {
            assert_eq!(with(word, value), Err(Refusal::Nonsense), "{word}");
        }
        for cut in [0, 7, 8, 71] {
            assert_eq!(Hello::decode(&words[..cut], 7, false), Err(Refusal::Nonsense), "{cut}");
        }
        assert_eq!(Hello::decode(&[words, vec![0]].concat(), 7, false), Err(Refusal::Nonsense));
    }

    #[test]
    fn each_refusal_has_a_number() {
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::of_code(refusal.code()), refusal);
        }
        assert_eq!(Refusal::of_code(UNKNOWN_SESSION), Refusal::Over);
        for unknown in [8, 99, u64::MAX] {
            assert_eq!(Refusal::of_code(unknown), Refusal::Nonsense);
        }
    }
}
