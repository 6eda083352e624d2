//! A shard of NIC half and host half: its memory, its processes, and its end of the wire.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use cora_card::emulated::Window;
use cora_runtime::link::message::Stamp;
use cora_runtime::link::region::{
    HashSeed, Identity, Region, RegionLayout, Rings, generation, wake,
};
use cora_runtime::steering::Deal;

use crate::durability::layout::Layout;
use crate::ingress::capture::Cable;
use crate::ingress::crossing::Crossing;
use crate::ingress::door::Services;
use crate::ingress::entrance::Entrance;
use crate::ingress::feed::WireEnd;
use crate::ingress::intake::Takes;
use crate::ingress::offers::Offered;
use crate::ingress::tally::Tally;
use crate::ingress::versions::Changes;
use crate::inspect::line::Lines;
use crate::memory::map;
use crate::node::board::Board;
use crate::node::host_page::{self, HostPage};
use crate::observe::account::{Account, Ended, Piece};
use crate::observe::counted::Counted;
use crate::options::{NicMode, Run};
use crate::process::cores::Cores;
use crate::process::inquiry::Inquiry;
use crate::supervisor::bypass::Bypass;
use crate::supervisor::half::{Half, NIC};
use crate::supervisor::items::Items;
use crate::supervisor::outcomes::{Known, Outcomes};
use crate::supervisor::own_card::OwnCard;
use crate::{Program, RunError, SharedFutex};

/// What all shards of a run have in common.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) program: Program,
    pub(crate) plan: u64,
    pub(crate) run: Run,
    /// The shard of each bucket at the beginning.
    pub(crate) deal: Deal,
    /// Number of shards.
    pub(crate) shards: u16,
    pub(crate) seed: u64,
    pub(crate) layout: RegionLayout,
    /// Bytes of memory for a half.
    pub(crate) half: usize,
    /// Where the hosts of several shards exchange merges, for a program that reads them.
    pub(crate) board: Option<SharedFile>,
    /// Bytes of memory for the replicas of a shard.
    pub(crate) replicas: usize,
    /// Bytes of items that the NIC half may read.
    pub(crate) items: usize,
    pub(crate) entries: Layout,
    /// Where an operator asks the host halves, if the run can be asked.
    pub(crate) lines: Option<Arc<Lines>>,
    /// Questions to a card at an interface.
    pub(crate) inquiry: Option<Inquiry>,
    /// The services that the run begins with.
    pub(crate) services: Services,
    /// Words with the counts of its handlers of messages.
    pub(crate) took_words: usize,
    /// States that die with the host, and flows with them.
    pub(crate) rests_on: &'static [&'static str],
    /// Whether pages are allocated before the first packet.
    pub(crate) resident: bool,
    /// When the clock of a live wire began.
    pub(crate) epoch: Option<u64>,
    /// On a capture: how often in a row a killed half is restarted without a packet in between.
    pub(crate) restarts: u16,
}

/// The replicas of the previous program, and their length in bytes.
pub(crate) type Before = (OwnedFd, usize);

/// A file of shared memory, passed only to selected halves.
#[derive(Debug)]
pub(crate) struct SharedFile {
    pub(crate) file: OwnedFd,
    pub(crate) bytes: usize,
    pub(super) words: &'static [AtomicU64],
}

impl SharedFile {
    /// Creates an empty file.
    pub(crate) fn create(bytes: usize) -> Result<Self, RunError> {
        let (file, words) = map::shared_memory(bytes)
            .map_err(|errno| RunError::System { what: "shared memory", cause: errno.into() })?;
        Ok(Self { file, bytes, words })
    }

    /// The arguments for the halves: number of the file, bytes.
    pub(super) fn arguments(&self) -> [String; 2] {
        [self.file.as_raw_fd().to_string(), self.bytes.to_string()]
    }
}

/// A shard, as its supervisor knows it.
pub(crate) struct Shard<'a> {
    pub(super) common: &'a Common,
    pub(super) number: u16,
    /// Where its packets come in. Only one at its NIC has a NIC half.
    pub(super) entrance: Entrance,
    pub(super) cores: Option<Cores>,
    pub(super) regions: SharedFile,
    /// Where an agent and the supervisor tell each other of the wire. The regions' own wire is
    /// between agent and NIC half.
    pub(super) news: Option<SharedFile>,
    pub(crate) replicas: SharedFile,
    pub(super) items: Option<Items>,
    /// The page shared by supervisor and host.
    pub(crate) page: HostPage,
    pub(super) page_file: SharedFile,
    /// The replicas of the previous program, until they are carried over.
    pub(crate) before: Option<Before>,
    pub(crate) region: Region,
    /// The region that the NIC is about to leave.
    pub(super) old: Option<Region>,
    pub(crate) wire: WireEnd,
    /// The NIC lives and has not left the previous region yet: the wire is still connected there.
    pub(super) leaving: bool,
    pub(crate) nic: Half,
    pub(crate) host: Half,
    /// The card behind a wire, if it is emulated.
    pub(super) card: Option<OwnCard>,
    pub(super) bypass: Bypass,
    /// The generation in which the current NIC started.
    pub(super) nic_since: u64,
    /// The NIC has reached the current region.
    pub(super) nic_arrived: bool,
    /// Since when it lives without being there.
    pub(super) nic_astray: Option<Instant>,
    /// Its death was noticed.
    pub(super) nic_dead: bool,
    /// Outcomes that ended halves can't report.
    pub(super) outcomes: Outcomes,
    /// No more frames come.
    pub(super) stopped: bool,
    /// When the wire was closed, and how often the NIC has died since.
    pub(super) stopped_since: Option<Instant>,
    pub(super) deaths_at_end: u32,
    /// The host ends by itself: the NIC does not end.
    pub(super) ends_alone: bool,
    /// The file of the host's account.
    pub(super) account: Option<File>,
    /// When a half was found dead; `None` while none is away.
    pub(super) away_since: Option<Instant>,
    pub(crate) pauses_us: Vec<u64>,
    /// Packets of the host that had left when the wire came to the current region.
    pub(super) left_before: u64,
    /// Packets that had passed when a half died last, on a capture, and how many have died without
    /// another one since.
    pub(super) through: u64,
    pub(super) deaths_in_a_row: u16,
    /// Restarts of the half at its entrance, as the dealer knows them.
    restarts_seen: u64,
}

impl<'a> Shard<'a> {
    /// A shard whose first region has this generation; its halves are not started yet.
    pub(super) fn new(
        common: &'a Common,
        (number, entrance): (u16, Entrance),
        cores: Option<Cores>,
        generation: u64,
        before: Option<Before>,
    ) -> Result<Self, RunError> {
        let options = &common.run.options;
        let bytes = 2 * common.layout.bytes();
        let bytes = if options.nic == NicMode::Window { Window::bytes_for(bytes) } else { bytes };
        let regions = SharedFile::create(bytes)?;
        let replicas = SharedFile::create(common.replicas)?;
        let items = Items::create(common.items)?;
        let (plan, seed, resident) = (common.plan, HashSeed(common.seed), common.resident);
        let identity = Identity { plan, generation, seed, resident, afresh: false };
        let place = generation::place(regions.words, generation);
        let region = Region::create(place, &common.layout, identity).map_err(RunError::Region)?;
        let news =
            (options.nic == NicMode::Agent).then(|| SharedFile::create(bytes)).transpose()?;
        let mut wire = if let Some(news) = &news {
            let rings = news_rings(news, &common.layout, identity)?;
            WireEnd::of_card(&rings, &common.services)
        } else if options.ports_are_of_card() {
            WireEnd::of_card(&region.rings(), &common.services)
        } else {
            WireEnd::new(&region.rings(), entrance)
        };
        wire.crossing.is_on = common.took_words > 0 && common.shards > 1;
        generation::announce(regions.words, generation);
        let page_file = SharedFile::create(host_page::BYTES)?;
        let page = HostPage::new(page_file.words)?;
        page.begin(identity);
        Ok(Self {
            common,
            number,
            entrance,
            cores,
            replicas,
            items,
            page,
            page_file,
            before,
            wire,
            region,
            old: None,
            regions,
            news,
            leaving: false,
            nic: Half::new(NIC, options),
            host: Half::new("host", options),
            card: None,
            bypass: Bypass::new(options.has_bypass()),
            nic_since: generation,
            nic_arrived: false,
            nic_astray: None,
            nic_dead: false,
            outcomes: Outcomes::of(common.took_words),
            stopped: false,
            stopped_since: None,
            deaths_at_end: 0,
            ends_alone: false,
            account: None,
            away_since: None,
            pauses_us: Vec::new(),
            left_before: 0,
            through: 0,
            deaths_in_a_row: 0,
            restarts_seen: 0,
        })
    }

    /// The rings of the wire, in the current region or beside it. Those beside it are made now.
    pub(super) fn wire_rings(&self) -> Result<Rings, RunError> {
        match &self.news {
            Some(news) => news_rings(news, &self.common.layout, self.region.identity()),
            None => Ok(self.region.rings()),
        }
    }

    /// Places changes of read-mostly states before packets with these numbers.
    pub(crate) fn will_change(&mut self, changes: Changes) {
        self.wire.changes = changes;
    }

    /// Sends the NIC's output; returns whether there was any.
    pub(super) fn drain(&mut self, cable: &mut impl Cable) -> Result<bool, RunError> {
        self.of_nic(|wire| wire.drain(cable))
    }

    /// Whether frames can be fed in. Those of a capture wait until both halves can take them.
    fn is_open<C: Cable>(&mut self) -> bool {
        // A NIC that is leaving its region takes nothing there any more.
        !self.leaving
            && !self.wire.is_ahead(C::MOST_AHEAD)
            && (C::LIVE || self.nic_works() && self.host_works())
    }

    /// How full its queue is, in percent of what may wait there; `None` if it doesn't work.
    pub(super) fn fill<C: Cable>(&mut self) -> Option<u8> {
        let works = !self.leaving && self.nic_works() && self.host_works();
        works.then(|| self.wire.fill(C::MOST_AHEAD))
    }

    /// Feeds in what comes before all frames.
    pub(super) fn feed_first(&mut self) -> Result<bool, RunError> {
        if self.leaving {
            return Ok(false);
        }
        self.of_nic(WireEnd::feed_first)
    }

    /// Wakes the host half, for what an operator asks.
    pub(crate) fn wake_host(&self) {
        wake(&self.region.host_bell(SharedFutex));
    }

    /// The other shards wait for no merge of this one any more.
    pub(super) fn leave_shards(&self) {
        let Common { board, shards, .. } = self.common;
        if let Some(board) = board {
            Board::new(board.words, *shards).leave(self.number);
        }
    }

    /// Tells the NIC that no more frames come; returns whether it did now.
    pub(super) fn feed_end(&mut self, now: u64) -> Result<bool, RunError> {
        if self.leaving {
            return Ok(false);
        }
        self.of_nic(|wire| wire.feed_end(now))
    }

    /// Wakes the half at the entrance, for what was fed in.
    pub(super) fn ring(&mut self) {
        if !self.leaving {
            self.wire.publish();
            wake(&match self.entrance {
                Entrance::Nic => self.region.nic_bell(SharedFutex),
                Entrance::Host => self.region.host_bell(SharedFutex),
            });
        }
    }

    /// Whether the half at the entrance was started again since this was asked last.
    pub(super) fn entrance_is_new(&mut self) -> bool {
        let half = if self.has_nic() { &self.nic } else { &self.host };
        let restarts = half.restarts;
        std::mem::replace(&mut self.restarts_seen, restarts) != restarts
    }

    /// Whether it has a NIC half.
    pub(super) fn has_nic(&self) -> bool {
        self.entrance == Entrance::Nic
    }

    /// Its halves.
    pub(super) fn halves(&self) -> impl Iterator<Item = &Half> {
        self.has_nic().then_some(&self.nic).into_iter().chain([&self.host])
    }

    /// Whether both halves have ended for good.
    pub(super) const fn is_over(&self) -> bool {
        self.stopped && !self.nic.is_alive() && !self.host.is_alive()
    }

    /// The results.
    pub(super) fn end(mut self) -> Ended {
        let told = match self.account.take() {
            Some(file) if self.host.has_finished() => read(file),
            _ => None,
        };
        let (account, pieces) = told.unzip();
        // A message that came over has its outcome here, and not where it was sent.
        let Tally { from_nic, from_host } = self.wire.tally;
        let went = from_nic.crossed.saturating_add(from_host.crossed);
        let Crossing { came, refused, .. } = self.wire.crossing;
        let known = Known {
            fed: self.wire.offers.taken.saturating_add(came),
            went,
            tally: self.wire.tally,
            unread: self.page.lost(),
            host: match &account {
                Some(Account { outcomes, took, .. }) => {
                    Counted { outcomes: outcomes.clone(), took: took.clone() }
                }
                None => self.page.renew(),
            },
            nic: account.as_ref().and_then(|account| account.nic_outcomes.clone()),
        };
        self.outcomes.nic_told(Counted::of(&self.region.nic_counters().read()));
        self.outcomes.refused(refused);
        let Counted { outcomes, took } = self.outcomes.whole(known);
        Ended { outcomes, took, account, pieces: pieces.unwrap_or_default() }
    }
}

impl Takes for Shard<'_> {
    fn offer<C: Cable>(
        &mut self,
        stamp: Stamp,
        frame: &[u8],
        is_alone: bool,
    ) -> Result<Offered, RunError> {
        let is_open = self.is_open::<C>();
        if is_open && self.of_nic(|wire| wire.feed(stamp, frame))? {
            return Ok(self.wire.offers.took());
        }
        if !C::LIVE {
            return Ok(Offered::Waits);
        }
        Ok(self.wire.offers.did_not_take(is_open, self.nic_works(), is_alone))
    }

    fn feed_silence(&mut self, now: u64, every: u64) -> Result<bool, RunError> {
        if self.leaving || !self.nic_works() {
            return Ok(false);
        }
        self.of_nic(|wire| wire.feed_silence(now, every))
    }

    fn epoch_begins(&mut self, ends: u64) {
        self.wire.epoch_begins(ends);
    }
}

/// Makes the rings for news of the wire, for the region with this identity.
fn news_rings(
    news: &SharedFile,
    layout: &RegionLayout,
    identity: Identity,
) -> Result<Rings, RunError> {
    let place = generation::place(news.words, identity.generation);
    let made = Region::create(place, layout, identity).map_err(RunError::Region)?;
    Ok(made.rings())
}

/// The account in this file, which its host wrote.
fn read(mut file: File) -> Option<(Account, Vec<Piece>)> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).ok()?;
    Account::read(&bytes).ok()
}
