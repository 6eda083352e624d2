//! The supervisor's end of a host half's rings: a question, and its answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use cora_runtime::link::message::{MAX_MESSAGE, Message, Questions};
use cora_runtime::link::ring::{Consumer, Producer, SharedMemory};

use crate::ingress::feed::encoded;
use crate::inspect::line::Lines;

/// How long a host half may take for any part of an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between looks at the ring of answers.
const PAUSE: Duration = Duration::from_micros(100);

const GONE: &str = "the host half was started anew meanwhile: ask again";
const SILENT: &str = "the host half does not answer: ask `status` whether it works";

/// The ends of a host half's rings.
#[derive(Debug)]
struct Ends {
    /// The number of the host half.
    number: u64,
    orders: Producer<SharedMemory>,
    answers: Consumer<SharedMemory>,
    /// Questions that were given up: their answers may still come.
    owed: u32,
}

/// Asks the host half of one shard.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) shard: u16,
    ends: Option<Ends>,
    buffer: Vec<u8>,
    /// Tapped packets, as records, until somebody takes them.
    tapped: VecDeque<(u16, Vec<u8>)>,
}

impl Caller {
    pub(super) fn new(shard: u16) -> Self {
        Self { shard, ends: None, buffer: vec![0; MAX_MESSAGE], tapped: VecDeque::new() }
    }

    /// Asks, and passes each part of the answer to `each`, the last one included.
    ///
    /// # Errors
    /// A sentence, if the host half ends meanwhile or does not answer.
    pub(super) fn ask(
        &mut self,
        lines: &Lines,
        question: Questions<'_>,
        each: &mut dyn FnMut(Questions<'_>),
    ) -> Result<(), String> {
        let (number, line) =
            lines.of_shard(self.shard).ok_or("no host half works: ask again later")?;
        if self.ends.as_ref().is_none_or(|ends| ends.number != number) {
            let (orders, answers) = (Producer::new(line.orders), Consumer::new(line.answers));
            self.ends = Some(Ends { number, orders, answers, owed: 0 });
        }
        let Self { ends: Some(ends), buffer, shard, tapped } = self else {
            return Err(GONE.into());
        };
        Message::from(question).push(&mut ends.orders).map_err(|_| SILENT)?;
        ends.orders.publish();
        ends.owed += 1;
        let mut since = Instant::now();
        while ends.owed > 0 {
            match ends.next(buffer)? {
                Some(told) if is_of_tap(&told) => {
                    tapped.push_back(encoded(&told.into()));
                }
                Some(answer) => {
                    since = Instant::now();
                    let is_last = is_last(&answer);
                    if ends.owed == 1 {
                        each(answer);
                    }
                    ends.owed -= u32::from(is_last);
                }
                None if lines.of_shard(*shard).is_none_or(|(now, _)| now != number) => {
                    return Err(GONE.into());
                }
                None if since.elapsed() > PATIENCE => return Err(SILENT.into()),
                None => std::thread::sleep(PAUSE),
            }
            ends.answers.release();
        }
        Ok(())
    }
}

impl Caller {
    /// Passes tapped packets so far to `each`. Returns whether the host half is the one that was
    /// asked last.
    ///
    /// # Errors
    /// If its ring is broken.
    pub(super) fn taps(
        &mut self,
        lines: &Lines,
        each: &mut dyn FnMut(Questions<'_>),
    ) -> Result<bool, String> {
        while let Some((kind, bytes)) = self.tapped.pop_front() {
            if let Some(Message::Questions(told)) = Message::decode(kind, &bytes) {
                each(told);
            }
        }
        let Self { ends: Some(ends), buffer, shard, .. } = self else { return Ok(false) };
        while let Some(told) = ends.next(buffer)? {
            if is_last(&told) {
                ends.owed = ends.owed.saturating_sub(1);
            } else {
                each(told);
            }
        }
        ends.answers.release();
        Ok(lines.of_shard(*shard).is_some_and(|(number, _)| number == ends.number))
    }
}

impl Ends {
    /// The next part of an answer, if one is there.
    fn next<'a>(&mut self, buffer: &'a mut [u8]) -> Result<Option<Questions<'a>>, String> {
        let broken = |why: &dyn std::fmt::Display| format!("the host half's answers: {why}");
        let Some(popped) = self.answers.pop(buffer).map_err(|error| broken(&error))? else {
            return Ok(None);
        };
        let bytes = buffer.get(..popped.len).unwrap_or_default();
        match Message::decode(popped.kind, bytes) {
            Some(Message::Questions(answer)) => Ok(Some(answer)),
            _ => Err(broken(&"a record is no answer")),
        }
    }
}

const fn is_of_tap(told: &Questions<'_>) -> bool {
    use Questions::{Missed, TapEntry, Tapped};
    matches!(told, Tapped { .. } | TapEntry { .. } | Missed { .. })
}

const fn is_last(answer: &Questions<'_>) -> bool {
    matches!(answer, Questions::ListEnd { .. } | Questions::Answered { .. })
}
