//! What was meant by a mistyped word.

/// Similarity above which a word counts as a mistyped known one.
const NEAR: f64 = 0.5;

/// The most similar known word, if it is near enough. Two swapped letters are one mistake.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &'a str| (strsim::normalized_damerau_levenshtein(word, name), name);
    let (best, name) = known.map(likeness).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best > NEAR).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_found_and_what_was_not_is_not() {
        let known = || ["run", "graph", "plan", "state-out"].into_iter();
        for (wrong, meant) in [
            ("rnu", Some("run")),
            ("state_out", Some("state-out")),
            ("paln", Some("plan")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(wrong, known()), meant, "{wrong}");
        }
    }
}
