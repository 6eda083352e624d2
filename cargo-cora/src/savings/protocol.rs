//! `savings --protocol`: every rate up to the wire against strong baselines, as a table, as JSON
//! and as curves.

use std::path::Path;
use std::process::ExitCode;

use cora_plan::protocol::{self, Sheet};

use super::measured;
use crate::arguments::Savings;
use crate::failure::{Failure, Outcome};
use crate::tell::tell;

pub(super) fn run(arguments: &Savings) -> Outcome {
    let cases = measured(arguments, &protocol::TRAFFICS)?;
    let Some(nic) = cases.first().map(|prepared| prepared.case.nic.clone()) else {
        return Ok(ExitCode::SUCCESS);
    };
    let mut sheets: Vec<Sheet> = Vec::new();
    for prepared in &cases {
        let case = &prepared.case;
        eprintln!("planning {} for {}", case.graph.app, case.traffic.name);
        sheets.push(protocol::run(case).map_err(Failure::Failed)?);
    }
    if let Some(directory) = &arguments.curves {
        draw(directory, &sheets)?;
    }
    if arguments.json {
        tell(protocol::json(&nic, &sheets))?;
    } else {
        tell(format!(
            "{}\n{}\n\n{}\n{}\n\n{}\n",
            protocol::table(&sheets),
            protocol::sized(&sheets),
            protocol::ranges_table(&sheets),
            protocol::not_dealt(&sheets),
            protocol::sentence(&nic.name, &sheets)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A file of curves for each program.
fn draw(directory: &Path, sheets: &[Sheet]) -> Result<(), Failure> {
    let failed = |path: &Path, error: std::io::Error| {
        Failure::Failed(format!("`{}` can't be written: {error}", path.display()))
    };
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let mut programs: Vec<&str> = sheets.iter().map(|sheet| sheet.program.as_str()).collect();
    programs.dedup();
    for program in programs {
        let own: Vec<&Sheet> = sheets.iter().filter(|sheet| sheet.program == program).collect();
        let path = directory.join(format!("{program}.svg"));
        std::fs::write(&path, protocol::curves(&own)).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
