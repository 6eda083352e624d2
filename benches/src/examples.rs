//! The traffic of each example: the form that it handles on its main path, and its configuration.
//!
//! The bench of shards measures with these, and a test holds that each example lets most packets
//! pass.

use std::fs::File;
use std::io::{BufReader, BufWriter, Error};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cora_traffic::{Form, Ranked};
use serde_json::Value;

/// An example and its traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub(crate) name: &'static str,
    form: Form,
    /// Configurations by the state that they are for.
    files: &'static [(&'static str, Content)],
    /// The outcome of packets that go on.
    passes: &'static str,
}

/// A configuration file.
#[derive(Clone, Copy, Debug)]
enum Content {
    /// The file of this name in the example's package.
    Own(&'static str),
    Text(&'static str),
    /// The bearers of the subscribers of the traffic.
    Bearers,
}

/// A capture for an example, and what it runs with.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) capture: PathBuf,
    /// Number of packets at its beginning that open all flows.
    pub(crate) warm: usize,
    /// Words of the command line.
    pub(crate) words: Vec<String>,
}

const fn connections(name: &'static str) -> Example {
    of(name, Form::Connections, &[])
}

const fn of(name: &'static str, form: Form, files: &'static [(&'static str, Content)]) -> Example {
    Example { name, form, files, passes: "transmit" }
}

/// All examples.
pub(crate) const EXAMPLES: [Example; 20] = [
    connections("firewall"),
    connections("stateful-firewall"),
    connections("connection-limiter"),
    // More than the traffic has, so that nobody is over it.
    of(
        "policer",
        Form::Connections,
        &[("Rates", Content::Text("rate 0.0.0.0/0 1000000000 1000000000\n"))],
    ),
    connections("port-scan"),
    connections("flow-monitor"),
    connections("heavy-hitter"),
    connections("heavy-prefixes"),
    of("ids", Form::Connections, &[("Signatures", Content::Own("signatures.txt"))]),
    of("nat", Form::Outward, &[]),
    of("carrier-nat", Form::Outward, &[]),
    of("nat64", Form::Ipv6, &[]),
    of("balancer", Form::Service, &[]),
    of("chain", Form::InsideService, &[]),
    of("syn-proxy", Form::Handshakes, &[]),
    of("dns-guard", Form::Dns, &[]),
    of("bridge", Form::Stations, &[]),
    of("vxlan", Form::Tunnelled, &[]),
    of("gtp-gateway", Form::Gtp, &[("Bearer", Content::Bearers)]),
    // A router says the port itself.
    Example {
        passes: "redirect",
        ..of(
            "gateway",
            Form::Routed,
            &[
                ("Interface", Content::Own("interfaces.toml")),
                ("Route", Content::Own("routes.csv")),
            ],
        )
    },
];

impl Example {
    /// Writes a capture into `room`: each flow of `traffic` opens by `rounds` packets, and then so
    /// many packets are drawn. `program` is the example, which has to answer handshakes first, and
    /// `packages` has the examples' packages.
    ///
    /// # Errors
    /// If a file can't be written, or the program does not answer.
    pub(crate) fn save(
        &self,
        traffic: &Ranked,
        rounds: u32,
        packets: u64,
        [program, packages, room]: [&Path; 3],
    ) -> std::io::Result<Case> {
        let traffic = Ranked { form: self.form, ..*traffic };
        let words = self.words(&traffic, packages, room)?;
        let mut frames = traffic.frames(1);
        let warm = frames.open(rounds);
        let capture = room.join(format!("{}.pcap", self.name));
        let case = Case { capture, warm: warm as usize, words };
        let to = || File::create(&case.capture).map(BufWriter::new);
        if self.form == Form::Handshakes {
            let answers = room.join("answers.pcap");
            let mut asking = traffic.frames(1);
            asking.open(rounds);
            asking.write(warm + packets, to()?).map_err(Error::other)?;
            run(program, &case, &["--out", &answers.to_string_lossy()])?;
            frames.heed(BufReader::new(File::open(&answers)?)).map_err(Error::other)?;
            std::fs::remove_file(answers)?;
        }
        frames.write(warm + packets, to()?).map_err(Error::other)?;
        Ok(case)
    }

    /// Runs the example on the capture of a case, and returns the part of the packets that went on.
    ///
    /// # Errors
    /// If the program fails, or its report can't be read.
    pub(crate) fn passed(&self, program: &Path, case: &Case) -> std::io::Result<f64> {
        let report: Value = serde_json::from_slice(&run(program, case, &["--json"])?)?;
        let of = |outcomes: &Value| outcomes.get(self.passes).and_then(Value::as_f64);
        let all = report.get("packets_in").and_then(Value::as_f64);
        match (report.get("outcomes").and_then(of), all) {
            (passed, Some(all)) => Ok(passed.unwrap_or(0.0) / all),
            (_, None) => Err(Error::other(format!("{}: no packets in its report", self.name))),
        }
    }

    /// Writes its configurations into `room`, and returns the words that name them.
    fn words(
        &self,
        traffic: &Ranked,
        packages: &Path,
        room: &Path,
    ) -> std::io::Result<Vec<String>> {
        let mut words = Vec::new();
        for (state, content) in self.files {
            let own = room.join(format!("{}-{state}", self.name));
            let file = match content {
                Content::Own(name) => packages.join(self.name).join(name),
                Content::Text(text) => std::fs::write(&own, text).map(|()| own)?,
                Content::Bearers => std::fs::write(&own, traffic.bearers()).map(|()| own)?,
            };
            words.extend(["--config".to_owned(), format!("{state}={}", file.display())]);
        }
        Ok(words)
    }
}

/// Runs the program on a capture, with these words besides, and returns what it prints.
fn run(program: &Path, case: &Case, words: &[&str]) -> std::io::Result<Vec<u8>> {
    let mut run = Command::new(program);
    run.args(["run", "--nic", "off", "--in"]).arg(&case.capture).args(&case.words).args(words);
    let output = run.stderr(Stdio::inherit()).output()?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Error::other(format!("{} ended with {}", program.display(), output.status)))
    }
}
