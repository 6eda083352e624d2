//! Loops: any number of whole rounds, and the round that leaves.

use quote::ToTokens;
use syn::{ExprForLoop, ExprLoop, ExprWhile};

use super::bound::distinct;
use super::expression::valued;
use super::macros::words;
use super::reader::Reader;
use super::value::Value;
use super::way::{Touch, Trace, Way, Ways, union};
use super::written;

/// The ways after one round of a loop.
struct Round {
    /// Ways that continue with the next round.
    through: Ways,
    /// Ways that left the loop.
    left: Ways,
}

impl<'a> Reader<'a> {
    /// `loop`: only `break` leaves it.
    pub(super) fn forever(&mut self, it: &'a ExprLoop, ways: Ways) -> Ways {
        let round = |reader: &mut Self, ways: Ways| {
            reader.open(it.label.as_ref().map(|label| &label.name), true, &ways);
            let through = reader.block(&it.body, ways);
            reader.closed(through, Vec::new())
        };
        let ways = self.rounds(it, ways, round);
        let left = round(self, ways).left;
        self.tidy(left)
    }

    /// `while`: a false condition leaves it, too.
    pub(super) fn while_true(&mut self, it: &'a ExprWhile, ways: Ways) -> Ways {
        let round = |reader: &mut Self, mut ways: Ways| {
            reader.open(it.label.as_ref().map(|label| &label.name), true, &ways);
            ways.iter_mut().for_each(Way::enter);
            let (holds, mut fails) = reader.branch(&it.cond, ways);
            let mut through = reader.block(&it.body, holds);
            through.iter_mut().for_each(Way::leave);
            fails.iter_mut().for_each(Way::leave);
            reader.closed(through, fails)
        };
        let ways = self.rounds(it, ways, round);
        let left = round(self, ways).left;
        let left = valued(left, &Value::Unknown);
        self.tidy(left)
    }

    /// `for`: an exhausted iterator leaves it, too.
    pub(super) fn for_each(&mut self, it: &'a ExprForLoop, ways: Ways) -> Ways {
        let mut ways = self.expr(&it.expr, ways);
        let span = written::begin(&it.expr);
        let (lazy, plain): (Ways, Ways) =
            ways.drain(..).partition(|way| way.value.closure().is_some());
        let mut ways = lazy;
        ways.extend(self.consume(plain, span));
        // The iterator stays on the stack, because it may run a closure in each round.
        ways.iter_mut().for_each(Way::push);
        let round = |reader: &mut Self, ways: Ways| {
            reader.open(it.label.as_ref().map(|label| &label.name), true, &ways);
            let mut ways = reader.next(ways);
            ways.iter_mut().for_each(Way::enter);
            let ways = ways.into_iter().map(|way| reader.bind(&it.pat, way)).collect();
            let mut through = reader.block(&it.body, ways);
            through.iter_mut().for_each(Way::leave);
            reader.closed(through, Vec::new())
        };
        let ways = self.rounds(it, ways, round);
        let mut left = round(self, ways.clone()).left;
        left.extend(self.next(ways));
        for way in &mut left {
            way.pop();
        }
        let left = valued(left, &Value::Unknown);
        self.tidy(left)
    }

    /// Asks the iterator for its next item.
    fn next(&mut self, mut ways: Ways) -> Ways {
        for way in &mut ways {
            way.value = way.stack.last().cloned().unwrap_or(Value::Unknown);
        }
        let ways = self.run_lazy(ways);
        valued(ways, &Value::Unknown)
    }

    fn closed(&mut self, mut through: Ways, mut left: Ways) -> Round {
        let target = self.close();
        through.extend(target.continues);
        left.extend(target.breaks);
        Round { through, left }
    }

    /// The ways after any number of whole rounds.
    fn rounds(
        &mut self,
        whole: &impl ToTokens,
        mut ways: Ways,
        round: impl Fn(&mut Self, Ways) -> Round,
    ) -> Ways {
        // Facts learned before may not hold in a later round.
        for word in words(&whole.to_token_stream()) {
            for way in &mut ways {
                way.forget(&word);
            }
        }
        let ways = self.tidy(ways);
        let blank = ways.iter().map(|way| Way { trace: Trace::default(), ..way.clone() });
        let blank = distinct(blank.collect());
        let group = self.tried(|reader| round(reader, blank).through);
        self.perhaps(ways, &group)
    }

    /// The accesses of ways that are read only to find them; their exits are not kept.
    fn tried(&mut self, read: impl FnOnce(&mut Self) -> Ways) -> Vec<Touch> {
        let frame = self.frame();
        let returns = frame.returns.len();
        let kept: Vec<(usize, usize)> =
            frame.targets.iter().map(|it| (it.breaks.len(), it.continues.len())).collect();
        let ways = read(self);
        let frame = self.frame();
        frame.returns.truncate(returns);
        for (target, (breaks, continues)) in frame.targets.iter_mut().zip(kept) {
            target.breaks.truncate(breaks);
            target.continues.truncate(continues);
        }
        union(ways.iter().flat_map(|way| way.trace.touches()))
    }

    /// Each way without these accesses, and with any number of them.
    pub(super) fn perhaps(&mut self, ways: Ways, group: &[Touch]) -> Ways {
        if group.is_empty() {
            return ways;
        }
        let with = ways.iter().cloned().map(|mut way| {
            way.trace.push_many(group);
            way
        });
        let with: Ways = with.collect();
        let both = ways.into_iter().chain(with).collect();
        self.tidy(both)
    }
}
