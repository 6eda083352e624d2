//! The source of measurements: this machine, or an earlier run. A comparison of two models needs
//! the same measurements, because the machine changes within a minute.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use cora_plan::demand::Executed;
use serde::{Deserialize, Serialize};

use super::cases::{Case, Nf};
use super::frames::Capture;
use super::measure::{Measured, Reference, Taken, measure};
use super::popularity::Popularity;
use super::predict::count;

/// All measurements of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Packets that a pass repeats.
    draws: usize,
    /// Undisturbed passes of a case.
    passes: usize,
    /// Whether the run was quick.
    quick: bool,
    /// Per program and popularity: the counts of a packet, at the NIC's half and at the host's.
    executed: BTreeMap<String, (Executed, Executed)>,
    /// The passes per case, those of the calibration among them.
    cases: BTreeMap<String, Vec<Taken>>,
}

/// A source of measurements.
pub(crate) struct Source {
    programs: PathBuf,
    /// The plugin that counts instructions.
    counter: PathBuf,
    /// `None`: all answers come from earlier measurements.
    machine: Option<Machine>,
    kept: Kept,
}

struct Machine {
    /// The capture that every measured program reads.
    capture: PathBuf,
    reference: Reference,
}

impl Source {
    /// Makes a source that measures; `programs` also gets a file of the measurements.
    pub(crate) fn machine(
        (programs, counter): (&Path, &Path),
        capture: &Path,
        (draws, quick): (usize, bool),
        passes: usize,
        reference: Reference,
    ) -> Self {
        let machine = Machine { capture: capture.to_owned(), reference };
        Self {
            programs: programs.to_owned(),
            counter: counter.to_owned(),
            machine: Some(machine),
            kept: Kept { draws, passes, quick, ..Kept::default() },
        }
    }

    /// Reads the measurements that the last run left beside the programs.
    pub(crate) fn kept(programs: &Path, counter: &Path) -> Result<Self> {
        let path = file(programs);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let told = format!("{}: {error}; run without --again first", path.display());
            Error::new(error.kind(), told)
        })?;
        let kept = serde_json::from_str(&text)
            .map_err(|error| Error::other(format!("{}: {error}", path.display())))?;
        let (programs, counter) = (programs.to_owned(), counter.to_owned());
        Ok(Self { programs, counter, machine: None, kept })
    }

    /// Returns the packets that a pass repeats, and whether the run is quick.
    pub(crate) const fn extent(&self) -> (usize, bool) {
        (self.kept.draws, self.kept.quick)
    }

    /// Returns whether a case can be measured, or was.
    pub(crate) fn has(&self, case: &Case) -> bool {
        self.machine.is_some() || self.kept.cases.contains_key(&case.name())
    }

    /// Returns the counts of a packet, at the NIC's half and at the host's; counts them if they are
    /// unknown.
    pub(crate) fn executed(&mut self, nf: &Nf, skew: Popularity) -> Result<(Executed, Executed)> {
        let name = format!("{}/{}", nf.name, skew.name());
        if let Some(counted) = self.kept.executed.get(&name) {
            return Ok(*counted);
        }
        let counted = count(&self.programs, &self.counter, nf, skew)?;
        self.kept.executed.insert(name, counted);
        Ok(counted)
    }

    /// Measures the speed of a case on its capture, or returns the earlier measurement.
    pub(crate) fn measure(&mut self, case: &Case, capture: &Capture) -> Result<Measured> {
        if let Some(Machine { capture: fed, reference }) = &mut self.machine {
            let program = self.programs.join(case.plan.name()).join(case.nf.name);
            let taken =
                measure((&program, case.plan), fed, capture.warm, self.kept.passes, reference)?;
            self.kept.cases.insert(case.name(), taken);
            std::fs::write(file(&self.programs), serde_json::to_string_pretty(&self.kept)?)?;
        }
        let taken = self.kept.cases.get(&case.name()).ok_or_else(|| absent(&case.name()))?;
        Ok(Measured::of(taken, self.kept.passes))
    }
}

/// Returns the file of measurements beside programs.
fn file(programs: &Path) -> PathBuf {
    programs.join("measured.json")
}

fn absent(what: &str) -> Error {
    Error::other(format!("{what} was not measured the last time; run without --again"))
}

#[cfg(test)]
mod tests {
    use super::super::cases::all;
    use super::super::measure::tests::undisturbed;
    use super::*;

    #[test]
    fn what_was_kept_is_told_again_and_nothing_else() {
        let room = std::env::temp_dir().join(format!("cora-kept-{}", std::process::id()));
        std::fs::create_dir_all(&room).unwrap();
        assert!(
            Source::kept(&room, &room).is_err_and(|e| e.to_string().contains("without --again"))
        );
        let [case, other, ..] = all(false)[..] else { panic!("cases") };
        let mut kept = Kept { draws: 7, quick: true, passes: 1, ..Kept::default() };
        let name = format!("{}/{}", case.nf.name, case.skew.name());
        let executed = |instructions| Executed { instructions, mispredictions: 0.5 };
        kept.executed.insert(name, (executed(300.0), executed(310.0)));
        kept.cases.insert(case.name(), undisturbed());
        std::fs::write(file(&room), serde_json::to_string(&kept).unwrap()).unwrap();
        let mut again = Source::kept(&room, &room).unwrap();
        assert_eq!(again.extent(), (7, true));
        let nothing = Capture { warm: 0, draws: Vec::new() };
        let told = again.measure(&case, &nothing).unwrap();
        let was = Measured::of(&undisturbed(), 1);
        assert_eq!(format!("{told:?}"), format!("{was:?}"));
        let told = again.executed(case.nf, case.skew).unwrap();
        assert_eq!(told, (executed(300.0), executed(310.0)));
        assert!(again.has(&case) && !again.has(&other));
        assert!(again.measure(&other, &nothing).is_err());
        std::fs::remove_dir_all(&room).unwrap();
    }
}
