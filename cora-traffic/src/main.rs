//! Captures from the command line: `generate` from a seed, `real` from network namespaces, the
//! handwritten `odd` frames, or the changed frames of another capture: `mutate`.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cora_traffic::{Form, Mode, Profile, Ranked, TrafficError};

const USAGE: &str = "\
usage: cora-traffic generate [--profile P] [--packets N] [--flows N] [--seed N] <out.pcap>
       cora-traffic generate --profile R [--form F] [--packets N] [--rate PER-SECOND] [--seed N]
                             [--answers proxy.pcap] [--bearers out.csv] <out.pcap>
       cora-traffic real <out-directory>
       cora-traffic odd <out.pcap>
       cora-traffic mutate <in.pcap> <out.pcap> [--packets N] [--seed N]
profiles: mix (default), churn, zipf, odd, closing, flood
flows by a law, R: uniform:flows=N,bytes=64,churn=0, zipf:flows=N,s=0.99,bytes=64,churn=0
their packets, F: datagrams (default), connections (or --tcp), outward, service, inside-service, ipv6, dns, gtp,
  routed, tunnelled, stations, handshakes; --answers: what a SYN proxy made of handshakes, --bearers: a file for gtp";

enum Command {
    Generate { profile: Profile, packets: u64, flows: u64, seed: u64, out: PathBuf },
    Ranked(Law),
    Real { directory: PathBuf },
    Odd { out: PathBuf },
    Mutate { input: PathBuf, packets: u64, seed: u64, out: PathBuf },
    Help,
}

/// A capture of flows by a law.
struct Law {
    ranked: Ranked,
    packets: u64,
    seed: u64,
    /// A SYN proxy's output.
    answers: Option<PathBuf>,
    /// Where to write the subscribers' bearers.
    bearers: Option<PathBuf>,
    out: PathBuf,
}

impl Law {
    fn generate(&self) -> Result<(), TrafficError> {
        let mut frames = self.ranked.frames(self.seed);
        if let Some(answers) = &self.answers {
            frames.heed(BufReader::new(File::open(answers)?))?;
        }
        if let Some(bearers) = &self.bearers {
            std::fs::write(bearers, self.ranked.bearers())?;
        }
        let summary = frames.write(self.packets, BufWriter::new(File::create(&self.out)?))?;
        Ok(say(format_args!("{}: {summary}", self.out.display()))?)
    }
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
        Command::Help => say(format_args!("{USAGE}"))?,
        Command::Generate { profile, packets, flows, seed, out } => {
            let file = BufWriter::new(File::create(&out)?);
            let summary = cora_traffic::generate(profile, seed, packets, flows, file)?;
            say(format_args!("{}: {summary}", out.display()))?;
        }
        Command::Ranked(law) => law.generate()?,
        Command::Odd { out } => {
            let frames = cora_traffic::write_odd(BufWriter::new(File::create(&out)?))?;
            for (number, frame) in frames.iter().enumerate() {
                say(format_args!(
                    "{:>4}  {:>5} octets  {}",
                    number + 1,
                    frame.bytes.len(),
                    frame.name
                ))?;
            }
        }
        Command::Mutate { input, packets, seed, out } => {
            let from = BufReader::new(File::open(&input)?);
            let to = BufWriter::new(File::create(&out)?);
            let done = cora_traffic::mutate(from, packets, seed, to)?;
            say(format_args!(
                "{}: {} packets, {} of them changed",
                out.display(),
                done.packets,
                done.changed
            ))?;
        }
        Command::Real { directory } => {
            let traffic = cora_traffic::real(&directory)?;
            if let Mode::Generated { why } = &traffic.mode {
                say(format_args!("generated, not real: {why}"))?;
            }
            for capture in &traffic.captures {
                let summary = cora_traffic::Summary::of(File::open(capture)?)?;
                say(format_args!("{}: {summary}", capture.display()))?;
            }
        }
    }
    Ok(())
}

/// Prints a line to standard output. A reader that closes the pipe (`| head`) is not a failure.
fn say(line: fmt::Arguments<'_>) -> std::io::Result<()> {
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn parse(arguments: &[String]) -> Result<Command, String> {
    match arguments.split_first() {
        Some((command, rest)) if command == "generate" => parse_generate(rest),
        Some((command, rest)) if command == "mutate" => parse_mutate(rest),
        Some((command, [out])) if command == "odd" && !out.starts_with('-') => {
            Ok(Command::Odd { out: Path::new(out).to_owned() })
        }
        Some((command, _)) if command == "odd" => Err("`odd` takes one output file".to_owned()),
        Some((command, [directory])) if command == "real" && !directory.starts_with('-') => {
            Ok(Command::Real { directory: Path::new(directory).to_owned() })
        }
        Some((command, _)) if command == "real" => Err("`real` takes one directory".to_owned()),
        Some((help, _)) if help == "--help" || help == "-h" || help == "help" => Ok(Command::Help),
        Some((other, _)) => Err(format!("unknown command `{other}`")),
        None => Err("a command is missing".to_owned()),
    }
}

/// The arguments given for `generate`; missing ones are `None`.
#[derive(Default)]
struct Given {
    profile: Option<String>,
    packets: Option<u64>,
    flows: Option<u64>,
    seed: Option<u64>,
    rate: Option<u64>,
    form: Option<Form>,
    answers: Option<PathBuf>,
    bearers: Option<PathBuf>,
    out: Option<PathBuf>,
}

fn parse_generate(arguments: &[String]) -> Result<Command, String> {
    let mut given = Given::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{argument}` needs a value"));
        let number = |text: &String| {
            text.parse::<u64>().map_err(|_| format!("`{argument}` takes a number, not `{text}`"))
        };
        match argument.as_str() {
            "--profile" => given.profile = Some(value()?.clone()),
            "--packets" => given.packets = Some(number(value()?)?),
            "--flows" => given.flows = Some(number(value()?)?),
            "--seed" => given.seed = Some(number(value()?)?),
            "--rate" => given.rate = Some(number(value()?)?),
            "--tcp" => given.form = Some(Form::Connections),
            "--form" => {
                let form = value()?.parse().map_err(|error: TrafficError| error.to_string())?;
                given.form = Some(form);
            }
            "--answers" => given.answers = Some(PathBuf::from(value()?)),
            "--bearers" => given.bearers = Some(PathBuf::from(value()?)),
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            path if given.out.is_none() => given.out = Some(PathBuf::from(path)),
            extra => return Err(format!("one output file, not also `{extra}`")),
        }
    }
    given.command()
}

fn parse_mutate(arguments: &[String]) -> Result<Command, String> {
    let (mut packets, mut seed, mut files) = (10_000, 1, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let into = match argument.as_str() {
            "--packets" => &mut packets,
            "--seed" => &mut seed,
            option if option.starts_with('-') => return Err(format!("unknown option `{option}`")),
            path => {
                files.push(PathBuf::from(path));
                continue;
            }
        };
        let text = rest.next().ok_or_else(|| format!("`{argument}` needs a value"))?;
        *into = text.parse().map_err(|_| format!("`{argument}` takes a number, not `{text}`"))?;
    }
    let [input, out] = <[PathBuf; 2]>::try_from(files)
        .map_err(|_| "`mutate` takes a capture and an output file".to_owned())?;
    Ok(Command::Mutate { input, packets, seed, out })
}

impl Given {
    fn command(self) -> Result<Command, String> {
        let out = self.out.clone().ok_or("the output file is missing")?;
        let name = self.profile.as_deref().unwrap_or("mix");
        let (packets, seed) = (self.packets.unwrap_or(10_000), self.seed.unwrap_or(1));
        if !Ranked::is_meant(name) {
            if self.form.is_some() || self.rate.is_some() {
                return Err(format!(
                    "`--form`, `--tcp` and `--rate` are for flows by a law, not for `{name}`"
                ));
            }
            self.needs_form()?;
            let profile = name.parse().map_err(|error: TrafficError| error.to_string())?;
            let flows = self.flows.unwrap_or(1_000);
            return Ok(Command::Generate { profile, packets, flows, seed, out });
        }
        if self.flows.is_some() {
            return Err(format!("the number of flows stands in the profile: `{name}`"));
        }
        let mut ranked: Ranked = name.parse().map_err(|error: TrafficError| error.to_string())?;
        ranked.rate = self.rate.unwrap_or(ranked.rate).max(1);
        ranked.form = self.form.unwrap_or_default();
        self.needs_form()?;
        let Self { answers, bearers, .. } = self;
        Ok(Command::Ranked(Law { ranked, packets, seed, answers, bearers, out }))
    }

    /// Refuses files that another form of traffic than the given one has.
    fn needs_form(&self) -> Result<(), String> {
        let files = [
            ("--answers", &self.answers, Form::Handshakes),
            ("--bearers", &self.bearers, Form::Gtp),
        ];
        for (option, file, form) in files {
            if file.is_some() && self.form != Some(form) {
                return Err(format!("`{option}` is for `--form {form}`"));
            }
        }
        Ok(())
    }
}
