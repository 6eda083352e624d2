//! Layout, in whole pixels.
//!
//! 1. Handlers from left to right, each as wide as its text, with space for a packet arrow between.
//! 2. States below, each preferably under the middle of its users. They are sorted by this
//!    position, then pushed right until they don't overlap, then moved together under the chain.
//! 3. Curves leave a handler at points spread along its lower edge, in the order of the target
//!    states. They enter a state in the same way, so that they cross as little as the order allows.
//! 4. A curve's label is on the curve, where it hides least of other curves and labels (`label`).

use super::super::{Shown, handler_notes, state_lines};
use super::label::{self, Room};
use super::text::width;
use crate::graph::{Edge, Graph};
use crate::vocabulary::{Kind, Place};

pub(super) const MARGIN: i32 = 24;
pub(super) const CHAIN_TOP: i32 = 52;
pub(super) const HANDLER_HEIGHT: i32 = 52;
pub(super) const CHAIN_MIDDLE: i32 = CHAIN_TOP + HANDLER_HEIGHT / 2;
pub(super) const STATES_TOP: i32 = CHAIN_TOP + HANDLER_HEIGHT + 120;
pub(super) const LINE: i32 = 17;
/// Half the height of a cylinder's lid.
pub(super) const LID: i32 = 9;
const ARROW: i32 = 64;
const GAP: i32 = 36;
const PORT: i32 = 56;

/// All elements of the drawing.
pub(super) struct Drawing<'a> {
    pub(super) width: i32,
    pub(super) height: i32,
    /// Middle of the word `inside`.
    pub(super) inside: i32,
    /// Middle of the word `outside`.
    pub(super) outside: i32,
    pub(super) handlers: Vec<HandlerBox<'a>>,
    pub(super) states: Vec<StateBox<'a>>,
    ends: Vec<Ends<'a>>,
}

/// A handler's box.
pub(super) struct HandlerBox<'a> {
    pub(super) name: &'a str,
    /// The place whose colours it has, if it was planned.
    pub(super) place: Option<Place>,
    /// The line below the name; may be empty.
    pub(super) below: String,
    pub(super) x: i32,
    pub(super) width: i32,
}

/// A state's box or cylinder.
pub(super) struct StateBox<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    pub(super) place: Option<Place>,
    pub(super) lines: Vec<String>,
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// A dashed curve from a handler to a state.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) x1: i32,
    pub(super) y1: i32,
    pub(super) x2: i32,
    pub(super) y2: i32,
    pub(super) label: String,
    /// The background of the label.
    pub(super) room: Room,
}

struct Ends<'a> {
    handler: &'a str,
    state: &'a str,
    x1: i32,
    x2: i32,
}

/// Places all elements.
pub(super) fn run<'a>(graph: &'a Graph, shown: &Shown<'_>) -> Drawing<'a> {
    let inside = MARGIN + PORT / 2;
    let mut x = MARGIN + PORT + ARROW;
    let mut handlers = Vec::new();
    for handler in &graph.chain {
        let side = shown.side(&handler.name);
        let least = if side.is_some() { 140 } else { 110 };
        let words = side.map(|(words, _)| words.to_owned());
        let below: Vec<_> = words.into_iter().chain(handler_notes(handler)).collect();
        let below = below.join(", ");
        let width = (width(&handler.name, 16) + 40).max(width(&below, 13) + 20).max(least);
        let place = side.map(|(_, place)| place);
        handlers.push(HandlerBox { name: &handler.name, place, below, x, width });
        x += width + ARROW;
    }
    let outside = x + PORT / 2;
    let mut states = state_boxes(graph, shown, &handlers);
    spread(&mut states, MARGIN, x + PORT);
    let right = states.iter().map(|s| s.x + s.width).max().unwrap_or(0).max(x + PORT);
    let tallest = states.iter().map(|s| s.height).max().unwrap_or(0);
    let legend = if shown.places.is_some() && !states.is_empty() { 44 } else { 0 };
    let bottom = if states.is_empty() { CHAIN_TOP + HANDLER_HEIGHT } else { STATES_TOP + tallest };
    let ends = ends(graph, &handlers, &states);
    let title = width(&shown.title, 13);
    Drawing {
        width: right.max(MARGIN + title) + MARGIN,
        height: bottom + legend + MARGIN,
        inside,
        outside,
        handlers,
        states,
        ends,
    }
}

/// States sorted by their preferred position, placed there even if they overlap.
fn state_boxes<'a>(
    graph: &'a Graph,
    shown: &Shown<'_>,
    handlers: &[HandlerBox<'_>],
) -> Vec<StateBox<'a>> {
    let mut states: Vec<StateBox<'a>> = graph
        .states
        .iter()
        .map(|state| {
            let place = shown.place(&state.name);
            let lines = state_lines(state, place);
            let widest = lines.iter().map(|line| width(line, 13)).max().unwrap_or(0);
            let width = widest.max(width(&state.name, 16)) + 36;
            let rows = i32::try_from(lines.len()).unwrap_or(0);
            let height = text_top(state.kind) + rows * LINE + 14;
            let x = wish(graph, handlers, &state.name) - width / 2;
            let y = STATES_TOP;
            StateBox { name: &state.name, kind: state.kind, place, lines, x, y, width, height }
        })
        .collect();
    states.sort_by_key(|state| (state.x + state.width / 2, state.name));
    states
}

/// The middle of a state's users.
fn wish(graph: &Graph, handlers: &[HandlerBox<'_>], state: &str) -> i32 {
    let middles: Vec<i32> = handlers
        .iter()
        .filter(|h| graph.edges.iter().any(|e| e.handler == h.name && e.state == state))
        .map(|h| h.x + h.width / 2)
        .collect();
    let count = i32::try_from(middles.len()).unwrap_or(1).max(1);
    middles.iter().sum::<i32>() / count
}

/// Pushes states apart, and moves all of them to their mean preferred position.
fn spread(states: &mut [StateBox<'_>], left: i32, right: i32) {
    let wished: i32 = states.iter().map(|s| s.x).sum();
    let mut free = i32::MIN;
    for state in states.iter_mut() {
        state.x = state.x.max(free);
        free = state.x + state.width + GAP;
    }
    let Some(count) = i32::try_from(states.len()).ok().filter(|count| *count > 0) else { return };
    let moved: i32 = states.iter().map(|s| s.x).sum();
    let mut shift = (wished - moved) / count;
    let first = states.first().map_or(0, |s| s.x);
    let last = states.last().map_or(0, |s| s.x + s.width);
    shift = shift.min(right - last).max(left - first);
    for state in states.iter_mut() {
        state.x += shift;
    }
}

fn ends<'a>(
    graph: &'a Graph,
    handlers: &[HandlerBox<'_>],
    states: &[StateBox<'_>],
) -> Vec<Ends<'a>> {
    let handler_at = |name: &str| handlers.iter().position(|h| h.name == name);
    let state_at = |name: &str| states.iter().position(|s| s.name == name);
    let mut pairs: Vec<(usize, usize, &Edge)> = graph
        .edges
        .iter()
        .filter_map(|edge| Some((handler_at(&edge.handler)?, state_at(&edge.state)?, edge)))
        .collect();
    pairs.sort_by_key(|(handler, state, _)| (*handler, *state));
    let along = |x: i32, width: i32, nth: usize, of: usize| {
        let (nth, of) = (i32::try_from(nth).unwrap_or(0), i32::try_from(of).unwrap_or(1));
        x + width * (nth + 1) / (of + 1)
    };
    pairs
        .iter()
        .map(|(h, s, edge)| {
            let out: Vec<_> = pairs.iter().filter(|(other, ..)| other == h).collect();
            let into: Vec<_> = pairs.iter().filter(|(_, other, _)| other == s).collect();
            let nth = out.iter().position(|(_, other, _)| other == s).unwrap_or(0);
            let mth = into.iter().position(|(other, ..)| other == h).unwrap_or(0);
            let (from, to) = (&handlers[*h], &states[*s]);
            Ends {
                handler: &edge.handler,
                state: &edge.state,
                x1: along(from.x, from.width, nth, out.len()),
                x2: along(to.x, to.width, mth, into.len()),
            }
        })
        .collect()
}

impl Drawing<'_> {
    /// The arrows of the packet's path: from, to.
    pub(super) fn hops(&self) -> Vec<(i32, i32)> {
        let mut hops = Vec::new();
        let mut from = self.inside + PORT / 2 - 4;
        for handler in &self.handlers {
            hops.push((from, handler.x - 3));
            from = handler.x + handler.width + 3;
        }
        hops.push((from, self.outside - PORT / 2));
        hops
    }

    /// The curves of all edges, in their order.
    pub(super) fn curves(&self, graph: &Graph) -> Vec<Curve> {
        let (y1, y2) = (CHAIN_TOP + HANDLER_HEIGHT, STATES_TOP - 2);
        let bare = graph.edges.iter().filter_map(|edge| {
            let ends =
                self.ends.iter().find(|e| e.handler == edge.handler && e.state == edge.state)?;
            let (x1, x2) = (ends.x1, ends.x2);
            Some(Curve { x1, y1, x2, y2, label: edge.label(), room: Room::default() })
        });
        let mut curves: Vec<Curve> = bare.collect();
        for at in 0..curves.len() {
            curves[at].room = label::room(&curves, at, self.width);
        }
        curves
    }
}

/// From a state's top to the baseline of its name, below the lid of a cylinder.
pub(super) fn text_top(kind: Kind) -> i32 {
    if kind == Kind::Keyed { 2 * LID + 20 } else { 26 }
}
