//! Patterns: whether a value matches, the facts learned from that, and the bound names.

use quote::ToTokens as _;
use syn::{Expr, Pat};

use super::macros::words;
use super::reader::Reader;
use super::value::Value;
use super::way::{Way, Ways};
use super::written;

/// Whether a value matches a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Always,
    Never,
    Perhaps,
}

impl<'a> Reader<'a> {
    /// Reads the scrutinee of patterns.
    pub(super) fn scrutinee(
        &mut self,
        matched: &'a Expr,
        patterns: impl IntoIterator<Item = &'a Pat>,
        ways: Ways,
    ) -> Ways {
        let is_place = matches!(matched, Expr::Field(_) | Expr::Index(_) | Expr::Unary(_));
        if !is_place || !patterns.into_iter().any(lends) {
            return self.expr(matched, ways);
        }
        let span = written::begin(matched);
        let ways = self.place(matched, ways);
        self.each(ways, |reader, mut way| {
            if let Value::Part(lent) | Value::Whole(lent) = way.value {
                let why = "a part of the state is lent to be changed";
                reader.unseen(&mut way, lent, span, why);
                way.value = Value::Unknown;
            }
            vec![way]
        })
    }

    /// Splits ways by whether their value matches, and binds names in matching ways. Other ways
    /// keep their value for the next pattern. `last`: no other pattern follows.
    pub(super) fn select(
        &mut self,
        pattern: &'a Pat,
        subject: Option<&str>,
        ways: Ways,
        last: bool,
    ) -> (Ways, Ways) {
        if let Pat::Guard(guarded) = pattern {
            let (fits, mut misses) = self.select(&guarded.pat, subject, ways, last);
            let fits = fits.into_iter().map(stacked).collect();
            let (fits, refused) = self.branch(&guarded.guard, fits);
            misses.extend(refused.into_iter().map(unstacked));
            return (fits.into_iter().map(unstacked).collect(), misses);
        }
        let (mut fits, mut misses) = (Vec::new(), Vec::new());
        for way in ways {
            let fit = match fit(pattern, &way.value) {
                // A lower-case name before other patterns may be a constant.
                Fit::Always if !last && matches!(pattern, Pat::Ident(_)) => Fit::Perhaps,
                fit => fit,
            };
            if fit == Fit::Perhaps {
                misses.push(told(way.clone(), subject, missing(pattern)));
            } else if fit == Fit::Never {
                misses.push(way);
                continue;
            }
            let way = told(way, subject, fitting(pattern));
            fits.push(self.bind(pattern, way));
        }
        (self.tidy(fits), self.tidy(misses))
    }

    /// Binds the names of a matching pattern.
    pub(super) fn bind(&mut self, pattern: &'a Pat, mut way: Way) -> Way {
        let inner = match pattern {
            Pat::Paren(inner) => &inner.pat,
            Pat::Type(inner) => &inner.pat,
            Pat::Wild(_) => return way,
            Pat::Ident(name) if is_binding(name) => {
                let changes = name.mutability.is_some() || name.by_ref.is_some();
                let value = way.value.clone();
                let value = self.bound(value, changes, written::first_token(pattern), &mut way);
                way.bind(&written::name(&name.ident), value, changes);
                match &name.subpat {
                    Some((_, inner)) => inner,
                    None => return way,
                }
            }
            other => {
                if let Some(lent) = way.value.lent() {
                    let why = "the state is taken apart, and its use can't be seen";
                    self.unseen(&mut way, lent, written::first_token(other), why);
                }
                let mut names = Vec::new();
                bound_names(other, &mut names);
                for name in &names {
                    way.bind(name, Value::Unknown, true);
                }
                return way;
            }
        };
        self.bind(inner, way)
    }

    /// The known value under its new name.
    fn bound(
        &mut self,
        value: Value,
        changes: bool,
        span: proc_macro2::Span,
        way: &mut Way,
    ) -> Value {
        match value.lent() {
            Some(lent) if changes => {
                self.unseen(way, lent, span, "the state gets a name that can change");
                Value::Unknown
            }
            None if changes && value.is_learned() => Value::Unknown,
            _ => value,
        }
    }
}

fn stacked(mut way: Way) -> Way {
    way.push();
    way
}

fn unstacked(mut way: Way) -> Way {
    way.value = way.pop();
    way
}

/// The way after learning its value, also under its name.
fn told(mut way: Way, subject: Option<&str>, lesson: Option<Value>) -> Way {
    if let Some(lesson) = lesson
        && way.value == Value::Unknown
    {
        if let Some(name) = subject {
            way.learn(name, lesson.clone());
        }
        way.value = lesson;
    }
    way
}

/// Whether a pattern binds by `ref mut`.
fn lends(pattern: &Pat) -> bool {
    let words = words(&pattern.to_token_stream());
    words.contains("ref") && words.contains("mut")
}

/// Whether this name is bound, and not a constant.
fn is_binding(name: &syn::PatIdent) -> bool {
    let constant = name.ident.to_string().starts_with(char::is_uppercase);
    !constant || name.subpat.is_some() || name.by_ref.is_some() || name.mutability.is_some()
}

/// `Some(inner)`, `Ok(inner)`: true with the inner patterns; `Err(inner)`, `None`: false with them.
fn outcome(pattern: &Pat) -> Option<(bool, Vec<&Pat>)> {
    match pattern {
        Pat::Paren(inner) => outcome(&inner.pat),
        Pat::Reference(inner) => outcome(&inner.pat),
        Pat::Ident(name) if name.ident == "None" => Some((false, Vec::new())),
        Pat::Path(path) if last(&path.path) == "None" => Some((false, Vec::new())),
        Pat::TupleStruct(tuple) => match last(&tuple.path).as_str() {
            "Some" | "Ok" => Some((true, tuple.elems.iter().collect())),
            "Err" => Some((false, tuple.elems.iter().collect())),
            _ => None,
        },
        _ => None,
    }
}

fn last(path: &syn::Path) -> String {
    path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// The boolean of a literal pattern.
fn boolean(pattern: &Pat) -> Option<bool> {
    match pattern {
        Pat::Lit(syn::ExprLit { lit: syn::Lit::Bool(bool), .. }) => Some(bool.value),
        _ => None,
    }
}

fn fit(pattern: &Pat, value: &Value) -> Fit {
    if let Some((success, inner)) = outcome(pattern) {
        let whole = inner.into_iter().all(|it| fit(it, &Value::Unknown) == Fit::Always);
        return match value {
            Value::Succeeds(_) | Value::Fails if matches!(value, Value::Fails) == success => {
                Fit::Never
            }
            Value::Succeeds(_) | Value::Fails if whole => Fit::Always,
            _ => Fit::Perhaps,
        };
    }
    match (boolean(pattern), value) {
        (Some(wanted), Value::Bool(found)) if wanted == *found => return Fit::Always,
        (Some(_), Value::Bool(_)) => return Fit::Never,
        _ => {}
    }
    match pattern {
        Pat::Wild(_) | Pat::Rest(_) => Fit::Always,
        Pat::Ident(name) if is_binding(name) => {
            name.subpat.as_ref().map_or(Fit::Always, |(_, inner)| fit(inner, value))
        }
        Pat::Paren(inner) => fit(&inner.pat, value),
        Pat::Type(inner) => fit(&inner.pat, value),
        Pat::Reference(inner) => fit(&inner.pat, value),
        Pat::Tuple(tuple) if tuple.elems.iter().all(is_whole) => Fit::Always,
        Pat::Or(or) => {
            let fits: Vec<Fit> = or.cases.iter().map(|case| fit(case, value)).collect();
            match fits {
                fits if fits.contains(&Fit::Always) => Fit::Always,
                fits if fits.iter().all(|fit| *fit == Fit::Never) => Fit::Never,
                _ => Fit::Perhaps,
            }
        }
        _ => Fit::Perhaps,
    }
}

fn is_whole(pattern: &Pat) -> bool {
    fit(pattern, &Value::Unknown) == Fit::Always
}

/// The value learned from a match.
fn fitting(pattern: &Pat) -> Option<Value> {
    if let Pat::Or(or) = pattern {
        let lessons: Vec<Option<Value>> = or.cases.iter().map(fitting).collect();
        return lessons.windows(2).all(|pair| pair[0] == pair[1]).then(|| lessons[0].clone())?;
    }
    let outcome = outcome(pattern).map(|(success, _)| succeeded(success));
    outcome.or_else(|| boolean(pattern).map(Value::Bool))
}

/// The value learned from a mismatch.
fn missing(pattern: &Pat) -> Option<Value> {
    match outcome(pattern) {
        Some((success, inner)) => inner.into_iter().all(is_whole).then(|| succeeded(!success)),
        None => boolean(pattern).map(|wanted| Value::Bool(!wanted)),
    }
}

fn succeeded(success: bool) -> Value {
    if success { Value::Succeeds(None) } else { Value::Fails }
}

/// Collects every name that a pattern binds.
fn bound_names(pattern: &Pat, names: &mut Vec<String>) {
    struct Names<'n>(&'n mut Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Names<'_> {
        fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
            if is_binding(name) {
                self.0.push(written::name(&name.ident));
            }
            syn::visit::visit_pat_ident(self, name);
        }
    }
    syn::visit::Visit::visit_pat(&mut Names(names), pattern);
}
