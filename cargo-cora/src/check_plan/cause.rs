//! The probable cause of each figure that is off, and the change that would mend it.
#![expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]

use cora_plan::traffic::Traffic;
use cora_plan::vocabulary::{BUCKETS, Sides};

use super::figures::{flows, opens};
use super::rows::{OF_COUNTS, Row, Verdict, What, digits, whole};
use super::{Basis, Source};

/// Gives each row that is off its cause, and a remedy.
pub(super) fn explain(basis: &Basis<'_>, rows: &mut [Row]) {
    let opens_more = moved_more(rows);
    for row in rows {
        if row.verdict == Verdict::NotCompared {
            row.remedy = other_machine(basis, row);
        } else if matches!(row.verdict, Verdict::OffBy(_)) {
            let (cause, remedy) = of(basis, row, opens_more.as_deref());
            row.cause = Some(cause);
            row.remedy = remedy;
        }
    }
}

/// Cause and remedy of a row that is off.
fn of(basis: &Basis<'_>, row: &Row, opens_more: Option<&str>) -> (String, Option<String>) {
    match row.what {
        What::Rate => rate(row),
        What::Flows | What::Opens | What::Bytes | What::Class => {
            (input(basis, row), Some(other_traffic(basis)))
        }
        _ if row.is_of_traffic() => (by_traffic(basis), Some(other_traffic(basis))),
        What::Entries => table(basis, row),
        What::HostTime | What::HostCores | What::NicTime => time(basis),
        _ => way(basis, row, opens_more),
    }
}

fn rate(row: &Row) -> (String, Option<String>) {
    let measured = row.measured.unwrap_or_default();
    let cause =
        "more packets come than the plan was searched for, beyond the 5 % that it leaves free"
            .to_owned();
    let remedy = format!(
        "search for this rate: `mpps = {}` in cora.toml, and build again",
        digits(measured)
    );
    (cause, Some(remedy))
}

/// A figure of the traffic profile itself.
fn input(basis: &Basis<'_>, row: &Row) -> String {
    let name = &basis.subject.profiles.traffic.name;
    let [said, is] = [row.predicted, row.measured].map(Option::unwrap_or_default);
    match row.what {
        What::Opens => {
            format!("by `{name}` {} opens a flow, and in the capture {}", one_in(said), one_in(is))
        }
        What::Flows => {
            format!("`{name}` has {} flows at a time, and the capture {}", whole(said), whole(is))
        }
        What::Bytes => format!(
            "frames of `{name}` have {said:.1} bytes in the mean, and those of the capture {is:.1}"
        ),
        _ => format!("heavy and light flows share the packets otherwise than by `{name}`"),
    }
}

/// The model is right about the traffic that came: so the profile is not.
fn by_traffic(basis: &Basis<'_>) -> String {
    let traffic = &basis.subject.profiles.traffic;
    let said = if basis.subject.names_traffic {
        format!("the traffic is not that of `{}`", traffic.name)
    } else {
        format!("the package names no traffic, and this is not that of `{}`", traffic.name)
    };
    let differences = basis.run.drawn().map(|drawn| differences(basis, drawn)).unwrap_or_default();
    format!("{said}{differences}; with a profile of the capture the model is right")
}

/// How the capture differs from the profile in those numbers that most figures depend on.
fn differences(basis: &Basis<'_>, drawn: &Traffic) -> String {
    let profile = &basis.subject.profiles.traffic;
    let [said, is] = [profile, drawn].map(opens);
    let [many, few] = [profile, drawn].map(|traffic| flows(traffic, basis.mpps));
    let differ = |a: f64, b: f64| a.max(b) > a.min(b) * (1.0 + OF_COUNTS);
    let opens = differ(said, is)
        .then(|| format!("by it {} opens a flow, here {}", one_in(said), one_in(is)));
    let flows = differ(many, few)
        .then(|| format!("by it there are {} flows at a time, here {}", whole(many), whole(few)));
    let differences: Vec<String> = opens.into_iter().chain(flows).collect();
    if differences.is_empty() { String::new() } else { format!(" ({})", differences.join("; ")) }
}

/// Entries, of traffic that is as the model takes it or unknown.
fn table(basis: &Basis<'_>, row: &Row) -> (String, Option<String>) {
    let counts = &basis.run.counts;
    let name = row.of.as_deref().unwrap_or_default();
    let keyed = basis.subject.graph.state(name).and_then(|state| state.keyed.as_ref());
    let capacity = keyed.map_or(0, |keyed| keyed.capacity) as f64;
    if counts.table_full > 0 || counts.evicted > 0 {
        let cause = format!(
            "tables were full: {} entries made room for others, and {} packets found none; `{name}` has room for {} at \
             each side",
            whole(counts.evicted as f64),
            whole(counts.table_full as f64),
            whole(capacity)
        );
        return (cause, Some(format!("raise `capacity` of `{name}`, or shorten its `idle`")));
    }
    let (measured, predicted) = (row.measured.unwrap_or_default(), row.own.or(row.predicted));
    if predicted.is_some_and(|predicted| measured > predicted) {
        let cause =
            "more flows are there than the traffic profile says, or each has several entries"
                .to_owned();
        return (cause, Some(other_traffic(basis)));
    }
    if basis.run.drawn().is_some() {
        let cause = "handlers make no entry for some flows, or remove entries before they are idle: the model takes an \
                     entry for each flow"
            .to_owned();
        return (cause, None);
    }
    let cause = "fewer flows are there than the traffic profile says, or handlers remove entries before they are idle"
        .to_owned();
    (cause, Some(other_traffic(basis)))
}

fn time(basis: &Basis<'_>) -> (String, Option<String>) {
    let name = &basis.subject.profiles.nic.name;
    let cause = format!(
        "the traffic does not explain it: the cost of an instruction differs by program, other processes may have had \
         the cores, or `{name}` was made at another time"
    );
    let remedy = "repeat it with nothing else running; then `cargo cora calibrate --out this.toml`, and `--nic this.toml`";
    (cause, Some(remedy.to_owned()))
}

/// Where packets ran and flows moved, of traffic that is as the model takes it or unknown.
fn way(basis: &Basis<'_>, row: &Row, opens_more: Option<&str>) -> (String, Option<String>) {
    let counts = &basis.run.counts;
    let moved = counts.host.offloads;
    let declined = counts.host.declined + counts.nic.declined;
    if basis.subject.placement.sides == Sides::Dealt {
        return buckets(basis);
    }
    if row.what == What::Punts {
        return paths(basis);
    }
    if moved > 0 && declined * 10 > moved {
        let cause = format!(
            "{} offers of flows came to nothing, and {} flows moved: the NIC had no room, or the flows changed meanwhile",
            whole(declined as f64),
            whole(moved as f64)
        );
        return (
            cause,
            Some(
                "see which table is full: `cargo cora tables`, and raise its `capacity`".to_owned(),
            ),
        );
    }
    if let (Source::Live, Some(cause)) = (&basis.run.source, opens_more) {
        return (cause.to_owned(), Some(other_traffic(basis)));
    }
    let each = counts.nic.passed_on as f64 / moved.max(1) as f64;
    let wanted = f64::from(basis.subject.placement.offer_after);
    if row.what != What::Moves && moved > 0 && each > wanted * (1.0 + row.tolerance) {
        return handover(basis, each, wanted);
    }
    if row.what == What::Moves {
        let cause = "flows are handed over more or less often than they open and punt: some end before, or never make \
                     an entry, or come back"
            .to_owned();
        return (cause, None);
    }
    paths(basis)
}

/// Under `dealt`, packets of the buckets of either side.
fn buckets(basis: &Basis<'_>) -> (String, Option<String>) {
    let cause = format!(
        "the NIC has {} of {BUCKETS} buckets, and the model takes all to have equally many packets: few flows, or few \
         different ports, share them unevenly",
        basis.subject.placement.nic_buckets
    );
    let remedy = "set `nic-buckets` in cora.toml, or have buckets follow the load: `--moves adapt`";
    (cause, Some(remedy.to_owned()))
}

/// Flows reach the NIC later than the model says.
fn handover(basis: &Basis<'_>, each: f64, wanted: f64) -> (String, Option<String>) {
    let cause = format!(
        "{} packets went to the host for each flow that was handed over, and the model has {wanted}: packets cross while \
         their flow is on its way, and those of flows that make no entry always do",
        digits(each)
    );
    match basis.run.source {
        Source::Capture { .. } => (
            format!("{cause}. A capture is fed as fast as both halves run, so more of them come while a flow is on its way"),
            Some(
                "look at a live run at its own rate: `--control SOCKET`; short flows may better stay at the host \
                 (`cargo cora plan` with a profile of this traffic)"
                    .to_owned(),
            ),
        ),
        Source::Live => (cause, Some(other_traffic(basis))),
    }
}

/// The paths of packets are others than the model takes.
fn paths(basis: &Basis<'_>) -> (String, Option<String>) {
    let cause = match basis.subject.measured() {
        Some(measured) => format!(
            "packets take other paths than on `{}`, which the package was measured on",
            measured.capture
        ),
        None => "the paths of packets are estimated from the source".to_owned(),
    };
    let capture = match basis.run.source {
        Source::Capture { .. } => basis.run.name.as_str(),
        Source::Live => "CAPTURE",
    };
    let remedy = format!(
        "count them: `cargo cora measure {} --in {capture}`, and build again",
        basis.package
    );
    (cause, Some(remedy))
}

/// That flows are handed over more often than the profile says, if they are.
fn moved_more(rows: &[Row]) -> Option<String> {
    let moves = rows.iter().find(|row| row.what == What::Moves)?;
    let Verdict::OffBy(_) = moves.verdict else { return None };
    let (said, is) = (moves.predicted?, moves.measured?);
    Some(format!(
        "flows are handed over for {}, and the traffic profile makes that {}",
        one_in(is),
        one_in(said)
    ))
}

/// How to plan for the traffic that came.
fn other_traffic(basis: &Basis<'_>) -> String {
    let name = &basis.run.name;
    let then = "write `traffic = \"FILE.toml\"` into cora.toml beside it, and build again; `--traffic FILE.toml` \
                compares with it here";
    match basis.run.source {
        Source::Capture { .. } => {
            format!("draw a profile: `cargo cora profile {name} --out FILE.toml`; {then}")
        }
        Source::Live => format!(
            "record some traffic: `cargo cora tap {name} wire-in --out t.pcapng --limit 1000000 --seconds 60`, and draw a \
             profile: `cargo cora profile t.pcapng --out FILE.toml`; {then}"
        ),
    }
}

/// The remedy where the profile is of another machine.
fn other_machine(basis: &Basis<'_>, row: &Row) -> Option<String> {
    let nic = &basis.subject.profiles.nic;
    let is_time = matches!(row.what, What::HostTime | What::HostCores | What::NicTime);
    let is_other =
        row.cause.as_ref().is_some_and(|cause| cause.contains(&format!("`{}`", nic.name)));
    (is_time && is_other).then(|| {
        "measure this machine: `cargo cora calibrate --out this.toml`, and `--nic this.toml`"
            .to_owned()
    })
}

/// A share of packets as a person says it.
fn one_in(share: f64) -> String {
    match 1.0 / share {
        many if !many.is_finite() => "no packet".to_owned(),
        many if many < 10.0 => format!("1 packet in {many:.1}"),
        many => format!("1 packet in {}", whole(many)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_said_as_people_say_them() {
        let said = [0.0, 0.5, 0.012_658, 1.0].map(one_in);
        assert_eq!(said, ["no packet", "1 packet in 2.0", "1 packet in 79", "1 packet in 1.0"]);
    }

    #[test]
    fn flows_that_move_more_often_are_a_cause() {
        let moves = |measured| {
            let predicted = [Some(0.01), None];
            [Row::compared(What::Moves, None, predicted, measured, Some(1e6))]
        };
        assert_eq!(moved_more(&moves(0.01)), None);
        let cause = moved_more(&moves(0.33)).unwrap();
        assert!(cause.contains("1 packet in 3.0") && cause.contains("1 packet in 100"), "{cause}");
    }
}
