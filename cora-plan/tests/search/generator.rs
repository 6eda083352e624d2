//! Random problems, generated the same way for tests and benchmarks.
#![expect(clippy::cast_precision_loss, reason = "the numbers are small, or wanted with 53 bits")]

use cora_plan::search::{ClassTerms, Problem, RouteTerms, Share, Switch, Terms};

/// A reproducible sequence of numbers (SplitMix64; Steele et al., *Fast splittable pseudorandom
/// number generators*, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1, without 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between two numbers.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number from `low` to `high`, inclusive.
    pub(crate) fn pick(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high - low + 1) as u64) as usize
    }

    /// True once in `times` on average.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.pick(1, times) == 1
    }
}

/// Resources of [`chain`].
const CHAIN: usize = 6;
const NIC: usize = 0;
const MEMORY: usize = 1;
const PACKETS: usize = 2;
const BYTES: usize = 3;
const ENTRIES: usize = 4;
const RULES: usize = 5;

/// A chain of one to eight handlers and their states, as planning would pose it. The first switches
/// are the handlers, which use no resources. States use memory, and entries for owned flows. A
/// class has a few routes, each of which ends at some handler and touches one to five states.
pub(crate) fn chain(seed: u64, switches: usize, classes: usize) -> Problem {
    make_chain(seed, switches, classes, 0.6)
}

/// Like [`chain`], but states rarely travel. They use all their memory or none, a third to two
/// thirds of it is available, and nothing else is short. The choice of states is a knapsack, and
/// bounds are weakest.
pub(crate) fn packed(seed: u64, switches: usize, classes: usize) -> Problem {
    let mut problem = make_chain(seed ^ 0xbac_0000, switches, classes, 0.1);
    let mut random = Random(seed ^ 0xbac);
    let memory: f64 = problem.switches.iter().map(|switch| switch.uses[MEMORY]).sum();
    for (at, limit) in problem.limits.iter_mut().enumerate() {
        *limit = if at == MEMORY { memory * random.between(0.33, 0.67) } else { *limit * 10.0 };
    }
    problem
}

fn make_chain(seed: u64, switches: usize, classes: usize, travel: f64) -> Problem {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0xc0a);
    let handlers = random.pick(1, 8).min(switches.div_ceil(3));
    let states = switches - handlers;
    let home: Vec<usize> = (0..states).map(|state| state * handlers / states.max(1)).collect();
    let keyed: Vec<bool> = (0..states).map(|_| random.unit() < travel).collect();
    let size: Vec<f64> = (0..states).map(|_| (random.between(0.0, 4.0)).exp2()).collect();
    let ways: Vec<(u128, usize)> = (0..random.pick(3, 10).max(states / 4))
        .map(|_| way(&mut random, handlers, &home))
        .collect();
    let mut problem =
        Problem { switches: Vec::new(), classes: Vec::new(), limits: vec![0.0; CHAIN] };
    for switch in 0..switches {
        let mut uses = vec![0.0; CHAIN];
        if switch >= handlers {
            let state = switch - handlers;
            uses[MEMORY] = if keyed[state] { size[state] * 0.3 } else { size[state] };
        }
        problem.switches.push(Switch { fixed: None, uses });
    }
    let mut total = 0.0;
    let skew = random.between(0.5, 1.3);
    let shares: Vec<f64> =
        (1..=classes).map(|rank| (rank as f64).recip() * (skew * rank as f64).recip()).collect();
    let sum: f64 = shares.iter().sum();
    for share in &shares {
        let rate = 20.0 * share / sum;
        let flows = random.between(0.2, 2.0) * (1.0 + random.unit() * 4.0);
        let class = class(&mut random, &ways, rate, flows, handlers, &keyed, &size);
        total += class.carries.iter().map(|(_, uses)| uses[MEMORY]).sum::<f64>();
        problem.classes.push(class);
    }
    limit(&mut random, &mut problem, total);
    problem
}

/// Handlers up to a random one, and one to five of their states.
fn way(random: &mut Random, handlers: usize, home: &[usize]) -> (u128, usize) {
    let last = random.pick(0, handlers - 1);
    let mut needs = (1_u128 << (last + 1)) - 1;
    let within: Vec<usize> = (0..home.len()).filter(|state| home[*state] <= last).collect();
    for _ in 0..random.pick(1, 5) {
        if let Some(state) = within.get(random.pick(0, within.len().max(1) - 1)) {
            needs |= 1 << (handlers + state);
        }
    }
    (needs, last)
}

fn class(
    random: &mut Random,
    ways: &[(u128, usize)],
    rate: f64,
    flows: f64,
    handlers: usize,
    keyed: &[bool],
    size: &[f64],
) -> ClassTerms {
    let mut weights: Vec<f64> = ways.iter().map(|_| random.unit().powi(4)).collect();
    let sum: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight *= rate / sum;
    }
    let bytes = random.between(0.1, 1.5);
    let mut away = Terms { cost: 0.0, uses: vec![0.0; CHAIN] };
    let mut routes = Vec::new();
    let mut reached = 0;
    for ((needs, last), weight) in ways.iter().zip(&weights) {
        let work = 0.05 + 0.03 * (last + 1) as f64 + 0.02 * needs.count_ones() as f64;
        away.cost += weight * (work + 0.04);
        away.uses[NIC] += weight * 0.03;
        away.uses[PACKETS] += weight * 2.0;
        away.uses[BYTES] += weight * 2.0 * bytes;
        let mut local = Terms { cost: 0.0, uses: vec![0.0; CHAIN] };
        local.uses[NIC] = weight * work * random.between(1.5, 3.0);
        let mut punted = Terms { cost: weight * (work + 0.07), uses: vec![0.0; CHAIN] };
        punted.uses[NIC] = weight * 0.08;
        punted.uses[PACKETS] = weight * 2.5;
        punted.uses[BYTES] = weight * 2.3 * bytes;
        punted.uses[RULES] = weight * 0.02;
        reached |= needs;
        routes.push(RouteTerms { needs: *needs, local, punted });
    }
    let mut carries = Vec::new();
    for (state, keyed) in keyed.iter().enumerate() {
        let switch = handlers + state;
        if *keyed && reached & 1 << switch != 0 {
            let mut uses = vec![0.0; CHAIN];
            uses[MEMORY] = flows * size[state] * 0.2;
            uses[ENTRIES] = flows;
            carries.push((switch, uses));
        }
    }
    ClassTerms { away, routes, carries, share: Share::UpTo(1.0) }
}

/// Limits, some of which are binding.
fn limit(random: &mut Random, problem: &mut Problem, carried: f64) {
    let fixed: f64 = problem.switches.iter().map(|switch| switch.uses[MEMORY]).sum();
    let sum = |at: usize, of: fn(&RouteTerms) -> &Terms| -> f64 {
        let routes = problem.classes.iter().flat_map(|class| &class.routes);
        routes.map(|route| of(route).uses[at]).sum()
    };
    let nic = sum(NIC, |route| &route.local);
    let away = |at: usize| problem.classes.iter().map(|class| class.away.uses[at]).sum::<f64>();
    let entries: f64 = problem
        .classes
        .iter()
        .flat_map(|class| &class.carries)
        .map(|(_, uses)| uses[ENTRIES])
        .sum();
    let limits = vec![
        away(NIC) + nic * random.between(0.2, 1.2),
        (fixed + carried) * random.between(0.15, 0.9),
        away(PACKETS) * random.between(1.0, 1.3),
        away(BYTES) * random.between(1.0, 1.3),
        entries * random.between(0.3, 1.5),
        sum(RULES, |route| &route.punted) * random.between(0.3, 1.5),
    ];
    problem.limits = limits;
}

/// Any problem that the types allow: ties, zeros, punts cheaper than host ownership,
/// contradictions.
pub(crate) fn wild(seed: u64, most_switches: usize, most_classes: usize) -> Problem {
    let mut random = Random(seed.wrapping_mul(0x9e6c_63d0_876a_5f0d) ^ 0x51d);
    let switches = random.pick(0, most_switches);
    let classes = random.pick(1, most_classes);
    let resources = random.pick(0, 3);
    // Few different numbers cause ties.
    let coarse = random.one_in(3);
    let sparse = random.pick(0, 3);
    let number = |random: &mut Random| {
        if random.pick(0, 3) < sparse && random.one_in(2) {
            0.0
        } else if coarse {
            random.pick(0, 4) as f64
        } else {
            random.between(0.0, 4.0)
        }
    };
    let line = |random: &mut Random| (0..resources).map(|_| number(random)).collect::<Vec<f64>>();
    let fixes = random.one_in(4);
    let switch = |random: &mut Random| Switch {
        fixed: (fixes && random.one_in(4)).then(|| random.one_in(2)),
        uses: if random.one_in(3) { vec![0.0; resources] } else { line(random) },
    };
    let switches: Vec<Switch> = (0..switches).map(|_| switch(&mut random)).collect();
    let dear = random.between(0.2, 3.0);
    let class = |random: &mut Random| {
        let terms = |random: &mut Random, by: f64| {
            let cost = by * number(random);
            Terms { cost, uses: line(random) }
        };
        let routes = |random: &mut Random| RouteTerms {
            needs: (0..switches.len())
                .filter(|_| random.one_in(switches.len().div_ceil(2)))
                .fold(0, |set, switch| set | 1 << switch),
            local: terms(random, 0.5),
            punted: terms(random, 1.0),
        };
        let away = terms(random, 3.0 * dear);
        let routes: Vec<RouteTerms> = (0..random.pick(0, 5)).map(|_| routes(random)).collect();
        let carries = (0..switches.len()).filter(|_| random.one_in(3)).collect::<Vec<_>>();
        let carries = carries.into_iter().map(|switch| (switch, line(random))).collect();
        let share = match random.pick(0, 9) {
            0 => Share::Exactly(random.unit()),
            1 => Share::Exactly(1.0),
            2 => Share::UpTo(random.unit()),
            3 => Share::UpTo(0.0),
            _ => Share::UpTo(1.0),
        };
        ClassTerms { away, routes, carries, share }
    };
    let classes: Vec<ClassTerms> = (0..classes).map(|_| class(&mut random)).collect();
    let away = |at: usize| classes.iter().map(|class| class.away.uses[at]).sum::<f64>();
    let kind = random.pick(0, 5);
    let limit = |random: &mut Random, at: usize| match kind {
        0 => f64::INFINITY,
        1 => away(at) * random.between(0.3, 1.0),
        2 => away(at),
        3 if random.one_in(4) => 0.0,
        _ => away(at) * random.between(0.8, 2.0) + random.between(0.0, 6.0),
    };
    let limits = (0..resources).map(|at| limit(&mut random, at)).collect();
    Problem { switches, classes, limits }
}
