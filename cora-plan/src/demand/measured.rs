//! From the observations of a run to a [`Measurement`]: routes instead of observed ways, and
//! packets per class of flows.

use std::collections::BTreeMap;

use super::counted::Counted;
use super::nearest_path::{Fit, nearest_path};
use super::observed::{Count, Observed};
use super::{Executed, Measurement, Route, SCHEMA};
use crate::graph::Graph;
use crate::traffic::Borders;

/// Measured routes, and the quality of their match.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The measurement to keep. It has no instruction counts before [`Self::count`].
    pub measurement: Measurement,
    /// The route of each way of the run.
    pub route_of: Vec<usize>,
    /// Packets by quality of the match.
    pub fits: Fits,
}

/// Packets by quality of the match between observation and path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fits {
    /// The observation is the path.
    pub exact: u64,
    /// It is, except for states with only their names observed.
    pub but_for_names: u64,
    /// It is not: the graph lacks a path, and the nearest one is used.
    pub otherwise: u64,
    /// Exact matches for which another path fits as well.
    pub ambiguous: u64,
}

/// Gives each way its route, and counts packets.
///
/// The packets of a flow determine its class. Packets without a key count in the lightest class,
/// because no side owns a flow of theirs.
///
/// # Errors
///
/// A sentence, if the observations are of another program than the graph.
pub fn measured(
    graph: &Graph,
    observed: &Observed,
    borders: &BTreeMap<String, Borders>,
    capture: &str,
) -> Result<Measured, String> {
    if observed.app != graph.app {
        return Err(format!("`{}` ran, and the graph is of `{}`", observed.app, graph.app));
    }
    let packets = observed.per_way();
    let mut fits = Fits::default();
    let mut steps_of = Vec::new();
    for (way, packets) in observed.ways.iter().zip(packets) {
        steps_of.push(steps(graph, way, packets, &mut fits)?);
    }
    let inside = |way: &[super::observed::Step]| way.first().is_some_and(|step| step.inside);
    let steps_of: Vec<(bool, Vec<(usize, usize)>)> =
        observed.ways.iter().map(|way| inside(way)).zip(steps_of).collect();
    let mut all = steps_of.clone();
    all.sort();
    all.dedup();
    let route_of: Vec<usize> =
        steps_of.iter().filter_map(|steps| all.iter().position(|other| other == steps)).collect();
    let routes: Vec<Route> = all
        .into_iter()
        .map(|(inside, steps)| {
            let (nic, host) = (Executed::default(), Executed::default());
            Route { steps, inside, nic, host }
        })
        .collect();
    let counts = borders.iter().map(|(key, borders)| {
        (key.clone(), per_class(observed, key, borders, &route_of, routes.len()))
    });
    let measurement = Measurement {
        schema: SCHEMA,
        app: graph.app.clone(),
        graph: graph.digest(),
        capture: capture.to_owned(),
        packets: observed.packets,
        counts: counts.collect(),
        routes,
        nic_counted: false,
        host_counted: false,
    };
    Ok(Measured { measurement, route_of, fits })
}

/// The paths of one way, in chain order.
fn steps(
    graph: &Graph,
    way: &[super::observed::Step],
    packets: u64,
    fits: &mut Fits,
) -> Result<Vec<(usize, usize)>, String> {
    let mut steps = Vec::new();
    let mut worst = Fit::Exact;
    let mut ambiguous = false;
    for step in way {
        let nearest = nearest_path(graph, step)
            .ok_or_else(|| format!("the graph has no path of handler {}", step.handler))?;
        worst = worst.max(nearest.fit);
        ambiguous |= nearest.ambiguous;
        steps.push((step.handler, nearest.path));
    }
    steps.sort_unstable();
    match worst {
        Fit::Exact => fits.exact += packets,
        Fit::ButForNames => fits.but_for_names += packets,
        Fit::Otherwise => fits.otherwise += packets,
    }
    if ambiguous && worst == Fit::Exact {
        fits.ambiguous += packets;
    }
    Ok(steps)
}

fn per_class(
    observed: &Observed,
    key: &str,
    borders: &Borders,
    route_of: &[usize],
    routes: usize,
) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; routes]; borders.least().len().max(1)];
    let last = counts.len() - 1;
    let mut add = |class: usize, ways: &[Count]| {
        for (way, packets) in ways {
            if let Some(count) = route_of.get(*way).and_then(|route| counts[class].get_mut(*route))
            {
                *count += packets;
            }
        }
    };
    for (packets, ways) in observed.flows.get(key).into_iter().flatten() {
        add(borders.class_of(*packets), ways);
    }
    if let Some(keyless) = observed.keyless.get(key) {
        add(last, keyless);
    }
    counts
}

impl Measured {
    /// Fills in instruction counts. Without `nic`, the host's counts are used; without `host` too,
    /// the estimate. A route without a counted packet gets the mean of all packets.
    pub fn count(&mut self, graph: &Graph, host: Option<&Counted>, nic: Option<&Counted>) {
        let estimated =
            |route: &Route| super::estimate::executed_inside(graph, &route.steps, route.inside);
        let of = |counted: &Counted, number: usize| {
            counted.per_route.get(number).copied().flatten().unwrap_or(counted.mean)
        };
        for (number, route) in self.measurement.routes.iter_mut().enumerate() {
            route.host = host.map_or_else(|| estimated(route), |it| of(it, number));
            route.nic = nic.map_or(route.host, |it| of(it, number));
        }
        self.measurement.host_counted = host.is_some();
        self.measurement.nic_counted = nic.is_some();
    }

    /// Packets per route. The sum is the same for every key.
    pub fn per_route(&self) -> Vec<u64> {
        let routes = self.measurement.routes.len();
        let mut sums = vec![0; routes];
        let classes = self.measurement.counts.values().next();
        for class in classes.into_iter().flatten() {
            sums.iter_mut().zip(class).for_each(|(sum, packets)| *sum += packets);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::super::observed::{Did, Step};
    use super::*;
    use crate::graph::{Does, Exit};
    use crate::sample;

    fn observed() -> Observed {
        let write = || Did::Asked { state: "Session".to_owned(), does: Does::Write };
        let insert = Did::Asked { state: "Session".to_owned(), does: Does::Insert };
        let step = |did, exit| vec![Step { handler: 0, inside: false, did, exit }];
        let ports = Did::Named { parameter: 1 };
        Observed {
            app: "nat".to_owned(),
            packets: 110,
            cut_off: 0,
            ways: vec![
                step(vec![write(), ports.clone(), insert], Exit::Transmit),
                step(vec![write()], Exit::Transmit),
                step(vec![], Exit::Drop),
                step(vec![ports, write()], Exit::Transmit),
            ],
            // A flow of 90 packets, two of 7 and two of 2; two packets without a flow.
            flows: [(
                "FiveTuple".to_owned(),
                [
                    (2, vec![(0, 2), (1, 2)]),
                    (7, vec![(0, 2), (1, 9), (3, 3)]),
                    (90, vec![(0, 1), (1, 89)]),
                ]
                .into(),
            )]
            .into(),
            keyless: [("FiveTuple".to_owned(), vec![(2, 2)])].into(),
        }
    }

    /// Classes of flows with at least 50, 5, and 1 packets.
    fn borders() -> BTreeMap<String, Borders> {
        [("FiveTuple".to_owned(), Borders::of([50, 5, 1]))].into()
    }

    #[test]
    fn every_packet_is_counted_in_its_class_and_route() {
        let graph = sample::nat();
        let mut measured = measured(&graph, &observed(), &borders(), "a.pcap").unwrap();
        let routes: Vec<_> =
            measured.measurement.routes.iter().map(|route| route.steps.clone()).collect();
        assert_eq!(routes, [[(0, 0)], [(0, 1)], [(0, 3)]]);
        assert_eq!(measured.route_of, [2, 1, 0, 1]);
        assert_eq!(
            measured.measurement.counts["FiveTuple"],
            [[0, 89, 1], [0, 12, 2], [2, 2, 2]],
            "heaviest class first; what has no key is in the last"
        );
        assert_eq!(measured.per_route(), [2, 103, 5]);
        assert_eq!(measured.per_route().iter().sum::<u64>(), 110);
        let Fits { exact, but_for_names, otherwise, ambiguous } = measured.fits;
        assert_eq!((exact, but_for_names, otherwise, ambiguous), (107, 3, 0, 0));

        let executed = |instructions, mispredictions| Executed { instructions, mispredictions };
        let per_route = vec![Some(executed(90.0, 0.1)), None, Some(executed(9e2, 2.0))];
        let counted = Counted { per_route, mean: executed(500.0, 1.0), error: 0.0 };
        measured.count(&graph, Some(&counted), None);
        let host: Vec<Executed> =
            measured.measurement.routes.iter().map(|route| route.host).collect();
        assert_eq!(host, [executed(90.0, 0.1), executed(500.0, 1.0), executed(900.0, 2.0)]);
        assert!(measured.measurement.host_counted && !measured.measurement.nic_counted);
        assert_eq!(measured.measurement.routes[2].nic, executed(900.0, 2.0));
    }

    #[test]
    fn another_program_is_refused() {
        let other = Graph::new("firewall");
        let refusal = measured(&other, &observed(), &borders(), "a.pcap").unwrap_err();
        assert_eq!(refusal, "`nat` ran, and the graph is of `firewall`");
    }
}
