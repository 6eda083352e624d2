//! Checks the memory for a live run: the demand of both halves against the available memory.
//!
//! A live run touches all its pages before its first packet. With too few, the kernel would
//! silently kill one of its processes or another one, so the run reports the shortage first. The
//! available memory is the minimum of the machine's, and of the remainder in each control group
//! around this process.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::RunError;
use crate::memory::pages::Pages;

/// Bytes besides states and rings of a shard: the code, stacks and buffers of three processes.
const BESIDE: usize = 24 << 20;

/// The memory demand of a live run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    /// Bytes of the states of one half; the other one needs the same.
    pub(crate) half: usize,
    /// Bytes of the rings of a shard.
    pub(crate) regions: usize,
    /// Number of shards.
    pub(crate) shards: usize,
    pub(crate) pages: Pages,
}

/// The available memory, and the file with its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes available.
    pub bytes: u64,
    /// The limiting file.
    pub said_by: PathBuf,
}

impl Need {
    /// The error gives the demand and the available memory.
    pub(crate) fn check(self) -> Result<(), RunError> {
        self.fits(room().as_ref())
    }

    fn fits(self, room: Option<&Room>) -> Result<(), RunError> {
        // Huge pages are reserved already, for the host; the NIC requests other pages.
        let halves = if self.pages == Pages::Huge { 1 } else { 2 };
        let needed = (self.shards * (halves * self.half + self.regions + BESIDE)) as u64;
        match room {
            Some(room) if room.bytes < needed => Err(RunError::NoRoom {
                needed_mib: needed.div_ceil(1 << 20),
                half_mib: (self.half as u64).div_ceil(1 << 20),
                room_mib: room.bytes >> 20,
                said_by: room.said_by.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// The memory available to this process; `None` if no file gives it.
pub fn room() -> Option<Room> {
    room_by(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
}

fn room_by(proc: &Path, groups: &Path) -> Option<Room> {
    let machine = available(&proc.join("meminfo"));
    let own = read_to_string(proc.join("self/cgroup")).unwrap_or_default();
    let groups = own.lines().filter_map(|line| group(line, groups)).flatten();
    machine.into_iter().chain(groups).min_by_key(|room| room.bytes)
}

/// The machine's available memory.
fn available(meminfo: &Path) -> Option<Room> {
    let text = read_to_string(meminfo).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(Room { bytes: kib << 10, said_by: meminfo.into() })
}

/// The remainder of the control group in this line of /proc/self/cgroup, and of those around it. A
/// line is `0::/path` in a unified hierarchy, or `5:memory:/path` in one of several.
fn group(line: &str, root: &Path) -> Option<Vec<Room>> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (root, limit, usage, file) = match controllers {
        "" => (root.to_owned(), "memory.max", "memory.current", "inactive_file"),
        _ if controllers.split(',').any(|name| name == "memory") => (
            root.join("memory"),
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
        _ => return None,
    };
    let path = path.trim_start_matches('/');
    // In a container the path may be outside its view: the root is then this process's own group.
    let own = Some(root.join(path)).filter(|own| own.is_dir()).unwrap_or_else(|| root.clone());
    let around = own.ancestors().take_while(|group| group.starts_with(&root));
    let left = |group: &Path| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        // `max` is not a number, and means no limit.
        let (limit_is, used) = (number(limit)?, number(usage)?);
        // Page cache is reclaimable.
        let stat = read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(file)?.trim().parse().ok());
        let used = used.saturating_sub(cached.unwrap_or(0));
        Some(Room { bytes: limit_is.saturating_sub(used), said_by: group.join(limit) })
    };
    Some(around.filter_map(left).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let machine = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = machine.path().join(path);
            fs::create_dir_all(path.parent().expect("a directory")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        }
        machine
    }

    fn bytes_of(files: &[(&str, &str)]) -> Option<(u64, String)> {
        let machine = machine(files);
        let room = room_by(&machine.path().join("proc"), &machine.path().join("groups"))?;
        let said_by = room.said_by.strip_prefix(machine.path()).expect("it is there");
        Some((room.bytes, said_by.display().to_string()))
    }

    const MEMORY: (&str, &str) = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n");

    #[test]
    fn the_least_of_all_limits_counts() {
        let said = |bytes, by: &str| Some((bytes, by.to_owned()));
        assert_eq!(bytes_of(&[]), None);
        assert_eq!(bytes_of(&[MEMORY]), said(4_096_000, "proc/meminfo"));
        let own = ("proc/self/cgroup", "0::/a/b\n");
        let inner = [
            MEMORY,
            own,
            ("groups/a/memory.max", "1000000\n"),
            ("groups/a/memory.current", "900000\n"),
            ("groups/a/memory.stat", "anon 7\ninactive_file 300000\n"),
            ("groups/a/b/memory.max", "max\n"),
            ("groups/a/b/memory.current", "500\n"),
        ];
        assert_eq!(bytes_of(&inner), said(400_000, "groups/a/memory.max"));
        // In a container that sees its own group as the root.
        let seen = [own, ("groups/memory.max", "70000\n"), ("groups/memory.current", "80000\n")];
        assert_eq!(bytes_of(&seen), said(0, "groups/memory.max"));
        let old = [
            MEMORY,
            ("proc/self/cgroup", "7:cpu:/x\n5:memory,hugetlb:/c\n"),
            ("groups/memory/c/memory.limit_in_bytes", "2000\n"),
            ("groups/memory/c/memory.usage_in_bytes", "500\n"),
        ];
        assert_eq!(bytes_of(&old), said(1500, "groups/memory/c/memory.limit_in_bytes"));
    }

    #[test]
    fn a_run_that_does_not_fit_is_refused_in_a_sentence() {
        let need = Need { half: 490 << 20, regions: 10 << 20, shards: 1, pages: Pages::Small };
        let room = |mib: u64| Room { bytes: mib << 20, said_by: "/g/memory.max".into() };
        assert!(need.fits(Some(&room(1014))).is_ok() && need.fits(None).is_ok());
        let error = need.fits(Some(&room(64))).expect_err("too little").to_string();
        for part in
            ["needs 1014 MiB", "490 MiB in each half", "64 MiB", "/g/memory.max", "capacity"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        let huge = Need { pages: Pages::Huge, ..need };
        assert!(huge.fits(Some(&room(524))).is_ok() && huge.fits(Some(&room(523))).is_err());
        let three = Need { shards: 3, ..need };
        assert!(three.fits(Some(&room(3042))).is_ok() && three.fits(Some(&room(3041))).is_err());
    }
}
