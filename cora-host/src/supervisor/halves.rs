//! Starts halves, and restarts one that died in a region of the next generation.
//!
//! A living half moves to that region by itself. So the next region follows only after each living
//! half has reached the current one.

use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Stdio;

use cora_runtime::link::region::{Identity, NicStatus, Region, generation, wake};

use crate::durability::carried;
use crate::node::nic_process;
use crate::process::child;
use crate::supervisor::{HOST_COMMAND, SharedFile, Supervisor};
use crate::{RunError, SharedFutex};

impl Supervisor<'_> {
    pub(super) fn start_nic(&mut self) -> Result<(), RunError> {
        let options = &self.request.run.options;
        let SharedFile { file, bytes, .. } = &self.regions;
        let (command, image) =
            nic_process::command(self.program, options.nic, file.as_fd(), *bytes)?;
        self.nic.began(child::spawn(command, None, options.pages)?, image);
        self.nic_since = self.region.identity().generation;
        self.nic_dead = false;
        self.outcomes.nic_begins(&self.wire.tally);
        Ok(())
    }

    pub(super) fn start_host(&mut self, afresh: bool) -> Result<(), RunError> {
        let mut command = child::own(HOST_COMMAND);
        command.args(self.regions.arguments()).args(self.standby.arguments());
        command.arg(self.page_file.file.as_raw_fd().to_string());
        command.arg(std::process::id().to_string());
        let version = self.configuration.file();
        let memory = [&self.regions, &self.standby, &self.page_file];
        let mut files: Vec<_> = memory.iter().map(|shared| shared.file.as_fd()).collect();
        files.push(version);
        if let Some((file, bytes)) = &self.before {
            command.arg("--before").args([file.as_raw_fd().to_string(), bytes.to_string()]);
            files.push(file.as_fd());
        }
        if afresh {
            command.arg("--afresh");
        }
        command.arg("--version").arg(version.as_raw_fd().to_string());
        command.arg("--epoch").arg(self.wire.cable.clock().epoch().to_string());
        command.args(&self.request.run.words);
        child::gets(&mut command, &files);
        self.outcomes.host_begins(self.page.renew());
        self.wire.change_again();
        command.stdout(Stdio::piped());
        let mut child = child::spawn(command, None, self.request.run.options.pages)?;
        self.account = child.stdout.take();
        self.host.began(child, None);
        Ok(())
    }

    /// Whether the NIC reports that it is attached to the current region.
    pub(super) fn nic_works(&self) -> bool {
        self.nic.is_alive()
            && matches!(self.region.nic_status(), Some(NicStatus::Ready | NicStatus::Running))
    }

    /// Whether the host has left the previous region, and is attached to the current one.
    pub(super) fn host_works(&self) -> bool {
        self.host.is_alive() && self.page.attached() == self.region.identity().generation
    }

    /// Detects dead halves, and creates the next region when each living half has reached this one.
    pub(super) fn look(&mut self) -> Result<(), RunError> {
        if !self.nic.is_alive() && self.region.nic_status() == Some(NicStatus::Starting) {
            // It will not reach this region any more: a new host need not wait until it leaves the
            // previous one.
            self.region.set_nic_status(NicStatus::Done);
        }
        if self.leaving && (self.nic_works() || !self.nic.is_alive()) {
            self.leaving = false;
            self.wire.follow(&self.region.rings())?;
        }
        let (nic, host) = (self.nic_works(), self.host_works());
        if nic && host {
            self.nic.works();
            self.host.works();
            if let Some(since) = self.away_since.take() {
                self.pauses_us.push(since.elapsed().as_micros() as u64);
            }
        }
        let arrived = (nic || !self.nic.is_alive()) && (host || !self.host.is_alive());
        // At the end the NIC may be gone while the host still counts, or the reverse.
        let finishes = self.nic.has_finished() || self.host.has_finished() || self.ends_alone;
        let ends = self.wire.cable.stopped && finishes;
        let may_begin = [&self.nic, &self.host].iter().all(|it| it.is_alive() || it.may_begin());
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
                let afresh = self.region.identity().afresh || !self.rests_on.is_empty();
                return self.start_host(afresh);
            }
        }
        let died = [&self.nic, &self.host].iter().any(|half| !half.is_alive());
        if died && arrived && !self.leaving && !ends && may_begin {
            return self.succeed();
        }
        Ok(())
    }

    /// States that died with the host and that flows depend on: those without a replica, and those
    /// with a damaged one.
    fn lost_with_host(&self) -> Vec<String> {
        let rests_on = self.rests_on.iter().map(|name| (*name).to_owned());
        rests_on.chain(self.damaged()).collect()
    }

    /// The singletons with a damaged replica.
    fn damaged(&self) -> Vec<String> {
        carried::damaged(self.standby.words, &self.entries)
    }

    /// Creates the next region, and restarts each dead half.
    fn succeed(&mut self) -> Result<(), RunError> {
        let identity = self.region.identity();
        let generation = identity.generation + 1;
        let (nic_died, host_died) = (!self.nic.is_alive(), !self.host.is_alive());
        let lost = if host_died { self.lost_with_host() } else { Vec::new() };
        self.tell_deaths(&lost);
        let place = generation::place(self.regions.words, generation);
        // Packets wait, so pages are not allocated in advance.
        let afresh = !lost.is_empty();
        let identity = Identity { generation, resident: false, afresh, ..identity };
        let next = Region::create(place, &self.layout, identity).map_err(RunError::Region)?;
        self.page.announce(identity);
        generation::announce(self.regions.words, generation);
        wake(&self.region.nic_bell(SharedFutex));
        wake(&self.region.host_bell(SharedFutex));
        self.region = next;
        (self.nic_arrived, self.nic_astray) = (false, None);
        if nic_died {
            self.nic.again()?;
            // All that it published is there to be read.
            self.wire.follow(&next.rings())?;
            self.start_nic()?;
        } else {
            self.leaving = true;
        }
        if host_died {
            self.host.again()?;
            self.start_host(afresh)?;
        }
        Ok(())
    }
}
