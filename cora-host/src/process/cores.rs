//! Assigns processors to the two ends of each shard.

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// The processors of one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores {
    /// The NIC core's processor.
    pub(crate) nic: usize,
    /// The host worker's processor.
    pub(crate) host: usize,
}

/// A separate processor for each end of each shard, and one for the wire. `None` if there are too
/// few: the kernel then schedules better.
pub(crate) fn assign(shards: usize) -> Vec<Option<Cores>> {
    let allowed = sched_getaffinity(None).ok();
    let allowed: Vec<usize> = allowed
        .iter()
        .flat_map(|set| (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)))
        .collect();
    among(&allowed, shards)
}

fn among(allowed: &[usize], shards: usize) -> Vec<Option<Cores>> {
    let enough = allowed.len() > 2 * shards;
    let ends = allowed.iter().skip(1).copied().collect::<Vec<_>>();
    let shard = |number: usize| {
        let cores = ends.get(2 * number..2 * number + 2).filter(|_| enough)?;
        Some(Cores { nic: cores[0], host: cores[1] })
    };
    (0..shards).map(shard).collect()
}

/// Pins the calling thread to this processor. It affects speed only, so a refusal by the kernel is
/// ignored.
pub(crate) fn stay_on(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    let _refused = sched_setaffinity(None::<Pid>, &set);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_own_or_none_has() {
        assert_eq!(among(&[0, 1], 1), [None]);
        assert_eq!(among(&[0, 1, 2, 3], 2), [None, None]);
        let cores = |nic, host| Some(Cores { nic, host });
        assert_eq!(among(&[3, 4, 6, 7, 9], 2), [cores(4, 6), cores(7, 9)]);
        assert_eq!(among(&[0, 1, 2, 3], 1), [cores(1, 2)]);
        assert_eq!(assign(1).len(), 1);
        assert_eq!(assign(CpuSet::MAX_CPU)[0], None, "more than any machine has");
    }
}
