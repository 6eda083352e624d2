//! Branch and bound over switches.
//!
//! 1. **Start.** Host only, everything on, and the given starts are tried; flipping and exchanging
//!    switches improves the best ([`Search::improve`]).
//! 2. **Root.** [`Relaxed`] gives a bound, and choices on its way. Each choice is tried; most good
//!    allocations come from these.
//! 3. **Pop** the open node with the lowest bound. All open nodes cost at least as much, so this is
//!    the global bound. The search ends if it meets the best allocation found.
//! 4. **Branch** on the switch with the highest expected rise of both children's bounds: by
//!    pseudo-costs so far, or by its price (Bénichou et al., *Experiments in mixed-integer linear
//!    programming*, 1971).
//! 5. **Settle** each child: switches that no route can gain by any more are off. If none is open,
//!    the shares are a linear program, and the node is done. Otherwise it is bounded, and a switch
//!    is fixed if its other value can't beat the best (reduced costs).
//! 6. **Keep** it if its bound is below the best by more than the tolerance of the proof.
//!
//! Effort is counted, never timed. Ties between bounds are broken by depth and age.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use super::Effort;
use super::form::{Form, members};
use super::priced::Decided;
use super::relaxed::{Climb, Relaxed};
use super::shares::{self, Filled};

/// Maximum price iterations at the root, and at any other node.
const TRIES: (usize, usize) = (80, 10);
/// Tolerance of a proof as a part of the best cost: half of the documented one.
const EXACT: f64 = 5e-10;
/// The tolerance near cost 0, with costs scaled to 1.
const TINY: f64 = 1e-13;

/// The best allocation so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Best {
    /// Switches that are on.
    pub(super) on: u128,
    /// Its shares.
    pub(super) filled: Filled,
}

/// An open node.
struct Node {
    bound: f64,
    depth: u32,
    serial: u64,
    decided: Decided,
    prices: Vec<f64>,
    /// The switch to branch on, and its value in the relaxation.
    branch: (usize, f64),
}

impl Ord for Node {
    /// The greatest is popped first: the lowest bound, then the deepest, then the oldest.
    fn cmp(&self, other: &Self) -> Ordering {
        let bound = other.bound.total_cmp(&self.bound);
        bound.then(self.depth.cmp(&other.depth)).then(other.serial.cmp(&self.serial))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

/// Pseudo-cost of a switch: the rise of bounds after its decision, per unit of fractionality.
#[derive(Clone, Copy, Default)]
struct Experience {
    rise: f64,
    count: u32,
}

/// A search under way.
pub(super) struct Search<'a> {
    form: &'a Form,
    effort: Effort,
    /// A sufficient cost.
    enough: f64,
    /// The best feasible allocation.
    pub(super) best: Option<Best>,
    /// Lower bound of all allocations.
    pub(super) bound: f64,
    /// Nodes bounded.
    pub(super) nodes: u64,
    /// Steps spent on shares.
    filling: u64,
    relaxed: Relaxed,
    tried: BTreeSet<u128>,
    open: BinaryHeap<Node>,
    serial: u64,
    /// Per switch: turned off, and turned on.
    experience: Vec<[Experience; 2]>,
}

impl<'a> Search<'a> {
    /// A search that ends at a cost of `enough`, with a proof, or when the effort is exhausted.
    pub(super) fn new(form: &'a Form, effort: Effort, enough: f64) -> Self {
        Self {
            form,
            effort,
            enough,
            best: None,
            bound: f64::NEG_INFINITY,
            nodes: 0,
            filling: 0,
            relaxed: Relaxed::default(),
            tried: BTreeSet::new(),
            open: BinaryHeap::new(),
            serial: 0,
            experience: vec![[Experience::default(); 2]; form.switches],
        }
    }

    /// Steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.filling + self.relaxed.steps()
    }

    /// Whether the best is proven optimal, or infeasibility is proven.
    pub(super) fn is_proven(&self) -> bool {
        self.bound >= self.cutoff_for(EXACT)
    }

    /// Searches from promising sets of switches.
    pub(super) fn run(&mut self, starts: &[u128]) {
        // 1. Start.
        let all = if self.form.switches == 128 { u128::MAX } else { (1 << self.form.switches) - 1 };
        for on in starts.iter().copied().chain([0, all]) {
            self.attempt(on);
        }
        self.improve(true);
        // 2. Root.
        let root = Decided { on: self.form.on, off: self.form.off };
        let mut prices = vec![0.0; self.form.width];
        prices[0] = 1.0;
        if let Some(node) = self.bounded(root, &prices, 0) {
            self.open.push(node);
        }
        self.improve(true);
        // 3. Pop.
        while let Some(node) = self.open.pop() {
            self.bound = self.bound.max(node.bound);
            let spent = self.nodes >= self.effort.nodes || self.steps() >= self.effort.steps;
            if spent || node.bound >= self.cutoff() || self.is_enough() {
                return;
            }
            self.branch(&node);
        }
        self.bound = self.cutoff();
    }

    fn is_enough(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.filled.cost <= self.enough)
    }

    /// The bound at which a node is pruned.
    fn cutoff(&self) -> f64 {
        self.cutoff_for(self.effort.gap.max(EXACT))
    }

    fn cutoff_for(&self, gap: f64) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| {
            best.filled.cost - (gap * best.filled.cost.abs()).max(TINY)
        })
    }

    /// 4. Both children of a node.
    fn branch(&mut self, node: &Node) {
        let (switch, part) = node.branch;
        for (side, distance) in [(1, 1.0 - part), (0, part)] {
            let mut decided = node.decided;
            if side == 1 {
                decided.on |= 1 << switch;
            } else {
                decided.off |= 1 << switch;
            }
            let Some(child) = self.bounded(decided, &node.prices, node.depth + 1) else { continue };
            let experience = &mut self.experience[switch][side];
            experience.rise += (child.bound - node.bound).max(0.0) / distance.max(0.05);
            experience.count += 1;
            self.open.push(child);
        }
    }

    /// 5. Settles and bounds a node; `None` if it contains nothing better than the best.
    fn bounded(&mut self, mut decided: Decided, prices: &[f64], depth: u32) -> Option<Node> {
        self.nodes += 1;
        let mut prices = prices.to_vec();
        loop {
            let open = self.form.open(decided.on, decided.off);
            if open == 0 {
                self.attempt(decided.on);
                return None;
            }
            let tries = if depth == 0 { TRIES.0 } else { TRIES.1 };
            let climb = Climb { cutoff: self.cutoff(), tries, thorough: depth == 0 };
            self.relaxed.climb(self.form, decided, &prices, climb);
            let choices = std::mem::take(&mut self.relaxed.choices);
            for choice in choices.iter().rev().take(if depth == 0 { 80 } else { 3 }) {
                self.attempt(*choice);
            }
            self.relaxed.choices = choices;
            // 6. Keep.
            if self.relaxed.bound >= self.cutoff() {
                return None;
            }
            prices.clone_from(&self.relaxed.prices);
            let shut = self.relaxed.shut;
            decided.on |= shut.on & open;
            decided.off |= shut.off & open;
            if (shut.on | shut.off) & open == 0 {
                let branch = self.choose(open);
                self.serial += 1;
                let (bound, serial) = (self.relaxed.bound, self.serial);
                return Some(Node { bound, depth, serial, decided, prices, branch });
            }
        }
    }

    /// The open switch to branch on next.
    fn choose(&self, open: u128) -> (usize, f64) {
        let mut chosen = (open.trailing_zeros() as usize, 0.5);
        let mut highest = f64::NEG_INFINITY;
        for switch in members(open) {
            let part = self.relaxed.parts[switch].clamp(0.0, 1.0);
            let expected = |side: usize, distance: f64| {
                let it = self.experience[switch][side];
                let rise = if it.count > 0 {
                    it.rise / f64::from(it.count)
                } else {
                    self.relaxed.switch_price[switch]
                };
                (rise * distance).max(1e-9)
            };
            // A switch that is integral in the relaxation may still have a wrong price.
            let score = expected(1, (1.0 - part).max(1e-6)) * expected(0, part.max(1e-6));
            if score > highest {
                highest = score;
                chosen = (switch, part);
            }
        }
        chosen
    }

    /// Tries a set of switches once; returns whether it is the new best.
    fn attempt(&mut self, on: u128) -> bool {
        let on = (on | self.form.on) & !self.form.off;
        if !self.tried.insert(on) {
            return false;
        }
        let filled = shares::best(self.form, on);
        self.filling += filled.steps;
        let better = filled.fits()
            && self.best.as_ref().is_none_or(|best| {
                let equal = (filled.cost - best.filled.cost).abs() <= TINY;
                let more = on.count_ones().cmp(&best.on.count_ones()).then(best.on.cmp(&on));
                if equal { more.is_gt() } else { filled.cost < best.filled.cost }
            });
        if better {
            self.best = Some(Best { on, filled });
        }
        better
    }

    /// Flips single switches of the best while that improves it; with `pairs`, also exchanges two.
    /// It may use at most a quarter of the effort.
    fn improve(&mut self, pairs: bool) {
        let free: Vec<usize> = members(self.form.open(self.form.on, self.form.off)).collect();
        while let Some(best) = &self.best {
            let on = best.on;
            let flips = free.iter().map(|one| on ^ (1 << one));
            let mut moves: Vec<u128> = flips.collect();
            if pairs {
                let is_on = |switch: &&usize| on & 1 << **switch != 0;
                let exchanges = free.iter().filter(is_on).flat_map(|one| {
                    let off = free.iter().filter(|switch| !is_on(switch));
                    off.map(move |other| on ^ (1 << one) ^ (1 << other))
                });
                moves.extend(exchanges);
            }
            if !moves.into_iter().any(|on| self.is_affordable() && self.attempt(on)) {
                return;
            }
        }
    }

    fn is_affordable(&self) -> bool {
        self.steps() <= self.effort.steps / 4
    }
}
