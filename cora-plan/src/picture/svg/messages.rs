//! The drawing of a program with messages, in whole pixels.
//!
//! 1. Each handler has a row: at the left its message, which comes from the wire or from a handler,
//!    then the handler. A message that nobody takes has a row of its own below its first sender.
//! 2. A send goes down from its handler into a lane below the row, to the left, and into the
//!    message: from above if its row is further down, else from below. Each has its own lane, with
//!    its label.
//! 3. States stand at the right, each preferably beside the middle of its users, and are pushed
//!    down until they don't overlap.

use std::fmt::Write as _;

use super::super::{Shown, every, handler_notes, message_lines, settled_lines, state_lines};
use super::layout::{HANDLER_HEIGHT, HandlerBox, LINE, MARGIN, StateBox, text_top};
use super::text::width;
use super::{escaped, handler_box, state};
use crate::graph::{Graph, HandlerNode, MessageNode, Sending};

/// Height of a row without the lanes below it.
const ROW: i32 = HANDLER_HEIGHT;
/// Between two rows without lanes.
const BETWEEN: i32 = 34;
/// Height of a lane.
const LANE: i32 = 20;
/// Width of the words at the left, and of the arrow behind them.
const WORDS: i32 = 96;
const ARROW: i32 = 44;
/// Between messages and handlers: room for the labels of lanes.
const LABELS: i32 = 150;
/// Between handlers and states.
const ACCESSES: i32 = 190;
/// Between two states.
const GAP: i32 = 22;
/// The fold of a message's corner.
const FOLD: i32 = 12;

/// One row.
struct Row<'a> {
    message: Option<&'a MessageNode>,
    handler: Option<&'a HandlerNode>,
    /// When it runs, if it takes no message.
    occasion: String,
    /// The lanes below it: the sends of its handler, each with the row of its message.
    lanes: Vec<(Sending<'a>, usize)>,
    top: i32,
}

impl Row<'_> {
    const fn middle(&self) -> i32 {
        self.top + ROW / 2
    }

    const fn bottom(&self) -> i32 {
        self.top + ROW
    }
}

/// Left edges and widths of the columns.
struct Columns {
    messages: (i32, i32),
    handlers: (i32, i32),
    states: i32,
}

/// The graph, and its height.
pub(super) fn drawn(graph: &Graph, shown: &Shown<'_>) -> (String, i32, i32) {
    let lines = settled_lines(graph, shown.placement);
    let words = i32::try_from(lines.len()).unwrap_or(0) * LINE;
    let rows = rows(graph, 52 + words);
    let columns = columns(graph, shown, &rows);
    let states = states(graph, shown, &rows, columns.states);
    let bottom = rows.iter().map(|row| row.bottom() + lanes_of(row)).max().unwrap_or(0);
    let bottom = states.iter().map(|state| state.y + state.height).fold(bottom, i32::max);
    let right = states.iter().map(|state| state.x + state.width).max();
    let right = right.unwrap_or(columns.handlers.0 + columns.handlers.1);
    let widest = lines.iter().map(|line| width(line, 12)).fold(width(&shown.title, 13), i32::max);
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, graph, (shown, &lines), (&rows, &columns, &states));
    (out, right.max(MARGIN + widest) + MARGIN, bottom)
}

fn lanes_of(row: &Row<'_>) -> i32 {
    i32::try_from(row.lanes.len()).unwrap_or(0) * LANE
}

/// The rows from `top` on.
fn rows(graph: &Graph, top: i32) -> Vec<Row<'_>> {
    let taken = |name: &str| graph.takers().any(|(_, message)| message.name == name);
    let row =
        |message, handler, occasion| Row { message, handler, occasion, lanes: Vec::new(), top: 0 };
    let occasions = graph.hooks.iter().map(|hook| format!("{} expires", hook.state));
    let occasions: Vec<String> = occasions.chain(graph.timers.iter().map(every)).collect();
    let timed = graph.timed().zip(occasions);
    let nodes = graph.chain.iter().map(|node| (node, "packets".to_owned())).chain(timed);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (node, occasion) in nodes {
        let message = node.takes.as_ref().and_then(|name| graph.message(name));
        rows.push(row(message, Some(node), occasion));
        for name in &node.outboxes {
            let is_there = |row: &Row<'_>| row.message.is_some_and(|it| it.name == *name);
            if !taken(name) && !rows.iter().any(is_there) {
                rows.extend(graph.message(name).map(|it| row(Some(it), None, String::new())));
            }
        }
    }
    let names: Vec<Option<&str>> =
        rows.iter().map(|row| row.message.map(|message| message.name.as_str())).collect();
    let mut next = top;
    for row in &mut rows {
        let sendings = row.handler.map(HandlerNode::sendings).unwrap_or_default();
        row.lanes = sendings
            .into_iter()
            .filter_map(|it| {
                let to = names.iter().position(|name| *name == Some(it.message))?;
                Some((it, to))
            })
            .collect();
        row.top = next;
        next = row.bottom() + BETWEEN + lanes_of(row);
    }
    rows
}

fn columns(graph: &Graph, shown: &Shown<'_>, rows: &[Row<'_>]) -> Columns {
    let of_message = |message: &MessageNode| {
        let lines = message_lines(graph, message).join(", ");
        width(&message.name, 16).max(width(&lines, 13)) + 2 * FOLD + 16
    };
    let of_handler =
        |node: &HandlerNode| width(&node.name, 16).max(width(&below(shown, node), 13)) + 40;
    let messages = rows.iter().filter_map(|row| row.message).map(of_message).max().unwrap_or(0);
    let handlers = rows.iter().filter_map(|row| row.handler).map(of_handler).max().unwrap_or(0);
    let handlers = handlers.max(130);
    let left = MARGIN + WORDS + ARROW;
    let middle = left + messages + LABELS;
    Columns {
        messages: (left, messages),
        handlers: (middle, handlers),
        states: middle + handlers + ACCESSES,
    }
}

/// The line below a handler's name.
fn below(shown: &Shown<'_>, node: &HandlerNode) -> String {
    let side = shown.side(&node.name).map(|(words, _)| words.to_owned());
    side.into_iter().chain(handler_notes(node)).collect::<Vec<_>>().join(", ")
}

fn states<'a>(graph: &'a Graph, shown: &Shown<'_>, rows: &[Row<'_>], x: i32) -> Vec<StateBox<'a>> {
    let mut boxes: Vec<StateBox<'a>> = graph
        .states
        .iter()
        .map(|state| {
            let place = shown.place(&state.name);
            let lines = state_lines(state, place);
            let widest = lines.iter().map(|line| width(line, 13)).max().unwrap_or(0);
            let width = widest.max(width(&state.name, 16)) + 36;
            let height = text_top(state.kind) + i32::try_from(lines.len()).unwrap_or(0) * LINE + 14;
            let y = wish(graph, rows, &state.name) - height / 2;
            StateBox { name: &state.name, kind: state.kind, place, lines, x, y, width, height }
        })
        .collect();
    boxes.sort_by_key(|state| (state.y + state.height / 2, state.name));
    let widest = boxes.iter().map(|state| state.width).max().unwrap_or(0);
    let mut free = rows.first().map_or(0, |row| row.top);
    for state in &mut boxes {
        state.width = widest;
        state.y = state.y.max(free);
        free = state.y + state.height + GAP;
    }
    boxes
}

/// The middle of a state's users.
fn wish(graph: &Graph, rows: &[Row<'_>], state: &str) -> i32 {
    let uses = |node: &HandlerNode| {
        graph.edges.iter().any(|edge| edge.handler == node.name && edge.state == state)
    };
    let users: Vec<i32> =
        rows.iter().filter(|row| row.handler.is_some_and(uses)).map(Row::middle).collect();
    users.iter().sum::<i32>() / i32::try_from(users.len()).unwrap_or(1).max(1)
}

type All<'a, 'b> = (&'a [Row<'b>], &'a Columns, &'a [StateBox<'b>]);

fn write(
    out: &mut String,
    graph: &Graph,
    (shown, lines): (&Shown<'_>, &[String]),
    (rows, columns, states): All<'_, '_>,
) -> std::fmt::Result {
    for (number, line) in lines.iter().enumerate() {
        let y = 24 + LINE * (i32::try_from(number).unwrap_or(0) + 1);
        writeln!(out, "<text class=\"line\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(line))?;
    }
    accesses(out, graph, rows, columns, states)?;
    for row in rows {
        ways(out, graph, row, columns)?;
    }
    for (at, row) in rows.iter().enumerate() {
        sends(out, rows, at, columns)?;
        if let Some(message) = row.message {
            self::message(out, graph, message, (columns.messages, row.top))?;
        }
        if let Some(node) = row.handler {
            let (x, width) = columns.handlers;
            let place = shown.side(&node.name).map(|(_, place)| place);
            let below = below(shown, node);
            let it = HandlerBox { name: &node.name, place, below, x, width };
            handler_box(out, &it, row.top)?;
        }
    }
    labels(out, rows, columns)?;
    states.iter().try_for_each(|it| state(out, it))
}

/// A message: a sheet with a folded corner.
fn message(
    out: &mut String,
    graph: &Graph,
    message: &MessageNode,
    ((x, width), y): ((i32, i32), i32),
) -> std::fmt::Result {
    let straight = width - FOLD;
    let down = ROW - FOLD;
    writeln!(
        out,
        "<path d=\"M{x} {y}h{straight}l{FOLD} {FOLD}v{down}h-{width}z\" fill=\"#fffbe6\" \
         stroke=\"#8a6d00\" stroke-width=\"1.5\"/>\
         <path d=\"M{} {y}v{FOLD}h{FOLD}\" fill=\"none\" stroke=\"#8a6d00\"/>",
        x + straight
    )?;
    let middle = x + width / 2;
    let lines = message_lines(graph, message).join(", ");
    let first = y + ROW / 2 + if lines.is_empty() { 5 } else { -2 };
    let name = escaped(&message.name);
    writeln!(
        out,
        "<text class=\"name\" x=\"{middle}\" y=\"{first}\" text-anchor=\"middle\">{name}</text>\
         <text class=\"line\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        y + ROW / 2 + 16,
        escaped(&lines)
    )
}

/// The row's arrows: from the wire to the message, to the handler, or back to the wire.
fn ways(out: &mut String, graph: &Graph, row: &Row<'_>, columns: &Columns) -> std::fmt::Result {
    let y = row.middle();
    let (left, (handlers, _)) = (columns.messages.0, columns.handlers);
    let (comes, goes) =
        row.message.map_or((false, false), |it| (graph.comes_in(it), graph.goes_out(it)));
    let words = match (comes, goes) {
        (true, true) => "datagrams",
        (true, false) => "datagrams in",
        (false, true) => "datagrams out",
        (false, false) if row.message.is_none() => &row.occasion,
        (false, false) => "",
    };
    if !words.is_empty() {
        let words = escaped(words);
        writeln!(out, "<text class=\"line\" x=\"{MARGIN}\" y=\"{}\">{words}</text>", y + 4)?;
    }
    let start = MARGIN + WORDS;
    let line = |out: &mut String, from: i32, to: i32, ends: &str| {
        writeln!(out, "<path d=\"M{from} {y}H{to}\" stroke=\"#3f3f46\" stroke-width=\"2\" {ends}/>")
    };
    let (into, back) = ("marker-end=\"url(#packet)\"", "marker-start=\"url(#packet)\"");
    match (comes, goes) {
        (true, true) => line(out, start + 3, left - 3, &format!("{into} {back}"))?,
        (true, false) => line(out, start, left - 3, into)?,
        (false, true) => line(out, start + 3, left, back)?,
        (false, false) => {}
    }
    match (row.message, row.handler) {
        (Some(_), Some(_)) => line(out, left + columns.messages.1, handlers - 3, into),
        (None, Some(_)) => line(out, start, handlers - 3, into),
        _ => Ok(()),
    }
}

/// Where a send leaves its handler, and the height of its lane.
fn lane(row: &Row<'_>, number: usize, columns: &Columns) -> (i32, i32) {
    let number = i32::try_from(number).unwrap_or(0);
    (columns.handlers.0 + 16 + 16 * number, row.bottom() + 20 + LANE * number)
}

/// The lines of a row's sends.
fn sends(out: &mut String, rows: &[Row<'_>], at: usize, columns: &Columns) -> std::fmt::Result {
    let row = &rows[at];
    let (left, wide) = columns.messages;
    for (number, (_, to)) in row.lanes.iter().enumerate() {
        let (x, y) = lane(row, number, columns);
        // All sends into a message, in the order of rows, enter it side by side.
        let into = rows.iter().enumerate().flat_map(|(from, row)| {
            row.lanes.iter().enumerate().filter(|it| it.1.1 == *to).map(move |it| (from, it.0))
        });
        let into: Vec<_> = into.collect();
        let nth = into.iter().position(|it| *it == (at, number)).unwrap_or(0);
        let part = |of: usize| i32::try_from(of).unwrap_or(0);
        let enter = left + wide * (part(nth) + 1) / (part(into.len()) + 1);
        let target = &rows[*to];
        let (end, beside) = if *to > at {
            (target.top - 3, target.top - 15)
        } else {
            (target.bottom() + 3, target.bottom() + 11)
        };
        let start = row.bottom();
        let path = if *to == at + 1 || *to == at {
            format!("M{x} {start}V{y}H{enter}V{end}")
        } else {
            // Past the rows between, beside their messages.
            let gap = left + wide + 14 + 8 * part(number);
            format!("M{x} {start}V{y}H{gap}V{beside}H{enter}V{end}")
        };
        writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#3f3f46\" stroke-width=\"1.5\" \
             stroke-linejoin=\"round\" marker-end=\"url(#packet)\"/>"
        )?;
    }
    Ok(())
}

/// The labels of all sends, over their lanes.
fn labels(out: &mut String, rows: &[Row<'_>], columns: &Columns) -> std::fmt::Result {
    for row in rows {
        for (number, (sending, _)) in row.lanes.iter().enumerate() {
            let (x, y) = lane(row, number, columns);
            let right = x - 12;
            label(out, &sending.label(), right - width(&sending.label(), 11) / 2, y)?;
        }
    }
    Ok(())
}

/// A label with a background, around this point.
fn label(out: &mut String, words: &str, x: i32, y: i32) -> std::fmt::Result {
    let wide = width(words, 11) + 8;
    writeln!(
        out,
        "<rect x=\"{}\" y=\"{}\" width=\"{wide}\" height=\"16\" fill=\"#fff\"/>\
         <text class=\"edge\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        x - wide / 2,
        y - 8,
        y + 4,
        escaped(words)
    )
}

/// Dashed curves from handlers to states, and their labels.
fn accesses(
    out: &mut String,
    graph: &Graph,
    rows: &[Row<'_>],
    columns: &Columns,
    states: &[StateBox<'_>],
) -> std::fmt::Result {
    let row_of =
        |name: &str| rows.iter().position(|row| row.handler.is_some_and(|node| node.name == name));
    let state_of = |name: &str| states.iter().position(|state| state.name == name);
    let mut ends: Vec<(usize, usize, String)> = graph
        .edges
        .iter()
        .filter_map(|edge| Some((row_of(&edge.handler)?, state_of(&edge.state)?, edge.label())))
        .collect();
    ends.sort();
    let along = |top: i32, height: i32, nth: usize, of: usize| {
        let part = |of: usize| i32::try_from(of).unwrap_or(0);
        top + height * (part(nth) + 1) / (part(of) + 1)
    };
    let x1 = columns.handlers.0 + columns.handlers.1;
    let mut put: Vec<(i32, i32)> = Vec::new();
    let mut words = Vec::new();
    for (from, to, label) in &ends {
        let out_of: Vec<_> = ends.iter().filter(|it| it.0 == *from).collect();
        let into: Vec<_> = ends.iter().filter(|it| it.1 == *to).collect();
        let nth = out_of.iter().position(|it| it.1 == *to).unwrap_or(0);
        let mth = into.iter().position(|it| it.0 == *from).unwrap_or(0);
        let (row, state) = (&rows[*from], &states[*to]);
        let (y1, y2) =
            (along(row.top, ROW, nth, out_of.len()), along(state.y, state.height, mth, into.len()));
        let x2 = state.x - 2;
        let middle = i32::midpoint(x1, x2);
        writeln!(
            out,
            "<path d=\"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}\" fill=\"none\" \
             stroke=\"#71717a\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\" \
             marker-end=\"url(#access)\"/>"
        )?;
        let mut y = i32::midpoint(y1, y2);
        while put.iter().any(|(x, other)| *x == middle && (other - y).abs() < 16) {
            y += 4;
        }
        put.push((middle, y));
        words.push((label, middle, y));
    }
    words.into_iter().try_for_each(|(words, x, y)| label(out, words, x, y))
}
