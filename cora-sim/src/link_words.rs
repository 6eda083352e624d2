//! The words of `cora-sim link` and `cora-sim replay-link`: simulations of the link.

use cora_sim::link_chaos::{self, Done, Summary, Tally};
use serde_json::{Value, json};

use crate::{Options, number, say, watched};

/// Runs simulations until one fails; whether none did.
pub(crate) fn chaos(words: &[&str]) -> Result<bool, String> {
    let Options { limits, first, as_json, .. } = Options::of(words)?;
    let (summary, seconds) = watched(|tell| {
        link_chaos::many(first, limits, |done| tell(format_args!("{done} simulations")))
    });
    if as_json {
        say(format_args!("{}", report(&summary, seconds)));
    } else {
        tell(&summary, seconds);
    }
    Ok(summary.failure.is_none())
}

fn report(summary: &Summary, seconds: f64) -> Value {
    let Summary { simulations, ends, seeds, tally, failure } = summary;
    let Tally { records, sessions, restarts, host_deaths, card_deaths, nic_ends, .. } = tally;
    let Done { frames, lost, doubled, reordered, damaged, cut } = tally.network;
    let mut report = json!({
        "schema": "cora-chaos-link/1",
        "seconds": seconds,
        "simulations": simulations,
        "ends": ends,
        "regions": simulations - ends,
        "seeds": seeds,
        "records": records,
        "frames": frames,
        "lost": lost,
        "doubled": doubled,
        "reordered": reordered,
        "damaged": damaged,
        "cut": cut,
        "stale": tally.stale,
        "sessions": sessions,
        "restarts": restarts,
        "host_deaths": host_deaths,
        "card_deaths": card_deaths,
        "nic_ends": nic_ends,
        "failures": u64::from(failure.is_some()),
    });
    if let Some(failure) = failure {
        report["failure"] = json!({
            "seed": failure.seed,
            "what": failure.what,
            "again": again(failure.seed),
        });
    }
    report
}

fn again(seed: u64) -> String {
    format!("cargo xtask chaos --link --replay {seed}")
}

fn tell(summary: &Summary, seconds: f64) {
    let Summary { simulations, ends, seeds: [first, last], tally, failure } = summary;
    let rate = f64::from(u32::try_from(*simulations).unwrap_or(u32::MAX)) / seconds;
    say(format_args!("{simulations} simulations in {seconds:.1} s ({rate:.0}/s):"));
    say(format_args!("{ends} of two ends, {} of a region", simulations - ends));
    say(format_args!("seeds {first} to {last}"));
    say(format_args!("{tally}"));
    match failure {
        None => say(format_args!("failures: 0")),
        Some(failure) => {
            say(format_args!("seed {} fails: {}", failure.seed, failure.what));
            say(format_args!("  again: {}", again(failure.seed)));
        }
    }
}

/// Runs the simulation of a seed again; whether it holds.
pub(crate) fn replay(seed: &str) -> Result<bool, String> {
    match link_chaos::one(number(Some(&seed), "replay-link")?) {
        Ok(tally) => {
            say(format_args!("seed {seed} holds"));
            say(format_args!("{tally}"));
            Ok(true)
        }
        Err(what) => {
            say(format_args!("seed {seed} fails: {what}"));
            Ok(false)
        }
    }
}
