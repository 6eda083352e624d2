//! Tables to prefetch before a packet's turn, and the packets to prefetch for.
//!
//! A prefetch hides a miss, but it takes time and evicts other cache lines. So a table is
//! prefetched for every packet only if packets of established flows may need it. Such a table is
//! touched on a path that neither drops nor makes or removes an entry. The others are *further*
//! tables: a new flow needs them, such as a NAT's counter per client. They are prefetched for
//! packets that miss an entry in one of the first tables.

use crate::graph::{Access, Does, Exit, Graph, Path};

/// Per state, in the order of the graph: whether it is a further table.
pub fn further(graph: &Graph) -> Vec<bool> {
    let keyed = |name: &str| graph.state(name).is_some_and(|state| state.keyed.is_some());
    let is_of_a_table = |access: &&Access| keyed(&access.state);
    let known = |path: &&Path| {
        let mut accesses = path.accesses.iter().filter(is_of_a_table);
        path.exit != Exit::Drop && accesses.all(|a| matches!(a.does, Does::Read | Does::Write))
    };
    let paths = || graph.chain.iter().flat_map(|handler| &handler.paths);
    let touches = |path: &Path, name: &str| path.accesses.iter().any(|a| a.state == name);
    let needed = |name: &str| {
        // An opaque access may be of any kind.
        let unseen =
            |path: &Path| path.accesses.iter().any(|a| a.state == name && a.does == Does::Anything);
        paths().filter(known).any(|path| touches(path, name)) || paths().any(unseen)
    };
    let tables: Vec<Option<bool>> = graph
        .states
        .iter()
        .map(|state| state.keyed.as_ref().map(|_| needed(&state.name)))
        .collect();
    // A further table needs a first table, because a miss there triggers its prefetch.
    let any = tables.contains(&Some(true));
    tables.iter().map(|needed| any && *needed == Some(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::vocabulary::Kind;

    /// A NAT that counts the sessions of each client.
    fn with_clients(does: Does) -> Graph {
        let mut graph = sample::nat();
        graph.states.push(sample::state("Client", Kind::Keyed, Some("SourceAddress"), "u64"));
        let paths = graph.chain.iter_mut().flat_map(|handler| &mut handler.paths);
        for path in paths {
            let made = path.accesses.iter().find(|access| access.does == does).cloned();
            path.accesses.extend(made.map(|access| Access {
                state: "Client".to_owned(),
                does: Does::Write,
                ..access
            }));
        }
        graph
    }

    #[test]
    fn what_only_new_flows_need_is_further() {
        assert_eq!(further(&sample::nat()), [false, false]);
        assert_eq!(further(&with_clients(Does::Insert)), [false, false, true]);
    }

    #[test]
    fn what_known_flows_need_is_not() {
        assert_eq!(further(&with_clients(Does::Write)), [false, false, false]);
    }

    #[test]
    fn what_cannot_be_seen_is_not() {
        let mut graph = with_clients(Does::Insert);
        let accesses = graph.chain.iter_mut().flat_map(|handler| &mut handler.paths);
        let accesses = accesses.flat_map(|path| &mut path.accesses);
        accesses.filter(|access| access.state == "Client").for_each(|a| a.does = Does::Anything);
        assert_eq!(further(&graph), [false, false, false]);
    }

    #[test]
    fn without_a_first_table_there_is_no_further_one() {
        let mut graph = with_clients(Does::Insert);
        for handler in &mut graph.chain {
            handler.paths.retain(|path| path.accesses.iter().any(|a| a.does == Does::Insert));
        }
        assert_eq!(further(&graph), [false, false, false]);
    }
}
