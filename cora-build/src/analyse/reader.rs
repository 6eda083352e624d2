//! The reader of a body: its state besides the ways.

use std::collections::BTreeSet;
use std::rc::Rc;

use cora_plan::graph::{Does, How};
use proc_macro2::Span;
use syn::{Block, ExprClosure, Signature};

use super::expression::valued;
use super::surroundings::Surroundings;
use super::value::{Lent, Value};
use super::way::{Act, At, Names, Touch, Way, Ways};
use super::{Effect, Home, Unseen, bound};
use crate::syntax::{HandlerDecl, Parameter, ParameterAccess};

/// Maximum number of steps, each an expression on one way: far beyond any handwritten handler.
const MOST_STEPS: usize = 40_000;

/// Reads one handler.
pub(super) struct Reader<'a> {
    pub(super) parameters: &'a [Parameter],
    /// Number of outboxes for messages.
    outboxes: usize,
    pub(super) surroundings: &'a Surroundings,
    /// Functions that may be called: first those of the program, then those inside bodies.
    pub(super) callable: Vec<Callable<'a>>,
    /// Closures encountered.
    pub(super) closures: Vec<Site<'a>>,
    /// Bodies in progress, the innermost last.
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) effects: Vec<Effect>,
    pub(super) opaque: Vec<Unseen>,
    /// States, by index, that are read where they are updated.
    pub(super) own_reads: BTreeSet<usize>,
    /// Depth of nested methods that count as one access: inside them, nothing is reported.
    pub(super) quiet: usize,
    pub(super) merged: bool,
    steps: usize,
}

/// A callable function.
#[derive(Clone, Copy)]
pub(super) struct Callable<'a> {
    pub(super) signature: &'a Signature,
    pub(super) block: &'a Block,
    pub(super) file: usize,
    pub(super) module: &'a [String],
}

/// A closure and its place.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub(super) closure: &'a ExprClosure,
    pub(super) file: usize,
    pub(super) module: &'a [String],
}

/// A body in progress.
pub(super) struct Frame<'a> {
    pub(super) file: usize,
    pub(super) module: &'a [String],
    /// The index of the function; `None` for the handler and for closures.
    pub(super) routine: Option<usize>,
    /// Operands pending in its callers.
    pub(super) operands: usize,
    /// Ways that returned.
    pub(super) returns: Ways,
    /// Targets of `break` and `continue`, the innermost last.
    pub(super) targets: Vec<Target>,
}

/// A loop or a labelled block.
pub(super) struct Target {
    pub(super) label: Option<String>,
    pub(super) is_loop: bool,
    /// Scopes and operands outside.
    pub(super) depth: usize,
    pub(super) operands: usize,
    /// Ways that left it.
    pub(super) breaks: Ways,
    /// Ways that continue with its next round.
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
            outboxes: handler.sends().count(),
            surroundings,
            callable: callable.collect(),
            closures: Vec::new(),
            frames: vec![Frame::new(home.file, home.module, None, 0)],
            effects: vec![Effect::default(); handler.parameters.len()],
            opaque: Vec::new(),
            own_reads: BTreeSet::new(),
            quiet: 0,
            merged: false,
            steps: 0,
        }
    }

    /// Reads the handler's own body. Returns the ways that ended at its end or at a `return`.
    pub(super) fn body(&mut self, block: &'a Block, ways: Ways) -> Ways {
        let live = self.block(block, ways);
        let mut ended = std::mem::take(&mut self.frame().returns);
        ended.extend(live);
        ended
    }

    /// Counts steps; returns whether reading may continue.
    pub(super) fn step(&mut self, ways: usize) -> bool {
        self.steps += ways;
        !self.exhausted()
    }

    /// Whether the body exceeds the limit of steps.
    pub(super) fn exhausted(&self) -> bool {
        self.steps > MOST_STEPS
    }

    /// The current body.
    pub(super) fn frame(&mut self) -> &mut Frame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// A place in the current body.
    pub(super) fn at(&mut self, span: Span) -> At {
        At { file: self.frame().file, span }
    }

    /// Merges equal ways, and bounds their number.
    pub(super) fn tidy(&mut self, ways: Ways) -> Ways {
        let (ways, merged) = bound::ways(ways);
        self.merged |= merged;
        ways
    }

    /// Replaces each way by any number of ways.
    pub(super) fn each(
        &mut self,
        ways: Ways,
        mut turn: impl FnMut(&mut Self, Way) -> Ways,
    ) -> Ways {
        let turned = ways.into_iter().flat_map(|way| turn(self, way)).collect();
        self.tidy(turned)
    }

    /// The handler's borrow of a state.
    pub(super) fn access(&self, lent: Lent) -> ParameterAccess {
        self.parameters[lent.state].access
    }

    /// Records an access.
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
        let act = Act::Access(does);
        way.trace.push(Touch { state: lent.state, act, key, many, after_write, writes, at });
    }

    /// A message put into an outbox.
    pub(super) fn sent(
        &mut self,
        outbox: usize,
        how: How,
        message: Option<Rc<str>>,
        span: Span,
    ) -> Touch {
        let (many, after_write, writes) = (false, false, false);
        let (state, act, at) = (self.parameters.len() + outbox, Act::Send(how), self.at(span));
        Touch { state, act, key: message, many, after_write, writes, at }
    }

    /// Records an access that only reads.
    pub(super) fn reads(&mut self, way: &mut Way, lent: Lent, span: Span) {
        self.touch(way, lent, Does::Read, Effect::READ, None, span);
    }

    /// Records an access that writes, and with `reads` also reads.
    pub(super) fn writes(&mut self, way: &mut Way, lent: Lent, reads: bool, span: Span) {
        let effect = Effect { reads, ..Effect::WRITE };
        self.touch(way, lent, Does::Write, effect, None, span);
    }

    /// Records an opaque access. A value borrowed for reading is still only read; but for a table,
    /// the read entries are unknown.
    pub(super) fn unseen(&mut self, way: &mut Way, lent: Lent, span: Span, why: &str) {
        let table = matches!(
            self.access(lent),
            ParameterAccess::Table { .. } | ParameterAccess::Objects { .. }
        );
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

    /// All effects that a borrow allows.
    fn everything(&self, lent: Lent) -> Effect {
        let table = matches!(
            self.access(lent),
            ParameterAccess::Table { .. } | ParameterAccess::Objects { .. }
        );
        Effect {
            reads: true,
            writes: lent.mutable,
            inserts: lent.mutable && table,
            removes: lent.mutable && table,
        }
    }

    /// Every access to every state, for a body that exceeds the limit of steps.
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
        let sent: Vec<Touch> = (0..self.outboxes)
            .map(|outbox| self.sent(outbox, How::Unseen, None, Span::call_site()))
            .collect();
        way.trace.push_many(&sent);
        way.trace.touches().to_vec()
    }

    /// Ends the tracking of a value: a state or closure that leaves is opaque from here.
    pub(super) fn consume(&mut self, ways: Ways, span: Span) -> Ways {
        let ways = self.run_lazy(ways);
        self.each(ways, |reader, mut way| {
            if let Some(lent) = way.value.lent() {
                reader.unseen(&mut way, lent, span, HANDED_ON);
            }
            let ways = match way.value {
                Value::Outbox(outbox) => reader.sends_unseen(outbox, vec![way], span),
                _ => vec![way],
            };
            valued(ways, &Value::Unknown)
        })
    }
}

/// The reason that a state passed on as a whole can't be followed.
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
