//! Conditions: the ways on which they hold, the ways on which they don't, and the facts learned on
//! each.

use syn::{BinOp, Expr, UnOp};

use super::reader::Reader;
use super::value::Value;
use super::way::{Way, Ways};
use super::written;

impl<'a> Reader<'a> {
    /// Splits ways by whether a condition holds.
    pub(super) fn branch(&mut self, condition: &'a Expr, ways: Ways) -> (Ways, Ways) {
        match condition {
            Expr::Paren(inner) => self.branch(&inner.expr, ways),
            Expr::Group(inner) => self.branch(&inner.expr, ways),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let (holds, fails) = self.branch(&unary.expr, ways);
                (fails, holds)
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
                let (left, mut fails) = self.branch(&binary.left, ways);
                let (holds, right_fails) = self.branch(&binary.right, left);
                fails.extend(right_fails);
                (holds, self.tidy(fails))
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::Or(_)) => {
                let (mut holds, left) = self.branch(&binary.left, ways);
                let (right_holds, fails) = self.branch(&binary.right, left);
                holds.extend(right_holds);
                (self.tidy(holds), fails)
            }
            Expr::Let(bound) => {
                let ways = self.scrutinee(&bound.expr, [&*bound.pat], ways);
                let subject = written::variable(&bound.expr);
                self.select(&bound.pat, subject.as_deref(), ways, true)
            }
            other => self.tested(other, ways),
        }
    }

    /// A condition as a value.
    pub(super) fn condition_value(&mut self, condition: &'a Expr, ways: Ways) -> Ways {
        let (holds, fails) = self.branch(condition, ways);
        let holds = holds.into_iter().map(|way| way.with(Value::Bool(true)));
        let fails = fails.into_iter().map(|way| way.with(Value::Bool(false)));
        let both = holds.chain(fails).collect();
        self.tidy(both)
    }

    /// A condition without connectives, judged by its value, and by the name that it tests.
    fn tested(&mut self, condition: &'a Expr, ways: Ways) -> (Ways, Ways) {
        if let Some((asked, when_success)) = asks(condition)
            && ways.iter().all(|way| is_plain(way, &asked))
        {
            let parted = ways.into_iter().map(|way| {
                let (success, failure) = by_success(way, &asked);
                if when_success { (success, failure) } else { (failure, success) }
            });
            return gathered(parted);
        }
        let variable = written::variable(condition);
        let ways = self.expr(condition, ways);
        let ways = self.consume_unless_bool(ways, condition);
        gathered(ways.into_iter().map(|way| by_truth(way, variable.as_deref())))
    }

    fn consume_unless_bool(&mut self, ways: Ways, condition: &'a Expr) -> Ways {
        let (bools, others): (Ways, Ways) =
            ways.into_iter().partition(|way| matches!(way.value, Value::Bool(_)));
        let mut ways = bools;
        ways.extend(self.consume(others, written::begin(condition)));
        ways
    }
}

/// The name that `is_some` or a sibling tests, and whether true means success.
fn asks(condition: &Expr) -> Option<(String, bool)> {
    let Expr::MethodCall(call) = condition else { return None };
    let success = success_question(&written::name(&call.method))?;
    call.args.is_empty().then_some(())?;
    Some((written::variable(&call.receiver)?, success))
}

/// Whether a method tests for success (`is_some`, `is_ok`) or failure (`is_none`, `is_err`).
pub(super) fn success_question(method: &str) -> Option<bool> {
    match method {
        "is_some" | "is_ok" => Some(true),
        "is_none" | "is_err" => Some(false),
        _ => None,
    }
}

/// Whether a name's value need not be followed.
fn is_plain(way: &Way, name: &str) -> bool {
    way.named(name).is_some_and(|it| it.value == Value::Unknown || it.value.is_learned())
}

/// The way on which a name's value is a success, and the one on which it is a failure.
fn by_success(way: Way, name: &str) -> (Option<Way>, Option<Way>) {
    match way.named(name).map(|binding| &binding.value) {
        Some(Value::Succeeds(_)) => (Some(way), None),
        Some(Value::Fails) => (None, Some(way)),
        _ => {
            let (mut success, mut failure) = (way.clone(), way);
            success.learn(name, Value::Succeeds(None));
            failure.learn(name, Value::Fails);
            (Some(success), Some(failure))
        }
    }
}

/// The way on which the value is true, and the one on which it is false.
fn by_truth(way: Way, name: Option<&str>) -> (Option<Way>, Option<Way>) {
    match way.value {
        Value::Bool(true) => (Some(way), None),
        Value::Bool(false) => (None, Some(way)),
        _ => {
            let (mut holds, mut fails) = (way.clone(), way);
            if let Some(name) = name {
                holds.learn(name, Value::Bool(true));
                fails.learn(name, Value::Bool(false));
            }
            (Some(holds), Some(fails))
        }
    }
}

fn gathered(parted: impl Iterator<Item = (Option<Way>, Option<Way>)>) -> (Ways, Ways) {
    let (mut holds, mut fails) = (Vec::new(), Vec::new());
    for (one, other) in parted {
        holds.extend(one.map(|way| way.with(Value::Unknown)));
        fails.extend(other.map(|way| way.with(Value::Unknown)));
    }
    (holds, fails)
}
