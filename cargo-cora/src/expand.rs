//! `expand`: the Rust that macros and build script make of a program, without building anything.

use std::process::ExitCode;

use cora_build::script::expansions;

use crate::arguments::Expand;
use crate::failure::{Failure, Outcome};
use crate::package::{self, Package};
use crate::tell::tell_line;

/// The name under which the program itself is asked for.
const PROGRAM: &str = "app";

pub(crate) fn run(arguments: &Expand) -> Outcome {
    let directory = Package::of(&arguments.package)?.directory()?;
    let plan = package::plan(arguments.plan.as_deref())?;
    let (items, app) = expansions::of(&directory, plan.as_deref()).map_err(Failure::Failed)?;
    let wanted = |name: &str| arguments.item.as_deref().is_none_or(|item| item == name);
    let mut texts: Vec<String> = items
        .iter()
        .filter(|item| wanted(&item.name))
        .map(|item| format!("// {} ({}:{})\n{}", item.name, item.file, item.line, item.text))
        .collect();
    if wanted(PROGRAM) {
        texts.push(app);
    }
    if texts.is_empty() {
        let mut names: Vec<&str> = items.iter().map(|item| &*item.name).collect();
        names.push(PROGRAM);
        let item = arguments.item.as_deref().unwrap_or_default();
        return Err(Failure::Usage(format!(
            "nothing of Cora's is named `{item}`: say one of `{}`",
            names.join("`, `")
        )));
    }
    tell_line(texts.join("\n").trim_end())?;
    Ok(ExitCode::SUCCESS)
}
