//! `run`: builds the package, and becomes its program.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::arguments::{Nic, Run};
use crate::failure::{Failure, Outcome};
use crate::package::{self, Package};

pub(crate) fn run(run: &Run) -> Outcome {
    let package = Package::of(&run.package)?;
    let plan = package::plan(run.plan.as_deref())?;
    // Before the build, which takes its time.
    if let Some((input, Err(error))) = run.input.as_ref().map(|input| (input, File::open(input))) {
        let input = input.display();
        return Err(Failure::Failed(format!("the capture `{input}` can't be read: {error}")));
    }
    let program = package.build(&run.profile, run.nic == Nic::Emulated, plan.as_deref())?;
    let error = command(Command::new(&program), run).exec();
    Err(Failure::Failed(format!("`{}` doesn't start: {error}", program.display())))
}

/// The program's own command line: the arguments given here, but for those of the build.
fn command(mut command: Command, run: &Run) -> Command {
    command.args(["run", "--nic", run.nic.word()]);
    if let Some(input) = &run.input {
        command.arg("--in").arg(input);
    }
    if let Some(live) = &run.live {
        command.args(["--live", live]);
    }
    if let Some(seconds) = run.seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    if let Some(pairs) = run.pairs {
        command.args(["--pairs", &pairs.to_string()]);
    }
    if let Some(output) = &run.output {
        command.arg("--out").arg(output);
    }
    if run.json {
        command.arg("--json");
    }
    if let Some(file) = &run.state_out {
        command.arg("--state-out").arg(file);
    }
    for setting in &run.config {
        command.args(["--config", setting]);
    }
    if let Some(inside) = &run.inside {
        command.args(["--inside", inside]);
    }
    if let Some(pages) = &run.pages {
        command.args(["--pages", pages.word()]);
    }
    if let Some(moves) = &run.moves {
        command.args(["--moves", moves]);
    }
    if let Some(ipfix) = &run.ipfix {
        command.args(["--ipfix", ipfix]);
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::arguments::{self, Arguments};

    #[test]
    fn passes_on_what_the_program_understands() {
        let line = "cora run nat --nic native --in a.pcap --out b.pcap --plan split --json \
                    --state-out s.json --pairs 3 --config Backends=x --config Routes=y --inside 10.0.0.0/8 --pages hugetlb --moves adapt:log --ipfix udp:h:1";
        let arguments = Arguments::try_parse_from(line.split_whitespace()).unwrap();
        let arguments::Command::Run(run) = arguments.command else { panic!("not run") };
        let passed = command(Command::new("nat"), &run);
        let passed: Vec<&str> = passed.get_args().filter_map(|word| word.to_str()).collect();
        assert_eq!(
            passed.join(" "),
            "run --nic native --in a.pcap --pairs 3 --out b.pcap --json --state-out s.json \
             --config Backends=x --config Routes=y --inside 10.0.0.0/8 --pages hugetlb --moves adapt:log \
             --ipfix udp:h:1"
        );
        assert_eq!(run.profile, "release");
    }

    #[test]
    fn a_run_is_of_a_capture_or_live() {
        let words = "cora run nat --nic native --live inside=tap:a,outside=xdp:b --seconds 5";
        let arguments = Arguments::try_parse_from(words.split(' ')).unwrap();
        let arguments::Command::Run(run) = arguments.command else { panic!("not run") };
        let passed = command(Command::new("nat"), &run);
        let passed: Vec<&str> = passed.get_args().filter_map(|word| word.to_str()).collect();
        assert_eq!(
            passed.join(" "),
            "run --nic native --live inside=tap:a,outside=xdp:b --seconds 5"
        );
        for refused in ["cora run nat --nic native", &format!("{words} --in a.pcap")] {
            assert!(Arguments::try_parse_from(refused.split(' ')).is_err(), "{refused}");
        }
    }
}
