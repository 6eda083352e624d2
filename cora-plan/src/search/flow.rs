//! Maximum flow: Dinic's algorithm (*Algorithm for solution of a problem of maximum flow in
//! networks with power estimation*, 1970), on capacities that are floats.
//!
//! A residual below [`DRY`] counts as none. So the flow may be a little less than the most there
//! is; whoever uses it as the lower side of a bound errs on the safe side.

/// Residual capacity that is as good as none; capacities are about 1.
pub(super) const DRY: f64 = 1e-13;
/// Where flow comes from.
pub(super) const SOURCE: usize = 0;
/// Where it goes.
pub(super) const SINK: usize = 1;
const NONE: u32 = u32::MAX;

/// A network; its memory is kept from one use to the next.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Per node, its first arc.
    first: Vec<u32>,
    /// Per arc: the node's next, where it goes, what is left of it. Arc `a ^ 1` is its reverse.
    next: Vec<u32>,
    to: Vec<u32>,
    left: Vec<f64>,
    level: Vec<u32>,
    /// Per node, the first arc that may still take something.
    current: Vec<u32>,
    queue: Vec<u32>,
    /// Arcs looked at: the work done.
    pub(super) steps: u64,
}

impl Network {
    /// Forgets all arcs.
    pub(super) fn clear(&mut self, nodes: usize) {
        self.first.clear();
        self.first.resize(nodes, NONE);
        self.next.clear();
        self.to.clear();
        self.left.clear();
    }

    /// An arc, and its number.
    pub(super) fn arc(&mut self, from: usize, to: usize, capacity: f64) -> usize {
        let arc = self.to.len();
        for (from, to, left) in [(from, to, capacity), (to, from, 0.0)] {
            self.next.push(self.first[from]);
            self.first[from] = self.to.len() as u32;
            self.to.push(to as u32);
            self.left.push(left);
        }
        arc
    }

    /// What is left of an arc.
    pub(super) fn left(&self, arc: usize) -> f64 {
        self.left[arc]
    }

    /// After [`Self::fill`]: whether a node is on the source's side of the smallest cut.
    pub(super) fn reached(&self, node: usize) -> bool {
        self.level[node] != NONE
    }

    /// Sends as much as goes from source to sink, and says how much.
    pub(super) fn fill(&mut self) -> f64 {
        let mut flow = 0.0;
        while self.layer() {
            self.current.clear();
            self.current.extend_from_slice(&self.first);
            loop {
                let pushed = self.push(SOURCE, f64::INFINITY);
                if pushed <= DRY {
                    break;
                }
                flow += pushed;
            }
        }
        flow
    }

    /// Distances from the source; whether the sink has one.
    fn layer(&mut self) -> bool {
        self.level.clear();
        self.level.resize(self.first.len(), NONE);
        self.level[SOURCE] = 0;
        self.queue.clear();
        self.queue.push(SOURCE as u32);
        let mut head = 0;
        while let Some(node) = self.queue.get(head).copied() {
            head += 1;
            let mut arc = self.first[node as usize];
            while arc != NONE {
                self.steps += 1;
                let to = self.to[arc as usize];
                if self.left[arc as usize] > DRY && self.level[to as usize] == NONE {
                    self.level[to as usize] = self.level[node as usize] + 1;
                    self.queue.push(to);
                }
                arc = self.next[arc as usize];
            }
        }
        self.level[SINK] != NONE
    }

    /// Pushes up to `most` from a node towards the sink, along all its arcs.
    fn push(&mut self, node: usize, most: f64) -> f64 {
        if node == SINK {
            return most;
        }
        let mut pushed = 0.0;
        while self.current[node] != NONE {
            self.steps += 1;
            let arc = self.current[node] as usize;
            let to = self.to[arc] as usize;
            if self.left[arc] > DRY && self.level[to] == self.level[node] + 1 {
                let went = self.push(to, (most - pushed).min(self.left[arc]));
                self.left[arc] -= went;
                self.left[arc ^ 1] += went;
                pushed += went;
                if most - pushed <= DRY {
                    return pushed;
                }
            }
            self.current[node] = self.next[arc];
        }
        pushed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_back_what_stands_in_the_way() {
        // Two ways that share their middle: 2 → 3 must be undone for all of it.
        let mut network = Network::default();
        network.clear(6);
        for (from, to, capacity) in [
            (0, 2, 1.0),
            (2, 3, 1.0),
            (3, 1, 1.0),
            (0, 4, 1.0),
            (4, 3, 1.0),
            (2, 5, 1.0),
            (5, 1, 0.5),
        ] {
            network.arc(from, to, capacity);
        }
        assert!((network.fill() - 1.5).abs() < 1e-12);
        assert!(network.reached(SOURCE) && !network.reached(SINK));
    }
}
