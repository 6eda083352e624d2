//! Measured runs of each handler, and the messages that they send.

use super::observed::{Did, Observed};
use crate::graph::{Graph, How};

/// Runs of one handler.
#[derive(Clone, Debug, PartialEq)]
pub struct HandlerRuns {
    /// Its name.
    pub handler: String,
    /// Runs, of packets and of messages.
    pub runs: u64,
    /// Runs of messages that handlers sent.
    pub inside: u64,
    /// Messages that it sent, by type and way.
    pub sent: Vec<(String, How, u64)>,
}

/// Runs of each handler in a traced run, in the order of the chain.
pub fn handler_runs(graph: &Graph, observed: &Observed) -> Vec<HandlerRuns> {
    let blank = |handler: &crate::graph::HandlerNode| {
        let kinds = handler.sendings();
        let kinds = kinds.iter().filter_map(|it| Some((it.message.to_owned(), it.how?, 0)));
        let sent = kinds.filter(|(_, how, _)| *how != How::Unseen).collect();
        HandlerRuns { handler: handler.name.clone(), runs: 0, inside: 0, sent }
    };
    let mut all: Vec<HandlerRuns> = graph.chain.iter().map(blank).collect();
    for (way, packets) in observed.ways.iter().zip(observed.per_way()) {
        for step in way {
            let Some(of) = all.get_mut(step.handler) else { continue };
            of.runs += packets;
            of.inside += if step.inside { packets } else { 0 };
            for did in &step.did {
                let Did::Sent { message, how, count } = did else { continue };
                let sum = packets * u64::from(*count);
                match of.sent.iter_mut().find(|(other, way, _)| other == message && way == how) {
                    Some((.., all)) => *all += sum,
                    None => of.sent.push((message.clone(), *how, sum)),
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::{measured, observed::Step};
    use super::*;
    use crate::graph::{Exit, Path, Sent};
    use crate::sample;
    use crate::traffic::Borders;

    /// A handler that sends `Word` any number of times, or ends without.
    fn splitter() -> Graph {
        let mut graph = sample::nat();
        let at = graph.chain[0].at.clone();
        let sent =
            Sent { message: "Word".to_owned(), how: How::Send, many: true, own_key: false, at };
        let path =
            |sends: &[Sent]| Path { accesses: Vec::new(), sends: sends.to_vec(), exit: Exit::Done };
        graph.chain[0].outboxes = vec!["Word".to_owned()];
        graph.chain[0].paths = vec![path(&[]), path(&[sent])];
        graph
    }

    #[test]
    fn runs_and_messages_are_counted_by_handler() {
        let graph = splitter();
        let words = |count| Did::Sent { message: "Word".to_owned(), how: How::Send, count };
        let step = |inside, did| vec![Step { handler: 0, inside, did, exit: Exit::Done }];
        let observed = Observed {
            app: "nat".to_owned(),
            packets: 5,
            cut_off: 0,
            ways: vec![
                step(false, vec![words(3)]),
                step(false, vec![]),
                step(true, vec![words(1)]),
                step(true, vec![]),
            ],
            flows: [("FiveTuple".to_owned(), [(5, vec![(0, 2), (1, 3), (2, 4), (3, 6)])].into())]
                .into(),
            keyless: [("FiveTuple".to_owned(), Vec::new())].into(),
        };
        let [runs] = &handler_runs(&graph, &observed)[..] else { panic!("one handler") };
        assert_eq!((runs.runs, runs.inside), (15, 10));
        assert_eq!(runs.sent, [("Word".to_owned(), How::Send, 2 * 3 + 4)]);

        let borders = [("FiveTuple".to_owned(), Borders::of([1]))].into();
        let measured = measured(&graph, &observed, &borders, "a.pcap").unwrap();
        let routes: Vec<(bool, usize)> =
            measured.measurement.routes.iter().map(|it| (it.inside, it.steps[0].1)).collect();
        assert_eq!(routes, [(false, 0), (false, 1), (true, 0), (true, 1)], "by path and origin");
        assert_eq!(measured.per_route(), [3, 2, 6, 4]);
        assert_eq!(measured.fits.exact, 15, "{:?}", measured.fits);
    }
}
