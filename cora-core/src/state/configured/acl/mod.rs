//! Ordered rules, found by the first match.
//!
//! Rules whose source or destination is a prefix are grouped by the longer of the two. Two indices
//! for longest matches, one by destination and one by source, lead to the group of a packet's
//! address, and each group to the next one that covers it. So a look-up compares a packet only with
//! rules that one of its addresses fits, and with those that name no address.
//!
//! ```text
//! header         1 line: where the parts are
//! destinations   index of groups by destination prefix
//! sources        index of groups by source prefix
//! groups         covering group plus 1 or 0, first place in the list, number of places; the first
//!                group has the rules without prefixes
//! list           numbers of rules, ascending in each group
//! ```

#[cfg(not(target_os = "none"))]
mod build;
mod rule;

pub use rule::Match;

#[cfg(not(target_os = "none"))]
use super::Places;
use super::longest::{self, LINE};
use super::{Configured, Form, Row};
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::key::{Address, FiveTuple};

/// A table of ordered rules, declared by `#[state(acl, capacity = …)]`: the first rule that fits a
/// flow applies. A handler takes `&Acl<S>`.
///
/// The file has the columns `source`, `destination` (prefixes), `protocol` (`tcp`, `udp`, `icmp`,
/// `icmp6`, `sctp` or a number), `source_port` and `destination_port` (`443`, `1024-65535`) beside
/// those of the fields. A rule without one of them, or with `any` there, fits everything in it:
///
/// ```text
/// source,      protocol, destination_port, allow
/// 10.1.0.0/16, tcp,      22,               true
/// 10.0.0.0/8,  tcp,      22,               false
/// any,         any,      any,              true
/// ```
pub type Acl<S> = Configured<S>;

/// The [form](Form) of an [`Acl`].
#[derive(Clone, Copy, Debug)]
pub enum ByMatch {}

/// Words of the header: the word where the destinations begin, and so on.
mod header {
    pub(super) const DESTINATIONS: usize = 0;
    pub(super) const SOURCES: usize = 1;
    pub(super) const GROUPS: usize = 2;
    pub(super) const LIST: usize = 3;
}

/// Words of a group.
const GROUP: usize = 3;

/// Upper bound of the words of an index over this many rules.
#[must_use]
pub const fn words(capacity: u32) -> usize {
    let rules = capacity as usize;
    LINE + 2 * longest::words(capacity) + GROUP * (rules + 1) + rules
}

impl Form for ByMatch {
    type Place = Match;

    #[cfg(not(target_os = "none"))]
    fn build(
        places: &Places<'_, Match>,
        words: &mut [u32],
        file: &mut dyn config::File,
    ) -> Option<usize> {
        build::run(places, words, file)
    }
}

impl<S: Row<Form = ByMatch>> Configured<S> {
    /// The first rule, in the order of the file, that fits the flow.
    pub fn first(&self, flow: &FiveTuple) -> Option<&S> {
        let index = self.index();
        let at = |part: usize| index.get(part).map_or(0, |word| *word as usize);
        let by = |part: usize, address: Address| longest::find(index.get(at(part)..)?, address);
        // Of equal rules the lowest number is the first in the file.
        let mut best = u32::MAX;
        for group in
            [Some(0), by(header::DESTINATIONS, flow.destination), by(header::SOURCES, flow.source)]
        {
            let mut next = group.map_or(0, |group| group + 1);
            // A group is covered by groups with lower numbers, so this ends.
            while let Some(number) = next.checked_sub(1) {
                let words = index.get(at(header::GROUPS) + GROUP * number as usize..);
                let Some([covering, first, count]) = words.and_then(|words| words.first_chunk())
                else {
                    break;
                };
                let list = at(header::LIST) + *first as usize;
                let list = index.get(list..list + *count as usize).unwrap_or_default();
                let earlier = list.iter().copied().take_while(|rule| *rule < best);
                let mut fits = earlier.filter(|rule| {
                    self.placed(*rule).is_some_and(|placed| placed.place.fits(flow))
                });
                best = fits.next().unwrap_or(best);
                next = if *covering < next { *covering } else { 0 };
            }
        }
        self.placed(best).map(|placed| &placed.row)
    }
}
