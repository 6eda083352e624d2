//! Captures from the command line: `generate` from a seed, or `real` from network namespaces.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cora_traffic::{Mode, Profile, TrafficError};

const USAGE: &str = "\
usage: cora-traffic generate [--profile P] [--packets N] [--flows N] [--seed N] <out.pcap>
       cora-traffic real <out-directory>
profiles: mix (default), churn, zipf, odd, closing, flood";

enum Command {
    Generate { profile: Profile, packets: u64, flows: u64, seed: u64, out: PathBuf },
    Real { directory: PathBuf },
    Help,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = match parse(&arguments) {
        Ok(command) => command,
        Err(why) => {
            eprintln!("error: {why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), TrafficError> {
    match command {
        Command::Help => println!("{USAGE}"),
        Command::Generate { profile, packets, flows, seed, out } => {
            let file = BufWriter::new(File::create(&out)?);
            let summary = cora_traffic::generate(profile, seed, packets, flows, file)?;
            println!("{}: {summary}", out.display());
        }
        Command::Real { directory } => {
            let traffic = cora_traffic::real(&directory)?;
            if let Mode::Generated { why } = &traffic.mode {
                println!("generated, not real: {why}");
            }
            for capture in &traffic.captures {
                let summary = cora_traffic::Summary::of(File::open(capture)?)?;
                println!("{}: {summary}", capture.display());
            }
        }
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    match arguments.split_first() {
        Some((command, rest)) if command == "generate" => parse_generate(rest),
        Some((command, [directory])) if command == "real" && !directory.starts_with('-') => {
            Ok(Command::Real { directory: Path::new(directory).to_owned() })
        }
        Some((command, _)) if command == "real" => Err("`real` takes one directory".to_owned()),
        Some((help, _)) if help == "--help" || help == "-h" || help == "help" => Ok(Command::Help),
        Some((other, _)) => Err(format!("unknown command `{other}`")),
        None => Err("a command is missing".to_owned()),
    }
}

fn parse_generate(arguments: &[String]) -> Result<Command, String> {
    let (mut profile, mut packets, mut flows, mut seed) = (Profile::Mix, 10_000, 1_000, 1);
    let mut out = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value"));
        let number = |text: &String| {
            text.parse::<u64>().map_err(|_| format!("`{argument}` takes a number, not `{text}`"))
        };
        match argument.as_str() {
            "--profile" => {
                profile = value()?.parse().map_err(|error: TrafficError| error.to_string())?;
            }
            "--packets" => packets = number(value()?)?,
            "--flows" => flows = number(value()?)?,
            "--seed" => seed = number(value()?)?,
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            path if out.is_none() => out = Some(PathBuf::from(path)),
            extra => return Err(format!("one output file, not also `{extra}`")),
        }
    }
    let out = out.ok_or("the output file is missing")?;
    Ok(Command::Generate { profile, packets, flows, seed, out })
}
