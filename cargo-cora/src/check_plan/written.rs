//! The comparison as a table with sentences, and as JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cora_plan::number::grouped;
use serde_json::{Value, json};

use super::rows::{OF_COUNTS, OF_TIMES, Row, Verdict, digits};
use super::{Basis, Source};

/// Columns of sentences.
const WIDTH: usize = 100;

/// For people.
pub(super) fn text(basis: &Basis<'_>, rows: &[Row]) -> String {
    let mut text = head(basis);
    let has_own = basis.own.is_some();
    text += &cells("", "predicted", has_own.then_some("this traffic"), "measured", "");
    for row in rows {
        let shown =
            |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), |it| row.what.shown(it));
        let own = has_own.then(|| shown(row.own));
        let verdict = verdict(row);
        text += &cells(
            &row.words(),
            &shown(row.predicted),
            own.as_deref(),
            &shown(row.measured),
            &verdict,
        );
    }
    text += &reasons(rows);
    text + &foot(basis)
}

/// Causes, each with the figures that it explains, and remedies.
fn reasons(rows: &[Row]) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(cause) = row.cause.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, figures)) => figures.push(row.words()),
            None => reasons.push((cause, vec![row.words()])),
        }
    }
    let mut text = String::new();
    for (cause, figures) in reasons {
        text += "\n";
        text += &wrapped(&format!("{}: {cause}.", figures.join(", ")), "  ");
    }
    let remedies: BTreeSet<&str> = rows.iter().filter_map(|row| row.remedy.as_deref()).collect();
    if !remedies.is_empty() {
        text += "\nwhat to change:\n";
    }
    for remedy in remedies {
        text += &wrapped(&format!("- {remedy}."), "  ");
    }
    text
}

fn head(basis: &Basis<'_>) -> String {
    let (subject, run) = (basis.subject, basis.run);
    let (placement, profiles) = (&subject.placement, &subject.profiles);
    let packets = grouped(run.counts.packets);
    let rate = run.mpps().map(rate).unwrap_or_default();
    let of = match run.source {
        Source::Capture { .. } => "on",
        Source::Live => "live at",
    };
    let paths = match subject.measured() {
        Some(measured) => format!("paths measured on {}", measured.capture),
        None => "paths estimated from the source".to_owned(),
    };
    let mut text = format!(
        "{}, plan {} ({}), {of} {}: {packets} packets in {} s{rate}\n\
         predicted for the NIC {} and the traffic {}, {paths}\n",
        subject.graph.app,
        placement.sides,
        subject.hash,
        run.name,
        digits(run.seconds),
        profiles.nic.name,
        profiles.traffic.name,
    );
    if !subject.names_traffic {
        text +=
            "the package names no target: NIC and traffic are those that plans have by default\n";
    }
    text + "\n"
}

/// A rate in the unit of its size.
fn rate(mpps: f64) -> String {
    let (figure, unit) = if mpps < 0.001 { (mpps * 1e6, "packets/s") } else { (mpps, "Mpps") };
    format!(" ({} {unit})", digits(figure))
}

/// How to read it.
fn foot(basis: &Basis<'_>) -> String {
    let [counts, times] = [OF_COUNTS, OF_TIMES].map(|tolerance| tolerance * 100.0);
    let mut text = format!(
        "\nAs predicted: within {counts:.0} %, times within {times:.0} %, or as near as chance brings a count."
    );
    text += match basis.run.source {
        Source::Capture { .. } => {
            " This traffic: predicted with a profile that is drawn from the capture."
        }
        Source::Live => {
            " A live run does not count lengths of frames and packets by flow; `--in` with a capture of it compares these."
        }
    };
    "\n".to_owned() + &wrapped(text.trim_start(), "")
}

fn verdict(row: &Row) -> String {
    match row.verdict {
        Verdict::AsPredicted => "as predicted".to_owned(),
        Verdict::NotCompared => "not compared".to_owned(),
        Verdict::OffBy(0.0) => "off: none measured".to_owned(),
        Verdict::OffBy(factor) if factor.is_finite() => format!("off by ×{}", digits(factor)),
        Verdict::OffBy(_) => "off: none predicted".to_owned(),
    }
}

fn cells(words: &str, predicted: &str, own: Option<&str>, measured: &str, verdict: &str) -> String {
    let own = own.map(|own| format!("{own:>14}")).unwrap_or_default();
    let line = format!("{words:<34}{predicted:>14}{own}{measured:>14}  {verdict}");
    line.trim_end().to_owned() + "\n"
}

/// A sentence in lines; all but the first begin with this.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            // Writing into a string never fails.
            let _written = writeln!(lines, "{line}");
            line = indent.to_owned() + word;
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}

/// For scripts: `cora-check-plan/1`.
pub(super) fn json(basis: &Basis<'_>, rows: &[Row]) -> Value {
    let (subject, run) = (basis.subject, basis.run);
    json!({
        "schema": "cora-check-plan/1",
        "program": subject.graph.app,
        "plan": subject.hash,
        "plan_name": subject.placement.sides.word(),
        "nic": subject.profiles.nic.name,
        "traffic": subject.profiles.traffic.name,
        "paths": if subject.measured().is_some() { "measured" } else { "estimated" },
        "source": match run.source {
            Source::Capture { .. } => "capture",
            Source::Live => "live",
        },
        "name": run.name,
        "packets": run.counts.packets,
        "seconds": run.seconds,
        "mpps": run.mpps(),
        "figures": rows.iter().map(figure).collect::<Vec<_>>(),
    })
}

fn figure(row: &Row) -> Value {
    let finite = |figure: Option<f64>| figure.filter(|figure| figure.is_finite());
    let (word, factor) = match row.verdict {
        Verdict::AsPredicted => ("as-predicted", None),
        Verdict::NotCompared => ("not-compared", None),
        Verdict::OffBy(factor) => ("off", Some(factor)),
    };
    json!({
        "what": row.what.name(),
        "of": row.of,
        "unit": row.what.unit(),
        "predicted": finite(row.predicted),
        "own_traffic": finite(row.own),
        "measured": finite(row.measured),
        "tolerance": row.tolerance,
        "chance": row.chance,
        "verdict": word,
        "factor": finite(factor),
        "cause": row.cause,
        "remedy": row.remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_plan::rows::What;

    #[test]
    fn sentences_are_broken_at_words() {
        let told = wrapped(&"word ".repeat(60), "  ");
        assert!(told.lines().all(|line| line.len() <= WIDTH), "{told}");
        assert!(told.lines().skip(1).all(|line| line.starts_with("  word")), "{told}");
        assert_eq!(told.split_whitespace().count(), 60);
    }

    #[test]
    fn a_figure_that_nothing_was_predicted_for_has_no_factor() {
        let row = Row::compared(What::Punts, None, [Some(0.0), None], 0.5, Some(1e6));
        assert_eq!(verdict(&row), "off: none predicted");
        let told = figure(&row);
        assert_eq!((&told["verdict"], &told["factor"]), (&json!("off"), &Value::Null));
        let twice = Row::compared(What::Bytes, None, [Some(64.0), None], 128.0, None);
        assert_eq!(
            (verdict(&twice).as_str(), &figure(&twice)["factor"]),
            ("off by ×2.00", &json!(2.0))
        );
    }
}
