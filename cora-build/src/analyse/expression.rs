//! Expressions: their accesses to states before their value, in order of evaluation.

use cora_plan::graph::Exit;
use quote::ToTokens;
use syn::{BinOp, Expr, UnOp};

use super::reader::Reader;
use super::value::{Lent, Value};
use super::way::Ways;
use super::written;

impl<'a> Reader<'a> {
    /// Reads an expression for its value. Returns the ways that reach its end.
    pub(super) fn expr(&mut self, expression: &'a Expr, ways: Ways) -> Ways {
        if ways.is_empty() || !self.step(ways.len()) {
            return ways;
        }
        match expression {
            Expr::Paren(inner) => self.expr(&inner.expr, ways),
            Expr::Group(inner) => self.expr(&inner.expr, ways),
            Expr::Path(path) => self.name(path, ways),
            Expr::Lit(literal) => valued(ways, &literal_value(&literal.lit)),
            Expr::Binary(binary) => self.binary(expression, binary, ways),
            Expr::Unary(unary) => self.unary(expression, unary, ways),
            Expr::Field(_) | Expr::Index(_) => self.read_place(expression, ways),
            Expr::Reference(reference) => self.reference(reference, ways),
            Expr::Assign(assign) => {
                let ways = self.consumed(&assign.right, ways);
                self.assign(&assign.left, false, ways)
            }
            Expr::Call(call) => self.call(call, ways),
            Expr::MethodCall(call) => self.method_call(call, ways),
            Expr::Closure(closure) => self.closure(closure, ways),
            Expr::Cast(cast) => self.consumed(&cast.expr, ways),
            Expr::Let(_) => self.condition_value(expression, ways),
            Expr::Array(array) => self.operands(&array.elems, ways),
            Expr::Tuple(tuple) => self.operands(&tuple.elems, ways),
            Expr::Repeat(repeat) => self.operands([&*repeat.expr], ways),
            Expr::RawAddr(address) => self.operands([&*address.expr], ways),
            Expr::Range(range) => {
                let ends = range.start.iter().chain(&range.end).map(|end| &**end);
                self.operands(ends, ways)
            }
            Expr::Struct(made) => {
                let fields = made.fields.iter().map(|field| &field.expr);
                self.operands(fields.chain(made.rest.as_deref()), ways)
            }
            Expr::Macro(called) => self.macro_call(&called.mac, ways),
            Expr::Infer(_) => valued(ways, &Value::Unknown),
            Expr::Block(_)
            | Expr::Unsafe(_)
            | Expr::If(_)
            | Expr::Match(_)
            | Expr::Try(_)
            | Expr::Return(_)
            | Expr::Break(_)
            | Expr::Continue(_)
            | Expr::Loop(_)
            | Expr::While(_)
            | Expr::ForLoop(_) => self.control(expression, ways),
            other => self.hidden(&other.to_token_stream(), "this syntax", ways),
        }
    }

    /// Reads an expression with a use of its value that can't be followed.
    pub(super) fn consumed(&mut self, expression: &'a Expr, ways: Ways) -> Ways {
        let ways = self.expr(expression, ways);
        self.consume(ways, written::begin(expression))
    }

    /// Reads expressions in order; the uses of their values can't be followed.
    pub(super) fn operands(
        &mut self,
        expressions: impl IntoIterator<Item = &'a Expr>,
        mut ways: Ways,
    ) -> Ways {
        for expression in expressions {
            ways = self.consumed(expression, ways);
        }
        valued(ways, &Value::Unknown)
    }

    /// A name, or a path.
    fn name(&mut self, path: &'a syn::ExprPath, ways: Ways) -> Ways {
        let single = path.path.get_ident().filter(|_| path.qself.is_none()).map(written::name);
        let otherwise =
            if path.qself.is_none() { self.constant(&path.path) } else { Value::Unknown };
        let value = |way: &super::Way| {
            let bound = single.as_ref().and_then(|name| way.named(name));
            bound.map_or_else(|| otherwise.clone(), |binding| binding.value.clone())
        };
        ways.into_iter()
            .map(|way| {
                let value = value(&way);
                way.with(value)
            })
            .collect()
    }

    /// The value of a path that is not a local name.
    fn constant(&mut self, path: &syn::Path) -> Value {
        let words: Vec<String> = path.segments.iter().map(|it| written::name(&it.ident)).collect();
        let module = self.frame().module;
        if let Some(routine) = self.surroundings.routine(&words, module) {
            return Value::Function(routine);
        }
        if self.surroundings.canonical(&words, module).is_some() {
            return Value::Unknown;
        }
        let forward = words.len() > 1 && words[words.len() - 2] == "Forward";
        match words.last().map_or("", String::as_str) {
            "Transmit" if forward => Value::Forward(Exit::Transmit),
            "Pass" if forward => Value::Forward(Exit::Pass),
            "Transmit" => Value::Succeeds(Some(Exit::Transmit)),
            "Pass" => Value::Succeeds(Some(Exit::Pass)),
            "Done" if forward => Value::Forward(Exit::Done),
            // With a type before it, it is rather a variant of the program's.
            "Done" if words.len() == 1 => Value::Succeeds(Some(Exit::Done)),
            "None" => Value::Fails,
            _ => Value::Unknown,
        }
    }

    fn binary(&mut self, whole: &'a Expr, binary: &'a syn::ExprBinary, ways: Ways) -> Ways {
        if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
            return self.condition_value(whole, ways);
        }
        if is_compound(&binary.op) {
            let ways = self.consumed(&binary.right, ways);
            return self.assign(&binary.left, true, ways);
        }
        self.operands([&*binary.left, &*binary.right], ways)
    }

    fn unary(&mut self, whole: &'a Expr, unary: &'a syn::ExprUnary, ways: Ways) -> Ways {
        match unary.op {
            UnOp::Not(_) => self.condition_value(whole, ways),
            UnOp::Deref(_) => self.read_place(whole, ways),
            _ => self.operands([&*unary.expr], ways),
        }
    }

    /// Reads an expression as a place. A place within a state is not yet a read.
    pub(super) fn place(&mut self, place: &'a Expr, ways: Ways) -> Ways {
        match place {
            Expr::Paren(inner) => self.place(&inner.expr, ways),
            Expr::Group(inner) => self.place(&inner.expr, ways),
            Expr::Field(field) => {
                let ways = self.place(&field.base, ways);
                revalued(ways, Value::part)
            }
            Expr::Index(index) => {
                let mut ways = self.place(&index.expr, ways);
                ways.iter_mut().for_each(super::Way::push);
                let mut ways = self.consumed(&index.index, ways);
                for way in &mut ways {
                    way.value = way.pop();
                }
                revalued(ways, Value::part)
            }
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let ways = self.place(&unary.expr, ways);
                revalued(ways, |value| match value {
                    Value::State(lent) => Value::Whole(*lent),
                    other => other.clone(),
                })
            }
            other => self.expr(other, ways),
        }
    }

    /// Reads a place and its value.
    fn read_place(&mut self, place: &'a Expr, ways: Ways) -> Ways {
        let ways = self.place(place, ways);
        self.read_value(place, ways)
    }

    fn read_value(&mut self, place: &'a Expr, ways: Ways) -> Ways {
        let span = written::begin(place);
        self.each(ways, |reader, mut way| {
            if let Value::Part(lent) | Value::Whole(lent) = way.value {
                reader.reads(&mut way, lent, span);
                way.value = Value::Unknown;
            }
            vec![way]
        })
    }

    /// `&place` and `&mut place`.
    fn reference(&mut self, reference: &'a syn::ExprReference, ways: Ways) -> Ways {
        let span = reference.and_token.span;
        let changes = reference.mutability.is_some();
        let variable = changes.then(|| written::variable(&reference.expr)).flatten();
        let ways = self.place(&reference.expr, ways);
        self.each(ways, |reader, mut way| {
            if let Some(name) = &variable {
                way.forget(name);
            }
            way.value = match way.value.clone() {
                Value::State(lent) | Value::Whole(lent) => {
                    Value::State(Lent { mutable: lent.mutable && changes, ..lent })
                }
                Value::Part(lent) if changes && lent.mutable => {
                    let why = "a part of the state is lent to be changed";
                    reader.unseen(&mut way, lent, span, why);
                    Value::Unknown
                }
                Value::Part(lent) => {
                    reader.reads(&mut way, lent, span);
                    Value::Unknown
                }
                learned if changes && learned.is_learned() => Value::Unknown,
                other => other,
            };
            vec![way]
        })
    }

    /// Assigns to a place; with `reads`, it reads the place first.
    fn assign(&mut self, place: &'a Expr, reads: bool, ways: Ways) -> Ways {
        match place {
            Expr::Tuple(tuple) => {
                return tuple.elems.iter().fold(ways, |ways, it| self.assign(it, reads, ways));
            }
            Expr::Array(array) => {
                return array.elems.iter().fold(ways, |ways, it| self.assign(it, reads, ways));
            }
            Expr::Infer(_) => return valued(ways, &Value::Unknown),
            _ => {}
        }
        let span = written::begin(place);
        let whole = assigned_variable(place);
        let ways = self.place(place, ways);
        self.each(ways, |reader, mut way| {
            match way.value {
                Value::Part(lent) | Value::Whole(lent) => {
                    reader.writes(&mut way, lent, reads, span);
                }
                Value::State(lent) => {
                    reader.unseen(&mut way, lent, span, "the name is given something else");
                }
                _ => {}
            }
            let of_state = matches!(way.value, Value::Part(_) | Value::Whole(_));
            if let Some(name) = whole.as_ref().filter(|_| !of_state) {
                way.set(name, Value::Unknown);
            }
            vec![way.with(Value::Unknown)]
        })
    }
}

/// The variable that an assignment changes: `x`, or the target of `*x`.
fn assigned_variable(place: &Expr) -> Option<String> {
    match place {
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => written::variable(&unary.expr),
        other => written::variable(other),
    }
}

/// Sets the value of each way.
pub(super) fn valued(mut ways: Ways, value: &Value) -> Ways {
    for way in &mut ways {
        way.value = value.clone();
    }
    ways
}

/// Maps the value of each way.
fn revalued(mut ways: Ways, turn: impl Fn(&Value) -> Value) -> Ways {
    for way in &mut ways {
        way.value = turn(&way.value);
    }
    ways
}

fn literal_value(literal: &syn::Lit) -> Value {
    match literal {
        syn::Lit::Bool(bool) => Value::Bool(bool.value),
        _ => Value::Unknown,
    }
}

fn is_compound(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}
