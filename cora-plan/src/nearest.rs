//! The known word nearest to a wrong one, by letters to insert, remove, replace or swap with their
//! neighbour.

use strsim::osa_distance;

/// The most likely candidate for a misspelt `word`, if at most a third of its letters are wrong.
/// Among equals, the first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The remedy for a wrong `word`: the nearest of the known words, or all of them.
pub(crate) fn choose(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["Session", "PortPool", "Backends"];
        assert_eq!(nearest("Sesion", words), Some("Session"));
        assert_eq!(nearest("sessions", words), Some("Session"));
        assert_eq!(nearest("PotrPool", words), Some("PortPool"));
        assert_eq!(nearest("Frogs", words), None);
    }
}
