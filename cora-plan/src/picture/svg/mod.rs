//! A self-contained drawing: no script, no font, no link.
//!
//! Handlers form a row between the two ports. Their states form a row below, each under its
//! handlers as far as space allows. A program with messages has a drawing of its own (`messages`).
//! A table of widths measures the text, because there is no font to measure.

mod label;
mod layout;
mod messages;
mod text;

use std::fmt::Write as _;

use self::layout::{Drawing, HandlerBox, StateBox};
use super::{Shown, colours};
use crate::graph::Graph;
use crate::model::Allocation;
use crate::plan::Plan;
use crate::vocabulary::{Kind, Place};

pub(crate) use self::text::escaped;

/// The graph as SVG.
pub fn draw(graph: &Graph, plan: Option<&Plan>) -> String {
    shown(graph, &Shown::of_plan(graph, plan))
}

/// The graph as SVG, with the places and handler sides of an allocation. `hash` is its plan's hash.
pub fn draw_allocation(graph: &Graph, allocation: &Allocation, hash: &str) -> String {
    shown(graph, &Shown::of_allocation(graph, allocation, hash))
}

fn shown(graph: &Graph, shown: &Shown<'_>) -> String {
    if !graph.messages.is_empty() {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _infallible = write_messages(&mut out, graph, shown);
        return out;
    }
    let drawing = layout::run(graph, shown);
    let mut out = String::new();
    // Writing to a string does not fail.
    let _infallible = write(&mut out, graph, shown, &drawing);
    out
}

const STYLE: &str = "text{font-family:Helvetica,Arial,sans-serif;fill:#18181b}\
    .title{font-size:13px;fill:#52525b}.name{font-size:15px;font-weight:bold}\
    .line{font-size:12px}.place{font-size:12px;font-weight:bold}\
    .edge{font-size:11px;fill:#3f3f46}";

fn write(
    out: &mut String,
    graph: &Graph,
    shown: &Shown<'_>,
    drawing: &Drawing<'_>,
) -> std::fmt::Result {
    head(out, shown, drawing.width, drawing.height)?;
    packets(out, drawing)?;
    accesses(out, graph, drawing)?;
    for handler in &drawing.handlers {
        handler_box(out, handler, layout::CHAIN_TOP)?;
    }
    for state in &drawing.states {
        self::state(out, state)?;
    }
    legend(out, shown, drawing.height)?;
    writeln!(out, "</svg>")
}

/// The same for a program with messages.
fn write_messages(out: &mut String, graph: &Graph, shown: &Shown<'_>) -> std::fmt::Result {
    let (drawn, width, bottom) = messages::drawn(graph, shown);
    let legend = if shown.places.is_some() && !graph.states.is_empty() { 44 } else { 0 };
    let height = bottom + legend + layout::MARGIN;
    head(out, shown, width, height)?;
    out.push_str(&drawn);
    self::legend(out, shown, height)?;
    writeln!(out, "</svg>")
}

/// The beginning of a drawing, up to its title.
fn head(out: &mut String, shown: &Shown<'_>, width: i32, height: i32) -> std::fmt::Result {
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">"
    )?;
    let title = escaped(&shown.title);
    writeln!(out, "<title>{title}</title>\n<style>{STYLE}</style>")?;
    writeln!(out, "<defs>")?;
    marker(out, "packet", 9)?;
    marker(out, "access", 7)?;
    writeln!(out, "</defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>")?;
    writeln!(out, "<text class=\"title\" x=\"{}\" y=\"24\">{title}</text>", layout::MARGIN)
}

fn marker(out: &mut String, name: &str, size: u32) -> std::fmt::Result {
    writeln!(
        out,
        "<marker id=\"{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"{size}\" \
         markerHeight=\"{size}\" markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\">\
         <path d=\"M0 1L9 5L0 9z\" fill=\"#3f3f46\"/></marker>"
    )
}

/// The ports, and the packet's path through the chain in both directions.
fn packets(out: &mut String, drawing: &Drawing<'_>) -> std::fmt::Result {
    let y = layout::CHAIN_MIDDLE;
    for (x, name) in [(drawing.inside, "inside"), (drawing.outside, "outside")] {
        writeln!(
            out,
            "<text class=\"line\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
            y + 4
        )?;
    }
    for (from, to) in drawing.hops() {
        writeln!(
            out,
            "<path d=\"M{from} {y}H{to}\" stroke=\"#3f3f46\" stroke-width=\"2\" \
             marker-start=\"url(#packet)\" marker-end=\"url(#packet)\"/>"
        )?;
    }
    Ok(())
}

fn accesses(out: &mut String, graph: &Graph, drawing: &Drawing<'_>) -> std::fmt::Result {
    let curves = drawing.curves(graph);
    for curve in &curves {
        let (x1, y1, x2, y2) = (curve.x1, curve.y1, curve.x2, curve.y2);
        let bend = (y2 - y1) / 2;
        writeln!(
            out,
            "<path d=\"M{x1} {y1}C{x1} {} {x2} {} {x2} {y2}\" fill=\"none\" stroke=\"#71717a\" \
             stroke-width=\"1.5\" stroke-dasharray=\"5 4\" marker-end=\"url(#access)\"/>",
            y1 + bend,
            y2 - bend
        )?;
    }
    // Labels last, so that no curve crosses one.
    for curve in &curves {
        let label::Room { x, y, width, height } = curve.room;
        let label = escaped(&curve.label);
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\
             <text class=\"edge\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            x + width / 2,
            y + label::BASELINE
        )?;
    }
    Ok(())
}

/// A handler whose box has this top.
fn handler_box(out: &mut String, handler: &HandlerBox<'_>, y: i32) -> std::fmt::Result {
    let (x, width) = (handler.x, handler.width);
    let height = layout::HANDLER_HEIGHT;
    let unplanned = ("#fafafa", "#18181b");
    let (fill, line) = handler.place.map_or(unplanned, |place| colours(Some(place)));
    writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"12\" \
         fill=\"{fill}\" stroke=\"{line}\" stroke-width=\"1.5\"/>"
    )?;
    let (middle, name) = (x + width / 2, escaped(handler.name));
    let below = escaped(&handler.below);
    let baseline = y + height / 2 + if below.is_empty() { 5 } else { -2 };
    writeln!(
        out,
        "<text class=\"name\" x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{name}</text>"
    )?;
    if !below.is_empty() {
        writeln!(
            out,
            "<text class=\"line\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{below}</text>",
            y + height / 2 + 16
        )?;
    }
    Ok(())
}

fn state(out: &mut String, state: &StateBox<'_>) -> std::fmt::Result {
    let (x, y, width, height) = (state.x, state.y, state.width, state.height);
    let (fill, line) = colours(state.place);
    let paint = format!("fill=\"{fill}\" stroke=\"{line}\" stroke-width=\"1.5\"");
    if state.kind == Kind::Keyed {
        let (half, lid, side) = (width / 2, layout::LID, height - 2 * layout::LID);
        writeln!(
            out,
            "<path d=\"M{x} {}v{side}a{half} {lid} 0 0 0 {width} 0v-{side}\" {paint}/>",
            y + lid
        )?;
        let (cx, cy) = (x + half, y + lid);
        writeln!(out, "<ellipse cx=\"{cx}\" cy=\"{cy}\" rx=\"{half}\" ry=\"{lid}\" {paint}/>")?;
    } else {
        writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {paint}/>")?;
    }
    let middle = x + width / 2;
    let mut baseline = y + layout::text_top(state.kind);
    let mut text = |class: &str, words: &str| {
        let words = escaped(words);
        let result = writeln!(
            out,
            "<text class=\"{class}\" x=\"{middle}\" y=\"{baseline}\" \
             text-anchor=\"middle\">{words}</text>"
        );
        baseline += layout::LINE;
        result
    };
    text("name", state.name)?;
    for words in &state.lines {
        text(if words.starts_with("place: ") { "place" } else { "line" }, words)?;
    }
    Ok(())
}

/// The legend of the colours in the picture.
fn legend(out: &mut String, shown: &Shown<'_>, height: i32) -> std::fmt::Result {
    let Some(places) = shown.places else { return Ok(()) };
    let mut x = layout::MARGIN;
    let y = height - layout::MARGIN;
    for place in Place::ALL.into_iter().filter(|p| places.values().any(|q| q == p)) {
        let (fill, line) = colours(Some(place));
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{fill}\" \
             stroke=\"{line}\"/>",
            y - 10
        )?;
        let meaning = match place {
            Place::Travels => "travels with its flow",
            Place::Nic => "pinned to the NIC",
            Place::Host => "pinned to the host",
            Place::Replica => "a replica on each side",
            Place::Divided => "divided by bucket",
            Place::Fetched => "at the host, read from both",
        };
        writeln!(out, "<text class=\"line\" x=\"{}\" y=\"{y}\">{meaning}</text>", x + 18)?;
        x += 18 + text::width(meaning, 12) + 24;
    }
    Ok(())
}
