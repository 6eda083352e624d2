//! Maximum flow: Dinic's algorithm (*Algorithm for solution of a problem of maximum flow in
//! networks with power estimation*, 1970), with floating-point capacities.
//!
//! A residual below [`DRY`] counts as zero. So the flow may be slightly below the maximum, which is
//! safe for a lower bound.

/// Residual capacity that counts as zero; capacities are about 1.
pub(super) const DRY: f64 = 1e-13;
/// The source node.
pub(super) const SOURCE: usize = 0;
/// The sink node.
pub(super) const SINK: usize = 1;
const NONE: u32 = u32::MAX;

/// A network; it keeps its memory between uses.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// Per node, its first arc.
    first: Vec<u32>,
    /// Per arc: the next arc of its node, its target, its residual. Arc `a ^ 1` is its reverse.
    next: Vec<u32>,
    to: Vec<u32>,
    left: Vec<f64>,
    level: Vec<u32>,
    /// Per node, the first arc that may still have capacity.
    current: Vec<u32>,
    queue: Vec<u32>,
    /// Arcs visited: the measure of effort.
    pub(super) steps: u64,
}

impl Network {
    /// Removes all arcs.
    pub(super) fn clear(&mut self, nodes: usize) {
        self.first.clear();
        self.first.resize(nodes, NONE);
        self.next.clear();
        self.to.clear();
        self.left.clear();
    }

    /// Adds an arc, and returns its index.
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

    /// Residual capacity of an arc.
    pub(super) fn left(&self, arc: usize) -> f64 {
        self.left[arc]
    }

    /// After [`Self::fill`]: whether a node is on the source's side of the minimum cut.
    pub(super) fn reached(&self, node: usize) -> bool {
        self.level[node] != NONE
    }

    /// Finds the maximum flow from source to sink, and returns it.
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

    /// Computes distances from the source; returns whether the sink is reachable.
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
        // Two paths with a common middle: the full flow requires undoing 2 → 3.
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
