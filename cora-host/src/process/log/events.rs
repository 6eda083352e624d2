//! The newest events of a run, in the memory of its supervisor.
//!
//! An event is a line of the log at `info` or above, whatever the levels and the place of the log
//! are; a step that an operator wants to know of later ([`note`](super::note)); and each other line
//! that the log has. The limit of lines of one kind is the same for both: a line that it holds back
//! is no event, and the number of such lines is one.
//!
//! Events are numbered without a gap, from 1 on. Another program that takes the place of this one
//! goes on with its events and numbers.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::Line;

/// How many events are kept.
const KEPT: usize = 1024;
/// Maximum number of events in an answer, which the supervisor writes between two rounds.
const PAGE: usize = 128;
/// Maximum number of bytes of a text: memory and answers are bounded, whatever a handler prints.
const LONGEST: usize = 1000;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Event {
    number: u64,
    /// Milliseconds since 1970.
    time: u64,
    level: Cow<'static, str>,
    part: Cow<'static, str>,
    text: String,
}

/// The newest events.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Events {
    /// In the order of their numbers.
    kept: VecDeque<Event>,
    /// How many there were: the number of the last one.
    newest: u64,
}

/// The answer to a request for events.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    schema: &'static str,
    events: Vec<Event>,
    /// The number behind which the next page begins.
    next: u64,
    /// Events behind `after` that are not kept any more.
    missed: u64,
}

impl Events {
    pub(super) const fn new() -> Self {
        Self { kept: VecDeque::new(), newest: 0 }
    }

    /// Keeps this line as the newest event.
    pub(super) fn push(&mut self, line: &Line) {
        self.newest += 1;
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        let time = line.when.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.kept.push_back(Event {
            number: self.newest,
            time: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            level: line.level.name().into(),
            part: line.part.name().into(),
            text: shortened(&line.text),
        });
    }

    /// The oldest events behind the one with the number `after`, or of the `last` ones of these.
    pub(super) fn page(&self, after: u64, last: Option<u64>) -> Page {
        // A number that no event has is of an earlier run at the same socket.
        let after = if after > self.newest { 0 } else { after };
        let after = last.map_or(after, |last| after.max(self.newest.saturating_sub(last)));
        let before_kept = self.newest - self.kept.len() as u64;
        let missed = before_kept.saturating_sub(after);
        let read = usize::try_from(after.saturating_sub(before_kept)).unwrap_or(usize::MAX);
        let events: Vec<Event> = self.kept.iter().skip(read).take(PAGE).cloned().collect();
        let next = events.last().map_or(after, |last| last.number);
        Page { schema: "cora-events/1", events, next, missed }
    }

    /// Goes on with the events that the program before left; leaves out what makes no sense.
    pub(super) fn follow(&mut self, left: &[u8]) {
        let Ok(Self { mut kept, newest }) = serde_json::from_slice(left) else { return };
        let numbered = kept.iter().rev().zip(0_u64..).all(|(event, back)| {
            newest.checked_sub(back).is_some_and(|number| number > 0 && number == event.number)
        });
        if !numbered || newest > u64::MAX / 2 {
            return;
        }
        let own = std::mem::take(&mut self.kept);
        for (event, number) in own.into_iter().zip(newest + 1..) {
            kept.push_back(Event { number, ..event });
        }
        // Another build may keep more.
        kept.drain(..kept.len().saturating_sub(KEPT));
        self.newest += newest;
        self.kept = kept;
    }
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LONGEST);
    format!("{}…", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::super::levels::{Level, Part};
    use super::*;
    use crate::golden;

    fn line(text: &str) -> Line {
        Line::now(Part::Nic, Level::Warn, text.to_owned())
    }

    /// So many events, each with its number as text.
    fn events(number: u64) -> Events {
        let mut events = Events::new();
        (1..=number).for_each(|number| events.push(&line(&number.to_string())));
        events
    }

    fn numbers(page: &Page) -> Vec<u64> {
        assert!(page.events.iter().all(|event| event.text == event.number.to_string()));
        page.events.iter().map(|event| event.number).collect()
    }

    #[test]
    fn events_come_once_each_page_by_page() {
        let (events, mut after, mut heard) = (events(300), 0, Vec::new());
        loop {
            let page = events.page(after, None);
            assert_eq!(page.missed, 0);
            if page.events.is_empty() {
                assert_eq!(page.next, 300, "it goes on from here");
                break;
            }
            heard.extend(numbers(&page));
            after = page.next;
        }
        assert_eq!(heard, (1..=300).collect::<Vec<_>>());
        assert_eq!(numbers(&events.page(0, Some(2))), [299, 300]);
        assert_eq!(numbers(&events.page(299, Some(2))), [300], "none twice");
        assert_eq!(numbers(&Events::new().page(0, Some(2))), Vec::<u64>::new());
    }

    #[test]
    fn events_that_fell_out_are_counted_as_missed_and_memory_is_bounded() {
        let kept = KEPT as u64;
        let events = events(kept + 100);
        assert_eq!(events.kept.len(), KEPT);
        let page = events.page(0, None);
        assert_eq!((page.missed, numbers(&page)[0]), (100, 101));
        assert_eq!(events.page(40, None).missed, 60);
        for (after, first) in [(100, 101), (101, 102)] {
            let page = events.page(after, None);
            assert_eq!((page.missed, numbers(&page)[0]), (0, first));
        }
        assert_eq!(events.page(0, Some(kept)).missed, 0);
        assert_eq!(events.page(0, Some(kept + 7)).missed, 7, "so many are asked for");
        assert_eq!(numbers(&events.page(0, Some(3))), [kept + 98, kept + 99, kept + 100]);
        let none = events.page(kept + 100, None);
        assert_eq!((none.events.len(), none.next, none.missed), (0, kept + 100, 0));
    }

    #[test]
    fn whoever_read_an_earlier_run_begins_anew() {
        let page = events(5).page(9000, None);
        assert_eq!((numbers(&page), page.next, page.missed), (vec![1, 2, 3, 4, 5], 5, 0));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut events = Events::new();
        events.push(&line(&"ä".repeat(LONGEST)));
        events.push(&line(&format!("a{}", "ä".repeat(LONGEST))));
        for event in events.page(0, None).events {
            assert!(event.text.ends_with("ä…") && event.text.len() <= LONGEST + "…".len());
        }
    }

    #[test]
    fn another_program_goes_on_with_events_and_numbers() {
        let before = events(KEPT as u64 + 3);
        let left = serde_json::to_vec(&before).expect("JSON");
        let mut after = Events::new();
        after.push(&line("its own comes first, as it says something before it takes over"));
        after.follow(&left);
        assert_eq!((after.newest, after.kept.len()), (before.newest + 1, KEPT));
        assert_eq!(after.kept[KEPT - 2], before.kept[KEPT - 1]);
        let page = after.page(before.newest, None);
        assert_eq!((page.events.len(), page.next), (1, before.newest + 1));
    }

    #[test]
    fn what_makes_no_sense_is_not_followed() {
        let good = serde_json::to_string(&events(3)).expect("JSON");
        let wrong = [
            String::new(),
            "{}".to_owned(),
            good.replace("\"newest\":3", "\"newest\":4"),
            good.replace("\"newest\":3", "\"newest\":18446744073709551615"),
            good.replace("\"number\":2", "\"number\":7"),
            serde_json::json!({ "kept": [], "newest": u64::MAX }).to_string(),
        ];
        for left in wrong {
            let mut events = events(2);
            events.follow(left.as_bytes());
            assert_eq!((numbers(&events.page(0, None)), events.newest), (vec![1, 2], 2), "{left}");
        }
        let mut events = Events::new();
        events.follow(good.as_bytes());
        assert_eq!(numbers(&events.page(0, None)), [1, 2, 3]);
    }

    /// docs/json.md has its fields.
    #[test]
    fn the_answer_is_as_the_page_says() {
        let mut events = events(2 * KEPT as u64 - 1);
        let when = SystemTime::UNIX_EPOCH + Duration::from_millis(1_777_593_600_123);
        events.push(&Line { when, ..line("the NIC process ended: it is started again") });
        events.kept.drain(..KEPT - 1);
        golden::json("events", &events.page(0, None));
    }
}
