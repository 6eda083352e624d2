//! The inputs of a plan: the package's program, the statements of its `cora.toml`, and the options
//! that replace them.

use std::path::{Path, PathBuf};

use cora_build::script::plan::target;
use cora_build::script::reading;
use cora_plan::demand::Measurement;
use cora_plan::model::Steering;
use cora_plan::optimise::Planned;
use cora_plan::report::Report;
use cora_plan::statement::{Ask, Stated, Target};
use cora_plan::vocabulary::Sides;
use cora_plan::what_if::{Case, Planner as _, Refusal};
use cora_plan::{Place, Plan, Statement, nearest};

use crate::arguments::{self, Planning};
use crate::failure::Failure;
use crate::package::Package;
use crate::watched::Watched;

/// A case of a package, ready to be planned.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) case: Case,
    /// Digest of the program's source, which a plan's hash covers.
    sources: u64,
    /// The package states a target for its plan.
    pub(crate) states_target: bool,
    /// On the measurement, or its absence.
    measured: String,
}

/// A plan, with the hash that binaries built of it would carry.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) planned: Planned,
    pub(crate) hash: String,
}

/// Reads the package, and replaces its statements by the options of the command line.
pub(crate) fn prepare(package: &str, said: &Planning) -> Result<Prepared, Failure> {
    let directory = Package::of(package)?.directory()?;
    let program = reading::read(&directory, None).map_err(Failure::Failed)?;
    let states_target = program.statement.target.is_some();
    let (mut statement, note) = searched(program.statement);
    let mut target = statement.target.clone().unwrap_or_default();
    overlay(&mut target, said)?;
    for pin in &said.pin {
        let (state, place) = read_pin(pin, &program.graph)?;
        // No line of a file says so.
        statement.places.insert(state, Stated { what: place, line: 0 });
    }
    statement.target = Some(target.clone());
    let mut profiles = target::profiles(&directory, &target, &program.graph)
        .map_err(|faults| Failure::Usage(faults.to_string().trim_end().to_owned()))?;
    for warning in &profiles.warnings {
        eprintln!("warning: {warning}");
    }
    if let Some(file) = &said.measured {
        profiles.measurement = Some(measurement(file, &program.graph)?);
    }
    let measured = match &profiles.measurement {
        Some(measurement) => {
            format!("Measured on `{}`, {} packets.", measurement.capture, measurement.packets)
        }
        None => "`cargo cora measure` would count both instead.".to_owned(),
    };
    let measured = [measured, note].into_iter().filter(|text| !text.is_empty());
    let ask = target.ask(&profiles.traffic);
    let case = Case {
        graph: program.graph,
        nic: profiles.nic,
        traffic: profiles.traffic,
        measurement: profiles.measurement,
        statement,
        steering: match said.steering {
            arguments::Steering::Cores => Steering::Cores,
            arguments::Steering::Rules => Steering::Rules,
        },
        ask,
    };
    let sources = program.sources;
    Ok(Prepared { case, sources, states_target, measured: measured.collect::<Vec<_>>().join(" ") })
}

impl Prepared {
    /// Plans it.
    pub(crate) fn plan(&self) -> Result<Sealed, Failure> {
        let planned = Watched::new().plan(&self.case).map_err(|refusal| self.refused(&refusal))?;
        let placement = cora_plan::optimise::decide(&self.case.inputs(), &planned);
        let placement = placement.map_err(|errors| {
            let errors = errors.iter().map(|error| format!("{error}; {}", error.cure()));
            Failure::Failed(errors.collect::<Vec<_>>().join("\n"))
        })?;
        let hash = Plan::seal(placement, &self.case.graph, self.sources).hash;
        Ok(Sealed { planned, hash })
    }

    /// The report of a plan of this case.
    pub(crate) fn report<'a>(&'a self, sealed: &'a Sealed, baselines: bool) -> Report<'a> {
        Report {
            graph: &self.case.graph,
            nic: &self.case.nic,
            traffic: &self.case.traffic,
            statement: &self.case.statement,
            planned: &sealed.planned,
            hash: &sealed.hash,
            baselines,
            measured: &self.measured,
        }
    }

    fn refused(&self, refusal: &Refusal) -> Failure {
        Failure::Failed(format!(
            "no plan of `{}` for `{}` and traffic `{}`:\n{refusal}",
            self.case.graph.app, self.case.nic.name, self.case.traffic.name
        ))
    }
}

/// The statement as a search takes it. One that states a plan instead of a target is left aside,
/// but for a note.
fn searched(statement: Statement) -> (Statement, String) {
    if statement.target.is_some() {
        return (statement, String::new());
    }
    let note = format!(
        "The package's build states the plan `{}`; this one is searched for, as `use = \"best\"` in its cora.toml \
         would have it.",
        statement.sides
    );
    (Statement { target: Some(Target::default()), ..Statement::of(Sides::Split) }, note)
}

/// The options of the command line, over the statements.
pub(crate) fn overlay(target: &mut Target, said: &Planning) -> Result<(), Failure> {
    if let Some(nic) = &said.nic {
        target.nic = file_or_name(nic);
    }
    if let Some(traffic) = &said.traffic {
        target.traffic = file_or_name(traffic);
    }
    let ask = match (said.mpps, said.host_cores) {
        (Some(mpps), _) => Some((mpps, "--mpps", Ask::Rate(mpps))),
        (None, Some(cores)) => Some((cores, "--host-cores", Ask::HostCores(cores))),
        (None, None) => None,
    };
    if let Some((number, option, ask)) = ask {
        if !(number.is_finite() && number > 0.0) {
            return Err(Failure::Usage(format!("`{option} {number}`: write a number above 0")));
        }
        target.ask = Some(ask);
    }
    Ok(())
}

/// Files are named from here, rather than from the package: those that are there get their whole
/// path.
fn file_or_name(text: &str) -> String {
    match Path::new(text).canonicalize() {
        Ok(path) if path.is_file() => path.display().to_string(),
        _ => text.to_owned(),
    }
}

fn read_pin(pin: &str, graph: &cora_plan::Graph) -> Result<(String, Place), Failure> {
    let Some((state, place)) = pin.split_once('=') else {
        return Err(Failure::Usage(format!("`--pin {pin}`: write it as `STATE=PLACE`")));
    };
    let names: Vec<&str> = graph.states.iter().map(|state| state.name.as_str()).collect();
    if !names.contains(&state) {
        return Err(Failure::Usage(unknown("state", state, &names)));
    }
    let places = Place::ALL.map(Place::word);
    let found = Place::ALL.into_iter().find(|known| known.word() == place);
    let found = found.ok_or_else(|| Failure::Usage(unknown("place", place, &places)))?;
    Ok((state.to_owned(), found))
}

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    let listed = format!("there is no {what} `{word}`; there are: {}", known.join(", "));
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("{listed}\ndid you mean `{near}`?"),
        None => listed,
    }
}

pub(crate) fn measurement(
    file: &PathBuf,
    graph: &cora_plan::Graph,
) -> Result<Measurement, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Usage(format!("`{name}` can't be read: {error}")))?;
    Measurement::from_json(&text, graph).map_err(|why| Failure::Usage(format!("`{name}`: {why}")))
}
