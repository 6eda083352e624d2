//! A package's plan as it is built, and the counters that the model expects under it.

use std::path::Path;

use cora_build::script::plan::choice;
use cora_build::script::plan::target::{self, Profiles};
use cora_build::script::reading;
use cora_plan::demand::Measurement;
use cora_plan::model::{Expected, Steering};
use cora_plan::optimise::{self, Inputs, Planned};
use cora_plan::traffic::Traffic;
use cora_plan::{Graph, Placement, Plan, Statement};

use crate::arguments::{CheckPlan, Planning};
use crate::failure::Failure;
use crate::package;
use crate::planning::{measurement, overlay};

/// A package's plan, with the profiles that predictions are for.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) graph: Graph,
    pub(super) placement: Placement,
    /// The hash that its binaries carry.
    pub(super) hash: String,
    statement: Statement,
    pub(super) profiles: Profiles,
    /// Of a plan that was searched for: the search, and its traffic.
    searched: Option<(Planned, Traffic)>,
    /// Whether the package or the command line names the traffic.
    pub(super) names_traffic: bool,
}

impl Subject {
    /// Reads the package in this directory, and plans it as its build does.
    pub(super) fn read(directory: &Path, arguments: &CheckPlan) -> Result<Self, Failure> {
        let plan = package::plan(arguments.plan.as_deref())?;
        let program = reading::read(directory, plan.as_deref()).map_err(Failure::Failed)?;
        let (graph, statement) = (program.graph, program.statement);
        let decided = choice::read(directory, plan.as_deref())
            .and_then(|choice| choice.decide(directory, &graph))
            .map_err(|faults| Failure::Failed(faults.to_string().trim_end().to_owned()))?;
        let hash = Plan::seal(decided.placement.clone(), &graph, program.sources).hash;
        let names_traffic = statement.target.is_some() || arguments.traffic.is_some();
        let profiles = profiles(directory, &graph, &statement, arguments)?;
        for warning in decided.warnings.iter().chain(&profiles.warnings) {
            eprintln!("warning: {warning}");
        }
        let (placement, searched) = (decided.placement, decided.searched);
        Ok(Self { graph, placement, hash, statement, profiles, searched, names_traffic })
    }

    /// The rate that the plan was searched for, in million packets a second.
    pub(super) fn planned_mpps(&self) -> Option<f64> {
        self.searched.as_ref().map(|(planned, _)| planned.mpps)
    }

    /// The expected counts of a run on the profiles' traffic.
    pub(super) fn expected(&self, mpps: f64, seconds: f64) -> Expected {
        self.expected_on(&self.profiles.traffic, mpps, seconds)
    }

    /// The same on other traffic.
    pub(super) fn expected_on(&self, traffic: &Traffic, mpps: f64, seconds: f64) -> Expected {
        let inputs = Inputs {
            graph: &self.graph,
            nic: &self.profiles.nic,
            traffic,
            measurement: self.measured(),
            statement: &self.statement,
            steering: Steering::Cores,
        };
        let own = self.searched.as_ref().filter(|(_, searched_on)| searched_on == traffic);
        let allocation = match own {
            Some((planned, _)) => planned.allocation.clone(),
            None => optimise::allocated(&self.placement, traffic),
        };
        optimise::expected(&inputs, &allocation, mpps, seconds)
    }

    /// The counts of the package's paths, if there are any.
    pub(super) fn measured(&self) -> Option<&Measurement> {
        self.profiles.measurement.as_ref().filter(|measured| measured.packets > 0)
    }
}

/// The profiles of the package's target, or those that the command line names.
fn profiles(
    directory: &Path,
    graph: &Graph,
    statement: &Statement,
    arguments: &CheckPlan,
) -> Result<Profiles, Failure> {
    let mut target = statement.target.clone().unwrap_or_default();
    let (nic, traffic) = (arguments.nic.clone(), arguments.traffic.clone());
    overlay(&mut target, &Planning { nic, traffic, ..Planning::default() })?;
    let mut profiles = target::profiles(directory, &target, graph)
        .map_err(|faults| Failure::Usage(faults.to_string().trim_end().to_owned()))?;
    if let Some(file) = &arguments.measured {
        profiles.measurement = Some(measurement(file, graph)?);
    }
    Ok(profiles)
}
