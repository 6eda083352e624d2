//! Planning that tells how far it is: advice plans hundreds of times.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use cora_plan::model::{Allocation, Prediction};
use cora_plan::optimise::{Baseline, CurvePoint, Planned};
use cora_plan::what_if::{Case, Engine, Planner, Refusal};

use crate::progress::Progress;

/// Cora's own planning, with a line for somebody who waits longer than a second.
#[derive(Debug)]
pub(crate) struct Watched {
    progress: RefCell<Progress>,
    plans: Cell<u32>,
}

impl Watched {
    pub(crate) fn new() -> Self {
        let progress = RefCell::new(Progress::after(Duration::from_secs(1)));
        Self { progress, plans: Cell::new(0) }
    }

    /// Does a part of planning, and tells that so much is done.
    fn watch<T>(&self, work: impl FnOnce(Engine) -> T) -> T {
        let done = work(Engine);
        self.plans.set(self.plans.get() + 1);
        let mut progress = self.progress.borrow_mut();
        progress.tell(|| format!("planning: {} cases so far", self.plans.get()));
        done
    }
}

impl Planner for Watched {
    fn plan(&self, case: &Case) -> Result<Planned, Refusal> {
        self.watch(|engine| engine.plan(case))
    }

    fn probe(&self, case: &Case) -> Result<Planned, Refusal> {
        self.watch(|engine| engine.probe(case))
    }

    fn predict(&self, case: &Case, allocation: &Allocation, mpps: f64) -> Prediction {
        self.watch(|engine| engine.predict(case, allocation, mpps))
    }

    fn curve(&self, case: &Case, rates: &[f64]) -> Vec<CurvePoint> {
        // A rate at a time, so that there is something to tell.
        rates.iter().flat_map(|rate| self.watch(|engine| engine.curve(case, &[*rate]))).collect()
    }

    fn highest(&self, case: &Case, baseline: Baseline, host_cores: f64) -> f64 {
        self.watch(|engine| engine.highest(case, baseline, host_cores))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cora_build::script::reading;
    use cora_plan::Statement;
    use cora_plan::model::Steering;
    use cora_plan::nic::NicProfile;
    use cora_plan::statement::Ask;
    use cora_plan::traffic::Traffic;

    use super::*;

    #[test]
    fn watching_changes_no_answer() {
        let ledger = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/ledger");
        let program = reading::read(&ledger, None).expect("a program");
        let case = Case {
            graph: program.graph,
            nic: NicProfile::builtin("bluefield2").expect("a profile"),
            traffic: Traffic::builtin("zipf").ok().flatten().expect("a profile"),
            measurement: None,
            statement: Statement::best(),
            steering: Steering::Cores,
            ask: Ask::HostCores(1.0),
        };
        let watched = Watched::new();
        let rates = [0.5, 1.0, 2.0];
        assert_eq!(watched.curve(&case, &rates), Engine.curve(&case, &rates));
        let (watched, plain) = (watched.probe(&case), Engine.probe(&case));
        let [watched, plain] = [watched, plain].map(|planned| planned.expect("a plan").allocation);
        assert_eq!(watched, plain);
    }
}
