//! A searched plan: the target's profiles, the measurement next to the manifest, and the result.

use std::path::{Path, PathBuf};

use cora_plan::demand::Measurement;
use cora_plan::model::Steering;
use cora_plan::nic::NicProfile;
use cora_plan::optimise::{self, Inputs, Planned, PlanningError};
use cora_plan::statement::Target;
use cora_plan::traffic::Traffic;
use cora_plan::{Graph, Placement, Statement};

use crate::diag::codes;
use crate::diag::fault::{Fault, Faults, fault};

/// The output file of `cargo cora measure`, next to a package's manifest.
pub const MEASURED: &str = "cora.measured.json";

/// Profiles and measurement of a target.
#[derive(Clone, Debug)]
pub struct Profiles {
    /// The NIC and its host.
    pub nic: NicProfile,
    /// The traffic.
    pub traffic: Traffic,
    /// The counts of a run of the program.
    pub measurement: Option<Measurement>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The existing files among a target's inputs.
pub fn files(directory: &Path, target: &Target) -> Vec<PathBuf> {
    let names = [target.nic.as_str(), &target.traffic, MEASURED];
    names.map(|name| directory.join(name)).into_iter().filter(|path| path.is_file()).collect()
}

/// Reads the inputs of a target; relative paths are next to the manifest.
pub fn profiles(directory: &Path, target: &Target, graph: &Graph) -> Result<Profiles, Faults> {
    let nic = nic(&beside(directory, &target.nic));
    let traffic = traffic(&beside(directory, &target.traffic));
    match (nic, traffic) {
        (Ok(nic), Ok(traffic)) => {
            let mut warnings = Vec::new();
            let measurement = measurement(directory, graph).unwrap_or_else(|warning| {
                warnings.push(warning);
                None
            });
            Ok(Profiles { nic, traffic, measurement, warnings })
        }
        (nic, traffic) => {
            let of_nic = nic.err().into_iter().flat_map(|faults| faults.0);
            Err(of_nic.chain(traffic.err()).collect())
        }
    }
}

/// Searches for a plan.
pub fn run(
    graph: &Graph,
    statement: &Statement,
    target: &Target,
    profiles: &Profiles,
) -> Result<(Planned, Placement), Vec<PlanningError>> {
    let inputs = Inputs {
        graph,
        nic: &profiles.nic,
        traffic: &profiles.traffic,
        measurement: profiles.measurement.as_ref(),
        statement,
        steering: Steering::Cores,
    };
    // A build needs no baselines, and the nearest feasible ask only if there is no plan.
    let ask = target.ask(&profiles.traffic);
    let planned = match optimise::alone(&inputs, &ask) {
        Ok(planned) => planned,
        Err(_) => optimise::run(&inputs, &ask)?,
    };
    let placement = optimise::decide(&inputs, &planned)
        .map_err(|errors| errors.into_iter().map(PlanningError::Refused).collect::<Vec<_>>())?;
    Ok((planned, placement))
}

/// The name of a built-in profile, or the whole path of a file next to the manifest.
fn beside(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    if path.is_file() { path.display().to_string() } else { name.to_owned() }
}

/// Reads a NIC profile: a built-in one of this name, or the file at this path.
pub(super) fn nic(name: &str) -> Result<NicProfile, Faults> {
    NicProfile::load(name).map_err(|refused| {
        let text = std::fs::read_to_string(name).unwrap_or_default();
        let faults = refused.iter().map(|error| {
            let at = error.line().map(|line| (name, line, text.as_str()));
            fault(codes::PROFILE_REFUSED, error.to_string(), &error.cure(), at)
        });
        faults.collect()
    })
}

fn traffic(name: &str) -> Result<Traffic, Fault> {
    Traffic::load(name).map_err(|error| fault(codes::PROFILE_REFUSED, error.to_string(), "", None))
}

/// The measurement of the package, if it is of this graph; the error says why it is ignored.
fn measurement(directory: &Path, graph: &Graph) -> Result<Option<Measurement>, String> {
    let Ok(text) = std::fs::read_to_string(directory.join(MEASURED)) else { return Ok(None) };
    let read = Measurement::from_json(&text, graph);
    read.map(Some)
        .map_err(|why| format!("{}: `{MEASURED}` is left aside: {why}", codes::MEASUREMENT_OLD))
}
