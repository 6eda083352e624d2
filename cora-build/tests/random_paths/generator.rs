//! Generates random handlers: three states, blocks nested to a depth of three, every construct.

use super::program::{Access, Block, Chance, Condition, Deed, End, Line, Program};

/// The possible statements at a place.
#[derive(Clone)]
struct Place {
    depth: usize,
    /// Names of the states: tables 0 and 1, value 2; `None` while the name is shadowed.
    names: [Option<String>; 3],
    flags: Vec<usize>,
    /// Labels that can be broken to, and whether each is a loop's.
    labels: Vec<(usize, bool)>,
    in_loop: bool,
    /// Number of helpers that may be called; 0 in a helper.
    helpers: usize,
    closure: bool,
    helper: bool,
}

pub(crate) struct Generator {
    pub(crate) chance: Chance,
    next: usize,
}

/// A random program.
pub(crate) fn program(seed: u64) -> Program {
    let mut generator = Generator { chance: Chance::new(seed), next: 0 };
    let names = ["t", "v", "u"].map(|name| Some(name.to_owned()));
    let place = Place {
        depth: 0,
        names,
        flags: Vec::new(),
        labels: Vec::new(),
        in_loop: false,
        helpers: 0,
        closure: false,
        helper: false,
    };
    let helper = Place { depth: 1, helper: true, ..place.clone() };
    let count = generator.chance.below(3);
    let helpers: Vec<Block> = (0..count).map(|_| generator.block(&mut helper.clone(), 2)).collect();
    let mut place = Place { helpers: helpers.len(), ..place };
    let body = generator.block(&mut place, 3);
    let end = generator.end();
    Program { helpers, body, end }
}

impl Generator {
    fn end(&mut self) -> End {
        let ends = [End::Transmit, End::Transmit, End::Pass, End::Drop, End::Redirect, End::Unseen];
        ends[self.chance.below(ends.len())]
    }

    fn key(&mut self, place: &Place) -> String {
        if place.helper && self.chance.is(1, 2) {
            return "key".to_owned();
        }
        format!("k{}", self.chance.below(2))
    }

    /// An access of one of these deeds; `None` if no name refers to a suitable state.
    fn access(&mut self, place: &Place, deeds: &[Deed]) -> Option<Access> {
        let deed = deeds[self.chance.below(deeds.len())];
        let table =
            matches!(deed, Deed::Get | Deed::Contains | Deed::GetMut | Deed::Insert | Deed::Remove);
        let state = if table { self.chance.below(2) } else { 2 };
        let name = place.names[state].clone()?;
        Some(Access { deed, state, key: self.key(place), name })
    }

    fn condition(&mut self, place: &Place, depth: usize) -> Condition {
        let inner = |it: &mut Self| Box::new(it.condition(place, depth + 1));
        let most = if depth < 2 { 10 } else { 6 };
        match self.chance.below(most) {
            1 if !place.flags.is_empty() => {
                Condition::Flag(place.flags[self.chance.below(place.flags.len())])
            }
            2 | 3 => {
                let deeds = [Deed::Contains, Deed::Get, Deed::ReadField];
                self.access(place, &deeds).map_or(Condition::Chance, Condition::Touch)
            }
            4 if place.helpers > 0 && !place.closure && whole(place) => {
                Condition::Helper(self.chance.below(place.helpers), self.key(place))
            }
            7 => Condition::Not(inner(self)),
            8 => Condition::And(inner(self), inner(self)),
            9 => Condition::Or(inner(self), inner(self)),
            _ => Condition::Chance,
        }
    }

    /// A condition of `if` or `while`, possibly a chain with `let`.
    fn asked(&mut self, place: &Place) -> Condition {
        if self.chance.is(1, 4)
            && let Some(access) = self.access(place, &[Deed::Get, Deed::GetMut])
        {
            let bound = Condition::Let(access);
            if self.chance.is(1, 2) {
                return bound;
            }
            return Condition::And(Box::new(bound), Box::new(self.condition(place, 1)));
        }
        self.condition(place, 0)
    }

    /// Statements; their declarations end with the block.
    fn block(&mut self, place: &mut Place, most: usize) -> Block {
        let flags = place.flags.len();
        let count = 1 + self.chance.below(most);
        let block = (0..count).map(|_| self.line(place)).collect();
        place.flags.truncate(flags);
        block
    }

    fn inner(&mut self, place: &Place) -> Block {
        let mut place = Place { depth: place.depth + 1, ..place.clone() };
        self.block(&mut place, 2)
    }

    fn line(&mut self, place: &mut Place) -> Line {
        if place.depth >= 3 || self.chance.is(1, 3) {
            return self.simple(place);
        }
        self.nested(place)
    }

    fn simple(&mut self, place: &mut Place) -> Line {
        let deeds = [
            Deed::Get,
            Deed::GetMut,
            Deed::Insert,
            Deed::Remove,
            Deed::ReadField,
            Deed::WriteField,
            Deed::AddField,
            Deed::Bump,
            Deed::Peek,
            Deed::Elsewhere,
        ];
        match self.chance.below(16) {
            5 | 6 => Line::Question(self.access(place, &[Deed::Insert, Deed::Bump])),
            7 => Line::Question(None),
            8 => {
                let flag = self.fresh();
                place.flags.push(flag);
                Line::Flag(flag)
            }
            9 | 10 if place.in_loop => {
                let label = self.label(place, true);
                if self.chance.is(1, 2) { Line::Break(label) } else { Line::Continue(label) }
            }
            11 if !place.labels.is_empty() => {
                let labels = &place.labels;
                Line::Break(Some(labels[self.chance.below(labels.len())].0))
            }
            12 if place.depth > 0 => Line::Return(self.end()),
            13 if place.depth > 1 => Line::Panic,
            14 if place.depth > 1 && !place.closure => Line::Bail,
            15 if place.helpers > 0 && !place.closure && whole(place) => {
                let (helper, key) = (self.chance.below(place.helpers), self.key(place));
                Line::Helper(helper, key, self.chance.is(2, 3))
            }
            _ => self.access(place, &deeds).map_or(Line::Question(None), Line::Touch),
        }
    }

    /// A label of an enclosing loop; often `None`.
    fn label(&mut self, place: &Place, loops: bool) -> Option<usize> {
        let labels: Vec<usize> =
            place.labels.iter().filter(|label| label.1 == loops).map(|label| label.0).collect();
        if labels.is_empty() || self.chance.is(1, 2) {
            return None;
        }
        Some(labels[self.chance.below(labels.len())])
    }

    fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    fn nested(&mut self, place: &Place) -> Line {
        let found = self.access(place, &[Deed::Get, Deed::GetMut, Deed::Remove]);
        match self.chance.below(15) {
            0..=2 => {
                let (asked, then) = (self.asked(place), self.inner(place));
                let otherwise = self.chance.is(1, 2).then(|| self.inner(place));
                Line::If(asked, then, otherwise)
            }
            3 | 4 if found.is_some() => {
                let guarded =
                    self.chance.is(1, 2).then(|| (self.condition(place, 1), self.inner(place)));
                let access = found.expect("an access");
                Line::Match(access, guarded, self.inner(place), self.inner(place))
            }
            5 => {
                let (zero, guard) = (self.inner(place), self.condition(place, 1));
                Line::Choose(zero, guard, self.inner(place), self.inner(place))
            }
            6 if found.is_some() => {
                let mut otherwise = self.inner(place);
                otherwise.push(Line::Return(self.end()));
                Line::LetElse(found.expect("an access"), otherwise)
            }
            7 => match self.access(place, &[Deed::Insert]) {
                Some(access) => Line::Kept(access, self.inner(place)),
                None => Line::Question(None),
            },
            8..=10 => self.repeated(place),
            11 => {
                let label = self.fresh();
                let mut within = place.clone();
                within.labels.push((label, false));
                Line::Labelled(label, self.inner(&within))
            }
            12 => self.closure(place),
            13 => self.renamed(place),
            _ => Line::If(self.asked(place), self.inner(place), None),
        }
    }

    fn repeated(&mut self, place: &Place) -> Line {
        let label = self.chance.is(1, 2).then(|| self.fresh());
        let mut within = Place { in_loop: true, ..place.clone() };
        within.labels.extend(label.map(|label| (label, true)));
        match self.chance.below(3) {
            0 => Line::While(label, self.asked(place), self.inner(&within)),
            1 => Line::For(label, self.inner(&within)),
            _ => {
                let mut block = self.inner(&within);
                block.push(Line::If(self.condition(place, 1), vec![Line::Break(None)], None));
                Line::Loop(label, block)
            }
        }
    }

    fn closure(&mut self, place: &Place) -> Line {
        let within = Place {
            closure: true,
            in_loop: false,
            labels: Vec::new(),
            flags: Vec::new(),
            depth: place.depth.max(1),
            ..place.clone()
        };
        let body = self.inner(&within);
        if self.chance.is(1, 2) {
            return Line::Closure(body);
        }
        Line::Called(self.fresh(), body, self.inner(place))
    }

    /// A block in which a state has another name, or its name another meaning.
    fn renamed(&mut self, place: &Place) -> Line {
        let state = self.chance.below(3);
        let Some(name) = place.names[state].clone() else { return Line::Question(None) };
        let mut within = place.clone();
        if self.chance.is(1, 2) {
            let alias = format!("w{}", self.fresh());
            within.names[state] = Some(alias.clone());
            return Line::Alias(alias, name, self.inner(&within));
        }
        within.names[state] = None;
        Line::Shadow(name, self.inner(&within))
    }
}

/// Whether every state has its own name, as required for calls of helpers.
fn whole(place: &Place) -> bool {
    place.names.iter().zip(["t", "v", "u"]).all(|(name, own)| name.as_deref() == Some(own))
}
