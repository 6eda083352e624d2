//! The bypass: the way of packets while a card is away.
//!
//! ```text
//!            card away                 card would serve again
//! card's half ───────→ one stands in ──────────────────────→ card's half
//!                      + a process asks the card
//! ```
//!
//! A NIC half on this machine stands in for the card's, in the next region. It gets no flow, so it
//! passes all packets to the host half, and loses nothing when it is ended. Beside it a process
//! asks the card whether it would serve ([`ask`](crate::card::ask)), which disturbs no region. So
//! packets wait for the two changes only, and not for a card that boots.
//!
//! It is for live runs whose packets come in at the host. A card with ports takes its packets with
//! it.

use std::process::Child;
use std::time::{Duration, Instant};

use crate::RunError;
use crate::memory::pages::Pages;
use crate::process::child;
use crate::supervisor::nic_command;
use crate::supervisor::shard::Shard;

/// A card that served for less time than this may fail again soon.
const SETTLED: Duration = Duration::from_secs(1);
/// The pauses before such a card is asked again: each is twice the one before.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(8)];

/// Who is in the place of the NIC half.
#[derive(Debug)]
enum Place {
    /// The card's, since then.
    Card(Instant),
    /// One that stands in, since then.
    StandIn(Instant),
}

/// The bypass of a shard.
#[derive(Debug)]
pub(super) struct Bypass {
    /// Whether this run has one.
    exists: bool,
    place: Place,
    /// The process that asks the card.
    asks: Option<Child>,
    /// The card answered that it would serve.
    is_there: bool,
    /// The NIC half that ended last made room for the card's.
    made_room: bool,
    /// The next pause, if the card served for a short time again, and its end.
    pause: Duration,
    not_before: Option<Instant>,
    /// How often packets took the bypass, and for how long.
    pub(super) times: u64,
    time: Duration,
}

impl Bypass {
    pub(super) fn new(exists: bool) -> Self {
        Self {
            exists,
            place: Place::Card(Instant::now()),
            asks: None,
            is_there: false,
            made_room: false,
            pause: Duration::ZERO,
            not_before: None,
            times: 0,
            time: Duration::ZERO,
        }
    }

    /// Whether the NIC half stands in for the card's.
    pub(super) const fn is_taken(&self) -> bool {
        matches!(self.place, Place::StandIn(_))
    }

    /// For how long packets took it.
    pub(super) fn time(&self) -> Duration {
        match self.place {
            Place::StandIn(since) => self.time + since.elapsed(),
            Place::Card(_) => self.time,
        }
    }

    /// What follows on the end of a NIC half, for the log.
    pub(super) const fn follows(&self) -> &'static str {
        match self.place {
            Place::StandIn(_) => {
                "packets take the bypass, to the host half, until the card is back"
            }
            Place::Card(_) if self.made_room => "the card's takes its place",
            Place::Card(_) => "it is started again",
        }
    }

    /// The NIC half ended: decides whether one that stands in follows. `has_worked`: not the first
    /// one is to begin, which shows that the card can serve.
    pub(super) fn next(&mut self, has_worked: bool) {
        if !self.exists || !has_worked {
            return;
        }
        let now = Instant::now();
        self.made_room = false;
        match self.place {
            Place::StandIn(since) if self.is_there => {
                self.time += since.elapsed();
                self.place = Place::Card(now);
                self.made_room = true;
            }
            Place::StandIn(_) => {}
            Place::Card(since) => {
                let failed_soon = since.elapsed() < SETTLED;
                self.not_before = failed_soon.then(|| now + self.pause);
                let [first, last] = PAUSES;
                self.pause =
                    if failed_soon { (2 * self.pause).clamp(first, last) } else { Duration::ZERO };
                self.place = Place::StandIn(now);
                self.times += 1;
            }
        }
        self.forget_card();
    }

    /// Nothing is known of the card.
    fn forget_card(&mut self) {
        self.is_there = false;
        self.end_asking();
    }

    fn end_asking(&mut self) {
        if let Some(mut process) = self.asks.take() {
            // If it has already ended, both calls return errors, and nothing is left to do.
            let _ended = process.kill();
            let _status = process.wait();
        }
    }
}

impl Drop for Bypass {
    fn drop(&mut self) {
        self.end_asking();
    }
}

impl Shard<'_> {
    /// Whether its packets go by a card that is away.
    pub(crate) const fn takes_bypass(&self) -> bool {
        self.bypass.is_taken()
    }

    /// Looks after the card behind a wire: an emulated one may have ended. While it is away, asks
    /// whether it would serve; if so, ends the one that stands in.
    pub(super) fn look_for_card(&mut self) -> Result<(), RunError> {
        if let Some(card) = &mut self.card
            && let Some(status) = card.look(self.nic.has_worked)?
        {
            // Whoever speaks to it is at its old wire.
            self.bypass.forget_card();
            if !self.bypass.is_taken() {
                self.nic.end(format!("lost its card, which ended ({status})"))?;
            }
        }
        if !self.bypass.is_taken() || self.stopped {
            return Ok(());
        }
        if !self.bypass.is_there {
            self.bypass.is_there = self.card_answers()?;
        }
        if self.bypass.is_there && self.nic_works() && self.host_works() {
            self.nic.end("stood in for the card, which is back, and was ended".into())?;
        }
        Ok(())
    }

    /// Ends a card that this machine plays, and whoever asks it.
    pub(super) fn leave_card(&mut self) {
        self.card = None;
        self.bypass.forget_card();
    }

    /// Whether the card answered that it would serve. A process asks it.
    fn card_answers(&mut self) -> Result<bool, RunError> {
        if self.bypass.not_before.is_some_and(|when| Instant::now() < when) {
            return Ok(false);
        }
        let failed = |cause| RunError::System { what: "waiting for a process", cause };
        let Some(process) = &mut self.bypass.asks else {
            let command = nic_command::asks(self.common, &self.regions, self.card.as_ref())?;
            self.bypass.asks = Some(child::spawn(command, None, Pages::Transparent)?);
            return Ok(false);
        };
        let Some(status) = process.try_wait().map_err(failed)? else { return Ok(false) };
        self.bypass.asks = None;
        // It has said why, if it could not ask.
        self.bypass.not_before = Some(Instant::now() + PAUSES[1]).filter(|_| !status.success());
        Ok(status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stands_in_until_the_card_is_there() {
        let mut bypass = Bypass::new(true);
        bypass.next(false);
        assert!(!bypass.is_taken(), "the card never served");
        bypass.next(true);
        assert!(bypass.is_taken() && bypass.times == 1);
        // The one that stands in dies by itself: another one follows.
        bypass.next(true);
        assert!(bypass.is_taken() && bypass.times == 1);
        bypass.is_there = true;
        bypass.next(true);
        assert!(!bypass.is_taken() && !bypass.is_there && bypass.time() > Duration::ZERO);
        let mut none = Bypass::new(false);
        none.next(true);
        assert!(!none.is_taken());
    }

    #[test]
    fn a_card_that_fails_soon_again_is_asked_later_and_later() {
        let mut bypass = Bypass::new(true);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            bypass.next(true);
            // Counted from when the bypass was taken: the clock goes on while the test runs.
            let Place::StandIn(since) = bypass.place else { panic!("{:?}", bypass.place) };
            pauses.push(bypass.not_before.map(|when| when - since).unwrap_or_default());
            bypass.is_there = true;
            bypass.next(true);
        }
        assert!(pauses.is_sorted(), "{pauses:?}");
        assert_eq!((pauses[0], pauses[1], pauses[8]), (Duration::ZERO, PAUSES[0], PAUSES[1]));
        let long_ago = Instant::now().checked_sub(SETTLED).expect("the machine runs for longer");
        bypass.place = Place::Card(long_ago);
        bypass.next(true);
        assert_eq!((bypass.not_before, bypass.pause), (None, Duration::ZERO));
    }
}
