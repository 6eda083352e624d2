//! The counts, in words and a table.
#![expect(clippy::cast_precision_loss, reason = "counts of packets are far below 2^53")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::flow_stats::{FlowStats, Group};
use cora_plan::number::grouped;
use cora_plan::traffic::{Class, Traffic, mean_bytes};

use super::duration::Span;

/// Letters of the longest bar.
const WIDTH: f64 = 30.0;

type Groups = BTreeMap<&'static str, BTreeMap<u64, Group>>;

/// The profile in a line.
pub(super) fn title(capture: &str, stats: &FlowStats, idle: Span) -> String {
    format!(
        "drawn from {capture}: {} packets in {:.3} s, flows idle after {idle}",
        grouped(stats.packets),
        stats.seconds()
    )
}

/// Everything that a person may want to know of a drawn profile.
pub(super) fn text(traffic: &Traffic, stats: &FlowStats, groups: &Groups, idle: Span) -> String {
    let mut text = format!(
        "{}\n\npackets         {:>12}   in {:.3} s of traffic\n",
        traffic.title,
        grouped(stats.packets),
        stats.seconds()
    );
    let mut line = |what: &str, number: u64, more: &str| {
        // Writing into a string never fails.
        let _written = writeln!(
            text,
            "{what:16}{:>12}{}{more}",
            grouped(number),
            if more.is_empty() { "" } else { "   " }
        );
    };
    if stats.without_flow > 0 {
        line("without a flow", stats.without_flow, "not IP, broken, or fragments");
    }
    if stats.too_long > 0 {
        line("too long", stats.too_long, "left out");
    }
    if stats.cut > 0 {
        line("cut when captured", stats.cut, "left out: their headers are not whole");
    }
    let flows = &groups["FiveTuple"];
    let (keys, opens) = flows
        .values()
        .fold((0, 0), |(keys, opens), group| (keys + group.keys, opens + group.opens));
    let with_flow = flows.iter().map(|(packets, group)| packets * group.keys).sum::<u64>();
    let classes = &traffic.by_key["FiveTuple"];
    let at_a_time: f64 = classes.iter().map(|class| class.flows).sum();
    line("flows", keys, &format!("{} at a time, idle after {idle}", number(at_a_time)));
    line(
        "openings",
        opens,
        &format!("{} of all packets", percent(opens as f64 / with_flow as f64)),
    );
    let _written = writeln!(
        text,
        "{:16}{:>12.1}   bytes, without check sequence{}",
        "mean frame",
        traffic.mean_bytes,
        heads(classes)
    );
    let top = top(flows, keys.div_ceil(100)) as f64 / with_flow as f64;
    let _written = writeln!(text, "{:16}{:>12}   of the packets", "top 1 % of flows", percent(top));
    for (key, classes) in &traffic.by_key {
        text.push_str(&table(key, classes));
    }
    text
}

/// How many bytes of a frame cross where long ones go to the host as their heads; nothing where
/// none is long.
fn heads(classes: &[Class]) -> String {
    let [whole, crossing] = mean_bytes(classes);
    if crossing < whole {
        format!("; {crossing:.1} cross where handlers take headers alone")
    } else {
        String::new()
    }
}

/// Packets of the heaviest flows, so many.
fn top(flows: &BTreeMap<u64, Group>, mut left: u64) -> u64 {
    let mut packets = 0;
    for (each, group) in flows.iter().rev() {
        let taken = group.keys.min(left);
        packets += each * taken;
        left -= taken;
    }
    packets
}

fn table(key: &str, classes: &[Class]) -> String {
    // How long flows last is known of captures that are longer than the idle time.
    let timed = classes.iter().any(|class| class.seconds.is_some());
    let seconds = |text: String| if timed { format!("{text:>9}") } else { String::new() };
    let mut text = format!(
        "\n{:18}{:>12}{:>9}{:>9}{}{:>8}\n",
        format!("by {key}"),
        "flows",
        "packets",
        "first",
        seconds("seconds".to_owned()),
        "bytes"
    );
    let largest = classes.iter().map(|class| class.share).fold(0.0, f64::max);
    for class in classes {
        // Not negative, and at most the width.
        #[expect(clippy::cast_sign_loss, reason = "a share of a positive number")]
        let bar = (class.share / largest * WIDTH).round() as usize;
        let _written = writeln!(
            text,
            "{:18}{:>12}{:>9}{:>9}{}{:>8.0}  {}",
            class.name,
            number(class.flows),
            percent(class.share),
            percent(class.opens),
            seconds(class.seconds.map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"))),
            class.mean_bytes,
            "#".repeat(bar)
        );
    }
    text
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// A number of flows: whole where it is large.
fn number(flows: f64) -> String {
    #[expect(clippy::cast_sign_loss, reason = "a number of flows")]
    let whole = flows.round() as u64;
    if flows >= 100.0 || (flows - whole as f64).abs() < 1e-9 {
        grouped(whole)
    } else {
        format!("{flows:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_are_taken_first_and_equals_in_part() {
        let group = |keys| Group { keys, ..Group::default() };
        let flows = BTreeMap::from([(1, group(90)), (10, group(8)), (100, group(2))]);
        assert_eq!(top(&flows, 1), 100);
        assert_eq!(top(&flows, 5), 230);
        assert_eq!(top(&flows, 1_000), 370);
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        let told = [0.25, 7.0, 99.5, 12_345.6].map(number);
        assert_eq!(told, ["0.25", "7", "99.50", "12,346"]);
        assert_eq!(grouped(1_000), "1,000");
    }
}
