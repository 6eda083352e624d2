//! `explain`: the catalogue of diagnostic codes.

use std::process::ExitCode;

use cora_build::diag::{Code, entries, lookup};

use crate::arguments::Explain;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(explain: &Explain) -> Outcome {
    let Some(text) = &explain.code else {
        for entry in entries() {
            println!("{}  {}", entry.code, entry.title);
        }
        return Ok(ExitCode::SUCCESS);
    };
    let code: Code = text
        .parse()
        .map_err(|_| Failure::Usage(format!("`{text}` is no code; codes look like {}", Code(7))))?;
    let entry = lookup(code).ok_or_else(|| {
        Failure::Usage(format!("there is no {code}; `cargo cora explain` lists all codes"))
    })?;
    print!("{entry}");
    Ok(ExitCode::SUCCESS)
}
