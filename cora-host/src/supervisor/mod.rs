//! A run with a NIC: each of its shards is two processes, of which either may die at any time.
//! Under a plan by which each side receives its own buckets, the host's shards are one process
//! each, and the wire is in the place of their NIC ([`Entrance`]).
//!
//! ```text
//!          supervisor: cable, regions, replica memory            outlives all halves
//!            │ wire rings                │ starts, watches, starts again
//!            ▼                           ▼
//!          NIC half  ── punt, back ──  host half                 a shard; there may be several
//! ```
//!
//! The supervisor moves frames between a cable and its shards. The cable is two ports or more, or a
//! capture, which is a port that ends. Shards share nothing; each packet is steered to one
//! ([`cora_runtime::steering`]) by the [door](crate::ingress::door). Every shard's tables have the
//! declared capacity. So a shard's table is full no sooner than that of a single shard, even with
//! uneven steering.
//!
//! When a half dies, the supervisor creates a region of the next generation and announces it
//! ([`cora_runtime::link::region::generation`]). The living half finishes the published work of the
//! dead one, and continues in the new region; the dead one is restarted there. A new host first
//! reads the records that the dead one left unread. Frames that a dead NIC had not taken are fed in
//! again. Frames of a capture wait meanwhile. Frames of ports don't: while the NIC is away and its
//! ring full, they are dropped as `nic-away`. While the host is away and its ring full, the NIC
//! drops the host's packets as `host-away`, and continues with the flows that it owns.
//!
//! The supervisor trusts the host half, and neither trusts the NIC half. Supervisor and host
//! communicate through a page that is inaccessible to the NIC half. The side that detects a
//! protocol violation by the NIC reports it, reads nothing more from it, and continues with the
//! next one.
//!
//! | module | concept |
//! | --- | --- |
//! | `dealer` | the flow table, and who moves buckets, where each side receives its own |
//! | `deals` | the supervisor passes on what the dealer and the shards tell each other |
//! | `crossing` | messages between shards |
//! | `load` | moves of buckets by load |
//! | `chance` | moves of buckets by chance, for tests |
//! | `shard` | a shard: memory, processes, end of the wire |
//! | `halves` | the start of halves, and the transition to the next region |
//! | `half` | one half's process |
//! | `bypass` | a NIC half that stands in while a card is away |
//! | `judge` | the end of halves that hang or broke the protocol |
//! | `nic_command` | the command that starts a NIC half |
//! | `now` | the counts of the shards so far |
//! | `outcomes` | the outcome of each packet, even if halves die |
//! | `own_card` | a card that this machine plays, and its wire |

mod bypass;
mod chance;
mod crossing;
mod dealer;
mod deals;
mod half;
mod halves;
mod items;
mod judge;
mod load;
mod nic_command;
mod now;
mod outcomes;
mod own_card;
mod shard;

use std::time::{Duration, Instant};

use cora_core::app::App;
use cora_runtime::steering::Deal;

use crate::RunError;
use crate::control::configuration::Configuration;
use crate::ingress::capture::Cable;
use crate::ingress::door::Door;
use crate::ingress::entrance::Entrance;
use crate::ingress::intake::{Deals, Intake};
use crate::observe::account::Ended;
use crate::observe::buckets::BucketMoves;
use crate::observe::report::Lives;
use crate::process::cores;
use crate::process::notify::Standing;
use crate::supervisor::crossing::Waves;
pub(crate) use crate::supervisor::dealer::Dealer;
use crate::supervisor::half::Half;
pub(crate) use crate::supervisor::shard::{Before, Common, Shard, SharedFile};

/// Interval between checks of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// Idle rounds before the supervisor waits for frames.
const ROUNDS: u32 = 50;
/// Duration of that wait: nobody wakes it for output.
const WAIT: Duration = Duration::from_micros(200);
/// The same where an agent has the ports: all that comes are news of them.
const WAIT_FOR_NEWS: Duration = Duration::from_millis(100);

/// The supervisor of all shards.
pub(crate) struct Supervisor<'a, C> {
    pub(crate) cable: C,
    pub(crate) shards: Vec<Shard<'a>>,
    pub(crate) configuration: Configuration,
    pub(crate) intake: Intake,
    /// Where each side receives its own buckets.
    dealer: Option<Dealer>,
    /// The questions whether messages are under way between shards.
    waves: Waves,
}

impl<'a, C: Cable> Supervisor<'a, C> {
    /// Starts the halves of all shards. Their first regions have this generation; `before` are the
    /// replicas of the previous program, if there was one.
    pub(crate) fn start(
        common: &'a Common,
        cable: C,
        configuration: Configuration,
        dealer: Option<Dealer>,
        (generation, before): (u64, Vec<Before>),
    ) -> Result<Self, RunError> {
        let pairs = common.run.options.shards;
        let mut before = before.into_iter();
        let cores = cores::assign(pairs.into());
        let shards = (0..common.shards).map(|number| {
            // Where each side receives its own buckets, the NIC's shards come first.
            let entrance = if number < pairs { Entrance::Nic } else { Entrance::Host };
            let cores = cores.get(usize::from(number % pairs)).copied().flatten();
            let keeps = dealer.is_none() || entrance == Entrance::Host;
            let before = keeps.then(|| before.next()).flatten();
            Shard::new(common, (number, entrance), cores, generation, before)
        });
        let mut shards = shards.collect::<Result<Vec<_>, _>>()?;
        for shard in &mut shards {
            shard.start_nic()?;
            shard.start_host(&configuration, false)?;
        }
        Ok(Self {
            cable,
            shards,
            configuration,
            intake: Intake::new(Door::new(common.seed, common.deal, &common.services)),
            dealer,
            waves: Waves::default(),
        })
    }

    /// Moves frames and watches all halves, until all have ended in good order. Calls `look` about
    /// once per millisecond.
    pub(crate) fn run<A: App>(
        &mut self,
        mut look: impl FnMut(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let mut next_look = Instant::now();
        let mut quiet = 0;
        let has_news = self.shards.iter().any(|shard| shard.news.is_some());
        let wait = if has_news { WAIT_FOR_NEWS } else { WAIT };
        loop {
            let busy = self.move_frames::<A>()?;
            quiet = if busy { 0 } else { quiet + 1 };
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK_EVERY;
                look(self)?;
                self.cable.look()?;
                let Self { cable, shards, configuration, .. } = &mut *self;
                for shard in shards.iter_mut() {
                    shard.stopped |= cable.has_ended();
                    shard.look_for_card()?;
                    shard.judge(cable)?;
                    shard.look(configuration, cable)?;
                }
                self.tell_new_halves();
                self.look_at_queues();
                if self.shards.iter().all(Shard::is_over) {
                    break;
                }
            }
            if quiet >= ROUNDS {
                self.cable.wait(wait);
            } else if !busy {
                std::thread::yield_now();
            }
        }
        for shard in &mut self.shards {
            while shard.drain(&mut self.cable)? {}
        }
        Ok(())
    }

    /// Returns whether there were any.
    fn move_frames<A: App>(&mut self) -> Result<bool, RunError> {
        let mut busy = false;
        for shard in &mut self.shards {
            busy |= shard.drain(&mut self.cable)?;
        }
        busy |= self.deal()?;
        busy |= self.pass_on_messages::<A>();
        for shard in &mut self.shards {
            busy |= shard.feed_first()?;
        }
        let Self { cable, shards, intake, dealer, .. } = self;
        busy |=
            intake.feed::<A, C>(cable, shards, dealer.as_mut().map(|it| it as &mut dyn Deals))?;
        if let Some(now) = self.intake.ended()
            && self.is_dealt()
            && self.is_quiet::<A>(now)
        {
            for shard in &mut self.shards {
                busy |= shard.feed_end(now)?;
            }
        }
        // Without news a half sleeps on.
        if busy {
            self.shards.iter_mut().for_each(Shard::ring);
        }
        Ok(busy)
    }

    /// Whether both halves of all shards are where they belong.
    pub(crate) fn all_work(&self) -> bool {
        self.shards.iter().all(|shard| shard.nic_works() && shard.host_works())
    }

    /// The state of all halves, for a service manager.
    pub(crate) fn standing(&self) -> Standing {
        let all = Standing { works: true, nic: true, host: true };
        self.shards.iter().map(Shard::standing).fold(all, |all, shard| Standing {
            works: all.works && shard.works,
            nic: all.nic && shard.nic,
            host: all.host && shard.host,
        })
    }

    /// The copies that a successor carries over, shard by shard. Where each side receives its own
    /// buckets, a NIC half has [none](Self::gather) by then.
    pub(crate) fn replicas(&self) -> impl Iterator<Item = &SharedFile> {
        let is_dealt = self.dealer.is_some();
        let keep = self.shards.iter().filter(move |shard| !is_dealt || !shard.has_nic());
        keep.map(|shard| &shard.replicas)
    }

    /// Frames dropped because no NIC took them.
    pub(crate) fn nic_away(&self) -> u64 {
        self.shards.iter().map(|shard| shard.wire.offers.nic_away).sum()
    }

    /// The version of read-mostly states that is in force at all shards.
    pub(crate) fn version_in_force(&self) -> u64 {
        self.shards.iter().map(|shard| shard.page.version()).min().unwrap_or(0)
    }

    /// The latest generation of a region.
    pub(crate) fn generation(&self) -> u64 {
        self.shards.iter().map(|shard| shard.region.identity().generation).max().unwrap_or(0)
    }

    /// Ends cards that this machine plays: the program that follows in this process has its own.
    pub(crate) fn leave_cards(&mut self) {
        self.shards.iter_mut().for_each(Shard::leave_card);
    }

    /// Whether a NIC half never came: it neither worked nor ended in good order.
    pub(crate) fn misses_nic(&self) -> bool {
        let is_missing = |half: &Half| !half.has_worked && !half.has_finished();
        self.shards.iter().any(|shard| shard.has_nic() && is_missing(&shard.nic))
    }

    /// The life of all halves, at the end.
    pub(crate) fn lives(&self, upgrades: u64) -> Lives {
        let mut lives = Lives {
            upgrades,
            version: self.configuration.number(),
            generation: self.generation(),
            ..Lives::default()
        };
        for shard in &self.shards {
            for Half { name, restarts, stood_still, .. } in [&shard.nic, &shard.host] {
                *lives.restarts.entry(name).or_default() += restarts;
                *lives.stood_still.entry(name).or_default() += stood_still;
            }
            lives.broke_protocol += shard.nic.lied;
            lives.fed_again += shard.wire.fed_again;
            lives.bypasses += shard.bypass.times;
            lives.bypass_ms += shard.bypass.time().as_millis() as u64;
            lives.damaged_copies += shard.page.damaged();
            lives.pauses_us.extend(&shard.pauses_us);
        }
        lives
    }

    /// The results of all shards, the shard of each bucket and the moves of buckets, and the cable.
    pub(crate) fn end(self, deal: Deal) -> (Vec<Ended>, (Deal, Option<BucketMoves>), C) {
        let dealer = self.dealer.as_ref();
        let deal = (dealer.map_or(deal, Dealer::deal), dealer.map(Dealer::moves));
        (self.shards.into_iter().map(Shard::end).collect(), deal, self.cable)
    }
}
