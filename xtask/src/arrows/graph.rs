//! Rooms and arrows: circles, floors, and arrows that lead up.

use std::collections::{BTreeMap, BTreeSet};

/// Rooms, and how often each mentions another.
#[derive(Debug, Default)]
pub(super) struct Graph {
    rooms: BTreeSet<String>,
    arrows: BTreeMap<(String, String), usize>,
}

impl Graph {
    pub(super) fn add_room(&mut self, room: &str) {
        self.rooms.insert(room.to_owned());
    }

    pub(super) fn add_arrow(&mut self, from: &str, to: &str) {
        self.add_room(from);
        self.add_room(to);
        *self.arrows.entry((from.to_owned(), to.to_owned())).or_default() += 1;
    }

    pub(super) fn rooms(&self) -> impl Iterator<Item = &str> {
        self.rooms.iter().map(String::as_str)
    }

    /// From where, to where, and how often.
    pub(super) fn arrows(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.arrows.iter().map(|((from, to), times)| (from.as_str(), to.as_str(), *times))
    }

    /// The rooms that each reach each other, where there are several; each list in order.
    pub(super) fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.rooms().map(|room| (room, self.reach(room))).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for room in self.rooms() {
            let circle: Vec<&str> = self
                .rooms()
                .filter(|other| reached[room].contains(other) && reached[other].contains(room))
                .collect();
            if circle.len() > 1 && seen.insert(circle[0]) {
                circles.push(circle);
            }
        }
        circles
    }

    /// The arrows between two rooms of one circle.
    pub(super) fn circular(&self) -> Vec<(&str, &str)> {
        let circles = self.circles();
        let is_of_one = |from: &str, to: &str| {
            circles.iter().any(|circle| circle.contains(&from) && circle.contains(&to))
        };
        let arrows = self.arrows().filter(|(from, to, _)| is_of_one(from, to));
        arrows.map(|(from, to, _)| (from, to)).collect()
    }

    /// The rooms that a room depends on, directly or not.
    fn reach(&self, from: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut next = vec![from];
        while let Some(room) = next.pop() {
            for (source, target, _) in self.arrows() {
                if source == room && reached.insert(target) {
                    next.push(target);
                }
            }
        }
        reached
    }

    /// Arrows that lead up. The rooms of a circle are put in a row, from the top down: the next one
    /// is the room whose arrows to the others outweigh theirs to it most. An arrow against the row
    /// leads up.
    pub(super) fn upward(&self) -> Vec<(&str, &str)> {
        let mut upward = Vec::new();
        for circle in self.circles() {
            let row = self.row(&circle);
            let place = |room: &str| row.iter().position(|other| *other == room);
            for (from, to, _) in self.arrows() {
                if let (Some(from_at), Some(to_at)) = (place(from), place(to))
                    && from_at > to_at
                {
                    upward.push((from, to));
                }
            }
        }
        upward
    }

    /// The rooms of a circle from the top down.
    fn row<'a>(&self, circle: &[&'a str]) -> Vec<&'a str> {
        let mut left = circle.to_vec();
        let mut row = Vec::new();
        while !left.is_empty() {
            let excess = |room: &str| {
                self.arrows().fold(0_i64, |sum, (from, to, times)| {
                    let times = i64::try_from(times).unwrap_or(i64::MAX);
                    let down = from == room && left.contains(&to);
                    let up = to == room && left.contains(&from);
                    sum + times * (i64::from(down) - i64::from(up))
                })
            };
            let best = (0..left.len()).max_by_key(|at| (excess(left[*at]), std::cmp::Reverse(*at)));
            row.push(left.remove(best.unwrap_or(0)));
        }
        row
    }

    /// The rooms by floor, from the ground up: each is above all that it depends on, upward arrows
    /// aside.
    pub(super) fn floors(&self) -> Vec<Vec<&str>> {
        let upward = self.upward();
        let down: Vec<(&str, &str)> = self
            .arrows()
            .map(|(from, to, _)| (from, to))
            .filter(|arrow| !upward.contains(arrow))
            .collect();
        let mut floors: Vec<Vec<&str>> = Vec::new();
        let mut placed = BTreeSet::new();
        while placed.len() < self.rooms.len() {
            let stands =
                |room: &str| down.iter().all(|(from, to)| *from != room || placed.contains(to));
            let floor: Vec<&str> =
                self.rooms().filter(|room| !placed.contains(room) && stands(room)).collect();
            if floor.is_empty() {
                break;
            }
            placed.extend(floor.iter().copied());
            floors.push(floor);
        }
        floors
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    fn graph(arrows: &[(&str, &str, usize)]) -> Graph {
        let mut graph = Graph::default();
        for (from, to, times) in arrows {
            (0..*times).for_each(|_| graph.add_arrow(from, to));
        }
        graph
    }

    #[test]
    fn a_house_without_circles_has_floors() {
        let graph = graph(&[("top", "middle", 1), ("middle", "ground", 2), ("top", "ground", 1)]);
        assert!(graph.circles().is_empty() && graph.upward().is_empty());
        assert_eq!(graph.floors(), [["ground"], ["middle"], ["top"]]);
    }

    #[test]
    fn the_lighter_arrow_of_a_circle_leads_up() {
        let graph = graph(&[("a", "b", 5), ("b", "c", 5), ("c", "a", 1), ("d", "a", 1)]);
        assert_eq!(graph.circles(), [["a", "b", "c"]]);
        assert_eq!(graph.circular(), [("a", "b"), ("b", "c"), ("c", "a")]);
        assert_eq!(graph.upward(), [("c", "a")]);
        assert_eq!(graph.floors(), [["c"], ["b"], ["a"], ["d"]]);
    }
}
