//! Builds the index of ordered rules, at the host.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{GROUP, LINE, Match, header};
use crate::config;
use crate::key::Prefix;
use crate::state::configured::Places;
use crate::state::configured::longest::build::{self, Network};

/// Rules that are grouped by a prefix of one end.
struct Groups {
    /// The number of the first group.
    first: u32,
    /// Numbers of rules by prefix; a covering prefix comes before those that it covers.
    by_prefix: BTreeMap<Prefix, Vec<u32>>,
}

/// Builds the index into `words`, which are zero; returns the number of words used.
pub(super) fn run(
    places: &Places<'_, Match>,
    words: &mut [u32],
    file: &mut dyn config::File,
) -> Option<usize> {
    let mut general = Vec::new();
    let (mut destinations, mut sources) = (BTreeMap::new(), BTreeMap::new());
    for (rule, place) in places.iter() {
        let (source, destination) = (place.source(), place.destination());
        let group = if precision(destination) >= precision(source) {
            destination.map(|prefix| destinations.entry(prefix).or_default())
        } else {
            source.map(|prefix| sources.entry(prefix).or_default())
        };
        group.unwrap_or(&mut general).push(rule);
    }
    let destinations = Groups { first: 1, by_prefix: destinations };
    let sources = Groups { first: 1 + destinations.by_prefix.len() as u32, by_prefix: sources };
    let mut used = LINE;
    for (part, groups) in [(header::DESTINATIONS, &destinations), (header::SOURCES, &sources)] {
        set(words, part, used);
        used += build::run(groups.networks(), words.get_mut(used..)?, file)?;
    }
    set(words, header::GROUPS, used);
    let mut list = general.clone();
    let mut groups = [0, 0, general.len() as u32].to_vec();
    for part in [&destinations, &sources] {
        for (covering, rules) in part.covered() {
            groups.extend([covering, list.len() as u32, rules.len() as u32]);
            list.extend(rules);
        }
    }
    set(words, header::LIST, used + groups.len());
    let behind = words.get_mut(used..used + groups.len() + list.len())?;
    for (place, word) in behind.iter_mut().zip(groups.iter().chain(&list)) {
        *place = *word;
    }
    Some(used + groups.len() + list.len())
}

/// How few addresses a prefix has, for both families alike; 0 for any address.
fn precision(prefix: Option<Prefix>) -> u16 {
    prefix.map_or(0, |prefix| {
        let length = u16::from(prefix.length());
        1 + if prefix.address().is_v4() { 4 * length } else { length }
    })
}

fn set(words: &mut [u32], at: usize, value: usize) {
    if let Some(place) = words.get_mut(at) {
        *place = value as u32;
    }
}

impl Groups {
    fn networks(&self) -> impl Iterator<Item = Network> {
        let numbered = self.by_prefix.keys().zip(self.first..);
        numbered.map(|(prefix, value)| Network { prefix: *prefix, value })
    }

    /// The rules of each group, after the number of the group that covers it plus 1, or 0.
    fn covered(&self) -> Vec<(u32, &Vec<u32>)> {
        // By family, since the addresses of IPv4 are among those of IPv6.
        let mut open: [Vec<(Prefix, u32)>; 2] = [Vec::new(), Vec::new()];
        let mut covered = Vec::new();
        for ((prefix, rules), number) in self.by_prefix.iter().zip(self.first..) {
            let open = &mut open[usize::from(prefix.address().is_v4())];
            while open.pop_if(|(outer, _)| !outer.contains(prefix.address())).is_some() {}
            covered.push((open.last().map_or(0, |(_, outer)| outer + 1), rules));
            open.push((*prefix, number));
        }
        covered
    }
}

const _: () = assert!(GROUP == 3, "as `run` writes groups");
