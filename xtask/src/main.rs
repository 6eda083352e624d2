//! The commands of the README: `cargo xtask demo`, `cargo xtask test`, `cargo xtask bench`; and
//! others, which `cargo xtask` names.
#![forbid(unsafe_code)]

mod adapt;
mod arrows;
mod bench;
mod chaos;
mod deb;
mod demo;
mod deny;
mod lab;
mod lexer;
mod migration;
mod model;
mod need;
mod oracle;
mod test;
mod wires;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = words.split_first().map_or(("", &[][..]), |(c, rest)| (c.as_str(), rest));
    let outcome = match command {
        "adapt" => adapt::run(rest),
        "arrows" => arrows::run(rest),
        "bench" => bench::run(rest),
        "chaos" => chaos::run(rest),
        "lab" => lab::run(rest),
        "model" => model::run(rest),
        "oracle" => oracle::run(rest),
        "migrate-bench" => migration::run(rest),
        "wires" => wires::run(rest),
        // The table says which steps failed, and ends the output.
        "test" => return test::run(rest),
        "words" => words::run(rest),
        "demo" => demo::run(rest),
        _ if !rest.is_empty() => return usage(),
        "deb" => deb::make(),
        "deny" => deny::check(),
        _ => return usage(),
    };
    outcome.map_or_else(
        |why| {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    )
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask demo [--card]");
    eprintln!("       cargo xtask deb|deny");
    eprintln!("       cargo xtask test [--all | --only STEP | --list [--json]]");
    eprintln!("       cargo xtask bench|model [--quick] [--json] [--only NAME]");
    eprintln!("       cargo xtask model --again");
    eprintln!(
        "       cargo xtask chaos [--link | --messages] [--seconds N] [--seed S] [--json] | [--link | --messages] --replay SEED"
    );
    eprintln!("       cargo xtask oracle [--full]");
    eprintln!(
        "       cargo xtask lab [--quick] [--json] [--ports tap|packet|xdp] [--seed S] [--out DIRECTORY]"
    );
    eprintln!("       cargo xtask lab --only sockets [--quick] [--json]");
    eprintln!("       cargo xtask wires [--quick] [--json] [--only NAME]");
    eprintln!("       cargo xtask migrate-bench [--quick] [--json]");
    eprintln!("       cargo xtask adapt [--quick] [--json] [--seed S]");
    eprintln!("       cargo xtask words|arrows [--json | --check | --lower]");
    ExitCode::from(2)
}

/// The root of the repository.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Names of the packages in `examples/`, in order.
fn examples() -> std::io::Result<Vec<String>> {
    let examples = root().join("examples");
    let mut names = names_in(&examples)?;
    names.retain(|name| examples.join(name).join("Cargo.toml").is_file());
    Ok(names)
}

/// Names of the files and directories in there, in order.
fn names_in(directory: &Path) -> std::io::Result<Vec<String>> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let mut names = directory.read_dir()?.map(name).collect::<std::io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Cargo's target directory, or a place of our own in there.
fn target(own: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root().join(target).join(own)
}

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

fn cargo(arguments: &[&str]) -> Command {
    command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()), arguments)
}

/// Runs it to its end; an error unless that is a good one.
fn run(command: &mut Command) -> Result<(), String> {
    eprintln!("$ {}", shown(command));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", named(command))),
        Err(error) => Err(format!("`{}` doesn't start: {error}", named(command))),
    }
}

/// The output of a command; `None` when it fails or isn't there.
fn output(mut command: Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command's first words: enough to know it in a table.
fn named(command: &Command) -> String {
    const WORDS: usize = 5;
    let shown = shown(command);
    let words: Vec<&str> = shown.split(' ').collect();
    match words.get(..WORDS) {
        Some(first) if words.len() > WORDS => format!("{} …", first.join(" ")),
        _ => shown,
    }
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let words = program.file_name().into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
