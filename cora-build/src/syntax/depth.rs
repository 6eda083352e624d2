//! Limits the nesting of source before it is parsed.
//!
//! The parser and all later passes recurse once per level on a finite stack. So a loop walks the
//! tokens first and counts steps. It counts each bracket, and levels without brackets (`!!!x`,
//! `a.b.c`, `a + b + c`, `else if`, `Box<Box<…>>`) from one end of an expression to the next, in
//! addition to the surrounding brackets. A step corresponds to about 8 KiB of stack in an
//! unoptimised build, as `tests/nests.rs` checks. A level that takes more counts as several steps.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

use crate::diag::{Diagnostics, codes};

/// Maximum number of nested steps.
pub const MOST_STEPS: usize = 512;

/// Steps of a block, of another pair of brackets, and of an angle bracket.
const BRACE: usize = 7;
const BRACKET: usize = 3;
const ANGLE: usize = 9;

/// Words that may precede an expression or a type repeatedly, so that they nest.
const NESTING: [&str; 22] = [
    "as", "async", "await", "box", "break", "const", "dyn", "else", "fn", "for", "if", "impl",
    "in", "let", "loop", "match", "move", "mut", "ref", "return", "unsafe", "while",
];

/// Counts between a pair of brackets.
#[derive(Default)]
struct Level {
    /// Steps since the last end of an expression.
    steps: usize,
    /// Open angle brackets, in which a comma ends nothing: the steps before each.
    angles: Vec<usize>,
    /// Bars since the last end: after an odd number, a comma is among the parameters of a closure.
    bars: usize,
    /// The steps of an inner group were kept, because it may continue after the group.
    after_braces: bool,
    /// The previous token was a part of this operator.
    joint: bool,
}

impl Level {
    fn end(&mut self) {
        *self = Self::default();
    }

    /// Takes a token that is not a group.
    fn take(&mut self, token: &TokenTree) {
        let goes_on = match token {
            TokenTree::Punct(punct) => !matches!(punct.as_char(), '#' | '\''),
            TokenTree::Ident(word) => *word == "else" || *word == "as",
            TokenTree::Group(_) | TokenTree::Literal(_) => false,
        };
        if std::mem::take(&mut self.after_braces) && !goes_on {
            self.end();
        }
        let joint = std::mem::take(&mut self.joint);
        match token {
            TokenTree::Punct(punct) => {
                self.joint = punct.spacing() == Spacing::Joint;
                self.punct(punct.as_char(), joint || self.joint);
            }
            TokenTree::Ident(word) if NESTING.iter().any(|it| word == it) => {
                self.steps += if word == "return" || word == "break" { 2 } else { 1 };
            }
            _ => {}
        }
    }

    fn punct(&mut self, punct: char, joint: bool) {
        match punct {
            ';' => self.end(),
            ',' if self.angles.is_empty() && self.bars.is_multiple_of(2) => self.end(),
            ',' => {}
            '<' => {
                self.angles.push(self.steps);
                self.steps += ANGLE;
            }
            '>' => self.steps = self.angles.pop().unwrap_or(self.steps + 1),
            '=' if !joint => self.steps += 2,
            _ => {
                self.bars += usize::from(punct == '|');
                self.steps += 1;
            }
        }
    }
}

/// The first token beyond the limit, if there is one.
pub fn exceeded(tokens: &TokenStream) -> Option<Span> {
    let mut around = Vec::new();
    let mut rest = tokens.clone().into_iter();
    let mut here = Level::default();
    let mut outer = 0;
    loop {
        let Some(token) = rest.next() else {
            (rest, here) = around.pop()?;
            outer -= here.steps;
            continue;
        };
        let span = token.span();
        if let TokenTree::Group(group) = token {
            if std::mem::take(&mut here.after_braces) && group.delimiter() == Delimiter::Brace {
                here.end();
            }
            here.steps += if group.delimiter() == Delimiter::Brace { BRACE } else { BRACKET };
            here.after_braces = group.delimiter() == Delimiter::Brace;
            outer += here.steps;
            around.push((std::mem::replace(&mut rest, group.stream().into_iter()), here));
            here = Level::default();
        } else {
            here.take(&token);
        }
        if outer + here.steps > MOST_STEPS {
            return Some(span);
        }
    }
}

/// Whether an item can be read; reports it if not.
pub(crate) fn holds(tokens: &[&TokenStream], diagnostics: &mut Diagnostics) -> bool {
    let deepest = tokens.iter().find_map(|tokens| exceeded(tokens));
    if let Some(span) = deepest {
        diagnostics.error(codes::NESTED_TOO_DEEP, span, MESSAGE).help(HELP);
    }
    deepest.is_none()
}

/// The fault.
pub(crate) const MESSAGE: &str = "this nests too deep to be read: some 60 blocks, 120 pairs of \
                                  brackets or 500 steps of an expression may be within each other";

/// The remedy.
pub(crate) const HELP: &str = "move inner parts to functions, types or constants of their own";

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(source: &str) -> bool {
        exceeded(&source.parse().unwrap()).is_none()
    }

    fn repeated(before: &str, times: usize, inner: &str, behind: &str) -> String {
        before.repeat(times) + inner + &behind.repeat(times)
    }

    #[test]
    fn whatever_nests_is_refused_beyond_the_limit() {
        for (before, inner, behind) in [
            ("(", "1", ")"),
            ("{", "", "}"),
            ("[", "1", "]"),
            ("if a {", "", "}"),
            ("loop { match b { _ => ", "1", "} }"),
            ("mod a {", "", "}"),
            ("Box<", "u8", ">"),
            ("Pair<u8, ", "u8", ">"),
            ("&", "a", ""),
            ("!", "a", ""),
            ("-", "a", ""),
            ("|a, b| ", "1", ""),
            ("|| ", "1", ""),
            ("a.b(c).", "d", ""),
            ("a + ", "1", ""),
            ("a && b || ", "c", ""),
            ("a = ", "1", ""),
            ("if a { 1 } else ", "{ 2 }", ""),
            ("return ", "1", ""),
            ("fn(u8) -> ", "u8", ""),
            ("*const ", "u8", ""),
            ("a", "?", "?"),
            ("use a::{b, c::{d, ", "e", "}}"),
            ("Some(", "x", ")"),
            ("move || async ", "1", ""),
            ("1 as ", "u8", " as u8"),
        ] {
            assert!(is_read(&repeated(before, 20, inner, behind)), "20 of {before}");
            for times in [1_001, 10_000] {
                assert!(!is_read(&repeated(before, times, inner, behind)), "{times} of {before}");
            }
        }
    }

    #[test]
    fn what_stands_side_by_side_is_read() {
        for (item, between) in [
            ("if a == b { c.d(); }", "\n"),
            ("1 | 2 => Some(3),", ""),
            ("1 => { a.b() }", ""),
            ("fn a() -> u8 { 1 + 2 }", ""),
            ("#[state(singleton)] pub struct A { b: Table<C>, }", ""),
            ("a.b(c, d)?;", ""),
            ("[1, -2, 3 + 4]", ", "),
            ("let x: Pair<u8, u8> = a::<u8>();", ""),
            ("impl A for B { fn c(&self) {} }", ""),
            ("a < b", ";"),
            ("'a: loop { break 'a; }", ""),
        ] {
            assert!(is_read(&vec![item; 10_000].join(between)), "{item}");
        }
    }
}
