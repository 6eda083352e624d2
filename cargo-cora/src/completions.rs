//! `completions`: the words that a shell can complete, as a script for it.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use crate::arguments::Completions;
use crate::command_of_file;
use crate::failure::Outcome;
use crate::tell::tell;

pub(crate) fn run(completions: &Completions) -> Outcome {
    tell(script(completions.shell))?;
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> String {
    let mut command = command_of_file();
    let name = command.get_name().to_owned();
    // With a hyphen in the name, the labels of clap_complete's script for bash don't match: behind
    // a command it would complete nothing.
    let plain = name.replace('-', "_");
    let within = if shell == Shell::Bash { plain.clone() } else { name.clone() };
    let mut script = Vec::new();
    generate(shell, &mut command, within, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    // Lines that say which command is completed.
    script.replace(&format!(" {plain}\n"), &format!(" {name}\n"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for command in command_of_file().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("cargo-cora") && !script.contains("cargo cora-"), "{shell}");
        }
    }

    /// Asks bash itself what it would complete.
    #[test]
    fn bash_completes_commands_and_options() {
        let completes = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let last = words.len() - 1;
            let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
            let before = words[last.saturating_sub(1)];
            let ask = format!(
                "{}\nCOMP_WORDS=({quoted}); COMP_CWORD={last}\n_cargo_cora cargo-cora '{}' '{before}'\n\
                 printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                script(Shell::Bash),
                words[last],
            );
            let told = Command::new("bash").args(["--norc", "-c", &ask]).output();
            let told = told.expect("bash is there");
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
            String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(completes("cargo-cora stat"), ["status"]);
        assert_eq!(completes("cargo-cora tab"), ["tables"]);
        assert_eq!(completes("cargo-cora compl"), ["completions"]);
        assert_eq!(completes("cargo-cora top --ev"), ["--every"]);
        assert_eq!(completes("cargo-cora run --contr"), ["--control"]);
    }
}
