//! A row per prefix, found by the longest match.

#[cfg(not(target_os = "none"))]
use super::Places;
#[cfg(not(target_os = "none"))]
use super::longest::build::{self, Network};
use super::{Configured, Form, Row, longest};
#[cfg(not(target_os = "none"))]
use crate::config;
use crate::key::{Address, Prefix};

/// A table with a row per prefix, declared by `#[state(prefixes, capacity = …)]`: routes,
/// subscribers, countries. A handler takes `&Prefixes<S>`.
///
/// The file has a column `prefix` beside those of the fields:
///
/// ```text
/// prefix,         port
/// 0.0.0.0/0,      1
/// 10.0.0.0/8,     0
/// 2001:db8::/32,  0
/// ```
pub type Prefixes<S> = Configured<S>;

/// The [form](Form) of [`Prefixes`].
#[derive(Clone, Copy, Debug)]
pub enum ByPrefix {}

/// Upper bound of the words of an index over this many prefixes.
#[must_use]
pub const fn words(capacity: u32) -> usize {
    longest::words(capacity)
}

impl Form for ByPrefix {
    type Place = Prefix;

    #[cfg(not(target_os = "none"))]
    fn build(
        places: &Places<'_, Prefix>,
        words: &mut [u32],
        file: &mut dyn config::File,
    ) -> Option<usize> {
        let networks = places.iter().map(|(value, prefix)| Network { prefix, value });
        build::run(networks, words, file)
    }
}

impl<S: Row<Form = ByPrefix>> Configured<S> {
    /// The row of the longest prefix that the address begins with.
    ///
    /// An IPv4 address takes a root of 256 KiB, which stays in a core's cache, and at most two
    /// cache lines more, then the row. An IPv6 address takes a binary search.
    #[inline]
    pub fn longest(&self, address: Address) -> Option<&S> {
        let number = longest::find(self.index(), address)?;
        self.placed(number).map(|placed| &placed.row)
    }
}
