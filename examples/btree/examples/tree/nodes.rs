//! Bulk loading: from sorted keys to the nodes of a tree, all but the last of a level full.

/// Keys of a node, and levels of a tree, as the program has them.
pub const KEYS: usize = 31;
const LEVELS: usize = 5;
/// Nodes of a tree.
const NODES: usize = 1 << 17;

/// A node.
#[derive(Debug, PartialEq, Eq)]
pub struct Node {
    pub is_leaf: bool,
    pub keys: Vec<u64>,
    /// Values, or the numbers of children.
    pub of: Vec<u64>,
}

/// The nodes of a tree by their numbers, the root first: parents have lower numbers than children.
pub fn nodes(pairs: &[(u64, u64)]) -> Result<Vec<Node>, String> {
    if pairs.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
        return Err("the keys are not sorted, or one comes twice".to_owned());
    }
    // From the leaves up: the nodes of a level, each with its least key.
    let mut levels = vec![leaves(pairs)];
    while levels.last().is_some_and(|level| level.len() > 1) {
        let below = levels.last().map_or(&[][..], |level| level);
        levels.push(parents(below));
    }
    let all: usize = levels.iter().map(Vec::len).sum();
    if levels.len() > LEVELS || all > NODES {
        return Err(format!(
            "{} keys make {all} nodes in {} levels, and a tree has at most {NODES} in {LEVELS}",
            pairs.len(),
            levels.len()
        ));
    }
    // Children are numbered within their level so far.
    let mut first = all;
    for level in &mut levels {
        let below = first as u64;
        first -= level.len();
        for (node, _) in level.iter_mut().filter(|(node, _)| !node.is_leaf) {
            node.of.iter_mut().for_each(|child| *child += below);
        }
    }
    Ok(levels.into_iter().rev().flatten().map(|(node, _)| node).collect())
}

fn leaves(pairs: &[(u64, u64)]) -> Vec<(Node, u64)> {
    let leaf = |pairs: &[(u64, u64)]| {
        let (keys, of): (Vec<u64>, Vec<u64>) = pairs.iter().copied().unzip();
        let least = keys.first().copied().unwrap_or(0);
        (Node { is_leaf: true, keys, of }, least)
    };
    if pairs.is_empty() { vec![leaf(pairs)] } else { pairs.chunks(KEYS).map(leaf).collect() }
}

fn parents(below: &[(Node, u64)]) -> Vec<(Node, u64)> {
    let least: Vec<u64> = below.iter().map(|(_, least)| *least).collect();
    let children = least.chunks(KEYS + 1).enumerate();
    children
        .map(|(number, least)| {
            let first = (number * (KEYS + 1)) as u64;
            let of = (first..first + least.len() as u64).collect();
            (Node { is_leaf: false, keys: least[1..].to_vec(), of }, least[0])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(nodes: &[Node], key: u64) -> Option<u64> {
        let mut node = &nodes[0];
        loop {
            let rank = node.keys.iter().filter(|it| **it <= key).count();
            if node.is_leaf {
                let place = rank.checked_sub(1)?;
                return (node.keys[place] == key).then(|| node.of[place]);
            }
            node = &nodes[node.of[rank] as usize];
        }
    }

    #[test]
    fn each_key_is_in_the_tree_and_no_other() {
        for count in [0, 1, 31, 32, 992, 993, 40_000] {
            let pairs: Vec<(u64, u64)> = (0..count).map(|key| (2 * key + 1, key * 7)).collect();
            let nodes = nodes(&pairs).unwrap();
            for (number, node) in nodes.iter().enumerate().filter(|(_, node)| !node.is_leaf) {
                assert!(node.of.iter().all(|child| *child > number as u64));
                assert_eq!(node.of.len(), node.keys.len() + 1);
            }
            for (key, value) in &pairs {
                assert_eq!(find(&nodes, *key), Some(*value), "{count}");
                assert_eq!(find(&nodes, key - 1), None, "{count}");
            }
        }
        assert!(nodes(&[(5, 1), (5, 2)]).is_err());
    }
}
