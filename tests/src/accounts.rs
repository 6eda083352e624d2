//! Counts in the report of a run.

use serde_json::Value;

/// Returns a count of a report; zero, if it has none of that name.
pub fn count(report: &Value, what: &str) -> u64 {
    report[what].as_u64().unwrap_or(0)
}

/// Asserts that each packet that came in has an outcome.
pub fn accounts(report: &Value) {
    let outcomes = report["outcomes"].as_object().into_iter().flatten();
    let sum: u64 = outcomes.filter_map(|(_, count)| count.as_u64()).sum();
    assert_eq!(sum, count(report, "packets_in"), "{report:#}");
}
