//! The client of the nodes: it has so many questions outstanding, and asks the next one when an
//! answer comes. Answers are taken to be in the order of the questions.

use std::collections::VecDeque;

/// Questions in their order, and the times of those that are outstanding (ns).
#[derive(Debug)]
pub(super) struct Client {
    questions: std::vec::IntoIter<Vec<u8>>,
    asked: VecDeque<u64>,
    /// How long each answer of this pass took (ns).
    took: Vec<u64>,
}

impl Client {
    pub(super) fn of(questions: Vec<Vec<u8>>) -> Self {
        Self { questions: questions.into_iter(), asked: VecDeque::new(), took: Vec::new() }
    }

    /// The next question, with nobody waiting for its answer.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.questions.next()
    }

    /// The next question at this time, if fewer than `window` are outstanding, and fewer than
    /// `count` were asked in this pass. `Err`: there is none left.
    pub(super) fn ask(&mut self, now: u64, window: u64, count: u64) -> Result<Option<Vec<u8>>, ()> {
        let outstanding = self.asked.len() as u64;
        if outstanding >= window || outstanding + self.took.len() as u64 >= count {
            return Ok(None);
        }
        self.asked.push_back(now);
        self.questions.next().map(Some).ok_or(())
    }

    /// So many answers came by this time.
    pub(super) fn answered(&mut self, now: u64, answers: u64) {
        for _ in 0..answers {
            let Some(asked) = self.asked.pop_front() else { return };
            self.took.push(now.saturating_sub(asked));
        }
    }

    /// Answers of this pass.
    pub(super) fn answers(&self) -> u64 {
        self.took.len() as u64
    }

    /// Ends the pass; returns the median of its times, and the 99th percentile.
    pub(super) fn end(&mut self) -> [u64; 2] {
        let mut took = std::mem::take(&mut self.took);
        took.sort_unstable();
        [50, 99].map(|part| took.get(took.len() * part / 100).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_kept_and_times_are_in_order() {
        let mut client = Client::of((0..5).map(|number| vec![number]).collect());
        assert_eq!(client.next(), Some(vec![0]));
        assert_eq!(client.ask(10, 2, 3), Ok(Some(vec![1])));
        assert_eq!(client.ask(11, 2, 3), Ok(Some(vec![2])));
        assert_eq!(client.ask(12, 2, 3), Ok(None), "two are outstanding");
        client.answered(20, 1);
        assert_eq!(client.ask(21, 2, 3), Ok(Some(vec![3])));
        client.answered(40, 1);
        assert_eq!(client.ask(41, 2, 3), Ok(None), "three were asked");
        client.answered(42, 7);
        assert_eq!((client.answers(), client.end()), (3, [21, 29]));
        assert_eq!(client.ask(50, 1, 2), Ok(Some(vec![4])));
        client.answered(51, 1);
        assert_eq!(client.ask(52, 1, 2), Err(()), "there is no other");
    }
}
