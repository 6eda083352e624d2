//! `check-plan`: predictions of a plan's model beside the counts of a run, for any program.
//!
//! The run is one on a capture, here, or a live one between two looks at its counters. Predictions
//! are of the plan as it is built, on its traffic profile and at the measured rate. On a capture
//! they are made once more with a profile that is drawn from it: where that is right, the traffic
//! profile is the cause, and where it is not, the model is.
//!
//! | module | contents |
//! | --- | --- |
//! | `subject` | the package's plan, and its predictions |
//! | `counts` | counters of a run |
//! | `capture` | a run on a capture |
//! | `live` | two looks at a live run |
//! | `rows` | a figure predicted and measured, and the verdict |
//! | `figures` | all figures that are compared |
//! | `shares` | packets of flows by rank |
//! | `cause` | why a figure is off, and the remedy |
//! | `written` | the table, and JSON |

mod capture;
mod cause;
mod counts;
mod figures;
mod live;
mod rows;
mod shares;
mod subject;
mod written;

use std::process::ExitCode;

use cora_plan::model::Expected;
use cora_plan::traffic::Traffic;

use crate::arguments::CheckPlan;
use crate::failure::{Failure, Outcome};
use crate::package::Package;
use crate::tell::{tell, tell_line};
use counts::Counts;
use rows::Row;
use subject::Subject;

/// A run that was measured.
#[derive(Debug)]
struct Run {
    source: Source,
    /// The capture or the socket.
    name: String,
    counts: Counts,
    /// Of traffic: by a capture's stamps, or by the run's clock.
    seconds: f64,
    /// Since the tables were empty.
    filling: f64,
}

/// Where the counters are from.
#[derive(Debug)]
enum Source {
    /// A run here.
    Capture {
        /// The profile of the capture.
        drawn: Box<Traffic>,
        /// Cargo's profile of the build.
        profile: String,
    },
    /// A live run.
    Live,
}

/// All that rows are made of.
#[derive(Debug)]
struct Basis<'a> {
    subject: &'a Subject,
    run: &'a Run,
    /// The package as it was named.
    package: &'a str,
    /// The rate of predictions, in million packets a second.
    mpps: f64,
    expected: Expected,
    /// By the profile of the capture.
    own: Option<Expected>,
}

impl Run {
    /// Million packets a second; `None` of a capture without times.
    #[expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]
    fn mpps(&self) -> Option<f64> {
        let mpps = self.counts.packets as f64 / self.seconds / 1e6;
        (self.seconds > 0.0 && mpps > 0.0).then_some(mpps)
    }

    /// The profile of the traffic itself.
    fn drawn(&self) -> Option<&Traffic> {
        match &self.source {
            Source::Capture { drawn, .. } => Some(drawn),
            Source::Live => None,
        }
    }
}

impl<'a> Basis<'a> {
    fn of(subject: &'a Subject, run: &'a Run, package: &'a str) -> Self {
        let traffic = &subject.profiles.traffic;
        // Without times, shares and times of packets are all there is, and few depend on the rate.
        let mpps = run.mpps().or(subject.planned_mpps()).or(traffic.mpps).unwrap_or(1.0);
        let expected = subject.expected(mpps, run.filling);
        let own = run.drawn().map(|drawn| {
            // One that shows no times has all flows of the capture: none of them is replaced.
            let filling = if drawn.mpps.is_some() { run.filling } else { 0.0 };
            subject.expected_on(drawn, mpps, filling)
        });
        Self { subject, run, package, mpps, expected, own }
    }
}

pub(crate) fn run(arguments: &CheckPlan) -> Outcome {
    if let Some(percent) = arguments.fail_above.filter(|it| !(it.is_finite() && *it >= 0.0)) {
        return Err(Failure::Usage(format!(
            "`--fail-above {percent}`: write a number from 0, in per cent"
        )));
    }
    let package = Package::of(&arguments.package)?;
    let subject = Subject::read(&package.directory()?, arguments)?;
    let run = match (&arguments.input, &arguments.control) {
        (Some(input), _) => capture::run(&package, input, &subject, arguments)?,
        (None, Some(socket)) => live::run(socket, arguments.seconds, &subject)?,
        (None, None) => {
            return Err(Failure::Usage(
                "name what to compare with: --in CAPTURE, or --control SOCKET of a live run"
                    .to_owned(),
            ));
        }
    };
    let basis = Basis::of(&subject, &run, &arguments.package);
    let mut rows = figures::rows(&basis);
    cause::explain(&basis, &mut rows);
    if arguments.json {
        tell_line(written::json(&basis, &rows))?;
    } else {
        tell(written::text(&basis, &rows))?;
    }
    Ok(status(&rows, arguments.fail_above))
}

/// Fails if a figure is off by more than so many per cent, and says which.
fn status(rows: &[Row], fail_above: Option<f64>) -> ExitCode {
    let Some(percent) = fail_above else { return ExitCode::SUCCESS };
    let off = rows.iter().filter(|row| row.deviation().is_some_and(|it| it * 100.0 > percent));
    let off: Vec<String> = off.map(Row::words).collect();
    if off.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("off by more than {percent} %: {}", off.join(", "));
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;
    use rows::What;

    #[test]
    fn the_status_is_of_figures_that_are_compared() {
        let off = Row::compared(What::Bytes, None, [Some(100.0), None], 150.0, None);
        let left = Row::left(What::HostTime, None, [Some(1.0), None], Some(9.0), None);
        let rows = [off, left];
        let is = |fail_above| format!("{:?}", status(&rows, fail_above));
        let [well, failed] = [ExitCode::SUCCESS, ExitCode::FAILURE].map(|code| format!("{code:?}"));
        assert_eq!([is(None), is(Some(51.0)), is(Some(49.0))], [well.clone(), well, failed]);
    }
}
