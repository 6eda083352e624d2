//! The log's lines about an operator's orders and their results.

use crate::inspect::question::{Question, TapRequest};
use crate::inspect::row::Answered;
use crate::process::log::{self, Part};

/// Logs that packets are watched from now on.
pub(super) fn watch_begins(asked: &Question) {
    match asked {
        Question::Tap(TapRequest { points, file, .. }) => {
            let (points, file) = (points.join(", "), file.display());
            log::info(Part::Control, format_args!("a tap of {points} begins, to {file}"));
        }
        _ => log::info(Part::Control, "a trace begins: both sides run their packets one by one"),
    }
}

/// Logs the result of an order. Mere questions change nothing, and have no line.
pub(super) fn answered(asked: &Question, answer: &Result<Answered, String>) {
    if let Some(line) = line(asked, answer) {
        log::info(Part::Control, line);
    }
}

fn line(asked: &Question, answer: &Result<Answered, String>) -> Option<String> {
    let line = match (asked, answer) {
        (Question::Delete(_), Ok(Answered::Deleted { removed, not_removed, .. })) => {
            format!("an operator removed {removed} entries{}", not_done(not_removed.len()))
        }
        (Question::Move(it), Ok(Answered::Moved { moves, there, not_moved, .. })) => format!(
            "an operator moves {moves} flows to the {}: {there} were there already{}",
            it.side_in_words(),
            not_done(not_moved.len())
        ),
        (Question::Tap(_), Ok(Answered::Tapped { file, written, missed, .. })) => format!(
            "the tap to {} ends: it has {written} records, and missed {missed}",
            file.display()
        ),
        (Question::Delete(_), Err(why)) => format!("an operator removes no entry: {why}"),
        (Question::Move(_), Err(why)) => format!("an operator moves no flow: {why}"),
        (Question::Tap(_), Err(why)) => format!("a tap ends or is refused: {why}"),
        (Question::Trace(it), Ok(Answered::Traced { packets, missed, .. })) if !it.is_made() => {
            format!("the trace ends: it has {} packets, and missed {missed} records", packets.len())
        }
        (Question::Trace(it), Err(why)) if !it.is_made() => {
            format!("a trace ends or is refused: {why}")
        }
        // No order has these answers.
        (Question::Flows(_) | Question::Values { .. } | Question::Trace(_), _) | (_, Ok(_)) => {
            return None;
        }
    };
    Some(line)
}

fn not_done(number: usize) -> String {
    match number {
        0 => String::new(),
        number => format!(", and {number} could not be"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::question::Listing;
    use crate::inspect::row::NotDone;

    fn asked(json: &str) -> Question {
        let read = |json| serde_json::from_str(json);
        match json.get(..6) {
            Some("{\"to\":") => Question::Move(read(json).expect(json)),
            _ => Question::Delete(serde_json::from_str(json).expect(json)),
        }
    }

    #[test]
    fn an_order_has_a_line_with_all_that_it_did_and_a_question_has_none() {
        let gone = || NotDone { key: "tcp".into(), why: "it is not there any more" };
        let not_removed = vec![gone(), gone()];
        let deleted = Answered::Deleted { schema: "", removed: 3, not_removed };
        let (delete, to_nic) = (asked(r#"{"filter":{}}"#), asked(r#"{"to":"nic","filter":{}}"#));
        assert_eq!(
            line(&delete, &Ok(deleted)).as_deref(),
            Some("an operator removed 3 entries, and 2 could not be")
        );
        let moved = Answered::Moved { schema: "", moves: 1, there: 4, not_moved: Vec::new() };
        assert_eq!(
            line(&to_nic, &Ok(moved)).as_deref(),
            Some("an operator moves 1 flows to the NIC: 4 were there already")
        );
        let refused = Err("none of 7 entries is meant".to_owned());
        assert_eq!(
            line(&delete, &refused).as_deref(),
            Some("an operator removes no entry: none of 7 entries is meant")
        );
        assert_eq!(line(&Question::Flows(Listing::default()), &refused), None);
    }
}
