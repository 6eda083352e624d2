//! Assigns an outcome to each packet of a shard, even if halves die.
//!
//! A half counts its outcomes itself. The NIC half sends its counts at its end, and one that dies
//! sends nothing. The host half keeps its counts on a page that outlives it, at most a burst late.
//! The wire knows each packet that left, and whether NIC or host handled it. All other packets that
//! were fed in and are in no count were lost with a half that died:
//!
//! | outcome | packets |
//! | --- | --- |
//! | `lost-with-host` | packets that a dead host had not read, or had read and not counted |
//! | `lost-with-nic` | packets in a dead NIC or on its rings, and those that its handlers dropped |
//! | `handler-panicked` | packets that killed a half: a handler panicked, or did not return |
//!
//! Handlers may send messages, which have outcomes, too. What was sent, and what handlers of
//! messages did, is on the host's page and in the region's header, so it is known of dead halves up
//! to the last round. What a dead NIC's handlers dropped of that is `dropped-other`.
//!
//! So the outcomes add up to the number of packets that were fed in and messages that were sent.
//! While no half dies, nothing is
//! lost: the counts are then as the halves told them, and a run whose packets don't add up fails.

use std::collections::BTreeMap;

use cora_core::outcome::OTHER;
use cora_runtime::TOO_MANY_MESSAGES;

use crate::ingress::tally::{Tally, Ways};
use crate::observe::account::{add, add_words, all_took, sent};
use crate::observe::counted::Counted;

/// The outcome of packets with a fate known only to a dead NIC.
const LOST: &str = "lost-with-nic";

/// The outcome of packets with a fate known only to a dead host.
const LOST_WITH_HOST: &str = "lost-with-host";

/// The outcome of a packet with handlers that ended their half.
const PANICKED: &str = "handler-panicked";

/// Partial counts of outcomes while halves come and go.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// Words with the counts of the program's handlers of messages.
    words: usize,
    /// Counts of dead hosts.
    kept: BTreeMap<String, u64>,
    /// Packets handled by earlier NICs that left.
    of_dead_nics: Ways,
    /// Counts of the last NIC so far.
    by_nic: BTreeMap<String, u64>,
    /// What handlers of messages took at dead hosts, at earlier NICs, and at the last NIC.
    took_at_hosts: Vec<u64>,
    took_by_dead_nics: Vec<u64>,
    took_by_nic: Vec<u64>,
    /// Number of halves that were started.
    nics: u64,
    hosts: u64,
    /// Number of halves that died of a packet.
    panicked: u64,
}

/// Final counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Packets that came, and that were not dropped at the wire.
    pub(super) fed: u64,
    /// Messages that went to other shards, which have their outcome there.
    pub(super) went: u64,
    /// Packets that left.
    pub(super) tally: Tally,
    /// Counts of the last host.
    pub(super) host: Counted,
    /// Counts of the last NIC, if it sent them.
    pub(super) nic: Option<BTreeMap<String, u64>>,
    /// Packets that were left unread by a dead host, as found by its successors.
    pub(super) unread: u64,
}

impl Outcomes {
    /// None yet, of a program with so many words of counts of handlers of messages.
    pub(super) fn of(words: usize) -> Self {
        Self { words, ..Self::default() }
    }

    /// Called before a NIC starts.
    pub(super) fn nic_begins(&mut self, tally: &Tally) {
        self.nics += 1;
        self.of_dead_nics = tally.from_nic;
        self.by_nic.clear();
        add_words(&mut self.took_by_dead_nics, &std::mem::take(&mut self.took_by_nic));
    }

    /// Takes the NIC's counts in a region that it has used. It goes on counting
    /// in the next region.
    pub(super) fn nic_told(&mut self, Counted { outcomes, took }: Counted) {
        for (name, count) in outcomes {
            let known = self.by_nic.entry(name).or_default();
            *known = count.max(*known);
        }
        for (at, word) in took.into_iter().take(self.words).enumerate() {
            match self.took_by_nic.get_mut(at) {
                Some(known) => *known = word.max(*known),
                None => self.took_by_nic.push(word),
            }
        }
    }

    /// Called before a host starts; `before` are the counts of the previous one, if there was any.
    pub(super) fn host_begins(&mut self, before: Counted) {
        self.hosts += 1;
        add(&mut self.kept, before.outcomes);
        add_words(&mut self.took_at_hosts, &before.took);
    }

    /// Called if a half died; whether of the packet in its handlers.
    pub(super) fn panicked(&mut self, did: bool) {
        self.panicked += u64::from(did);
    }

    /// So many messages from other shards found no room on the way.
    pub(super) fn refused(&mut self, messages: u64) {
        let refused = TOO_MANY_MESSAGES.name().to_owned();
        add(&mut self.kept, [(refused, messages)].into());
    }

    /// The outcomes of all packets that were fed in and messages that were sent, and what handlers
    /// of messages took.
    pub(super) fn whole(mut self, known: Known) -> Counted {
        let took = self.took(&known.host.took);
        // Nearly all that goes to other shards was sent here.
        let fed = known.fed.saturating_add(sent(&took)).saturating_sub(known.went);
        Counted { outcomes: self.outcomes(Known { fed, ..known }), took }
    }

    /// The same while all goes on: the outcomes that are known by now.
    pub(super) fn so_far(&self, host: Counted) -> Counted {
        let took = self.took(&host.took);
        let mut all = self.kept.clone();
        add(&mut all, host.outcomes);
        add(&mut all, self.by_nic.clone());
        let Ways { transmit, redirect, .. } = self.of_dead_nics;
        let mut of_dead = vec![("transmit", transmit), ("redirect", redirect)];
        for took in all_took(&self.took_by_dead_nics) {
            of_dead.extend([("done", took.done), ("pass", took.passed), (OTHER, took.dropped)]);
        }
        for (name, count) in of_dead {
            add(&mut all, [(name.to_owned(), count)].into());
        }
        all.retain(|_, count| *count > 0);
        Counted { outcomes: all, took }
    }

    /// What handlers of messages took at all halves, with the last host's words.
    fn took(&self, host: &[u64]) -> Vec<u64> {
        let mut took = self.took_at_hosts.clone();
        for words in [host, &self.took_by_dead_nics, &self.took_by_nic] {
            add_words(&mut took, words);
        }
        took
    }

    /// The outcomes of everything; `fed` are messages, too.
    fn outcomes(&mut self, known: Known) -> BTreeMap<String, u64> {
        let Known { fed, tally, host, nic, unread, .. } = known;
        let deaths = self.nics > 1 || self.hosts > 1 || nic.is_none();
        let mut all = std::mem::take(&mut self.kept);
        add(&mut all, host.outcomes);
        if deaths {
            // A host counts what it had sent to a NIC that died. The NIC may have handled some of
            // it; what is lost is found below.
            all.remove(LOST);
            // Packets that a host had sent, but that did not leave, were lost with the NIC. Packets
            // that left, but are not counted, were sent by a host that died before it could count
            // them.
            let Ways { transmit, redirect, .. } = tally.from_host;
            for (name, left) in [("transmit", transmit), ("redirect", redirect)] {
                let counted = all.get(name).copied().unwrap_or(0);
                let known = if self.hosts > 1 { left } else { left.min(counted) };
                set(&mut all, name, known);
            }
        }
        let of_silent = if nic.is_some() { self.of_dead_nics } else { tally.from_nic };
        let Ways { transmit, redirect, .. } = of_silent;
        let of_silent = [("transmit".to_owned(), transmit), ("redirect".to_owned(), redirect)];
        add(&mut all, of_silent.into());
        if nic.is_none() {
            add_words(&mut self.took_by_dead_nics, &std::mem::take(&mut self.took_by_nic));
        }
        for took in all_took(&self.took_by_dead_nics) {
            let of_silent = [("done", took.done), ("pass", took.passed), (OTHER, took.dropped)];
            add(&mut all, of_silent.map(|(name, count)| (name.to_owned(), count)).into());
        }
        add(&mut all, nic.unwrap_or_default());
        all.retain(|_, count| *count > 0);
        if !deaths {
            return all;
        }
        let counted = all.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let mut lost = fed.saturating_sub(counted);
        let panicked = self.panicked.min(lost);
        lost -= panicked;
        let with_host = match (self.nics, self.hosts) {
            (_, 0 | 1) => 0,
            (0 | 1, _) => lost,
            _ => lost.min(unread),
        };
        lost -= with_host;
        let ends = [(LOST_WITH_HOST, with_host), (LOST, lost), (PANICKED, panicked)];
        add(&mut all, ends.map(|(name, count)| (name.to_owned(), count)).into());
        all.retain(|_, count| *count > 0);
        take(&mut all, counted.saturating_sub(fed));
        all
    }
}

fn set(all: &mut BTreeMap<String, u64>, name: &str, count: u64) {
    all.insert(name.to_owned(), count);
}

/// Corrects counts that exceed the packets that came. A packet in transfer when the NIC died may
/// have left twice, and a NIC may report any number. The excess is subtracted, first from packets
/// that left.
fn take(all: &mut BTreeMap<String, u64>, mut more: u64) {
    let mut names: Vec<String> = all.keys().cloned().collect();
    names.sort_by_key(|name| (name != "transmit", name != "redirect"));
    for name in names {
        let Some(count) = all.get_mut(&name) else { continue };
        let taken = more.min(*count);
        *count -= taken;
        more -= taken;
    }
    all.retain(|_, count| *count > 0);
}

#[cfg(test)]
mod tests {
    use cora_runtime::exec::Took;
    use cora_runtime::telemetry::TOOK_WORDS;

    use crate::observe::counted::MOST;

    use super::*;

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn counted(of: &[(&str, u64)]) -> Counted {
        Counted { outcomes: counts(of), took: Vec::new() }
    }

    fn ways(transmit: u64) -> Ways {
        Ways { transmit, ..Ways::default() }
    }

    fn tally(from_nic: u64, from_host: u64) -> Tally {
        Tally { from_nic: ways(from_nic), from_host: ways(from_host) }
    }

    fn begun(nics: &[Tally], hosts: &[&[(&str, u64)]]) -> Outcomes {
        let mut outcomes = Outcomes::of(TOOK_WORDS);
        for tally in nics {
            outcomes.nic_begins(tally);
        }
        for host in hosts {
            outcomes.host_begins(counted(host));
        }
        outcomes
    }

    #[test]
    fn without_a_death_the_counts_are_what_the_halves_told() {
        let known = Known {
            fed: 10,
            went: 0,
            tally: tally(4, 3),
            host: counted(&[("transmit", 3), ("not-ip", 1)]),
            nic: Some(counts(&[("transmit", 4), ("not-allowed", 2)])),
            unread: 0,
        };
        let expected = counts(&[("transmit", 7), ("not-ip", 1), ("not-allowed", 2)]);
        // Others notice that a packet has no outcome, or two.
        for fed in [9, 10, 11] {
            let outcomes = begun(&[Tally::default()], &[&[]]);
            assert_eq!(outcomes.whole(Known { fed, ..known.clone() }).outcomes, expected);
        }
    }

    #[test]
    fn what_a_dead_nic_had_is_lost_but_for_what_left() {
        // The first one had sent 30 of its own; 5 of the host's 20 did not leave.
        let known = Known {
            fed: 100,
            went: 0,
            tally: tally(40, 15),
            host: counted(&[("transmit", 20), ("not-ip", 8)]),
            nic: Some(counts(&[("transmit", 10), ("not-allowed", 2)])),
            unread: 0,
        };
        let outcomes = begun(&[tally(0, 0), tally(30, 9)], &[&[]]).whole(known).outcomes;
        let expected = counts(&[("transmit", 55), ("not-ip", 8), ("not-allowed", 2), (LOST, 35)]);
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn what_a_dead_host_had_is_lost_but_for_what_it_counted_and_what_left() {
        // The dead one had counted 6 of the 7 that it had sent, and left 4 unread.
        let known = Known {
            fed: 50,
            went: 0,
            tally: tally(20, 12),
            host: counted(&[("transmit", 5)]),
            nic: Some(counts(&[("transmit", 20), ("host-away", 9)])),
            unread: 4,
        };
        let hosts: [&[(&str, u64)]; 2] = [&[], &[("transmit", 6), ("not-ip", 3)]];
        let outcomes = begun(&[tally(0, 0)], &hosts).whole(known).outcomes;
        let expected =
            counts(&[("transmit", 32), ("not-ip", 3), ("host-away", 9), (LOST_WITH_HOST, 6)]);
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn packets_that_halves_died_of_are_not_among_the_lost() {
        let known = Known {
            fed: 50,
            went: 0,
            tally: tally(20, 12),
            host: counted(&[("transmit", 12), ("not-ip", 9)]),
            nic: Some(counts(&[("transmit", 20)])),
            unread: 4,
        };
        let mut outcomes = begun(&[tally(0, 0)], &[&[], &[]]);
        (0..2).for_each(|_| outcomes.panicked(true));
        let outcomes = outcomes.whole(known).outcomes;
        let rest = [("not-ip", 9), (LOST_WITH_HOST, 7), (PANICKED, 2)];
        let expected = counts(&[&[("transmit", 32)], &rest[..]].concat());
        assert_eq!(outcomes, expected);
    }

    /// Words of a handler that took messages, of which so many were done and so many dropped, and
    /// that sent so many.
    fn took(messages: u64, done: u64, dropped: u64, sent: u64) -> Vec<u64> {
        vec![0, messages, done, 0, dropped, sent, 0]
    }

    fn of_nic(took: Vec<u64>) -> Counted {
        Counted { took, ..Counted::default() }
    }

    #[test]
    fn messages_of_a_dead_nic_are_lost_but_for_what_it_told() {
        // Of 100 datagrams the NIC had done 40, the host 25, with a message each. Of these 65, the
        // host had done 30, and counts as lost the 5 that went to the NIC, which had done 4.
        let host =
            Counted { outcomes: counts(&[("done", 55), (LOST, 5)]), took: took(30, 55, 0, 25) };
        let known = Known {
            fed: 100,
            went: 0,
            tally: tally(0, 0),
            host,
            nic: Some(counts(&[("done", 10)])),
            unread: 0,
        };
        let mut outcomes = begun(&[tally(0, 0)], &[&[]]);
        outcomes.nic_told(of_nic(took(30, 30, 0, 30)));
        // In the next region it counts on.
        outcomes.nic_told(of_nic(took(0, 0, 0, 0)));
        outcomes.nic_told(of_nic(took(45, 44, 1, 40)));
        outcomes.nic_begins(&tally(0, 0));
        outcomes.nic_told(of_nic(took(10, 10, 0, 0)));
        let all = outcomes.whole(known);
        assert_eq!(all.outcomes, counts(&[("done", 109), (OTHER, 1), (LOST, 55)]));
        assert_eq!(all.took, took(85, 109, 1, 65));
    }

    #[test]
    fn whatever_dies_and_whatever_is_told_the_sum_is_what_came() {
        let names = ["transmit", "redirect", "not-ip", "host-away"];
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(97);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let mut told = || counts(&names.map(|name| (name, draw(40))));
            let (host, before, nic) = (told(), told(), told());
            let mut words = || (0..2 * Took::WORDS).map(|_| draw(20)).collect::<Vec<_>>();
            let (took, took_before, mut at_nic) = (words(), words(), [words(), words()]);
            if draw(8) == 0 {
                // A NIC may write anything.
                at_nic[1].fill(MOST);
            }
            let mut outcomes = begun(&[tally(0, 0)], &[&[]]);
            let [first, second] = &at_nic;
            outcomes.nic_told(of_nic(first.clone()));
            outcomes.nic_begins(&tally(draw(30), 3));
            outcomes.nic_told(of_nic(second.clone()));
            if draw(2) > 0 {
                outcomes.host_begins(Counted { outcomes: before, took: took_before });
            }
            (0..draw(3)).for_each(|_| outcomes.panicked(true));
            let nic = (draw(3) > 0).then_some(nic);
            let (fed, unread) = (draw(300), draw(50));
            let tally = tally(30 + draw(30), draw(60));
            let deaths = outcomes.hosts > 1 || outcomes.nics > 1 || nic.is_none();
            let host = Counted { outcomes: host, took };
            let all = outcomes.whole(Known { fed, went: 0, tally, host, nic, unread });
            let sum = all.outcomes.values().sum::<u64>();
            assert!(deaths && sum == fed + sent(&all.took), "{all:?}");
        }
    }
}
