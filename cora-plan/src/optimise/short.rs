//! The resource that ran out first, and what in the program makes it so scarce.

use crate::model::limits::Limit;
use crate::model::predict::judge;
use crate::model::residence::full;
use crate::model::{Allocation, Resource, Setting};
use crate::placement::one_shard;

/// An exhausted resource.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Short {
    pub(super) resource: Resource,
    /// The cause in the program, in a sentence without its full stop.
    pub(super) cause: Option<String>,
}

impl Short {
    /// Of a limit, for any allocation.
    pub(super) fn of(setting: &Setting<'_>, limit: Limit, mpps: f64) -> Self {
        let cause = match (limit.resource, limit.table) {
            (Resource::TableEntries, Some(table)) => Some(full(setting, table, None, mpps)),
            (Resource::NicCores | Resource::HostCores, _) => idle_cores(setting),
            _ => None,
        };
        Self { resource: limit.resource, cause }
    }

    /// Of an allocation that exceeds a limit.
    pub(super) fn by(setting: &Setting<'_>, allocation: &Allocation, mpps: f64) -> Self {
        let (predicted, _) = judge(setting, allocation, mpps);
        let resource = predicted.bottleneck;
        let limit = Limit { resource, table: None };
        if resource == Resource::TableEntries {
            return Self { resource, cause: predicted.unstable.into_iter().next() };
        }
        Self::of(setting, limit, mpps)
    }
}

/// The states that leave all cores but one pair idle.
fn idle_cores(setting: &Setting<'_>) -> Option<String> {
    let reasons = one_shard(setting.graph(), setting.group());
    let states: Vec<String> = reasons.keys().map(|state| format!("`{state}`")).collect();
    let (last, others) = states.split_last()?;
    let because = match others {
        [] => last.clone(),
        _ => format!("{} and {last}", others.join(", ")),
    };
    let [nic, host] = setting.all_cores();
    (nic > 1.0 || host > 1.0).then(|| {
        format!(
            "{} of the NIC's {nic} cores and {} of the host's {host} are idle because of {because}",
            nic - 1.0,
            host - 1.0
        )
    })
}
