//! Cora's own planning as a [`Planner`] for advice.

use super::{Case, Planner, Refusal, RefusedFor};
use crate::json::rounded;
use crate::model::{Allocation, Prediction};
use crate::optimise::{self, Baseline, CurvePoint, Inputs, Planned, PlanningError};

/// Cora's own planning: [`optimise::run`] and its siblings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine;

impl Case {
    /// The inputs of planning.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs {
            graph: &self.graph,
            nic: &self.nic,
            traffic: &self.traffic,
            measurement: self.measurement.as_ref(),
            statement: &self.statement,
            steering: self.steering,
        }
    }
}

impl From<Vec<PlanningError>> for Refusal {
    fn from(errors: Vec<PlanningError>) -> Self {
        let errors = errors.into_iter().map(readable);
        let faults = errors.map(|error| RefusedFor { what: error.to_string(), cure: error.cure() });
        Self { faults: faults.collect() }
    }
}

/// Bisection yields rates with too many digits for a message.
fn readable(error: PlanningError) -> PlanningError {
    match error {
        PlanningError::OutOfReach { mpps, resource, cause, nearest_mpps } => {
            PlanningError::OutOfReach { mpps: rounded(mpps), resource, cause, nearest_mpps }
        }
        other => other,
    }
}

impl Planner for Engine {
    fn plan(&self, case: &Case) -> Result<Planned, Refusal> {
        optimise::run(&case.inputs(), &case.ask).map_err(Refusal::from)
    }

    fn probe(&self, case: &Case) -> Result<Planned, Refusal> {
        optimise::alone(&case.inputs(), &case.ask).map_err(Refusal::from)
    }

    fn predict(&self, case: &Case, allocation: &Allocation, mpps: f64) -> Prediction {
        optimise::predict(&case.inputs(), allocation, mpps)
    }

    fn curve(&self, case: &Case, rates: &[f64]) -> Vec<CurvePoint> {
        optimise::curve(&case.inputs(), rates)
    }

    fn highest(&self, case: &Case, baseline: Baseline, host_cores: f64) -> f64 {
        optimise::highest(&case.inputs(), baseline, host_cores)
    }
}
