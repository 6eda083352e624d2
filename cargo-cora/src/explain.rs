//! `explain`: a diagnostic code from the catalogue, or why something is where it is in a plan.

use std::path::Path;
use std::process::ExitCode;

use cora_build::diag::{Code, entries, lookup};
use cora_plan::report::explanation;
use cora_plan::what_if;
use cora_plan::what_if::subject::Subject;

use crate::arguments::Explain;
use crate::failure::{Failure, Outcome};
use crate::planning::prepare;
use crate::tell::{tell, tell_line};
use crate::watched::Watched;

pub(crate) fn run(explain: &Explain) -> Outcome {
    let Some(text) = &explain.what else {
        for entry in entries() {
            tell_line(format_args!("{}  {}", entry.code, entry.title))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    if let Ok(code) = text.parse::<Code>() {
        let entry = lookup(code).ok_or_else(|| {
            Failure::Usage(format!("there is no {code}; `cargo cora explain` lists all codes"))
        })?;
        tell(entry)?;
        return Ok(ExitCode::SUCCESS);
    }
    subject(text, explain)
}

/// Explains a state, a handler or a class of flows.
fn subject(name: &str, explain: &Explain) -> Outcome {
    let here = || Path::new("cora.toml").is_file().then(|| ".".to_owned());
    let Some(package) = explain.package.clone().or_else(here) else {
        return Err(Failure::Usage(format!(
            "`{name}` is not a code; codes look like {}. To explain a state, a handler or a class of flows, say of \
             which package: `--package nat`",
            Code(7)
        )));
    };
    let prepared = prepare(&package, &explain.planning)?;
    let sealed = prepared.plan()?;
    let (case, planned) = (&prepared.case, &sealed.planned);
    let group = &planned.allocation.group;
    let subject = Subject::find(name, &case.graph, &case.traffic, group).map_err(|unknown| {
        let near = unknown.near.as_ref().map(|near| format!("\ndid you mean `{near}`?"));
        Failure::Usage(format!("{unknown}{}", near.unwrap_or_default()))
    })?;
    let explanation = what_if::explain(&Watched::new(), case, planned, &subject);
    tell(explanation::write(&prepared.report(&sealed, false), &explanation))?;
    Ok(ExitCode::SUCCESS)
}
