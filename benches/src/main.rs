//! Measures Cora against handwritten code and named peers, in one run.
//!
//! ```text
//! cargo run --release --package cora-bench -- [--quick] [--json] [--only table]
//! ```
//!
//! Every figure is a ratio: Cora and its baseline take turns on the same input, and their median
//! turns are compared. Times are of the thread's CPU clock, unless two threads work together.
//!
//! | module | concept |
//! | --- | --- |
//! | `figure` | one figure, and its output |
//! | `page` | all figures, drawn |
//! | `keys` | keys, and their distribution |
//! | `turns` | contestants that take turns |
//! | `traffic` | frames in memory and as a capture |
//! | `program` | a built Cora program that takes turns |
//! | `by_hand` | loops written by hand |
//! | `nf` | the examples against those loops |
//! | `count` | instructions of a program |
//! | `handler` | cost of an empty chain of handlers |
//! | `heads` | cost of long frames that the NIC passes on, whole and as heads |
//! | `messages` | mailboxes of messages against those of actors, and what light messages wait for |
//! | `active` | items of regions that are fetched, against messages that go to them |
//! | `asked` | servers that are asked over UDP |
//! | `cache` | a cache before memcached against memcached alone |
//! | `participant` | a participant of transactions against a UDP server by hand |
//! | `replicated` | a replicated key-value store against openraft and etcd |
//! | `punt` | time of a punt's round trip |
//! | `instructions` | the examples against the loops in instructions, at both sides |
//! | `examples` | the traffic and configuration of each example |
//! | `tenants` | tenants of an agent: their shares of its time, and how long their packets wait |
//! | `shards` | several shards against one, every example |
//! | `additive` | both halves with dealt buckets against each by itself |
//! | `adaptation` | benefit of moving flows while traffic changes |
//! | `model` | the performance model against measurements |
//! | `migration` | cost of moving flows |
//! | `link` | the Ethernet link to a card against raw frames |
//! | `ring` | the ring against crates, bare lines and `memcpy` |
//! | `table` | the flow table against hashbrown |
//! | `dpdk` | table and ring against DPDK, where it is installed |
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's output")]
#![expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a few seconds")]

mod active;
mod adaptation;
mod additive;
mod asked;
mod by_hand;
mod cache;
mod count;
#[cfg(dpdk)]
mod dpdk;
#[cfg(not(dpdk))]
#[path = "no_dpdk.rs"]
mod dpdk;
mod examples;
mod figure;
mod handler;
mod heads;
mod instructions;
mod keys;
mod link;
mod messages;
mod migration;
mod model;
mod nf;
mod page;
mod participant;
mod program;
mod punt;
mod replicated;
mod ring;
mod shards;
mod table;
mod tenants;
mod traffic;
mod turns;

use std::path::{Path, PathBuf};

use clap::Parser;
use figure::Figure;
use instructions::Side;

/// Measures Cora against handwritten code and named peers.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// Fewer sizes and turns: under a minute.
    #[arg(long)]
    quick: bool,
    /// Print one JSON object per figure instead of a table.
    #[arg(long)]
    json: bool,
    /// Only figures with one of these prefixes.
    #[arg(long, value_name = "NAME,…", default_value = "")]
    only: String,
    /// The HTML file for a drawing of the figures.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// The directory of the examples' programs, built for the host alone.
    #[arg(long, value_name = "DIRECTORY")]
    programs: Option<PathBuf>,
    /// The directory of examples that are built under the plan `dealt`.
    #[arg(long, value_name = "DIRECTORY")]
    dealt: Option<PathBuf>,
    /// The directory of the example that is built under the plan `nic-only`.
    #[arg(long, value_name = "DIRECTORY")]
    nic_only: Option<PathBuf>,
    /// The directory of the static program that is attached at an agent.
    #[arg(long, value_name = "DIRECTORY")]
    confined: Option<PathBuf>,
    /// The directory of the example that is built under a plan that fetches its regions.
    #[arg(long, value_name = "DIRECTORY")]
    fetched: Option<PathBuf>,
    /// The directory of the examples that are built under the plan `split`.
    #[arg(long, value_name = "DIRECTORY")]
    split: Option<PathBuf>,
    /// Their directory, with this program, for aarch64 and under a plan with everything at the NIC.
    #[arg(long, value_name = "DIRECTORY", requires = "counter")]
    nic_programs: Option<PathBuf>,
    /// The plugin that counts under QEMU: `benches/counter`, built.
    #[arg(long, value_name = "FILE")]
    counter: Option<PathBuf>,
    /// The directory of the programs with moving flows; measure only the cost of moves.
    #[arg(long, value_name = "DIRECTORY")]
    moves: Option<PathBuf>,
    #[command(flatten)]
    model: model::Request,
    #[command(flatten)]
    adapt: adaptation::Comparison,
    /// Run the loop by hand of this example, for a count of instructions: a pass per line of
    /// standard input.
    #[arg(long, value_name = "EXAMPLE", hide = true)]
    by_hand: Option<String>,
    /// Be a participant by hand, at this address.
    #[arg(long, value_name = "ADDRESS:PORT", hide = true)]
    participant: Option<std::net::SocketAddrV4>,
    /// Be three nodes of openraft in memory: a pass per line of standard input.
    #[arg(long, hide = true)]
    replicated_openraft: bool,
    /// Be the other one of two processes that share a ring, in the file with this number.
    #[arg(long, value_name = "FILE", hide = true)]
    ring_peer: Option<i32>,
}

impl Arguments {
    fn sides(&self) -> Vec<Side> {
        let nic = self.nic_programs.as_deref().zip(self.counter.as_deref());
        let nic = nic.map(|(programs, counter)| Side::nic(programs, counter));
        self.programs.as_deref().map(Side::host).into_iter().chain(nic).collect()
    }

    /// Is what another process of this program measures, if the arguments say so.
    fn peer(&self) -> Option<std::io::Result<()>> {
        if let Some(example) = &self.by_hand {
            return Some(instructions::replay(example));
        }
        if let Some(file) = self.ring_peer {
            return Some(ring::processes::peer(file));
        }
        if let Some(address) = self.participant {
            return Some(participant::serve(address));
        }
        self.replicated_openraft.then(replicated::serve_openraft)
    }
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    if let Some(ended) = arguments.peer() {
        return ended;
    }
    if !arguments.json {
        eprintln!("{}", figure::machine());
    }
    if let Some(wanted) = arguments.model.wanted(arguments.counter.as_deref()) {
        return model::run(&wanted, arguments.quick, arguments.json, &arguments.only);
    }
    if let Some(programs) = &arguments.moves {
        if arguments.only == migration::OBJECTS {
            return migration::run_objects(programs, arguments.quick, arguments.json);
        }
        return migration::run(programs, arguments.quick, arguments.json);
    }
    if let Some(program) = &arguments.adapt.adapt {
        let page = arguments.page.as_deref();
        return adaptation::run(
            program,
            arguments.adapt.seed,
            arguments.quick,
            arguments.json,
            page,
        );
    }
    let mut figures = Vec::new();
    let mut tell = |figure: Figure| {
        println!("{}", figure.line(arguments.json));
        figures.push(figure);
    };
    let wanted = |name: &str| {
        let mut each = arguments.only.split(',');
        each.any(|only| name.starts_with(only) || only.starts_with(name))
    };
    if wanted("ring") {
        ring::run(arguments.quick, &mut tell);
    }
    if wanted("table") {
        table::run(arguments.quick, &wanted, &mut tell);
    }
    if wanted("ring") || wanted("table") {
        dpdk::run(arguments.quick, &wanted, &mut tell);
    }
    if wanted("messages") {
        messages::run(arguments.quick, &mut tell);
    }
    if wanted(active::NAME) {
        let programs = arguments.fetched.as_deref().zip(arguments.split.as_deref());
        active::run(programs, arguments.quick, &mut tell)?;
    }
    if let Some(programs) = arguments.programs.as_deref().filter(|_| wanted("nf")) {
        nf::run(programs, arguments.quick, &wanted, &mut tell)?;
    }
    if let Some(programs) = &arguments.programs {
        alone(programs, arguments.quick, &wanted, &mut tell)?;
    }
    if let Some(programs) = arguments.dealt.as_deref().filter(|_| wanted("additive")) {
        additive::run(programs, arguments.quick, &wanted, &mut tell)?;
    }
    if let Some(programs) = arguments.split.as_deref().filter(|_| wanted("link")) {
        link::run(programs, arguments.quick, &wanted, &mut tell)?;
    }
    before_servers(&arguments, &wanted, &mut tell)?;
    let both = arguments.programs.as_deref().zip(arguments.split.as_deref());
    if let Some((host_only, split)) = both.filter(|_| wanted(replicated::NAME)) {
        replicated::run(host_only, split, arguments.quick, arguments.json, &mut tell)?;
    }
    if wanted("instructions") {
        instructions::run(&arguments.sides(), &wanted, &mut tell)?;
    }
    if let Some(page) = &arguments.page {
        std::fs::write(page, page::draw(&figures))?;
        eprintln!("drawn: {}", page.display());
    }
    Ok(())
}

/// Figures of programs in the place of servers, or before them.
fn before_servers(
    arguments: &Arguments,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    if let Some(programs) = arguments.nic_only.as_deref().filter(|_| wanted(participant::NAME)) {
        participant::run(programs, arguments.quick, tell)?;
    }
    if let Some(programs) = arguments.nic_only.as_deref().filter(|_| wanted(cache::NAME)) {
        cache::run(programs, arguments.quick, tell)?;
    }
    if let Some(programs) = arguments.confined.as_deref().filter(|_| wanted(tenants::NAME)) {
        tenants::run(programs, arguments.quick, tell)?;
    }
    Ok(())
}

/// Figures of programs that are built for the host alone.
fn alone(
    programs: &Path,
    quick: bool,
    wanted: &dyn Fn(&str) -> bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    if wanted("handler") {
        handler::run(programs, quick, tell)?;
    }
    if wanted("heads") {
        heads::run(programs, quick, tell)?;
    }
    if wanted("punt") {
        punt::run(programs, quick, tell)?;
    }
    if wanted("shards") {
        shards::run(programs, quick, wanted, tell)?;
    }
    Ok(())
}
