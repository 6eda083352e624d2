//! Prepares a live run before a port is opened or a half started. Everything that can be refused is
//! refused here, once.

use cora_core::app::App;
use cora_core::state::Kind;
use cora_runtime::host_half::HostHalf;

use crate::RunError;
use crate::control::configuration::Configuration;
use crate::durability::carried::standby_bytes;
use crate::durability::layout::Layout;
use crate::memory::pages::Pages;
use crate::memory::room::Need;
use crate::memory::supply::Supply;
use crate::observe::ipfix::Exporter;
use crate::supervisor::LiveRequest;

/// A run that can begin.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) entries: Layout,
    /// Bytes of memory for replicas of durable entries.
    pub(super) standby: usize,
    /// States with entries that end with the program, if an upgrade carries none over.
    pub(super) forgotten: Vec<&'static str>,
    /// States that die with the host, and flows with them.
    pub(super) rests_on: &'static [&'static str],
    pub(super) configuration: Configuration,
}

impl Prepared {
    /// The error describes the fault.
    pub(super) fn of<A: App>(request: &LiveRequest, regions: usize) -> Result<Self, RunError> {
        let options = &request.run.options;
        if let (Some(path), None) = (&options.state_out, request.legacy) {
            // Fails now, not at the end in a process without a terminal.
            let made = std::fs::File::create(path);
            made.map_err(|cause| RunError::File { path: path.clone(), cause })?;
        }
        if let Some(name) = &options.ipfix {
            // Started here, since host processes continue it, whichever dies; so does a successor
            // program.
            Exporter::open::<A>(name, request.legacy.is_some())?;
        }
        let supply = Supply { seed: 0, pages: Pages::Small, resident: false };
        let mut app = supply.app::<A>(HostHalf::bytes)?;
        let number = request.legacy.map_or(0, |legacy| legacy.version) + 1;
        let configuration = Configuration::begin(&options.configurations, number, &mut app)?;
        let entries = Layout::of(&mut app);
        if request.is_resident() {
            Need { half: A::MEMORY + HostHalf::bytes(&mut app), regions, pages: options.pages }
                .check()?;
        }
        Ok(Self {
            standby: standby_bytes(&mut app, &entries),
            forgotten: forgotten(&mut app, &entries),
            entries,
            rests_on: A::RESTS_ON,
            configuration,
        })
    }
}

/// The tables of a program, if none of them is durable.
fn forgotten<A: App>(app: &mut A, entries: &Layout) -> Vec<&'static str> {
    if !entries.is_empty() {
        return Vec::new();
    }
    let names = A::PLACES.iter().enumerate();
    let tables = names.filter(|(number, _)| app.state(*number).kind() == Kind::Keyed);
    tables.map(|(_, (name, _))| *name).collect()
}
