//! `attach`: builds the program, static, and becomes it, attached at an agent.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ArgMatches;

use crate::arguments::Attach;
use crate::failure::{Failure, Outcome};
use crate::package::{self, Build, Package};
use crate::static_linux::OWN;

pub(crate) fn run(attach: &Attach, given: &ArgMatches) -> Outcome {
    let words = words(attach, given);
    // What is wrong with them is said before the build.
    cora_host::Run::of_words(&words).map_err(Failure::Usage)?;
    let program = program(attach)?;
    let error = Command::new(&program).arg("run").args(words).exec();
    Err(Failure::Failed(format!("`{}` doesn't start: {error}", program.display())))
}

/// The file of the program. An agent runs it where it can't open files, so it is static.
fn program(attach: &Attach) -> Result<PathBuf, Failure> {
    let file = Path::new(&attach.program);
    if file.is_file() && !file.ends_with("Cargo.toml") {
        return Ok(file.to_owned());
    }
    let package = Package::of(&attach.program)?;
    let plan = package::plan(attach.plan.as_deref())?;
    OWN.check().map_err(Failure::Failed)?;
    package.build_as(&Build {
        profile: &attach.profile,
        features: &[],
        plan: plan.as_deref(),
        target: Some(OWN.name),
        room: None,
        variables: &[OWN.linker],
    })
}

/// The options of the run.
fn words(attach: &Attach, given: &ArgMatches) -> Vec<OsString> {
    let mut words = vec!["--agent".into(), attach.socket.clone().into()];
    for at in &attach.at {
        words.extend(["--serves".into(), at.into()]);
    }
    words.extend(cora_host::words(given));
    words
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;
    use crate::command_line;

    #[test]
    fn the_run_is_at_the_agent() {
        let line = "cora attach a.sock udp:192.0.2.7:11211 tcp:192.0.2.7:11211 --program cache --weight 3 \
                    --config Server=s.toml --control c.sock";
        let matches = command_line().try_get_matches_from(line.split_whitespace()).unwrap();
        let given = matches.subcommand_matches("attach").unwrap();
        let words = words(&Attach::from_arg_matches(given).unwrap(), given);
        let line = words.join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        assert_eq!(
            line,
            "--agent a.sock --serves udp:192.0.2.7:11211 --serves tcp:192.0.2.7:11211 \
             --control c.sock --config Server=s.toml --weight 3"
        );
        assert!(cora_host::Run::of_words(&words).is_ok());
    }
}
