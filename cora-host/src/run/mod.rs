//! The runs of a program: from its options to its report.
//!
//! | module | contents |
//! | --- | --- |
//! | `alone` | on a capture, without a NIC |
//! | `capture` | on a capture, with a NIC |
//! | `commands` | the orders and requests of a live run |
//! | `finish` | the report, from the accounts of all shards |
//! | `live` | between ports |
//! | `snapshot` | the counts of a live run so far |
//! | `prepared` | what can be refused before anything is started |

mod alone;
mod capture;
mod commands;
mod finish;
mod live;
mod prepared;
mod snapshot;

use cora_core::app::App;

use crate::control::upgrade::Legacy;
use crate::observe::report::RunReport;
use crate::options::{NicMode, Run};
use crate::{Program, RunError};

/// A run, as requested.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) run: Run,
    /// The legacy of the previous program.
    pub(crate) legacy: Option<Legacy>,
    /// Only a rehearsal, to show that it can run.
    pub(crate) rehearses: bool,
}

/// Runs the program.
pub(crate) fn run<A: App>(program: &Program, request: &Request) -> Result<RunReport, RunError> {
    let options = &request.run.options;
    match &options.live {
        Some(ports) => live::run::<A>(program, request, ports),
        None if options.nic == NicMode::Off => alone::run::<A>(&request.run),
        None => capture::run::<A>(program, &request.run),
    }
}
