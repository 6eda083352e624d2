//! `graph`: the graph as the build script would read it, without building anything.

use std::process::ExitCode;

use cora_build::script;
use cora_plan::picture::{dot, mermaid, svg, text};

use crate::arguments::{Format, Graph};
use crate::failure::{Failure, Outcome};
use crate::package::{self, Package};
use crate::tell::tell_line;

pub(crate) fn run(arguments: &Graph) -> Outcome {
    let directory = Package::of(&arguments.package)?.directory()?;
    let plan = package::plan(arguments.plan.as_deref())?;
    let (graph, plan) = script::graph_of(&directory, plan.as_deref()).map_err(Failure::Failed)?;
    let text = match arguments.format {
        Format::Json => graph.to_json(),
        Format::Dot => dot::draw(&graph, Some(&plan)),
        Format::Mermaid => mermaid::draw(&graph, Some(&plan)),
        Format::Text => text::draw(&graph, Some(&plan)),
        Format::Svg => svg::draw(&graph, Some(&plan)),
    };
    tell_line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}
