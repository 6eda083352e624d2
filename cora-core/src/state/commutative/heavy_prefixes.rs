//! The prefixes of IPv4 addresses with the greatest counts: hierarchical heavy hitters, in bounded
//! memory.
//!
//! A prefix is heavy if its count, without the counts of heavy prefixes within it, is at least a
//! given part of the total (Cormode, Korn, Muthukrishnan and Srivastava, "Finding hierarchical
//! heavy hitters in data streams", VLDB 2003). So one heavy host does not make its network heavy,
//! but many light hosts do.
//!
//! 1. Each prefix length (8, 16, 24 and 32) has a count-min sketch. An update is an addition to
//!    each, so replicas merge by addition, and no update depends on the other side.
//! 2. Heavy prefixes are searched when the value is described, from the shortest down: below a
//!    prefix with less than the part, no prefix can have more. So there is no list of candidates,
//!    which could not be merged.

use super::super::Malformed;
use super::{CountMin, Replica, Sum};
use crate::key::{Address, SourceAddress};
use crate::plain::Describe;

/// Number of prefix lengths, in octets: 1 to 4.
const LENGTHS: usize = 4;

/// The counts of each /8, /16, /24 and /32 of IPv4: four sketches of `ROWS × COLUMNS` counters (8
/// bytes each). They are described as the prefixes that have at least one `PART`th of the total,
/// without the counts of such prefixes within them.
///
/// Estimates are those of [`CountMin`]: never too low, and rarely too high by more than `e/COLUMNS`
/// of the total. One packet makes at most 16 updates; further ones are refused under every plan
/// alike, and counted.
#[derive(Clone, Copy, Debug)]
pub struct HeavyPrefixes<const ROWS: usize, const COLUMNS: usize, const PART: u64> {
    lengths: [CountMin<ROWS, COLUMNS>; LENGTHS],
    /// The sum for IPv4 addresses, and the sum for all others.
    whole: Sum,
    others: Sum,
}

impl<const ROWS: usize, const COLUMNS: usize, const PART: u64> HeavyPrefixes<ROWS, COLUMNS, PART> {
    /// Adds `amount` to the counts of the address and its prefixes.
    #[inline]
    pub fn add(&mut self, address: Address, amount: u64) {
        const { assert!(PART >= 2 && PART <= 10_000, "PART is between 2 and 10,000") };
        let Some([a, b, c, d]) = address.as_v4() else {
            return self.others.add(amount);
        };
        self.whole.add(amount);
        let prefixes = [[a, 0, 0, 0], [a, b, 0, 0], [a, b, c, 0], [a, b, c, d]];
        for (sketch, prefix) in self.lengths.iter_mut().zip(prefixes) {
            sketch.add(&SourceAddress(Address::v4(prefix)), amount);
        }
    }

    /// Calls `with` for each heavy prefix: its first address, its length in bits, its count, and
    /// the part of the count outside heavy prefixes within it. Longer prefixes come before those
    /// that contain them. Returns the count outside all of them.
    pub fn each(&self, with: &mut dyn FnMut([u8; 4], u8, u64, u64)) -> u64 {
        let whole = self.whole.value();
        let least = whole.div_ceil(PART).max(1);
        whole.saturating_sub(self.within([0; 4], 0, least, with))
    }

    /// The counts of heavy prefixes within the prefix of this many `octets`.
    fn within(
        &self,
        prefix: [u8; 4],
        octets: usize,
        least: u64,
        with: &mut dyn FnMut([u8; 4], u8, u64, u64),
    ) -> u64 {
        let Some(sketch) = self.lengths.get(octets) else { return 0 };
        let mut all = 0_u64;
        for octet in 0..=u8::MAX {
            let mut longer = prefix;
            longer[octets] = octet;
            let had = sketch.estimate(&SourceAddress(Address::v4(longer)));
            if had < least {
                continue;
            }
            let heavy = self.within(longer, octets + 1, least, with);
            let own = had.saturating_sub(heavy);
            if own >= least {
                with(longer, 8 * (octets as u8 + 1), had, own);
                all = all.saturating_add(had);
            } else {
                all = all.saturating_add(heavy);
            }
        }
        all
    }
}

impl<const ROWS: usize, const COLUMNS: usize, const PART: u64> Replica
    for HeavyPrefixes<ROWS, COLUMNS, PART>
{
    const EMPTY: Self =
        Self { lengths: [CountMin::EMPTY; LENGTHS], whole: Sum::EMPTY, others: Sum::EMPTY };
    /// The two sums, then the sketches.
    const UNITS: u32 = 2 + LENGTHS as u32 * CountMin::<ROWS, COLUMNS>::UNITS;

    /// An empty replica is all zeroes.
    #[inline]
    fn clear(&mut self) {}

    fn put_unit(&self, unit: u32, out: &mut [u8]) -> usize {
        let each = CountMin::<ROWS, COLUMNS>::UNITS;
        let Some(at) = unit.checked_sub(2) else {
            return if unit == 0 { &self.whole } else { &self.others }.put_unit(0, out);
        };
        self.lengths.get((at / each) as usize).map_or(0, |sketch| sketch.put_unit(at % each, out))
    }

    fn merge_unit(&mut self, unit: u32, bytes: &[u8]) -> Result<(), Malformed> {
        let each = CountMin::<ROWS, COLUMNS>::UNITS;
        let Some(at) = unit.checked_sub(2) else {
            return if unit == 0 { &mut self.whole } else { &mut self.others }.merge_unit(0, bytes);
        };
        self.lengths.get_mut((at / each) as usize).ok_or(Malformed)?.merge_unit(at % each, bytes)
    }

    fn settle(&mut self) {
        for sketch in &mut self.lengths {
            sketch.settle();
        }
    }

    fn key(&mut self, seed: u64) {
        self.lengths.iter_mut().for_each(|sketch| sketch.key(seed));
    }

    #[inline]
    fn begin(&mut self, undo: bool) {
        self.whole.begin(undo);
        self.others.begin(undo);
        self.lengths.iter_mut().for_each(|sketch| sketch.begin(undo));
    }

    fn rollback(&mut self) {
        self.whole.rollback();
        self.others.rollback();
        self.lengths.iter_mut().for_each(Replica::rollback);
    }

    /// The heavy prefixes, followed by the sketches, so that any difference between two values is
    /// visible.
    fn describe(&self, to: &mut dyn Describe) {
        to.open();
        to.field("whole");
        self.whole.describe(to);
        to.field("others");
        self.others.describe(to);
        to.field("heavy");
        to.open_list();
        let light = self.each(&mut |[a, b, c, d], length, had, own| {
            to.open();
            to.field("prefix");
            to.text(&format_args!("{a}.{b}.{c}.{d}/{length}"));
            to.field("had");
            to.number(u128::from(had));
            to.field("own");
            to.number(u128::from(own));
            to.close();
        });
        to.close_list();
        to.field("light");
        to.number(u128::from(light));
        to.field("sketches");
        to.open_list();
        self.lengths.iter().for_each(|sketch| sketch.describe(to));
        to.close_list();
        to.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    type Tenths = HeavyPrefixes<4, 1024, 10>;
    type Heavy = Vec<([u8; 4], u8, u64)>;

    fn sorted(of: &Tenths) -> (Heavy, u64) {
        let mut heavy = Vec::new();
        let light = of.each(&mut |prefix, length, _, own| heavy.push((prefix, length, own)));
        heavy.sort_unstable();
        (heavy, light)
    }

    /// The same from exact counts, by a slow method: from the longest prefixes up.
    fn exactly(had: &BTreeMap<[u8; 4], u64>) -> (Heavy, u64) {
        let whole: u64 = had.values().sum();
        let (mut left, mut heavy) = (had.clone(), Vec::new());
        for octets in (1..=4).rev() {
            let mut prefixes = BTreeMap::<[u8; 4], u64>::new();
            for (address, amount) in left {
                let mut prefix = [0; 4];
                prefix[..octets].copy_from_slice(&address[..octets]);
                *prefixes.entry(prefix).or_default() += amount;
            }
            left = prefixes;
            left.retain(|prefix, own| {
                let is_light = *own * 10 < whole;
                if !is_light {
                    heavy.push((*prefix, 8 * octets as u8, *own));
                }
                is_light
            });
        }
        heavy.sort_unstable();
        (heavy, left.values().sum())
    }

    fn traffic() -> BTreeMap<[u8; 4], u64> {
        // A heavy host, a network of light hosts around it, a larger network of light networks, and
        // the rest.
        let around = (0..200).map(|host| ([10, 1, 1, host], 10));
        let light = (0..200).map(|net| ([172, 16, net, 1], 9));
        let rest = (0..100).map(|net| ([net + 11, net, 1, 1], 5));
        around.chain(light).chain(rest).chain([([10, 1, 1, 7], 3_000)]).collect()
    }

    fn of(had: impl IntoIterator<Item = ([u8; 4], u64)>) -> Tenths {
        let mut prefixes = Tenths::EMPTY;
        prefixes.key(7);
        for (address, amount) in had {
            prefixes.begin(false);
            prefixes.add(Address::v4(address), amount);
        }
        prefixes
    }

    #[test]
    #[cfg_attr(miri, ignore = "no unsafe code is near, and it takes minutes")]
    fn what_is_heavy_is_so_without_what_is_heavy_within() {
        let had = traffic();
        let found = sorted(&of(had.clone()));
        assert_eq!(found, exactly(&had));
        let prefixes: Vec<_> =
            found.0.iter().map(|(prefix, length, _)| (*prefix, *length)).collect();
        assert_eq!(
            prefixes,
            [([10, 1, 1, 0], 24), ([10, 1, 1, 7], 32), ([172, 16, 0, 0], 16)],
            "neither 10.1.0.0/16 nor 10.0.0.0/8 has anything else"
        );
    }

    #[test]
    #[cfg_attr(miri, ignore = "no unsafe code is near, and it takes minutes")]
    fn replicas_merge_and_what_is_taken_back_is_gone() {
        let had = traffic();
        let whole = of(had.clone());
        let mut one = of(had.clone().into_iter().filter(|(address, _)| address[3] % 2 == 0));
        let mut two = of(had.into_iter().filter(|(address, _)| address[3] % 2 == 1));
        two.begin(true);
        two.add(Address::v4([1, 2, 3, 4]), 1_000_000);
        two.add(Address::v6([0x20; 16]), 5);
        two.rollback();
        let mut bytes = [0; 64];
        for unit in 0..Tenths::UNITS {
            let length = two.put_unit(unit, &mut bytes);
            one.merge_unit(unit, &bytes[..length]).unwrap();
        }
        assert_eq!(sorted(&one), sorted(&whole));
        let counters = |of: &Tenths| {
            let mut bytes = [0; 64];
            let unit = |unit| {
                let length = of.put_unit(unit, &mut bytes);
                bytes[..length].to_vec()
            };
            (0..Tenths::UNITS).map(unit).collect::<Vec<_>>()
        };
        assert_eq!(counters(&one), counters(&whole));
        assert_eq!(one.merge_unit(Tenths::UNITS, &[0; 8]), Err(Malformed));
    }

    #[test]
    #[cfg_attr(miri, ignore = "no unsafe code is near, and it takes minutes")]
    fn nothing_and_other_addresses_are_no_prefix() {
        let mut prefixes = Tenths::EMPTY;
        prefixes.key(7);
        assert_eq!(sorted(&prefixes), (Vec::new(), 0));
        prefixes.add(Address::v6([0x20; 16]), 7);
        assert_eq!(sorted(&prefixes), (Vec::new(), 0));
        assert_eq!(prefixes.others.value(), 7);
    }
}
