//! Measures Cora against hand-written code and named peers, in one run.
//!
//! ```text
//! cargo run --release --package cora-bench -- [--quick] [--json] [--only table]
//! ```
//!
//! Every figure is a ratio: Cora and its baseline take turns on the same input, and the medians of
//! their turns are compared. Times are those of the thread's CPU clock, unless two threads work
//! together.
//!
//! | module | concept |
//! | --- | --- |
//! | `figure` | one figure, and how it is printed |
//! | `keys` | keys, and how often each is asked for |
//! | `turns` | contestants that take turns |
//! | `traffic` | frames in memory and as a capture |
//! | `program` | a built Cora program that takes turns |
//! | `by_hand` | loops written by hand |
//! | `nf` | the examples against those |
//! | `table` | the flow table against hashbrown |
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's output")]
#![expect(clippy::cast_precision_loss, reason = "counts and times stay below 2^52")]

mod by_hand;
mod figure;
mod keys;
mod nf;
mod prefetch;
mod program;
mod table;
mod traffic;
mod turns;

use clap::Parser;
use figure::Figure;

/// Measures Cora against hand-written code and named peers.
#[derive(Clone, Debug, Parser)]
struct Arguments {
    /// Fewer sizes and turns: under a minute.
    #[arg(long)]
    quick: bool,
    /// Print one JSON object per figure instead of a table.
    #[arg(long)]
    json: bool,
    /// Only figures whose names begin so.
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
    /// Where the examples' programs stand, built for the host alone.
    #[arg(long, value_name = "DIRECTORY")]
    programs: Option<std::path::PathBuf>,
}

fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    if !arguments.json {
        eprintln!("{}", figure::machine());
    }
    let mut tell = |figure: Figure| println!("{}", figure.line(arguments.json));
    let wanted = |name: &str| name.starts_with(&arguments.only) || arguments.only.starts_with(name);
    if wanted("table") {
        table::run(arguments.quick, &wanted, &mut tell);
    }
    if let Some(programs) = arguments.programs.as_deref().filter(|_| wanted("nf")) {
        nf::run(programs, arguments.quick, &wanted, &mut tell)?;
    }
    Ok(())
}
