//! `doctor --bundle`: the report and the versions, with the files that the command line names.

use std::path::Path;
use std::process::ExitCode;

use super::{Finding, machine, report};
use crate::arguments::Doctor;
use crate::bundle::{self, Part};
use crate::failure::Outcome;
use crate::tell::tell;

/// Writes the bundle to this file. The exit code is 0, whatever is missing.
pub(super) fn write(to: &Path, of: &Doctor, findings: &[Finding]) -> Outcome {
    let manifest = bundle::write(to, of, parts(findings))?;
    tell(format_args!("{manifest}written to {}\n", to.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn parts(findings: &[Finding]) -> Vec<Part> {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    vec![
        Part::had("versions.txt", "the command, the compiler, the system", versions()),
        Part::had("doctor.txt", "what `cargo cora doctor` found", lines.join("\n") + "\n"),
        Part::had("doctor.json", "the same for scripts", format!("{:#}\n", report(findings))),
    ]
}

fn versions() -> String {
    let compiler = machine::rustc(&["--version", "--verbose"]);
    let system = |name: &str| {
        let read = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        read.map_or_else(|error| error.to_string(), |text| text.trim().to_owned())
    };
    format!(
        "cargo-cora {} for {}\n\n{}\n\n{} {} {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        compiler.unwrap_or_else(|| "rustc does not start".to_owned()),
        system("ostype"),
        system("osrelease"),
        system("version"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_name_the_command_the_compiler_and_the_system() {
        let versions = versions();
        assert!(versions.starts_with("cargo-cora "), "{versions}");
        assert!(versions.contains("rustc") && versions.contains("\nLinux "), "{versions}");
    }
}
