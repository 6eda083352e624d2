//! `run`: builds the package, and becomes its program. The options of a run are the program's own
//! ([`RunOptions`]): they are read here, so that what is wrong with them is said before the build,
//! and passed on as they were given.
//!
//! [`RunOptions`]: cora_host::RunOptions

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::ArgMatches;
use cora_card::emulated::Parts;

use crate::arguments::Run;
use crate::card;
use crate::failure::{Failure, Outcome};
use crate::package::{self, Package};

pub(crate) fn run(run: &Run, given: &ArgMatches) -> Outcome {
    let package = Package::of(&run.package)?;
    let plan = package::plan(run.plan.as_deref())?;
    let options = cora_host::Run::read(given).map_err(Failure::Usage)?.options;
    // Before the build, which takes its time.
    if let Some((input, Err(error))) = options.capture().map(|input| (input, File::open(input))) {
        let input = input.display();
        return Err(Failure::Failed(format!("the capture `{input}` can't be read: {error}")));
    }
    let on_card = if options.needs_card_program() {
        // Before the build, which takes its time.
        Parts::find().map_err(|error| Failure::Failed(format!("--nic card: {error}")))?;
        Some(card::program(&package, &run.profile, plan.as_deref())?)
    } else {
        None
    };
    let program = package.build(&run.profile, options.needs_nic_image(), plan.as_deref())?;
    let on_card = on_card.into_iter().flat_map(|path| ["--card-program".into(), path.into()]);
    let on_card = on_card.collect::<Vec<OsString>>();
    let error = Command::new(&program).args(words(given)).args(on_card).exec();
    Err(Failure::Failed(format!("`{}` doesn't start: {error}", program.display())))
}

/// The program's own command line: the arguments given here, but for those of the build.
fn words(given: &ArgMatches) -> Vec<OsString> {
    std::iter::once("run".into()).chain(cora_host::words(given)).collect()
}

#[cfg(test)]
mod tests {
    use crate::command_line;

    use super::*;

    fn passed_on(line: &str) -> String {
        let matches = command_line().try_get_matches_from(line.split_whitespace()).unwrap();
        let words = words(matches.subcommand_matches("run").unwrap());
        words.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn passes_on_what_the_program_understands() {
        let line = "cora run nat --nic native --in a.pcap --out b.pcap --plan split --json --config Backends=x \
                    --config Routes=y --change 7:Routes=z --restarts 2 --profile dev --file run.toml";
        assert_eq!(
            passed_on(line),
            "run --nic native --in a.pcap --out b.pcap --json --config Backends=x --config Routes=y \
             --change 7:Routes=z --restarts 2 --file run.toml"
        );
        let live = "--live inside=tap:a,outside=xdp:b --seconds 5 --control c.sock";
        assert_eq!(passed_on(&format!("cora run nat {live}")), format!("run {live}"));
    }
}
