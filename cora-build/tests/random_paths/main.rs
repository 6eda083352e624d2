//! Random handlers, read by the front end and run by an independent interpreter. The paths must
//! cover every run, and the runs must take nearly all paths.
#![cfg(feature = "script")]

mod generator;
mod interpreter;
mod program;

use std::collections::BTreeSet;

use cora_build::analyse::{self, Act, Found, Home, Path, Surroundings, Touch};
use cora_build::diag::Diagnostics;
use cora_build::item::parse_handler;
use cora_build::syntax::Reader;

use self::interpreter::{Event, Execution, execute};
use self::program::{Chance, Program};

const HANDLERS: u64 = 1_000;
/// Runs per batch, and the maximum number of batches until every path was taken.
const RUNS: usize = 250;
const TIMES: usize = 10;

/// Reads a program's text after `change`.
fn read(program: &Program, change: impl Fn(&str) -> String) -> Found {
    let (body, items) = program.written();
    let (body, items) = (change(&body), change(&items));
    let text = format!(
        "fn f(packet: &mut Packet, t: &mut Table<T>, v: &mut Table<V>, u: &mut U) -> Verdict {{ {body} }}"
    );
    let mut diagnostics = Diagnostics::new();
    let tokens = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let none = proc_macro2::TokenStream::default();
    let handler = parse_handler(none, tokens, Reader::BuildScript, &mut diagnostics);
    let handler = handler.unwrap_or_else(|| panic!("{}", diagnostics.render(&text, "text")));
    let mut around = Surroundings::default();
    for item in &syn::parse_file(&items).unwrap_or_else(|error| panic!("{error}: {items}")).items {
        around.add(item, 0, &[]);
    }
    analyse::run(&handler, Home { file: 0, module: &[] }, &around)
}

/// Whether an access of a path covers an event. An access marked as after a write may also cover
/// one that is not, if earlier accesses are uncertain.
fn is(touch: &Touch, event: &Event, certain: bool) -> bool {
    let same = touch.state == event.state
        && touch.act == Act::Access(event.does)
        && touch.key.as_deref() == event.key.as_deref();
    let after = touch.after_write == event.after_write || (touch.after_write && !certain);
    same && after
}

/// Whether a path covers a run. Adjacent accesses that happen any number of times happen in any
/// order.
fn admits(touches: &[Touch], events: &[Event], certain: bool) -> bool {
    let Some(first) = touches.first() else { return events.is_empty() };
    if !first.many {
        let here = events.first().is_some_and(|event| is(first, event, certain));
        return here && admits(&touches[1..], &events[1..], certain);
    }
    let group = touches.iter().take_while(|touch| touch.many).count();
    let (group, behind) = touches.split_at(group);
    let within = |event: &Event| group.iter().any(|touch| is(touch, event, false));
    let most = events.iter().take_while(|event| within(event)).count();
    (0..=most).any(|taken| admits(behind, &events[taken..], false))
}

/// The most specific path for a run: the one with the fewest accesses of unknown multiplicity.
fn path_of(paths: &[Path], run: &Execution) -> Option<usize> {
    let open = |at: &usize| paths[*at].touches.iter().filter(|touch| touch.many).count();
    let fits =
        |at: &usize| paths[*at].exit == run.exit && admits(&paths[*at].touches, &run.events, true);
    (0..paths.len()).filter(fits).min_by_key(open)
}

/// The results of runs of programs with text changed before reading.
#[derive(Default)]
struct Score {
    handlers: usize,
    runs: usize,
    /// Runs that no path covers, each with its program.
    outside: Vec<String>,
    paths: usize,
    taken: usize,
    merged: usize,
}

fn score(seeds: std::ops::Range<u64>, change: impl Fn(&str) -> String) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let program = generator::program(seed);
        let found = read(&program, &change);
        let mut chance = Chance::new(seed ^ 0x5eed);
        let (mut runs, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for _ in 0..TIMES {
            for run in (0..RUNS).filter_map(|_| execute(&program, &mut chance)) {
                if !runs.insert(run.clone()) {
                    continue;
                }
                if let Some(path) = path_of(&found.paths, &run) {
                    taken.insert(path);
                } else {
                    let text = format!("{seed}: {run:#?}\n{:#?}", program.written());
                    score.outside.push(text);
                }
            }
            if found.merged || taken.len() == found.paths.len() {
                break;
            }
        }
        score.handlers += 1;
        score.runs += runs.len();
        if found.merged {
            score.merged += 1;
        } else {
            score.paths += found.paths.len();
            score.taken += taken.len();
        }
    }
    score
}

#[test]
fn no_run_lies_outside_of_the_paths_and_most_paths_are_run() {
    let score = score(0..HANDLERS, str::to_owned);
    let share = score.taken * 1_000 / score.paths;
    println!(
        "{} handlers, {} distinct runs; {} paths, {} of a thousand run; {} handlers with paths taken together",
        score.handlers, score.runs, score.paths, share, score.merged
    );
    if let Some(first) = score.outside.first() {
        panic!(
            "{} runs outside of the paths that were read; the first:\n{first}",
            score.outside.len()
        );
    }
    assert!(share > 800, "{share} of a thousand paths are run");
}

#[test]
fn what_is_read_wrongly_is_found_out() {
    for (from, to) in [
        ("?;", ";"),
        (" && ", " || "),
        (") || (", ") && ("),
        ("return ", "let _ = "),
        ("break;", "continue;"),
        ("continue;", "break;"),
        (".is_err()", ".is_ok()"),
        ("list.each(|x| {", "let _ = { "),
        ("bail!(packet)", "assert!(packet)"),
        ("self.n += 1", "self.n > 1"),
    ] {
        let change = |text: &str| -> String {
            let text = text.replace(from, to);
            // A closure that became a block ends without its parenthesis.
            if from.starts_with("list") { text.replace("});", "};") } else { text }
        };
        let found_out = (0..150).any(|seed| !score(seed..seed + 1, change).outside.is_empty());
        assert!(found_out, "`{from}` read as `{to}` was not found out");
    }
}
