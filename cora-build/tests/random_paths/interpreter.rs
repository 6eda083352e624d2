//! Runs random handlers: their accesses in order, and their exits. It is independent of the front
//! end.

use std::collections::BTreeMap;

use cora_plan::graph::{Does, Exit};

use super::program::{Access, Block, Chance, Condition, Deed, End, Line, Program};

/// An access: its state, its operation, its key, and whether there was an earlier write.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) state: usize,
    pub(crate) does: Does,
    pub(crate) key: Option<String>,
    pub(crate) after_write: bool,
}

impl Event {
    fn repeats(&self, other: &Self) -> bool {
        (self.state, self.does, &self.key) == (other.state, other.does, &other.key)
    }
}

/// One run of a handler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Execution {
    /// Accesses; a repeated access in a row appears once.
    pub(crate) events: Vec<Event>,
    pub(crate) exit: Exit,
}

/// The exit from a block.
enum Flow {
    Next,
    Break(Option<usize>),
    Continue(Option<usize>),
    /// `return` with its value.
    Return(End),
    /// `?`.
    Fail,
    /// A `return` hidden in a macro.
    Bail,
    /// It panicked, or exhausted its fuel.
    Lost,
}

/// Maximum number of rounds, and of calls of a closure.
const MOST_ROUNDS: usize = 3;

struct Run<'a> {
    program: &'a Program,
    chance: &'a mut Chance,
    events: Vec<Event>,
    flags: BTreeMap<usize, bool>,
    /// The running helper's value for `key`.
    key: String,
    fuel: usize,
    /// Number of true tosses of four. It differs between runs, so that rare branches are taken too.
    bias: usize,
}

/// Runs a program once with random branches; `None` if it panics or exhausts its fuel.
pub(crate) fn execute(program: &Program, chance: &mut Chance) -> Option<Execution> {
    let (events, flags, key) = (Vec::new(), BTreeMap::new(), String::new());
    let bias = [1, 2, 2, 3][chance.below(4)];
    let mut run = Run { program, chance, events, flags, key, fuel: 400, bias };
    let exit = match run.block(&program.body) {
        Flow::Next => exit(program.end),
        Flow::Return(end) => exit(end),
        Flow::Fail => Exit::Drop,
        Flow::Bail => Exit::Unseen,
        Flow::Lost | Flow::Break(_) | Flow::Continue(_) => return None,
    };
    let mut events: Vec<Event> = run.events;
    events.dedup_by(|next, before| next.repeats(before));
    Some(Execution { events, exit })
}

fn exit(end: End) -> Exit {
    match end {
        End::Transmit => Exit::Transmit,
        End::Pass => Exit::Pass,
        End::Drop => Exit::Drop,
        End::Redirect => Exit::Redirect,
        End::Unseen => Exit::Unseen,
    }
}

impl Run<'_> {
    fn toss(&mut self) -> bool {
        self.chance.is(self.bias, 4)
    }

    fn touch(&mut self, access: &Access) {
        let does = match access.deed {
            Deed::Get | Deed::Contains | Deed::ReadField | Deed::Peek => Does::Read,
            Deed::GetMut | Deed::WriteField | Deed::AddField | Deed::Bump => Does::Write,
            Deed::Insert => Does::Insert,
            Deed::Remove => Does::Remove,
            Deed::Elsewhere => Does::Anything,
        };
        let key = (access.state < 2).then(|| self.named(&access.key));
        let after_write = self.events.iter().any(|event| event.does != Does::Read);
        self.events.push(Event { state: access.state, does, key, after_write });
    }

    fn named(&self, key: &str) -> String {
        if key == "key" { self.key.clone() } else { key.to_owned() }
    }

    fn holds(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::Chance => self.toss(),
            Condition::Flag(flag) => self.flags[flag],
            Condition::Touch(access) | Condition::Let(access) => {
                self.touch(access);
                self.toss()
            }
            Condition::Not(inner) => !self.holds(inner),
            Condition::And(one, other) => self.holds(one) && self.holds(other),
            Condition::Or(one, other) => self.holds(one) || self.holds(other),
            Condition::Helper(number, key) => self.helper(*number, key).unwrap_or(false),
        }
    }

    /// Whether a helper succeeds; `None` if it panics.
    fn helper(&mut self, number: usize, key: &str) -> Option<bool> {
        let key = self.named(key);
        let outer = std::mem::replace(&mut self.key, key);
        let program = self.program;
        let flow = self.block(&program.helpers[number]);
        self.key = outer;
        match flow {
            Flow::Next => Some(true),
            Flow::Return(end) => Some(end != End::Drop),
            Flow::Fail => Some(false),
            Flow::Bail => Some(self.toss()),
            Flow::Lost | Flow::Break(_) | Flow::Continue(_) => {
                self.fuel = 0;
                None
            }
        }
    }

    fn block(&mut self, block: &Block) -> Flow {
        for line in block {
            if self.fuel == 0 {
                return Flow::Lost;
            }
            self.fuel -= 1;
            match self.line(line) {
                Flow::Next => {}
                left => return left,
            }
        }
        if self.fuel == 0 { Flow::Lost } else { Flow::Next }
    }

    fn fails(&mut self) -> Flow {
        if self.toss() { Flow::Fail } else { Flow::Next }
    }

    fn line(&mut self, line: &Line) -> Flow {
        match line {
            Line::Touch(access) => self.touch(access),
            Line::Question(access) => {
                if let Some(access) = access {
                    self.touch(access);
                }
                return self.fails();
            }
            Line::If(asked, then, otherwise) => {
                if self.holds(asked) {
                    return self.block(then);
                }
                return otherwise.as_ref().map_or(Flow::Next, |it| self.block(it));
            }
            Line::Match(access, guarded, some, none) => {
                self.touch(access);
                if !self.toss() {
                    return self.block(none);
                }
                return match guarded {
                    Some((guard, block)) if self.holds(guard) => self.block(block),
                    _ => self.block(some),
                };
            }
            Line::Choose(zero, guard, one, other) => {
                return match self.chance.below(3) {
                    0 => self.block(zero),
                    1 if self.holds(guard) => self.block(one),
                    _ => self.block(other),
                };
            }
            Line::LetElse(access, otherwise) => {
                self.touch(access);
                if self.toss() {
                    return self.block(otherwise);
                }
            }
            Line::Flag(flag) => {
                let value = self.toss();
                self.flags.insert(*flag, value);
            }
            Line::Kept(access, block) => return self.kept(access, block),
            Line::Helper(number, key, question) => match self.helper(*number, key) {
                None => return Flow::Lost,
                Some(false) if *question => return Flow::Fail,
                Some(_) => {}
            },
            Line::Break(label) => return Flow::Break(*label),
            Line::Continue(label) => return Flow::Continue(*label),
            Line::Return(end) => return Flow::Return(*end),
            Line::Panic => return Flow::Lost,
            Line::Bail => return if self.toss() { Flow::Bail } else { Flow::Next },
            Line::Alias(_, _, block) | Line::Shadow(_, block) => return self.block(block),
            Line::Labelled(label, block) => {
                return match self.block(block) {
                    Flow::Break(Some(to)) if to == *label => Flow::Next,
                    left => left,
                };
            }
            Line::Closure(_) | Line::Called(..) => return self.closure(line),
            Line::While(..) | Line::For(..) | Line::Loop(..) => return self.rounds(line),
        }
        Flow::Next
    }

    fn kept(&mut self, access: &Access, block: &Block) -> Flow {
        self.touch(access);
        if !self.toss() {
            return Flow::Next;
        }
        match self.block(block) {
            Flow::Next => Flow::Fail,
            left => left,
        }
    }

    fn closure(&mut self, line: &Line) -> Flow {
        let (body, between, rounds) = match line {
            Line::Called(_, body, between) => (body, Some(between), 1),
            Line::Closure(body) => (body, None, self.chance.below(MOST_ROUNDS)),
            _ => return Flow::Next,
        };
        if let Some(between) = between {
            match self.block(between) {
                Flow::Next => {}
                left => return left,
            }
        }
        for _ in 0..rounds {
            // Every exit from the closure returns to its call.
            if let Flow::Lost = self.block(body) {
                return Flow::Lost;
            }
        }
        Flow::Next
    }

    fn rounds(&mut self, line: &Line) -> Flow {
        let (label, asked, body, most) = match line {
            Line::While(label, asked, body) => (label, Some(asked), body, usize::MAX),
            Line::For(label, body) => (label, None, body, self.chance.below(MOST_ROUNDS)),
            Line::Loop(label, body) => (label, None, body, usize::MAX),
            _ => return Flow::Next,
        };
        let mine = |to: &Option<usize>| to.is_none() || to == label;
        for _ in 0..most {
            if self.fuel == 0 {
                return Flow::Lost;
            }
            if let Some(asked) = asked
                && !self.holds(asked)
            {
                return Flow::Next;
            }
            match self.block(body) {
                Flow::Next => {}
                Flow::Break(to) if mine(&to) => return Flow::Next,
                Flow::Continue(to) if mine(&to) => {}
                left => return left,
            }
        }
        Flow::Next
    }
}
