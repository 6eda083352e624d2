//! The reader of a body: what it keeps beside the ways themselves.

use std::rc::Rc;

use cora_plan::graph::Does;
use proc_macro2::Span;
use syn::{Block, ExprClosure, Signature};

use super::surroundings::Surroundings;
use super::value::{Lent, Value};
use super::way::{At, Names, Touch, Way, Ways};
use super::{Effect, Home, Unseen, bound};
use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

/// Most steps of reading, each an expression on one way: far beyond any handler that was written by
/// hand.
const MOST_STEPS: usize = 40_000;

/// Reads one handler.
pub(super) struct Reader<'a> {
    pub(super) parameters: &'a [Parameter],
    pub(super) surroundings: &'a Surroundings,
    /// Functions that may be called: those of the program, and then those that stand within bodies.
    pub(super) callable: Vec<Callable<'a>>,
    /// Closures that were come upon.
    pub(super) closures: Vec<Site<'a>>,
    /// Bodies that are being read, the innermost last.
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) effects: Vec<Effect>,
    pub(super) opaque: Vec<Unseen>,
    /// Within methods whose borrow says what can't be seen: nothing is told.
    pub(super) quiet: usize,
    pub(super) merged: bool,
    steps: usize,
}

/// A function, as it is called.
#[derive(Clone, Copy)]
pub(super) struct Callable<'a> {
    pub(super) signature: &'a Signature,
    pub(super) block: &'a Block,
    pub(super) file: usize,
    pub(super) module: &'a [String],
}

/// A closure, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) closure: &'a ExprClosure,
    pub(super) file: usize,
    pub(super) module: &'a [String],
}

/// A body that is being read.
pub(super) struct Frame<'a> {
    pub(super) file: usize,
    pub(super) module: &'a [String],
    /// The function, by number; none for the handler and for closures.
    pub(super) routine: Option<usize>,
    /// Operands that wait in its callers.
    pub(super) operands: usize,
    /// Ways that returned.
    pub(super) returns: Ways,
    /// What `break` and `continue` may leave, the innermost last.
    pub(super) targets: Vec<Target>,
}

/// A loop or a block with a label.
pub(super) struct Target {
    pub(super) label: Option<String>,
    pub(super) is_loop: bool,
    /// Scopes and operands around it.
    pub(super) depth: usize,
    pub(super) operands: usize,
    /// Ways that left it.
    pub(super) breaks: Ways,
    /// Ways that went on to its next round.
    pub(super) continues: Ways,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        handler: &'a HandlerDecl,
        home: Home<'a>,
        surroundings: &'a Surroundings,
    ) -> Self {
        let callable = surroundings.routines.iter().map(|routine| Callable {
            signature: &routine.signature,
            block: &routine.block,
            file: routine.file,
            module: &routine.module,
        });
        Self {
            parameters: &handler.parameters,
            surroundings,
            callable: callable.collect(),
            closures: Vec::new(),
            frames: vec![Frame::new(home.file, home.module, None, 0)],
            effects: vec![Effect::default(); handler.parameters.len()],
            opaque: Vec::new(),
            quiet: 0,
            merged: false,
            steps: 0,
        }
    }

    /// Reads the handler's own body: the ways that its end or a `return` ended.
    pub(super) fn body(&mut self, block: &'a Block, ways: Ways) -> Ways {
        let live = self.block(block, ways);
        let mut ended = std::mem::take(&mut self.frame().returns);
        ended.extend(live);
        ended
    }

    /// Counts steps; whether reading may go on.
    pub(super) fn step(&mut self, ways: usize) -> bool {
        self.steps += ways;
        !self.exhausted()
    }

    /// Whether the body is too much to be read.
    pub(super) fn exhausted(&self) -> bool {
        self.steps > MOST_STEPS
    }

    /// The body that is being read.
    pub(super) fn frame(&mut self) -> &mut Frame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// A place of the body that is being read.
    pub(super) fn at(&mut self, span: Span) -> At {
        At { file: self.frame().file, span }
    }

    /// Equal ways are one, and few enough.
    pub(super) fn tidy(&mut self, ways: Ways) -> Ways {
        let (ways, merged) = bound::ways(ways);
        self.merged |= merged;
        ways
    }

    /// Makes any number of ways of each.
    pub(super) fn each(
        &mut self,
        ways: Ways,
        mut turn: impl FnMut(&mut Self, Way) -> Ways,
    ) -> Ways {
        let turned = ways.into_iter().flat_map(|way| turn(self, way)).collect();
        self.tidy(turned)
    }

    /// How the handler borrows a state.
    pub(super) fn access(&self, lent: Lent) -> ParameterAccess {
        self.parameters[lent.state].access
    }

    /// An access.
    pub(super) fn touch(
        &mut self,
        way: &mut Way,
        lent: Lent,
        does: Does,
        effect: Effect,
        key: Option<Rc<str>>,
        span: Span,
    ) {
        let total = &mut self.effects[lent.state];
        total.reads |= effect.reads;
        total.writes |= effect.writes;
        total.inserts |= effect.inserts;
        total.removes |= effect.removes;
        let at = self.at(span);
        let (many, after_write, writes) = (false, false, effect.writes);
        way.trace.push(Touch { state: lent.state, does, key, many, after_write, writes, at });
    }

    /// An access that only reads.
    pub(super) fn reads(&mut self, way: &mut Way, lent: Lent, span: Span) {
        self.touch(way, lent, Does::Read, Effect::READ, None, span);
    }

    /// An access that writes, and reads too if `reads`.
    pub(super) fn writes(&mut self, way: &mut Way, lent: Lent, reads: bool, span: Span) {
        let effect = Effect { reads, ..Effect::WRITE };
        self.touch(way, lent, Does::Write, effect, None, span);
    }

    /// An access that can't be seen. Of a value that is lent to be read, that is a read all the
    /// same; of a table, which entries are read can't be told.
    pub(super) fn unseen(&mut self, way: &mut Way, lent: Lent, span: Span, why: &str) {
        let table = matches!(self.access(lent), ParameterAccess::Table { .. });
        if !lent.mutable && !table {
            return self.reads(way, lent, span);
        }
        let effect = self.everything(lent);
        self.touch(way, lent, Does::Anything, effect, None, span);
        if self.quiet > 0 {
            return;
        }
        let (at, state) = (self.at(span), lent.state);
        let (start, file) = (at.span.start(), at.file);
        let told = self.opaque.iter().any(|told| {
            told.state == state
                && told.why == why
                && (told.at.file, told.at.span.start()) == (file, start)
        });
        if !told {
            self.opaque.push(Unseen { at, state, why: why.to_owned() });
        }
    }

    /// All that a borrow allows.
    fn everything(&self, lent: Lent) -> Effect {
        let table = matches!(self.access(lent), ParameterAccess::Table { .. });
        Effect {
            reads: true,
            writes: lent.mutable,
            inserts: lent.mutable && table,
            removes: lent.mutable && table,
        }
    }

    /// Everything to every state: what a body does that is too much to be read.
    pub(super) fn worst(&mut self, file: usize) -> Vec<Touch> {
        let mut way = Way::new(Names::default());
        let states: Vec<(usize, Span, bool)> = self
            .parameters
            .iter()
            .enumerate()
            .map(|(state, it)| (state, it.ident.span(), super::is_mutable(it)))
            .collect();
        self.frame().file = file;
        for (state, span, mutable) in states {
            let why = "the handler has more ways than are followed";
            self.unseen(&mut way, Lent { state, mutable }, span, why);
        }
        way.trace.touches().to_vec()
    }

    /// A state or closure goes where it can't be followed; the value is of no interest any more.
    pub(super) fn consume(&mut self, ways: Ways, span: Span) -> Ways {
        let ways = self.run_lazy(ways);
        self.each(ways, |reader, mut way| {
            if let Some(lent) = way.value.lent() {
                reader.unseen(&mut way, lent, span, HANDED_ON);
            }
            vec![way.with(Value::Unknown)]
        })
    }
}

/// Why a state that goes somewhere as a whole can't be followed.
pub(super) const HANDED_ON: &str =
    "the state is handed on as a whole, and its use can't be seen from here";

impl<'a> Frame<'a> {
    pub(super) fn new(
        file: usize,
        module: &'a [String],
        routine: Option<usize>,
        operands: usize,
    ) -> Self {
        Self { file, module, routine, operands, returns: Vec::new(), targets: Vec::new() }
    }
}

impl Effect {
    pub(super) const READ: Self =
        Self { reads: true, writes: false, inserts: false, removes: false };
    pub(super) const WRITE: Self =
        Self { reads: false, writes: true, inserts: false, removes: false };
    pub(super) const LOOK_UP: Self =
        Self { reads: true, writes: true, inserts: false, removes: false };
    pub(super) const INSERT: Self =
        Self { reads: false, writes: true, inserts: true, removes: false };
    pub(super) const REMOVE: Self =
        Self { reads: false, writes: true, inserts: false, removes: true };
}
