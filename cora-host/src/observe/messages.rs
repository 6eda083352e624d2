//! The messages of a run, for its report.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::observe::account::all_took;
use crate::observe::text::grouped;

/// The messages of a run, both sides and all shards together, of halves that died up to their last
/// round.
///
/// `in` and `sent` add up to the five outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Packets that came in, in datagrams with a message and others.
    #[serde(rename = "in")]
    pub(crate) came: u64,
    /// Messages that handlers, hooks and timers sent.
    pub(crate) sent: u64,
    /// Those that were consumed.
    pub(crate) done: u64,
    /// Packets that passed.
    pub(crate) passed: u64,
    /// Packets that went on, if there are handlers of packets.
    pub(crate) transmitted: u64,
    /// Those that were dropped, for any reason.
    pub(crate) dropped: u64,
    /// Those that were lost with a half that died, or that killed one.
    pub(crate) lost: u64,
    /// What each handler of messages took, by its name.
    pub(crate) by_handler: BTreeMap<&'static str, OfHandler>,
}

/// What a handler of messages took, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct OfHandler {
    /// What it took: datagrams, and messages.
    #[serde(rename = "in")]
    pub(crate) came: u64,
    /// How many of these were datagrams.
    pub(crate) datagrams: u64,
    /// Those of both that it consumed.
    pub(crate) done: u64,
    /// Datagrams that it let pass.
    pub(crate) passed: u64,
    /// Those that it dropped, or that could not be read.
    pub(crate) dropped: u64,
    /// Messages that it sent.
    pub(crate) sent: u64,
    /// Datagrams that it sent.
    pub(crate) answers: u64,
}

impl Messages {
    /// Of handlers with these names: `took` are the words of all halves.
    pub(crate) fn of(
        takers: &'static [&'static str],
        took: &[u64],
        came: u64,
        outcomes: &BTreeMap<String, u64>,
    ) -> Self {
        let mut messages = Self { came, ..Self::default() };
        let names = takers.iter().map(Some).chain(std::iter::repeat(None));
        for (took, name) in all_took(took).zip(names) {
            messages.sent = messages.sent.saturating_add(took.sent);
            if let Some(name) = name {
                let of = OfHandler {
                    came: took.packets.saturating_add(took.messages),
                    datagrams: took.packets,
                    done: took.done,
                    passed: took.passed,
                    dropped: took.dropped,
                    sent: took.sent,
                    answers: took.made,
                };
                messages.by_handler.insert(name, of);
            }
        }
        for (name, count) in outcomes {
            let sum = match name.as_str() {
                "done" => &mut messages.done,
                "pass" => &mut messages.passed,
                "transmit" | "redirect" => &mut messages.transmitted,
                "lost-with-nic" | "lost-with-host" | "handler-panicked" => &mut messages.lost,
                _ => &mut messages.dropped,
            };
            *sum = sum.saturating_add(*count);
        }
        messages
    }
}

/// A line for each handler.
impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["datagrams", "messages", "done", "dropped", "sent", "answers"];
        let row = |f: &mut fmt::Formatter<'_>, name: &str, rest: [&str; 6]| {
            write!(f, "{name:<24}")?;
            rest.iter().try_for_each(|column| write!(f, "{column:>12}"))?;
            writeln!(f)
        };
        row(f, "taken by", columns)?;
        for (name, of) in &self.by_handler {
            let messages = of.came.saturating_sub(of.datagrams);
            let counts = [of.datagrams, messages, of.done, of.dropped, of.sent, of.answers];
            let counts = counts.map(grouped);
            row(f, &format!("  {name}"), counts.each_ref().map(String::as_str))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_handlers_took_is_named_and_all_outcomes_are_of_a_kind() {
        let took = [[6, 2, 7, 0, 1, 3, 4], [0, 3, 3, 0, 0, 0, 0], [2, 0, 0, 2, 0, 1, 0]].concat();
        let outcomes = [("done", 9), ("pass", 2), ("too-long", 1), ("lost-with-nic", 5)];
        let outcomes = outcomes.map(|(name, count)| (name.to_owned(), count)).into();
        let messages = Messages::of(&["ask", "note"], &took, 13, &outcomes);
        assert_eq!((messages.came, messages.sent), (13, 4));
        let Messages { done, passed, transmitted, dropped, lost, .. } = messages;
        assert_eq!([done, passed, transmitted, dropped, lost], [9, 2, 0, 1, 5]);
        let ask = messages.by_handler["ask"];
        assert_eq!((ask.came, ask.datagrams, ask.answers, ask.sent), (8, 6, 4, 3));
        assert_eq!(messages.by_handler.len(), 2);
        let told = messages.to_string();
        let row =
            "  note                             0           3           3           0           0";
        assert!(told.contains(row), "{told}");
    }
}
