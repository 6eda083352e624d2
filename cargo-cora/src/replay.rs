//! `replay`: the decisions of a controller in a run, from its log: made anew, with their reasons in
//! plain words.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;

use cora_control::adaptive::{Action, Decision, Settings};
use cora_control::{Decided, Drift, Replayed, replay};

use crate::arguments::Replay;
use crate::failure::{Failure, Outcome};
use crate::tell::tell;

/// Flows of one decision that are named.
const NAMED: usize = 3;

pub(crate) fn run(arguments: &Replay) -> Outcome {
    let failed =
        |what: String| Failure::Failed(format!("the log `{}`: {what}", arguments.log.display()));
    let file = File::open(&arguments.log).map_err(|error| failed(error.to_string()))?;
    let replayed = replay(BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    if !arguments.brief {
        for decided in &replayed.decided {
            tell(Told { decided, replayed: &replayed })?;
        }
    }
    tell(Summary(&replayed))?;
    Ok(match replayed.differs {
        None => ExitCode::SUCCESS,
        Some(time) => {
            eprintln!(
                "error: at {:.3} s another decision comes out than the one that was made; the log is of \
                 another version of Cora, or was changed",
                seconds(time)
            );
            ExitCode::FAILURE
        }
    })
}

/// Nanoseconds as seconds.
fn seconds(time: u64) -> f64 {
    std::time::Duration::from_nanos(time).as_secs_f64()
}

/// A decision in plain words.
struct Told<'a> {
    decided: &'a Decided,
    replayed: &'a Replayed,
}

impl Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decided { time, decision, utilisation } = self.decided;
        writeln!(f, "{:>9.3} s  {utilisation}", seconds(*time))?;
        for why in &decision.why {
            writeln!(f, "             {why}")?;
        }
        self.flows(f, "to the NIC", decision, |action| match action {
            Action::Offer(flow) => Some(flow),
            _ => None,
        })?;
        self.flows(f, "to the host", decision, |action| match action {
            Action::Recall(flow) => Some(flow),
            _ => None,
        })
    }
}

impl Told<'_> {
    fn flows(
        &self,
        f: &mut fmt::Formatter<'_>,
        where_to: &str,
        decision: &Decision,
        of: fn(Action) -> Option<u64>,
    ) -> fmt::Result {
        let flows: Vec<u64> = decision.actions.iter().filter_map(|action| of(*action)).collect();
        if flows.is_empty() {
            return Ok(());
        }
        let name = |flow: &u64| {
            let name = self.replayed.names.get(flow);
            name.cloned().unwrap_or_else(|| format!("flow {flow:016x}"))
        };
        let names: Vec<String> = flows.iter().take(NAMED).map(name).collect();
        write!(f, "             {where_to}: {}", names.join(", "))?;
        if flows.len() > NAMED {
            write!(f, " and {} more", flows.len() - NAMED)?;
        }
        writeln!(f)
    }
}

/// The sum of all decisions.
struct Summary<'a>(&'a Replayed);

impl Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replayed { settings, periods, end, costs, differs, .. } = self.0;
        let [offers, recalls, admissions] = self.0.counts();
        writeln!(
            f,
            "{periods} periods in {:.1} s: {offers} offers, {recalls} recalls, {admissions} changes of admission; {}",
            seconds(*end),
            if differs.is_none() {
                "decided anew, all are the same"
            } else {
                "decided anew, they differ"
            }
        )?;
        let Settings { expected, predicted, .. } = *settings;
        write!(f, "{}", Drift { learned: *costs, expected, predicted })
    }
}
