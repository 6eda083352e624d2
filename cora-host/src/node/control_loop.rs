//! The controller of a run: selects it, calls it periodically, and executes its decisions.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cora_control::adaptive::{Settings, Utilisation};
use cora_control::{Adaptive, Controller, Drift};
use cora_core::app::{App, Sides};
use cora_core::key::Key;

use crate::node::worker::Worker;
use crate::options::Moves;
use crate::process::log::{self, Part};
use crate::{Program, RunError};

/// A controller of any type.
pub type AnyController<K> = Box<dyn Controller<K> + Send>;

/// A controller that a program knows by name, in addition to the built-in ones:
/// `--moves NAME:ARGUMENT`.
#[derive(Clone, Copy, Debug)]
pub struct NamedController<K> {
    /// Its name.
    pub name: &'static str,
    /// The placeholder of its argument in help texts.
    pub argument: &'static str,
    /// Makes one from its argument; the error gives the expected form.
    pub make: fn(&str) -> Result<AnyController<K>, String>,
}

/// Makes the controllers of a run.
#[derive(Clone, Debug)]
pub struct Controllers<K> {
    moves: Moves,
    named: Option<NamedController<K>>,
}

impl<K> Controllers<K> {
    /// The requested controllers; `known` are available in addition to the built-in ones.
    ///
    /// # Errors
    /// If there is none with that name, or its argument is wrong.
    pub fn new(moves: &Moves, known: &[NamedController<K>]) -> Result<Self, String>
    where
        K: Copy,
    {
        let moves = moves.clone();
        let Moves::Named(name, argument) = &moves else { return Ok(Self { moves, named: None }) };
        let Some(named) = known.iter().find(|named| named.name == name).copied() else {
            let more = known.iter().map(|known| format!(", {}:{}", known.name, known.argument));
            let more: String = more.collect();
            return Err(format!(
                "--moves {moves}: there is no controller `{name}`; say plan, adapt, or adapt:FILE for a log of its \
                 decisions{more}"
            ));
        };
        (named.make)(argument).map_err(|why| format!("--moves {moves}: {why}"))?;
        Ok(Self { moves, named: Some(named) })
    }

    /// The controller of a shard; `plan` is the plan's JSON. A plan without migration needs none:
    /// where each side receives its own buckets, the supervisor moves them.
    ///
    /// # Errors
    /// If the log can't be written.
    pub fn make<A: App<Group = K>>(
        &self,
        plan: &str,
        shard: usize,
    ) -> Result<Option<AnyController<K>>, RunError>
    where
        K: Key + Send + 'static,
    {
        Ok(match &self.moves {
            Moves::Plan => None,
            // The argument was checked in `new`.
            Moves::Named(_, argument) => {
                self.named.as_ref().and_then(|named| (named.make)(argument).ok())
            }
            Moves::Adapt(_) if A::PLAN.sides != Sides::Split => None,
            Moves::Adapt(log) => {
                let controller = Adaptive::new(Settings::of_plan(&A::PLAN).predicted_by(plan));
                Some(Box::new(match log {
                    None => controller,
                    Some(path) => controller.with_log(create(&log_of(path, shard))?),
                }))
            }
        })
    }

    /// The path of a shard's log, if there is one.
    fn log(&self, shard: usize) -> Option<PathBuf> {
        match &self.moves {
            Moves::Adapt(Some(path)) => Some(log_of(path, shard)),
            _ => None,
        }
    }
}

/// The first shard's log has the given name; the others append their numbers.
fn log_of(path: &Path, shard: usize) -> PathBuf {
    if shard == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{shard}"));
    name.into()
}

fn create(path: &Path) -> Result<File, RunError> {
    File::create(path).map_err(|cause| RunError::File { path: path.to_owned(), cause })
}

/// In the form of the command line.
/// The running controller of a shard.
pub(crate) struct ControlLoop<K> {
    by: AnyController<K>,
    start: Instant,
    next: Duration,
    /// The period of the NIC's load reports.
    reported_every: Duration,
    log: Option<PathBuf>,
}

impl<K: Key + Send + 'static> ControlLoop<K> {
    /// The control loop of the shard with this number, if it has a controller.
    pub(crate) fn begin<A: App<Group = K>>(
        controllers: &Controllers<K>,
        program: &Program,
        shard: usize,
    ) -> Result<Option<Self>, RunError> {
        let (start, next, log) = (Instant::now(), Duration::ZERO, controllers.log(shard));
        let reported_every = Duration::ZERO;
        let by = controllers.make::<A>(program.plan_json, shard)?;
        Ok(by.map(|by| Self { by, start, next, reported_every, log }))
    }

    /// A NIC starts: requests load reports with the controller's period.
    pub(crate) fn watch<A: App<Group = K>>(&self, worker: &mut Worker<A>) {
        worker.watch(self.by.period());
    }

    /// Runs the controller and moves flows, if its period is over.
    pub(crate) fn step<A: App<Group = K>>(&mut self, worker: &mut Worker<A>) {
        let elapsed = self.start.elapsed();
        if elapsed < self.next {
            return;
        }
        let seen = worker.observe(elapsed.as_nanos() as u64);
        worker.follow(&self.by.decide(&seen));
        let period = self.by.period();
        self.next = elapsed + period;
        if period != self.reported_every {
            self.reported_every = period;
            log::debug(Part::Moves, format_args!("the controller decides every {period:?}"));
            worker.tell_every(period);
        }
    }

    /// The time until its next period.
    pub(crate) fn due_in(&self) -> Duration {
        self.next.saturating_sub(self.start.elapsed())
    }

    /// Utilisation of both sides, if the controller measures it.
    pub(crate) fn utilisation(&self) -> Option<Utilisation> {
        self.by.utilisation()
    }

    /// Measured costs against predicted ones, if the controller measures them.
    pub(crate) fn drift(&self) -> Option<Drift> {
        self.by.drift()
    }

    /// Ends the controller. An error if a log could not be written.
    pub(crate) fn finish(&mut self) -> Result<(), RunError> {
        let path = self.log.take().unwrap_or_default();
        self.by.finish().map_err(|cause| RunError::File { path, cause })
    }
}

#[cfg(test)]
mod tests {
    use crate::node::control_loop::{Controllers, NamedController};
    use crate::options::Moves;

    #[test]
    fn another_process_reads_what_this_one_says() {
        for said in ["plan", "adapt", "adapt:a log", "random:7"] {
            let moves: Moves = said.parse().unwrap();
            assert_eq!(moves.to_string(), said);
        }
        for wrong in ["", "adapt:", ":7", "sideways"] {
            let refused = wrong.parse::<Moves>().unwrap_err();
            assert!(refused.contains("say plan, adapt, or adapt:FILE"), "{refused}");
        }
    }

    #[test]
    fn a_controller_has_to_be_known() {
        let moves = "chance:x".parse().unwrap();
        let refused = Controllers::<u32>::new(&moves, &[]).unwrap_err();
        assert!(refused.contains("no controller `chance`; say plan, adapt"), "{refused}");
        let make = |argument: &str| Err(format!("`{argument}` is not a number"));
        let known = [NamedController::<u32> { name: "chance", argument: "SEED", make }];
        let refused = Controllers::new(&moves, &known).unwrap_err();
        assert_eq!(refused, "--moves chance:x: `x` is not a number");
        let refused = Controllers::new(&"other:x".parse().unwrap(), &known).unwrap_err();
        assert!(refused.ends_with("for a log of its decisions, chance:SEED"), "{refused}");
        assert!(Controllers::new(&Moves::Adapt(None), &known).is_ok());
    }
}
