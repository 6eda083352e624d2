//! The time of a punted packet away from the NIC: both halves of a program on a core each, awake.
//! Beside it one record goes over the bare ring and back, with the same clock, in turns:
//! disturbances of the machine affect the slowest of either equally.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::figure::Figure;
use crate::keys::Skew;
use crate::ring::pair::each_round_trip;
use crate::traffic::Traffic;
use crate::turns::Turns;

const PROGRAM: &str = "punt-each";
/// Each flow punts once.
const FLOWS: u64 = 20_000;
/// Packets of the first flows do not count.
const WARM: u64 = 2_000;
/// Upper limit, in ns.
const P99: f64 = 2_000.0;

/// The report of the program.
#[derive(Debug, Deserialize)]
struct Ways {
    punted: Summary,
    passed_on: Summary,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Summary {
    count: u64,
    p50: f64,
    p99: f64,
}

/// Measures the round trips with the program in `programs`.
pub(crate) fn run(
    programs: &Path,
    quick: bool,
    tell: &mut dyn FnMut(Figure),
) -> std::io::Result<()> {
    let mut traffic = Traffic::from_inside(FLOWS, Skew::Uniform, 0);
    // The first packet of a flow moves it to the NIC; the second one is punted.
    traffic.bytes.extend_from_within(..);
    let capture = traffic.save(&programs.join("punts.pcap"))?;
    let (mut punted, mut passed_on, mut rings) =
        ([vec![], vec![]], [vec![], vec![]], [vec![], vec![]]);
    for _ in 0..if quick { 3 } else { 15 } {
        let ways = ways(&programs.join(PROGRAM), &capture)?;
        let ring = summary(each_round_trip(FLOWS));
        for (all, one) in
            [(&mut punted, ways.punted), (&mut passed_on, ways.passed_on), (&mut rings, ring)]
        {
            all[0].push(one.p50);
            all[1].push(one.p99);
        }
    }
    let [punted, passed_on, rings] = [punted, passed_on, rings].map(|all| all.map(Turns::new));
    let p99 = punted[1].median();
    let figure = Figure::of_limit("punt/round trip, p99".into(), p99, P99, "ns");
    tell(Figure { spread: punted[1].spread(), ..figure });
    for (at, part) in ["p50", "p99"].into_iter().enumerate() {
        for (ways, what) in [(&punted, "punt/round trip"), (&passed_on, "punt/passed on")] {
            let name = format!("{what}, {part}, bare ring");
            tell(Figure::of_times(name, &ways[at], &rings[at], "ring", 0.0));
        }
    }
    Ok(())
}

/// Runs the program once; an error unless every flow punted.
fn ways(program: &Path, capture: &Path) -> std::io::Result<Ways> {
    let told = Command::new(program)
        .args(["bench", "--half", "both", "--warm", &WARM.to_string(), "--in"])
        .arg(capture)
        .output()?;
    let wrong = || std::io::Error::other(String::from_utf8_lossy(&told.stderr).into_owned());
    let ways: Ways = serde_json::from_slice(&told.stdout).map_err(|_| wrong())?;
    let counts = (ways.punted.count, ways.passed_on.count);
    if counts == (FLOWS, FLOWS - WARM) {
        Ok(ways)
    } else {
        Err(std::io::Error::other(format!("of {FLOWS} flows, {counts:?} were punted, passed on")))
    }
}

fn summary(mut times: Vec<f64>) -> Summary {
    times.sort_by(f64::total_cmp);
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    Summary { count: times.len() as u64, p50: at(50), p99: at(99) }
}
