//! `cargo cora doctor`: which of Cora's requirements this machine meets, and a command for each
//! other one.
//!
//! Things are tried rather than guessed: a socket is opened, a program loaded. Nothing stays
//! behind, but what `--fetch-card` was asked for, and the archive of `--bundle`.

mod bundled;
mod card;
mod machine;
mod modules;
mod ports;

use std::fmt;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::arguments::Doctor;
use crate::failure::Outcome;
use crate::tell::tell_line;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// Its name.
    what: String,
    /// The finding.
    found: String,
    state: State,
    /// A command to type, or an advice.
    advice: Option<String>,
}

/// How it stands with a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is there.
    Fine,
    /// There is less of it than would be good.
    Few,
    /// It is not, and something can't be used without it.
    Missing,
    /// It is not, and no network function can be built without it.
    Required,
}

impl State {
    /// For people.
    const fn word(self) -> &'static str {
        match self {
            Self::Few => "few",
            _ => self.json(),
        }
    }

    /// For scripts.
    const fn json(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Few | Self::Missing => "missing",
            Self::Required => "required",
        }
    }
}

impl Finding {
    fn fine(what: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), found: found.into(), state: State::Fine, advice: None }
    }

    fn lacks(
        what: impl Into<String>,
        found: impl Into<String>,
        state: State,
        advice: impl Into<String>,
    ) -> Self {
        Self { what: what.into(), found: found.into(), state, advice: Some(advice.into()) }
    }

    fn json(&self) -> Value {
        let Self { what, found, state, advice } = self;
        json!({ "what": what, "found": found, "state": state.json(), "advice": advice })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9} {:<20} {}", self.state.word(), self.what, self.found)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "\n{:31}{advice}", ""))
    }
}

fn findings() -> Vec<Finding> {
    [machine::look(), vec![card::look()], ports::look()].concat()
}

/// The findings, for scripts.
fn report(findings: &[Finding]) -> Value {
    let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
    json!({ "schema": "cora-doctor/1", "findings": findings })
}

/// Looks, and tells. Exit code 1 when something is missing that nothing works without;
/// a bundle is written all the same, with exit code 0.
pub(crate) fn run(doctor: &Doctor) -> Outcome {
    if doctor.fetch_card {
        card::fetch()?;
    }
    let findings = findings();
    if let Some(to) = &doctor.bundle {
        return bundled::write(to, doctor, &findings);
    }
    if doctor.json {
        tell_line(format_args!("{:#}", report(&findings)))?;
    } else {
        for finding in &findings {
            tell_line(finding)?;
        }
    }
    let fails = findings.iter().any(|finding| finding.state == State::Required);
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_found_and_what_to_type() {
        let lacks = Finding::lacks("qemu-aarch64", "not in PATH", State::Missing, "apt-get …");
        let text = lacks.to_string();
        assert!(text.starts_with("missing   qemu-aarch64         not in PATH\n"), "{text}");
        assert!(text.ends_with("   apt-get …"), "{text}");
        assert_eq!(lacks.json()["state"], "missing");
        assert_eq!(Finding::fine("kernel", "6.1").json()["advice"], Value::Null);
    }

    #[test]
    fn each_thing_is_named_once_and_what_is_missing_has_advice() {
        let findings = findings();
        let mut names: Vec<&str> = findings.iter().map(|it| it.what.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        assert!(findings.iter().all(|it| it.state == State::Fine || it.advice.is_some()));
    }
}
