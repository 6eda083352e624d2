//! A measurement as a file.

use super::{Measurement, SCHEMA};
use crate::graph::Graph;

impl Measurement {
    /// As JSON, with a newline at the end.
    pub fn to_json(&self) -> String {
        crate::json::pretty(self)
    }

    /// Reads the output of [`Self::to_json`] for this graph, because the path indices mean nothing
    /// for another graph.
    ///
    /// # Errors
    ///
    /// A sentence, if the text is not a measurement, or has another schema, is of another program
    /// or of an earlier version of this one, or contradicts itself.
    pub fn from_json(text: &str, graph: &Graph) -> Result<Self, String> {
        let read: Self =
            serde_json::from_str(text).map_err(|error| format!("not a measurement: {error}"))?;
        if read.schema != SCHEMA {
            return Err(format!(
                "a measurement of schema {} where this Cora reads schema {SCHEMA}; run `cargo cora measure` again",
                read.schema
            ));
        }
        if read.app != graph.app {
            return Err(format!("a measurement of `{}`, and this is `{}`", read.app, graph.app));
        }
        if read.graph != graph.digest() {
            return Err("the program has changed since; run `cargo cora measure` again".to_owned());
        }
        read.check(graph).map_err(|why| format!("a measurement that contradicts itself: {why}"))?;
        Ok(read)
    }

    fn check(&self, graph: &Graph) -> Result<(), String> {
        let sound = |count: f64| count.is_finite() && count >= 0.0;
        for (number, route) in self.routes.iter().enumerate() {
            let known = |(handler, path): &(usize, usize)| {
                graph.chain.get(*handler).is_some_and(|handler| *path < handler.paths.len())
            };
            if !route.steps.iter().all(known) {
                return Err(format!("route {number} takes a path that the graph has not"));
            }
            let executed = [route.nic, route.host].into_iter();
            let mut counts = executed.flat_map(|it| [it.instructions, it.mispredictions]);
            if !counts.all(sound) {
                return Err(format!(
                    "route {number} has no sound number of instructions or mispredictions"
                ));
            }
        }
        for (key, classes) in &self.counts {
            if classes.iter().any(|class| class.len() != self.routes.len()) {
                return Err(format!("classes by {key} don't count {} routes", self.routes.len()));
            }
            let counts = classes.iter().flat_map(|class| class.iter().zip(&self.routes));
            let begun = counts.filter(|(_, route)| !route.inside);
            let sum = begun.fold(0, |sum: u64, (count, _)| sum.saturating_add(*count));
            // A datagram that is no message begins no run.
            let may_miss = graph.takes_messages();
            if sum > self.packets || sum < self.packets && !may_miss {
                return Err(format!("by {key} there are {sum} packets of {}", self.packets));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::demand::{Executed, Route};
    use crate::sample;

    fn kept(graph: &Graph) -> Measurement {
        let route = |path, count| Route {
            steps: vec![(0, path)],
            inside: false,
            nic: Executed { instructions: count, mispredictions: 0.5 },
            host: Executed { instructions: 1.5 * count, mispredictions: 0.25 },
        };
        Measurement {
            schema: SCHEMA,
            app: graph.app.clone(),
            graph: graph.digest(),
            capture: "a".to_owned(),
            packets: 110,
            routes: vec![route(1, 500.0), route(3, 1_679.073)],
            counts: BTreeMap::from([("FiveTuple".to_owned(), vec![vec![89, 1], vec![12, 8]])]),
            nic_counted: true,
            host_counted: true,
        }
    }

    #[test]
    fn what_was_kept_is_read_as_it_was() {
        let graph = sample::nat();
        let kept = kept(&graph);
        assert_eq!(Measurement::from_json(&kept.to_json(), &graph), Ok(kept));
    }

    #[test]
    fn what_means_nothing_is_refused_in_a_sentence() {
        let graph = sample::nat();
        let kept = kept(&graph);
        let text = kept.to_json();
        let refused = |text: &str| Measurement::from_json(text, &graph).unwrap_err();
        assert!(refused(&text.replace("\"schema\": 2", "\"schema\": 7")).contains("schema 7"));
        let more = text.replace("\"packets\": 110", "\"packets\": 111");
        assert!(refused(&more).contains("there are 110 packets of 111"), "{}", refused(&more));
        assert!(refused("[]").starts_with("not a measurement: "));
        let negative = text.replace("500.0", "-500.0");
        assert!(refused(&negative).contains("route 0 has no sound"), "{}", refused(&negative));
        let negative = text.replace("\"mispredictions\": 0.25", "\"mispredictions\": -1");
        assert!(refused(&negative).contains("or mispredictions"), "{}", refused(&negative));

        let mut changed = graph.clone();
        changed.chain[0].paths.pop();
        let refusal = Measurement::from_json(&text, &changed).unwrap_err();
        assert!(refusal.contains("cargo cora measure"), "{refusal}");
        let mut lost = kept;
        lost.routes[0].steps[0].1 = 99;
        assert!(refused(&lost.to_json()).contains("a path that the graph has not"));
        changed.app = "firewall".to_owned();
        let refusal = Measurement::from_json(&text, &changed).unwrap_err();
        assert_eq!(refusal, "a measurement of `nat`, and this is `firewall`");
    }
}
