//! Random handlers, as trees that can be written as Rust and run.

use std::fmt::Write as _;

/// A random number generator (SplitMix64): the same seed gives the same handlers.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True with a probability of `part` in `whole`.
    pub(crate) fn is(&mut self, part: usize, whole: usize) -> bool {
        self.below(whole) < part
    }
}

/// The access of a line to a state, in the program's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Get,
    Contains,
    GetMut,
    Insert,
    Remove,
    /// `u.n`, read.
    ReadField,
    /// `u.n = 1`.
    WriteField,
    /// `u.m += 1`.
    AddField,
    /// `u.bump()`: a method of the program that writes.
    Bump,
    /// `u.peek()`: a method that reads.
    Peek,
    /// `elsewhere(u)`: opaque.
    Elsewhere,
}

/// An access: its deed, the state (0 and 1 are tables, 2 is a value), its key.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) deed: Deed,
    pub(crate) state: usize,
    pub(crate) key: String,
    /// The current name of the state.
    pub(crate) name: String,
}

/// A condition.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// A random result.
    Chance,
    /// The flag with this index.
    Flag(usize),
    Touch(Access),
    /// `let Some(e) = t.get(&k)`.
    Let(Access),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    /// `h(t, u, &k).is_ok()`.
    Helper(usize, String),
}

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Transmit,
    Pass,
    Drop,
    Redirect,
    /// `panic!` and similar, and macros that may hide a `return`.
    Unseen,
}

pub(crate) type Block = Vec<Line>;

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Touch(Access),
    /// `t.insert(k, e)?;`, or a random `?`.
    Question(Option<Access>),
    If(Condition, Block, Option<Block>),
    /// `match t.find_mut(&k) { Some(_) if … => …, Some(_) => …, None => … }`.
    Match(Access, Option<(Condition, Block)>, Block, Block),
    /// `match c() { 0 => …, 1 if … => …, _ => … }`.
    Choose(Block, Condition, Block, Block),
    LetElse(Access, Block),
    /// `let f = c();`.
    Flag(usize),
    /// `let kept = t.insert(k, e); if kept.is_err() { … } kept?;`.
    Kept(Access, Block),
    While(Option<usize>, Condition, Block),
    For(Option<usize>, Block),
    Loop(Option<usize>, Block),
    Labelled(usize, Block),
    Break(Option<usize>),
    Continue(Option<usize>),
    Return(End),
    Panic,
    /// A macro that may hide a `return`.
    Bail,
    /// `h(t, u, &k)?;` or without `?`.
    Helper(usize, String, bool),
    /// `list.each(|x| { … })`.
    Closure(Block),
    /// `let f = |x| { … }; … f(1);`.
    Called(usize, Block, Block),
    /// `let w = &mut *t;`, then a block that uses it.
    Alias(String, String, Block),
    /// A block in which the state's name is shadowed.
    Shadow(String, Block),
}

/// A handler, with helper functions that take the tables and the value.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) helpers: Vec<Block>,
    pub(crate) body: Block,
    pub(crate) end: End,
}

/// Writes statements as Rust.
pub(crate) struct Writer {
    pub(crate) text: String,
    helper: bool,
}

impl Program {
    /// The handler's body, and the items around it.
    pub(crate) fn written(&self) -> (String, String) {
        let mut items = String::from(
            "struct U { n: u8, m: u8 }\nimpl U {\n    fn bump(&mut self) -> Result<(), Reason> { self.n += 1; if self.n > 9 { return Err(X); } Ok(()) }\n    fn peek(&self) -> u8 { self.n }\n}\n",
        );
        for (number, helper) in self.helpers.iter().enumerate() {
            let mut writer = Writer { text: String::new(), helper: true };
            writer.block(helper);
            let _infallible = writeln!(
                items,
                "fn h{number}(t: &mut Table<T>, v: &mut Table<V>, u: &mut U, key: &K) -> Result<(), Reason> {{\n{}Ok(())\n}}",
                writer.text
            );
        }
        let mut writer = Writer { text: String::new(), helper: false };
        writer.block(&self.body);
        (format!("{}{}", writer.text, end(self.end)), items)
    }
}

fn end(end: End) -> &'static str {
    match end {
        End::Transmit => "Transmit",
        End::Pass => "Ok(Forward::Pass)",
        End::Drop => "Drop(NotAllowed)",
        End::Redirect => "Redirect(Port(1))",
        End::Unseen => "judge(packet)",
    }
}

/// An access as an expression.
fn access(it: &Access) -> String {
    let Access { deed, key, name, .. } = it;
    match deed {
        Deed::Get => format!("{name}.get(&{key})"),
        Deed::Contains => format!("{name}.contains(&{key})"),
        Deed::GetMut => format!("{name}.get_mut(&{key})"),
        Deed::Insert => format!("{name}.insert({key}, e)"),
        Deed::Remove => format!("{name}.remove(&{key})"),
        Deed::ReadField => format!("look({name}.n)"),
        Deed::WriteField => format!("{name}.n = 1"),
        Deed::AddField => format!("{name}.m += 1"),
        Deed::Bump => format!("{name}.bump()"),
        Deed::Peek => format!("{name}.peek()"),
        Deed::Elsewhere => format!("elsewhere({name})"),
    }
}

fn condition(it: &Condition) -> String {
    match it {
        Condition::Chance => "c()".to_owned(),
        Condition::Flag(flag) => format!("f{flag}"),
        Condition::Touch(it) => match it.deed {
            Deed::Contains => access(it),
            Deed::ReadField => format!("{}.n > 1", it.name),
            _ => format!("{}.is_some()", access(it)),
        },
        Condition::Let(it) => format!("let Some(e) = {}", access(it)),
        Condition::Not(inner) => format!("!({})", condition(inner)),
        Condition::And(one, other) => {
            // A `let` in a chain has no parentheses.
            let side = |it: &Condition| match it {
                Condition::Let(_) | Condition::And(..) => condition(it),
                _ => format!("({})", condition(it)),
            };
            format!("{} && {}", side(one), side(other))
        }
        Condition::Or(one, other) => format!("({}) || ({})", condition(one), condition(other)),
        Condition::Helper(number, key) => format!("h{number}(t, v, u, &{key}).is_ok()"),
    }
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        for line in block {
            self.statement(line);
        }
    }

    fn within(&mut self, head: &str, block: &Block, tail: &str) {
        self.line(head);
        self.block(block);
        self.line(tail);
    }

    fn statement(&mut self, line: &Line) {
        let label = |label: &Option<usize>| label.map(|n| format!("'l{n}: ")).unwrap_or_default();
        let to = |label: &Option<usize>| label.map(|n| format!(" 'l{n}")).unwrap_or_default();
        match line {
            Line::Touch(it) => self.line(&format!("{};", access(it))),
            Line::Question(Some(it)) => self.line(&format!("{}?;", access(it))),
            Line::Question(None) => self.line("packet.five_tuple()?;"),
            Line::If(it, then, otherwise) => {
                self.within(&format!("if {} {{", condition(it)), then, "}");
                if let Some(otherwise) = otherwise {
                    self.within("else {", otherwise, "}");
                }
            }
            Line::Match(it, guarded, some, none) => {
                self.line(&format!("match {} {{", access(it)));
                if let Some((guard, block)) = guarded {
                    self.within(&format!("Some(e) if {} => {{", condition(guard)), block, "}");
                }
                self.within("Some(e) => {", some, "}");
                self.within("None => {", none, "}\n}");
            }
            Line::Choose(zero, guard, one, other) => {
                self.within("match d() { 0 => {", zero, "}");
                self.within(&format!("1 if {} => {{", condition(guard)), one, "}");
                self.within("_ => {", other, "} }");
            }
            Line::LetElse(it, otherwise) => {
                self.within(&format!("let Some(e) = {} else {{", access(it)), otherwise, "};");
            }
            Line::Flag(flag) => self.line(&format!("let f{flag} = c();")),
            Line::Kept(it, block) => {
                self.line(&format!("let kept = {};", access(it)));
                self.within("if kept.is_err() {", block, "}\nkept?;");
            }
            Line::While(it, asked, block) => {
                self.within(&format!("{}while {} {{", label(it), condition(asked)), block, "}");
            }
            Line::For(it, block) => {
                self.within(&format!("{}for x in list {{", label(it)), block, "}");
            }
            Line::Loop(it, block) => self.within(&format!("{}loop {{", label(it)), block, "}"),
            Line::Labelled(it, block) => self.within(&format!("'l{it}: {{"), block, "}"),
            Line::Break(it) => self.line(&format!("break{};", to(it))),
            Line::Continue(it) => self.line(&format!("continue{};", to(it))),
            Line::Return(it) => {
                let value = match (self.helper, it) {
                    (true, End::Drop) => "Err(X)",
                    (true, _) => "Ok(())",
                    (false, it) => end(*it),
                };
                self.line(&format!("return {value};"));
            }
            Line::Panic => self.line("unreachable!();"),
            Line::Bail => self.line("bail!(packet);"),
            Line::Helper(number, key, question) => {
                let question = if *question { "?" } else { "" };
                self.line(&format!("h{number}(t, v, u, &{key}){question};"));
            }
            Line::Closure(block) => self.within("list.each(|x| {", block, "});"),
            Line::Called(number, closure, block) => {
                self.within(&format!("let g{number} = |x| {{"), closure, "};");
                self.block(block);
                self.line(&format!("g{number}(1);"));
            }
            Line::Alias(alias, name, block) => {
                self.within(&format!("{{ let {alias} = &mut *{name};"), block, "}");
            }
            Line::Shadow(name, block) => {
                self.within(&format!("{{ let {name} = other();"), block, "}");
            }
        }
    }
}
