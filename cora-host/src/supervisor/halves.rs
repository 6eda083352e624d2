//! Starts halves, and restarts one that died in a region of the next generation.
//!
//! A living half moves to that region by itself. So the next region follows only after each living
//! half has reached the current one.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Stdio;

use cora_runtime::link::region::{Identity, NicStatus, Region, Rings, generation, wake};

use crate::control::configuration::Configuration;
use crate::durability::carried;
use crate::ingress::capture::Cable;
use crate::ingress::clock::Clock;
use crate::inspect::line::Line;
use crate::memory::map;
use crate::node::host_process::HOST_COMMAND;
use crate::observe::counted::Counted;
use crate::options::NicMode;
use crate::options::card_name::CardName;
use crate::process::child;
use crate::process::log::{self, Part, Source};
use crate::supervisor::items::Items;
use crate::supervisor::nic_command;
use crate::supervisor::own_card::OwnCard;
use crate::supervisor::shard::Shard;
use crate::{RunError, SharedFutex};

impl Shard<'_> {
    /// Starts its NIC half, if it has one.
    pub(super) fn start_nic(&mut self) -> Result<(), RunError> {
        if !self.has_nic() {
            return Ok(());
        }
        let options = &self.common.run.options;
        if let Some(epoch) = self.common.epoch {
            self.wire.begin_session(Clock::since(epoch).now());
        }
        if options.nic == NicMode::Ethernet && self.card.is_none() {
            self.card = match options.card {
                None | Some(CardName::Emulated) => {
                    Some(OwnCard::emulated(nic_command::card(self.common)?, self.common.half)?)
                }
                Some(CardName::Local) => Some(OwnCard::local()?),
                Some(CardName::At(_)) => None,
            };
        }
        let items = self.items.as_ref().map(Items::to_read);
        let (command, files) = if self.bypass.is_taken() {
            nic_command::stand_in(self.common, (&self.regions, items))?
        } else {
            let memory = (&self.regions, items, self.news.as_ref());
            nic_command::command(self.common, memory, self.card.as_ref())?
        };
        // A card's processors are several threads.
        let core = self.cores.map(|cores| cores.nic).filter(|_| !options.nic.is_elsewhere());
        self.nic.began(child::spawn(command, core, options.pages)?, files);
        self.nic_since = self.region.identity().generation;
        let (shard, generation) = (self.number, self.nic_since);
        log::note(
            Part::Nic,
            format_args!(
                "shard {shard}: a NIC process starts in the region of generation {generation}"
            ),
        );
        self.nic_dead = false;
        self.outcomes.nic_begins(&self.wire.tally);
        Ok(())
    }

    pub(super) fn start_host(
        &mut self,
        configuration: &Configuration,
        afresh: bool,
    ) -> Result<(), RunError> {
        let failed = |cause| RunError::System { what: "a file for an account", cause };
        let account = map::memory_file("cora-account").map_err(|errno| failed(errno.into()))?;
        let version = configuration.file();
        let mut command = child::own(HOST_COMMAND);
        command.args(self.regions.arguments()).args(self.replicas.arguments());
        command.arg(self.page_file.file.as_raw_fd().to_string());
        command.arg(std::process::id().to_string());
        let items = self.items.as_mut().map(Items::next_home).transpose()?;
        let memory = [&self.regions, &self.replicas, &self.page_file];
        let mut files: Vec<_> = memory.iter().map(|shared| shared.file.as_fd()).collect();
        files.extend([version, account.as_fd()]);
        if let (Some(arguments), Some(items)) = (items, &self.items) {
            command.arg("--items").args(arguments);
            files.push(items.of_home());
        }
        if let Some(board) = &self.common.board {
            command.arg("--board").args(board.arguments());
            files.push(board.file.as_fd());
        }
        if let Some((file, bytes)) = &self.before {
            command.arg("--before").args([file.as_raw_fd().to_string(), bytes.to_string()]);
            files.push(file.as_fd());
        }
        let lines = self.common.lines.as_ref();
        let line = lines.map(|lines| Line::create().map(|made| (lines, made))).transpose()?;
        if let Some((_, (_, file))) = &line {
            command.args(["--line".to_owned(), file.as_raw_fd().to_string()]);
            files.push(file.as_fd());
        }
        if afresh {
            command.arg("--afresh");
        }
        if !self.has_nic() {
            command.arg("--receives");
        }
        let option = |name: &str, value: String| [format!("--{name}"), value];
        command.args(option("version", version.as_raw_fd().to_string()));
        command.args(option("account", account.as_raw_fd().to_string()));
        command.args(option("shard", self.number.to_string()));
        command.args(option("shards-in-all", self.common.shards.to_string()));
        command.args(option("latest", self.wire.latest().to_string()));
        if let Some(epoch) = self.common.epoch {
            command.args(option("epoch", epoch.to_string()));
        }
        command.args(&self.common.run.words);
        child::gets(&mut command, &files);
        self.outcomes.host_begins(self.page.renew());
        self.wire.change_again();
        // Handlers may print; packets may leave by standard output.
        command.stdout(Stdio::from(std::io::stderr()));
        log::read_words(&mut command, Source::HOST, true);
        let core = self.cores.map(|cores| cores.host);
        let child = child::spawn(command, core, self.common.run.options.pages)?;
        if let Some((lines, (line, _))) = line {
            lines.renew(self.number, line);
        }
        self.account = Some(account);
        let (shard, generation) = (self.number, self.region.identity().generation);
        log::note(
            Part::Host,
            format_args!(
                "shard {shard}: a host process starts in the region of generation {generation}"
            ),
        );
        self.host.began(child, Vec::new());
        Ok(())
    }

    /// Whether the NIC, if there is one, reports that it is attached to the current region.
    pub(crate) fn nic_works(&self) -> bool {
        if !self.has_nic() {
            return true;
        }
        self.nic.is_alive()
            && matches!(self.region.nic_status(), Some(NicStatus::Ready | NicStatus::Running))
    }

    /// Whether the host has left the previous region, and is attached to the current one.
    pub(crate) fn host_works(&self) -> bool {
        self.host.is_alive() && self.page.attached() == self.region.identity().generation
    }

    /// Detects dead halves, and creates the next region when each living half has reached this one.
    pub(super) fn look(
        &mut self,
        configuration: &Configuration,
        cable: &mut impl Cable,
    ) -> Result<(), RunError> {
        if self.has_nic()
            && !self.nic.is_alive()
            && self.region.nic_status() == Some(NicStatus::Starting)
        {
            // It will not reach this region any more: a new host need not wait until it leaves the
            // previous one.
            self.region.set_nic_status(NicStatus::Done);
        }
        if self.leaving && (self.nic_works() || !self.nic.is_alive()) {
            self.leaving = false;
            if let Some(old) = self.old.take() {
                self.outcomes.nic_told(Counted::of(&old.nic_counters().read()));
            }
            let rings = self.wire_rings()?;
            self.follow(&rings, cable)?;
        }
        let (nic, host) = (self.nic_works(), self.host_works());
        if nic && host {
            self.nic.works();
            self.host.works();
            if let Some(since) = self.away_since.take() {
                let pause = since.elapsed().as_micros() as u64;
                self.pauses_us.push(pause);
                let shard = self.number;
                let again = format_args!("shard {shard}: both halves work again, after {pause} µs");
                log::note(Part::Run, again);
            }
        }
        let arrived = (nic || !self.nic.is_alive()) && (host || !self.host.is_alive());
        // At the end the NIC may be gone while the host still counts, or the reverse.
        let finishes = self.nic.has_finished() || self.host.has_finished() || self.ends_alone;
        let ends = self.stopped && finishes;
        if ends && !self.host.is_alive() {
            self.leave_shards();
        }
        let may_begin = self.halves().all(|half| half.is_alive() || half.may_begin());
        let came_here = self.page.attached() == self.region.identity().generation;
        if !self.host.is_alive() && !came_here && !ends {
            if !may_begin {
                return Ok(());
            }
            // A NIC that owns flows learns about damage only through the next region.
            if self.region.identity().afresh || self.damaged().is_empty() {
                // It died before it reached this region: its unread records are still in the
                // previous one. The NIC then has none of the dead host's flows: either the NIC is
                // new, or it was told.
                self.tell_deaths(&[]);
                self.host.again()?;
                let afresh = self.region.identity().afresh || !self.common.rests_on.is_empty();
                return self.start_host(configuration, afresh);
            }
        }
        let died = self.halves().any(|half| !half.is_alive());
        if died && arrived && !self.leaving && !ends && may_begin {
            return self.succeed(configuration, cable);
        }
        Ok(())
    }

    /// States that died with the host and that flows depend on: those without a replica, and those
    /// with a damaged one.
    fn lost_with_host(&self) -> Vec<String> {
        let rests_on = self.common.rests_on.iter().map(|name| (*name).to_owned());
        rests_on.chain(self.damaged()).collect()
    }

    /// The singletons with a damaged replica.
    fn damaged(&self) -> Vec<String> {
        carried::damaged(self.replicas.words, &self.common.entries)
    }

    /// Creates the next region, and restarts each dead half.
    fn succeed(
        &mut self,
        configuration: &Configuration,
        cable: &mut impl Cable,
    ) -> Result<(), RunError> {
        let identity = self.region.identity();
        let generation = identity.generation + 1;
        let (nic_died, host_died) = (self.has_nic() && !self.nic.is_alive(), !self.host.is_alive());
        let lost = if host_died { self.lost_with_host() } else { Vec::new() };
        if nic_died {
            self.bypass.next(self.nic.has_worked);
        }
        self.tell_deaths(&lost);
        if nic_died || !self.has_nic() {
            // All that it published is there to be sent. The host learns how much of its own left.
            while self.drain(cable)? {}
        }
        let place = generation::place(self.regions.words, generation);
        // Packets wait, so pages are not allocated in advance.
        let afresh = !lost.is_empty();
        let identity = Identity { generation, resident: false, afresh, ..identity };
        let next =
            Region::create(place, &self.common.layout, identity).map_err(RunError::Region)?;
        let left = self.wire.tally.from_host.total() - self.left_before;
        self.page.announce(identity, left, self.bypass.is_taken());
        let shard = self.number;
        log::debug(
            Part::Run,
            format_args!("shard {shard}: both halves go to the region of generation {generation}"),
        );
        generation::announce(self.regions.words, generation);
        wake(&self.region.nic_bell(SharedFutex));
        wake(&self.region.host_bell(SharedFutex));
        self.outcomes.nic_told(Counted::of(&self.region.nic_counters().read()));
        self.old = Some(std::mem::replace(&mut self.region, next));
        (self.nic_arrived, self.nic_astray) = (false, None);
        if nic_died {
            self.nic.again()?;
            let rings = self.wire_rings()?;
            self.follow(&rings, cable)?;
            self.start_nic()?;
        } else if !self.has_nic() {
            self.follow(&next.rings(), cable)?;
        } else {
            self.leaving = true;
        }
        if host_died {
            self.host.again()?;
            self.start_host(configuration, afresh)?;
        }
        Ok(())
    }

    /// Connects the wire to the rings of the current region.
    fn follow(&mut self, rings: &Rings, cable: &mut impl Cable) -> Result<(), RunError> {
        self.wire.follow(rings, cable)?;
        self.left_before = self.wire.tally.from_host.total();
        Ok(())
    }
}
