//! The live view: head, outcomes, tables, sides and the newest events.
#![expect(clippy::cast_precision_loss, reason = "a share of cores is shown with two digits")]

use cora_plan::number::grouped;
use ratatui::Frame;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Table};
use serde_json::Value;

use super::events;
use super::rates::Rates;
use super::text::{by_count, each, lasted, number, word};
use super::top::{EVENTS, Look};

/// Counts of the sides that are shown.
const COUNTS: [(&str, &str); 9] = [
    ("packets", "packets"),
    ("punts", "punts"),
    ("passed_on", "passed on"),
    ("messages", "messages sent"),
    ("offloads", "flows offloaded"),
    ("released", "flows returned"),
    ("held", "packets held"),
    ("refused", "entries refused"),
    ("ring_records", "ring records"),
];

/// Lines of a terminal that has room for events below the counts.
const ROOMY: u16 = 30;

/// Draws the run.
pub(super) fn draw(frame: &mut Frame<'_>, look: &Look, rates: &Rates<'_>) {
    let now = &look.snapshot;
    let for_events = if frame.area().height >= ROOMY { EVENTS + 2 } else { 0 };
    let halves = Layout::vertical([
        Constraint::Length(3),
        Constraint::Fill(1),
        Constraint::Length(4 + COUNTS.len() as u16),
        Constraint::Length(for_events),
        Constraint::Length(1),
    ]);
    let [head, middle, below, newest, foot] = halves.areas(frame.area());
    let [outcomes, tables] =
        Layout::horizontal([Constraint::Length(44), Constraint::Fill(1)]).areas(middle);
    draw_head(frame, head, now, rates);
    draw_outcomes(frame, outcomes, now, rates);
    draw_tables(frame, tables, now);
    draw_sides(frame, below, now, rates);
    draw_events(frame, newest, &look.events);
    frame.render_widget(Line::styled("q: leave", Style::new().fg(Color::DarkGray)), foot);
}

/// The view as text, for output that is no terminal.
pub(super) fn printed(now: &Look, rates: &Rates<'_>, (width, height): (u16, u16)) -> String {
    let Ok(mut terminal) = ratatui::Terminal::new(TestBackend::new(width, height));
    let Ok(drawn) = terminal.draw(|frame| draw(frame, now, rates));
    let cells = drawn.buffer.content();
    let lines = cells.chunks(width.into()).map(|row| {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, now: &Value, rates: &Rates<'_>) {
    let status = &now["status"];
    let (state, color) = if status["works"] == true {
        ("works", Color::Green)
    } else {
        ("does not work", Color::Red)
    };
    let restarts: u64 = each(&status["restarts"]).filter_map(|(_, times)| times.as_u64()).sum();
    let text = format!(
        "{state}   up {}   {} packets/s in, {} out   {} without an outcome yet   configuration {}   {restarts} restarts",
        lasted(number(status, "uptime_ms")),
        rate(rates.of(&["outcomes", "packets_in"])),
        rate(rates.of(&["outcomes", "packets_out"])),
        grouped(number(&now["outcomes"], "unsettled")),
        word(status, "version"),
    );
    let title = format!(" {}, {} ", word(status, "program"), word(status, "plan_name"));
    let [to_nic, to_host] = rates.moves().map(rate);
    let moves = format!(" {to_nic} flows/s to the NIC, {to_host} back ");
    let block = Block::bordered().title(title).title(Line::from(moves).right_aligned());
    let block = block.border_style(Style::new().fg(color));
    frame.render_widget(Paragraph::new(text).block(block), area);
}

fn draw_outcomes(frame: &mut Frame<'_>, area: Rect, now: &Value, rates: &Rates<'_>) {
    let rows = by_count(&now["outcomes"]["outcomes"]).into_iter().map(|(name, count)| {
        let forwarded = ["transmit", "redirect", "done", "pass"].contains(&name);
        let style = Style::new().fg(if forwarded { Color::Reset } else { Color::Yellow });
        let fast = rate(rates.of(&["outcomes", "outcomes", name]));
        Row::new([name.to_owned(), grouped(count), fast]).style(style)
    });
    let widths = [Constraint::Fill(1), Constraint::Length(15), Constraint::Length(9)];
    let table = Table::new(rows, widths)
        .header(Row::new(["outcome", "in all", "a second"]).style(heading()))
        .block(Block::bordered().title(" outcomes "));
    frame.render_widget(table, area);
}

fn draw_tables(frame: &mut Frame<'_>, area: Rect, now: &Value) {
    let rows = each(&now["tables"]).map(|(name, of)| {
        let [entries, capacity, nic, evicted, expired] =
            ["entries", "capacity", "entries_at_nic", "evicted", "expired"]
                .map(|column| number(of, column));
        let percent = entries.saturating_mul(100) / capacity.max(1);
        let style = Style::new().fg(if percent >= 90 { Color::Red } else { Color::Reset });
        let cells = [entries, nic, evicted, expired].map(grouped);
        let [entries, nic, evicted, expired] = cells;
        Row::new([name.to_owned(), entries, format!("{percent} %"), nic, evicted, expired])
            .style(style)
    });
    let widths = [
        Constraint::Min(10),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(9),
    ];
    let head = ["table", "entries", "full", "at NIC", "evicted", "expired"];
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(heading()))
        .block(Block::bordered().title(" tables "));
    frame.render_widget(table, area);
}

fn draw_sides(frame: &mut Frame<'_>, area: Rect, now: &Value, rates: &Rates<'_>) {
    let [nic, host] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let cores = now["shards"].as_array().map_or(1, Vec::len).max(1);
    for (side, title, area) in [("nic", " NIC ", nic), ("host", " host ", host)] {
        let block = Block::bordered().title(title);
        let inside = block.inner(area);
        frame.render_widget(block, area);
        let [busy, counts] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inside);
        let share = rates.busy(side) / cores as f64;
        let gauge = Gauge::default().ratio(share.clamp(0.0, 1.0)).label(format!(
            "busy: {:.0} % of {cores} core{}",
            share * 100.0,
            plural(cores)
        ));
        frame.render_widget(gauge, busy);
        let of = &now["sides"][side];
        let rows = COUNTS.into_iter().map(|(count, name)| {
            let fast = rate(rates.of(&["sides", side, count]));
            Row::new([name.to_owned(), grouped(number(of, count)), fast])
        });
        let flows = Row::new(["flows".to_owned(), grouped(number(of, "flows")), String::new()]);
        let widths = [Constraint::Fill(1), Constraint::Length(15), Constraint::Length(9)];
        frame.render_widget(Table::new(std::iter::once(flows).chain(rows), widths), counts);
    }
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, newest: &[Value]) {
    let lines = newest.iter().map(|event| {
        let color = match event["level"].as_str() {
            Some("error") => Color::Red,
            Some("warn") => Color::Yellow,
            _ => Color::Reset,
        };
        Line::styled(events::line_without_date(event), Style::new().fg(color))
    });
    let block = Block::bordered().title(" events ");
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block), area);
}

const fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

const fn heading() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A rate with three digits.
fn rate(of: f64) -> String {
    match of {
        of if of >= 1e6 => format!("{:.2} M", of / 1e6),
        of if of >= 1e3 => format!("{:.1} k", of / 1e3),
        of => format!("{of:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_view_has_all_parts_and_colours_nothing_away() {
        let now = json!({
            "status": { "program": "nat", "plan_name": "split", "works": true, "uptime_ms": 61_000,
                "version": 2, "restarts": { "NIC": 1 } },
            "outcomes": { "packets_in": 10, "packets_out": 9, "unsettled": 0,
                "outcomes": { "transmit": 9, "table-full": 1 } },
            "tables": { "Session": { "entries": 95, "capacity": 100, "entries_at_nic": 40 } },
            "sides": { "nic": { "packets": 7, "flows": 4 }, "host": { "packets": 3 } },
            "shards": [{}],
        });
        let event = |number: u64| {
            json!({ "number": number, "time": 1_777_593_600_123_u64 + number, "level": "warn",
                "part": "nic", "text": format!("half {number} died\nin a handler") })
        };
        let look = Look { snapshot: now.clone(), events: (1..=3).map(event).collect() };
        let rates = Rates::between(&now, &now);
        let text = printed(&look, &rates, (120, 40));
        assert_eq!(text.lines().count(), 40);
        for part in [
            "nat, split",
            "0 flows/s to the NIC, 0 back",
            "up 1 min 1 s",
            "table-full",
            "Session",
            "95 %",
            " NIC ",
            "host",
            "ring records",
            "00:00:00 warn  nic: half 1 died",
            "half 3 died",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(!printed(&look, &rates, (80, 24)).contains("half 3 died"), "counts come first");
        // However small the terminal is.
        for size in [(1, 1), (10, 5), (300, 2)] {
            let _drawn = printed(&look, &rates, size);
        }
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!([12.4, 1250.0, 3_456_789.0].map(rate), ["12", "1.2 k", "3.46 M"]);
    }
}
