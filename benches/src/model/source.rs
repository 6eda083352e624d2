//! Where measurements come from: this machine, or what it told an earlier run. Two models can be compared by the same
//! measurements only, on a machine that is another one a minute later.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::cases::{Case, Nf};
use super::frames::Capture;
use super::measure::{Measured, Reference, measure};
use super::predict::count;

/// All that a run measured.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    /// Packets that a pass repeats.
    draws: usize,
    /// Whether it was in a hurry.
    quick: bool,
    /// Per program: instructions of a packet, at the NIC's half and at the host's.
    instructions: BTreeMap<String, (f64, f64)>,
    /// Per case, those of the calibration among them.
    cases: BTreeMap<String, Measured>,
}

/// Where measurements come from.
pub(crate) struct Source {
    /// None: whatever is asked was measured before.
    machine: Option<Machine>,
    kept: Kept,
}

struct Machine {
    programs: PathBuf,
    /// The capture that is fed to whatever is measured.
    capture: PathBuf,
    passes: usize,
    reference: Reference,
}

impl Source {
    /// Measures; `programs` also gets a file of what was measured.
    pub(crate) fn machine(
        programs: &Path,
        capture: &Path,
        (draws, quick): (usize, bool),
        passes: usize,
        reference: Reference,
    ) -> Self {
        let (programs, capture) = (programs.to_owned(), capture.to_owned());
        let machine = Machine { programs, capture, passes, reference };
        Self { machine: Some(machine), kept: Kept { draws, quick, ..Kept::default() } }
    }

    /// Remembers what the last run that measured left beside the programs.
    pub(crate) fn kept(programs: &Path) -> Result<Self> {
        let path = file(programs);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            let told = format!("{}: {error}; run without --again first", path.display());
            Error::new(error.kind(), told)
        })?;
        let kept = serde_json::from_str(&text)
            .map_err(|error| Error::other(format!("{}: {error}", path.display())))?;
        Ok(Self { machine: None, kept })
    }

    /// Packets that a pass repeats, and whether the run is in a hurry.
    pub(crate) const fn extent(&self) -> (usize, bool) {
        (self.kept.draws, self.kept.quick)
    }

    /// Whether a case can be measured, or was.
    pub(crate) fn has(&self, case: &Case) -> bool {
        self.machine.is_some() || self.kept.cases.contains_key(&case.name())
    }

    /// Instructions of a packet, at the NIC's half and at the host's.
    pub(crate) fn instructions(&mut self, nf: &Nf) -> Result<(f64, f64)> {
        if let Some(machine) = &self.machine {
            let counted = count(&machine.programs, nf)?;
            self.kept.instructions.insert(nf.name.to_owned(), counted);
        }
        self.kept.instructions.get(nf.name).copied().ok_or_else(|| absent(nf.name))
    }

    /// How fast a case is, which is fed with the capture that was made for it.
    pub(crate) fn measure(&mut self, case: &Case, capture: &Capture) -> Result<Measured> {
        if let Some(Machine { programs, capture: fed, passes, reference }) = &mut self.machine {
            let program = programs.join(case.plan.name()).join(case.nf.name);
            let measured = measure(&program, fed, capture.warm, *passes, reference)?;
            self.kept.cases.insert(case.name(), measured);
            std::fs::write(file(programs), serde_json::to_string_pretty(&self.kept)?)?;
        }
        self.kept.cases.get(&case.name()).cloned().ok_or_else(|| absent(&case.name()))
    }
}

/// Where measurements stand beside programs.
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
        assert!(Source::kept(&room).is_err_and(|e| e.to_string().contains("without --again")));
        let [case, other, ..] = all(false)[..] else { panic!("cases") };
        let mut kept = Kept { draws: 7, quick: true, ..Kept::default() };
        kept.cases.insert(case.name(), undisturbed());
        std::fs::write(file(&room), serde_json::to_string(&kept).unwrap()).unwrap();
        let mut again = Source::kept(&room).unwrap();
        assert_eq!(again.extent(), (7, true));
        let nothing = Capture { warm: 0, draws: Vec::new() };
        let told = again.measure(&case, &nothing).unwrap();
        assert_eq!(format!("{told:?}"), format!("{:?}", undisturbed()));
        assert!(again.has(&case) && !again.has(&other));
        assert!(again.measure(&other, &nothing).is_err() && again.instructions(other.nf).is_err());
        std::fs::remove_dir_all(&room).unwrap();
    }
}
