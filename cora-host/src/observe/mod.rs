//! What a run tells: reports, records, states, progress.
//!
//! | module | contents |
//! | --- | --- |
//! | `account` | what a shard tells at its end |
//! | `buckets` | moves of buckets in the report, and why |
//! | `counted` | the counts of a half |
//! | `dashboard` | a test: the dashboard of the docs and the metrics agree |
//! | `ipfix` | records of ended entries, to a file or a collector |
//! | `live` | the counts of a live run so far |
//! | `messages` | the messages of a run |
//! | `metrics` | a live run as text for Prometheus |
//! | `print` | text on standard output and standard error |
//! | `progress` | progress of a run, for a user at a terminal |
//! | `report` | the report of a run, as JSON |
//! | `state` | the final state, in canonical order |
//! | `text` | the report of a run, as a table |

pub(crate) mod account;
pub(crate) mod buckets;
pub(crate) mod counted;
#[cfg(test)]
mod dashboard;
pub(crate) mod ipfix;
pub(crate) mod live;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod print;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod state;
mod text;
