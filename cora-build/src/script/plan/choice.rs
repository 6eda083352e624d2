//! The wanted plan, and its faults.
//!
//! `CORA_PLAN` gives the name of a plan, or the path of a file like `cora.toml`. The default is the
//! `cora.toml` next to the package's manifest, and without one a plain split. A statement with a
//! target is searched for.

use std::path::{Path, PathBuf};

use cora_plan::nic::NicProfile;
use cora_plan::optimise::{Planned, PlanningError};
use cora_plan::statement::Target;
use cora_plan::traffic::Traffic;
use cora_plan::vocabulary::Sides;
use cora_plan::{Graph, Placement, PlanError, Statement, placement};

use super::target;
use crate::diag::codes;
use crate::diag::fault::{Fault, Faults, fault};

/// A statement and its source.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The statement.
    pub statement: Statement,
    /// Its file.
    file: Option<PathBuf>,
    /// Its name and text, for messages.
    name: String,
    text: String,
}

/// The file that states a plan, if there is one.
pub fn file(directory: &Path, plan: Option<&str>) -> Option<PathBuf> {
    let path = match plan {
        Some(name) if Statement::named(name).is_ok() => return None,
        Some(path) => directory.join(path),
        None => directory.join("cora.toml"),
    };
    path.is_file().then_some(path)
}

/// Reads the statement.
pub fn read(directory: &Path, plan: Option<&str>) -> Result<Choice, Faults> {
    let Some(path) = file(directory, plan) else {
        let statement = match plan {
            None => Statement::of(Sides::Split),
            Some(plan) => Statement::named(plan).map_err(|error| {
                let looked = directory.join(plan);
                let sentence = format!("{error}, and no file `{}`", looked.display());
                fault(codes::PLAN_NOT_FOUND, sentence, &error.cure(), None)
            })?,
        };
        let (name, text) = ("CORA_PLAN".to_owned(), String::new());
        return Ok(Choice { statement, file: None, name, text });
    };
    let name = path.strip_prefix(directory).unwrap_or(&path).display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        fault(codes::PLAN_NOT_FOUND, format!("`{name}` can't be read: {error}"), "", None)
    })?;
    match Statement::parse(&text) {
        Ok(statement) => Ok(Choice { statement, file: Some(path), name, text }),
        Err(errors) => Err(errors
            .iter()
            .map(|error| {
                let at = error.line().map(|line| (name.as_str(), line, text.as_str()));
                fault(codes::STATEMENT_REFUSED, error.to_string(), &error.cure(), at)
            })
            .collect()),
    }
}

/// A placement and its derivation.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The placement.
    pub placement: Placement,
    /// The NIC that the plan is for: the target's, or the default one.
    pub nic: NicProfile,
    /// The result of the search, and its traffic; `None` for a stated plan.
    pub searched: Option<(Planned, Traffic)>,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
}

impl Choice {
    /// Decides.
    pub fn decide(&self, directory: &Path, graph: &Graph) -> Result<Decided, Faults> {
        let Some(target) = &self.statement.target else {
            let placement = placement::run(graph, &self.statement);
            let placement = placement.map_err(|errors| -> Faults {
                errors.iter().map(|error| self.refused(error)).collect()
            })?;
            let nic = target::nic(Target::NIC)?;
            return Ok(Decided { placement, nic, searched: None, warnings: Vec::new() });
        };
        let profiles = target::profiles(directory, target, graph)?;
        match target::run(graph, &self.statement, target, &profiles) {
            Ok((planned, placement)) => Ok(Decided {
                placement,
                nic: profiles.nic,
                searched: Some((planned, profiles.traffic)),
                warnings: profiles.warnings,
            }),
            Err(errors) => Err(errors.iter().map(|error| self.unplanned(error)).collect()),
        }
    }

    fn unplanned(&self, error: &PlanningError) -> Fault {
        match error {
            PlanningError::Refused(error) => self.refused(error),
            PlanningError::NoFlowTable { .. } => fault(
                codes::PLAN_REFUSED,
                error.to_string(),
                &error.cure(),
                self.place_of(&["nic", "use"]),
            ),
            _ => fault(
                codes::OUT_OF_REACH,
                error.to_string(),
                &error.cure(),
                self.place_of(&["mpps", "host-cores", "use"]),
            ),
        }
    }

    fn refused(&self, error: &PlanError) -> Fault {
        let line = error.line().filter(|line| self.file.is_some() && *line > 0);
        let at = line.map(|line| (self.name.as_str(), line, self.text.as_str()));
        fault(codes::PLAN_REFUSED, error.to_string(), &error.cure(), at)
    }

    /// The first line in the file with one of these keys.
    fn place_of(&self, keys: &[&str]) -> Option<(&str, usize, &str)> {
        let has = |key: &&str| {
            let mut lines = self.text.lines().enumerate();
            lines.find(|(_, line)| line.split('=').next().is_some_and(|word| word.trim() == *key))
        };
        let (line, _) = keys.iter().find_map(has)?;
        Some((&self.name, line + 1, &self.text))
    }
}
