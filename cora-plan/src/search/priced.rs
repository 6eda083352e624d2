//! The bound at given prices: the cost of the cheapest choice if resources are unlimited, but paid
//! for.
//!
//! 1. With a price per row, a line is one number. An owned class pays for itself and for its
//!    carries, and gains by each route with all its needs on. A switch that is on is paid for once.
//! 2. Decided parts are exact. For the others, two things are relaxed: a class pays for a carry
//!    only if a route of its own gains by that switch, and a route that would lose by running at
//!    the NIC is punted. Both only lower the cost, so the result is a lower bound.
//! 3. The rest is a closure: the gain of a route requires its class, its switches, and the class's
//!    carries for them. The cheapest closure is a minimum cut (Picard, *Maximal closure of a graph
//!    and applications to combinatorial problems*, 1976).
//! 4. The residuals of the cut bound every decision. Turning a switch on costs at least the
//!    residual of its arc to the sink; turning it off costs at least the residual gains of all
//!    routes that need it.
//!
//! The bound less the value of all limits at these prices is also a lower bound for the limited
//! problem (Lagrange). [`relaxed`](super::relaxed) searches for the prices with the highest bound.

use super::flow::{DRY, Network, SINK, SOURCE};
use super::form::{Form, add, members};

/// Decided switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decided {
    /// Switches that are on.
    pub(super) on: u128,
    /// Switches that are off.
    pub(super) off: u128,
}

/// A route with a possible gain.
struct Candidate {
    route: usize,
    /// Gain, and the arc that it flows through, if it has a cost to pay.
    gain: f64,
    arc: Option<usize>,
}

/// First node of each sort in the network.
struct Nodes {
    class: usize,
    switch: usize,
    carry: usize,
    candidate: usize,
}

impl Nodes {
    fn new(form: &Form) -> Self {
        let class = SINK + 1;
        let switch = class + form.classes.len();
        let carry = switch + form.switches;
        Self { class, switch, carry, candidate: carry + form.carries.len() }
    }
}

/// The bound at some prices, with its working memory.
#[derive(Default)]
pub(super) struct Priced {
    /// Lower bound of all allocations within the decisions.
    pub(super) bound: f64,
    /// Switches that are on in the relaxed choice.
    pub(super) on: u128,
    /// Line of the relaxed choice: its cost and its resource use.
    pub(super) line: Vec<f64>,
    /// Per switch, the minimum rise of the bound if it is on.
    pub(super) rise_on: Vec<f64>,
    /// Per switch, the minimum rise of the bound if it is off.
    pub(super) rise_off: Vec<f64>,
    /// Per switch: its price.
    pub(super) switch_price: Vec<f64>,
    network: Network,
    class_price: Vec<f64>,
    candidates: Vec<Candidate>,
    /// Switches with a price, and their arcs to the sink.
    switch_arc: Vec<(usize, usize)>,
    /// Per class: needs of the routes that it takes.
    wanted: Vec<u128>,
    work: u64,
}

fn dot(prices: &[f64], line: &[f64]) -> f64 {
    prices.iter().zip(line).map(|(price, term)| price * term).sum()
}

impl Priced {
    /// Steps so far.
    pub(super) fn steps(&self) -> u64 {
        self.work + self.network.steps
    }

    /// Computes the bound at `prices`: first of the cost (1 or 0), then of each row.
    pub(super) fn compute(&mut self, form: &Form, decided: Decided, prices: &[f64]) {
        let lines = form.switches + form.classes.len() + form.routes.len() + form.carries.len();
        self.work += (lines * form.width) as u64;
        // 1. Converts lines to numbers.
        self.price(form, decided, prices);
        self.gather(form, decided, prices);
        // 3. The closure.
        self.connect(form, decided, prices);
        let flow = self.network.fill();
        let mut bound = dot(prices, &form.base) - dot(&prices[1..], &form.limits) + flow;
        bound += members(decided.on).map(|switch| self.switch_price[switch]).sum::<f64>();
        for (class, price) in form.classes.iter().zip(&self.class_price) {
            bound += if class.forced { *price } else { price.min(0.0) };
        }
        bound -= self.candidates.iter().map(|candidate| candidate.gain).sum::<f64>();
        self.bound = bound;
        // 4. The residuals.
        self.rises(form);
        self.choose(form, decided);
    }

    /// Prices of switches, and of classes with all decided carries.
    fn price(&mut self, form: &Form, decided: Decided, prices: &[f64]) {
        self.switch_price.clear();
        self.switch_price
            .extend((0..form.switches).map(|switch| dot(prices, form.switch_line(switch))));
        self.class_price.clear();
        self.class_price
            .extend((0..form.classes.len()).map(|class| dot(prices, form.class_line(class))));
        for (index, carry) in form.carries.iter().enumerate() {
            if decided.on & 1 << carry.switch != 0 {
                self.class_price[carry.class] += dot(prices, form.carried_line(index));
            }
        }
        for (index, route) in form.routes.iter().enumerate() {
            if route.needs & !decided.on == 0 {
                self.class_price[route.class] += dot(prices, form.gain(index));
            }
        }
    }

    /// The routes with a possible gain, of classes that may be worth owning.
    fn gather(&mut self, form: &Form, decided: Decided, prices: &[f64]) {
        self.candidates.clear();
        let mut start = 0;
        let mut sum = 0.0;
        for (index, route) in form.routes.iter().enumerate() {
            if route.needs & decided.off == 0 && route.needs & !decided.on != 0 {
                let gain = -dot(prices, form.gain(index));
                if gain > DRY {
                    self.candidates.push(Candidate { route: index, gain, arc: None });
                    sum += gain;
                }
            }
            let last = form.routes.get(index + 1).is_none_or(|next| next.class != route.class);
            if last {
                // 2. A class that can't even pay for itself is not owned.
                let owned = form.classes[route.class].forced;
                if !owned && sum <= self.class_price[route.class] {
                    self.candidates.truncate(start);
                }
                (start, sum) = (self.candidates.len(), 0.0);
            }
        }
    }

    /// Arcs from gains to their needs, and from there to the costs.
    fn connect(&mut self, form: &Form, decided: Decided, prices: &[f64]) {
        let nodes = Nodes::new(form);
        self.network.clear(nodes.candidate + self.candidates.len());
        self.wanted.clear();
        self.wanted.resize(form.classes.len(), 0);
        let mut paid = 0;
        for at in 0..self.candidates.len() {
            paid |= self.connect_candidate(form, decided, prices, &nodes, at);
        }
        for (class, price) in self.class_price.iter().enumerate() {
            if !form.classes[class].forced && *price > DRY {
                self.network.arc(nodes.class + class, SINK, *price);
            }
        }
        self.switch_arc.clear();
        for switch in members(paid) {
            let arc = self.network.arc(nodes.switch + switch, SINK, self.switch_price[switch]);
            self.switch_arc.push((switch, arc));
        }
    }

    /// Connects a gain with its needs: its class, the class's carries for it, its switches. Returns
    /// the switches that have a price.
    fn connect_candidate(
        &mut self,
        form: &Form,
        decided: Decided,
        prices: &[f64],
        nodes: &Nodes,
        at: usize,
    ) -> u128 {
        let route = form.routes[self.candidates[at].route];
        let node = nodes.candidate + at;
        let mut paid = 0_u128;
        let mut stands = false;
        if !form.classes[route.class].forced && self.class_price[route.class] > DRY {
            stands = true;
            self.network.arc(node, nodes.class + route.class, f64::INFINITY);
        }
        for switch in members(route.needs & !decided.on) {
            let dear = self.switch_price[switch] > DRY;
            paid |= u128::from(dear) << switch;
            let carry = form.carry_of[route.class * form.switches + switch];
            let carry = carry.map(|carry| carry as usize);
            let priced = carry.map(|carry| (carry, dot(prices, form.carried_line(carry))));
            if let Some((carry, price)) = priced.filter(|(_, price)| *price > DRY) {
                // Through the carry, which each class pays for once, and on to the switch.
                stands = true;
                self.network.arc(node, nodes.carry + carry, f64::INFINITY);
                if self.wanted[route.class] & 1 << switch == 0 {
                    self.wanted[route.class] |= 1 << switch;
                    self.network.arc(nodes.carry + carry, SINK, price);
                    if dear {
                        self.network.arc(nodes.carry + carry, nodes.switch + switch, f64::INFINITY);
                    }
                }
            } else if dear {
                stands = true;
                self.network.arc(node, nodes.switch + switch, f64::INFINITY);
            }
        }
        let candidate = &mut self.candidates[at];
        candidate.arc = stands.then(|| self.network.arc(SOURCE, node, candidate.gain));
        paid
    }

    /// The minimum cost of each decision.
    fn rises(&mut self, form: &Form) {
        self.rise_on.clone_from(&self.switch_price);
        self.rise_off.clear();
        self.rise_off.resize(form.switches, 0.0);
        for (switch, arc) in &self.switch_arc {
            self.rise_on[*switch] = self.network.left(*arc);
        }
        for candidate in &self.candidates {
            let left = candidate.arc.map_or(candidate.gain, |arc| self.network.left(arc));
            for switch in members(form.routes[candidate.route].needs) {
                self.rise_off[switch] += left;
            }
        }
    }

    /// The line of the cheapest closure.
    fn choose(&mut self, form: &Form, decided: Decided) {
        self.line.clear();
        self.line.extend_from_slice(&form.base);
        self.wanted.fill(0);
        let mut taken = vec![false; form.classes.len()];
        let first = Nodes::new(form).candidate;
        for (at, candidate) in self.candidates.iter().enumerate() {
            if candidate.arc.is_none() || self.network.reached(first + at) {
                let route = form.routes[candidate.route];
                taken[route.class] = true;
                self.wanted[route.class] |= route.needs & !decided.on;
                add(&mut self.line, 1.0, form.gain(candidate.route));
            }
        }
        for (index, class) in form.classes.iter().enumerate() {
            taken[index] |= class.forced || self.class_price[index] <= 0.0;
            if taken[index] {
                add(&mut self.line, 1.0, form.class_line(index));
            }
        }
        for (index, route) in form.routes.iter().enumerate() {
            if taken[route.class] && route.needs & !decided.on == 0 {
                add(&mut self.line, 1.0, form.gain(index));
            }
        }
        for (index, carry) in form.carries.iter().enumerate() {
            let paid = (decided.on | self.wanted[carry.class]) & 1 << carry.switch != 0;
            if taken[carry.class] && paid {
                add(&mut self.line, 1.0, form.carried_line(index));
            }
        }
        self.on = decided.on | self.wanted.iter().fold(0, |set, wanted| set | wanted);
        for switch in members(self.on) {
            add(&mut self.line, 1.0, form.switch_line(switch));
        }
    }
}
