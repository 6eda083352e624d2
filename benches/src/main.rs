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
//! | `turns` | contestants that take turns |
//! | `ring` | the ring against crates, bare lines and `memcpy` |
//! | `table` | the flow table against hashbrown |
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command's output")]
#![expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of a few seconds")]

mod figure;
mod ring;
mod table;
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
    /// Only what begins so.
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
}

fn main() {
    let arguments = Arguments::parse();
    if !arguments.json {
        eprintln!("{}", figure::machine());
    }
    let mut tell = |figure: Figure| println!("{}", figure.line(arguments.json));
    if "ring".starts_with(&arguments.only) || arguments.only.starts_with("ring") {
        ring::run(arguments.quick, &mut tell);
    }
    if "table".starts_with(&arguments.only) || arguments.only.starts_with("table") {
        table::run(arguments.quick, &mut tell);
    }
}
