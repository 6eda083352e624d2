//! Methods: those of tables are known by name, and the program's methods on its states are
//! followed.

use cora_plan::graph::Does;
use proc_macro2::Span;
use syn::ExprMethodCall;

use super::call::{plain_words, words_of};
use super::condition::success_question;
use super::expression::valued;
use super::reader::Reader;
use super::value::{Lent, Value};
use super::way::{Trace, Way, Ways};
use super::{Effect, bound, written};
use crate::syntax::ParameterAccess;

/// Updating methods of Cora's replicated values.
const UPDATES: [&str; 6] = ["add", "raise", "renew", "count", "observe", "increment"];

/// Iterator methods that return another iterator; their closures run when it is consumed.
const LAZY: [&str; 22] = [
    "map",
    "filter",
    "filter_map",
    "flat_map",
    "map_while",
    "take_while",
    "skip_while",
    "inspect",
    "scan",
    "rev",
    "enumerate",
    "skip",
    "take",
    "step_by",
    "chain",
    "zip",
    "peekable",
    "by_ref",
    "cloned",
    "copied",
    "fuse",
    "cycle",
];

/// Methods that leave their receiver unchanged.
const LOOK: [&str; 12] = [
    "is_some", "is_none", "is_ok", "is_err", "as_ref", "clone", "copied", "cloned", "map_err",
    "ok", "unwrap", "expect",
];

/// Methods of `Option` and `Result` that preserve success.
const KEEP: [&str; 9] =
    ["map_err", "as_ref", "as_mut", "copied", "cloned", "clone", "ok", "ok_or", "map"];

/// The access of a table's method.
fn of_table(method: &str) -> Option<(Does, Effect)> {
    match method {
        "get" | "contains" | "len" => Some((Does::Read, Effect::READ)),
        "get_mut" | "find_mut" => Some((Does::Write, Effect::LOOK_UP)),
        "insert" | "insert_with_reply" | "insert_answered" | "insert_answered_by" => {
            Some((Does::Insert, Effect::INSERT))
        }
        "remove" => Some((Does::Remove, Effect::REMOVE)),
        _ => None,
    }
}

/// The access of a method of `Objects`.
fn of_objects(method: &str) -> Option<(Does, Effect)> {
    match method {
        "get" | "len" | "is_empty" => Some((Does::Read, Effect::READ)),
        "get_mut" | "copy" => Some((Does::Write, Effect::LOOK_UP)),
        "insert" | "insert_with" => Some((Does::Insert, Effect::INSERT)),
        "remove" | "clear" => Some((Does::Remove, Effect::REMOVE)),
        _ => None,
    }
}

/// The access of a method of `Region`.
fn of_region(method: &str) -> Option<(Does, Effect)> {
    match method {
        "read" | "peek" | "len" => Some((Does::Read, Effect::READ)),
        "write" => Some((Does::Write, Effect::WRITE)),
        _ => None,
    }
}

impl<'a> Reader<'a> {
    /// A call of a method.
    pub(super) fn method_call(&mut self, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        let mut ways = self.place(&call.receiver, ways);
        ways.iter_mut().for_each(Way::push);
        let ways = self.arguments(&call.args, ways);
        let count = call.args.len();
        let receiver = |way: &Way| way.stack[way.stack.len() - 1 - count].clone();
        self.each_kind(ways, receiver, |reader, receiver, ways| {
            let mut ways = match receiver {
                Value::State(lent) => match reader.of_merged(lent, call) {
                    Some(value) => valued(ways, &value),
                    None => reader.of_state(lent, call, ways),
                },
                Value::Whole(lent) => reader.of_state(lent, call, ways),
                Value::Part(lent) => reader.of_part(lent, call, ways),
                Value::Outbox(outbox) => reader.of_outbox(outbox, call, ways),
                other => reader.of_other(&other, call, ways),
            };
            for way in &mut ways {
                way.pop();
            }
            ways
        })
    }

    /// The replica that a method of `Merged<S>` lends.
    fn of_merged(&self, lent: Lent, call: &ExprMethodCall) -> Option<Value> {
        if !matches!(self.access(lent), ParameterAccess::Merged { .. }) {
            return None;
        }
        match &*written::name(&call.method) {
            "update" => Some(Value::Whole(lent)),
            "merged" | "earlier" => Some(Value::Whole(Lent { mutable: false, ..lent })),
            _ => None,
        }
    }

    /// A method on a state.
    fn of_state(&mut self, lent: Lent, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        let method = written::name(&call.method);
        match self.access(lent) {
            ParameterAccess::Table { .. } if method == "get_or_insert" => {
                self.look_up_or_insert(lent, call, ways)
            }
            ParameterAccess::Table { .. } => match of_table(&method) {
                Some((does, effect)) => self.table_access(lent, (does, effect), call, ways),
                None => self.own_method(lent, self.surroundings.table_method(&method), call, ways),
            },
            ParameterAccess::Objects { .. } => match of_objects(&method) {
                Some(access) => self.object_access(lent, access, call, ways),
                None => self.own_method(lent, None, call, ways),
            },
            ParameterAccess::Region { .. } => match of_region(&method) {
                Some(access) => self.object_access(lent, access, call, ways),
                None => self.own_method(lent, None, call, ways),
            },
            ParameterAccess::Unique
            | ParameterAccess::Shared
            | ParameterAccess::Merged { .. }
            | ParameterAccess::Rows(_) => {
                let own = self.owner(lent).and_then(|it| self.surroundings.method(&it, &method));
                self.own_method(lent, own, call, ways)
            }
        }
    }

    /// A look-up that makes the entry if there is none: two ways from here.
    fn look_up_or_insert(&mut self, lent: Lent, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        let key = call.args.first().map(|key| (key, plain_words(key)));
        let span = call.method.span();
        let ways = self.each(ways, |reader, mut found| {
            let words = |way: &Way| key.as_ref().map(|(key, plain)| words_of(key, plain, way));
            let told = words(&found);
            reader.touch(&mut found, lent, Does::Write, Effect::LOOK_UP, told, span);
            let mut made = found.clone();
            let told = words(&made);
            reader.touch(&mut made, lent, Does::Insert, Effect::INSERT, told, span);
            vec![found, made]
        });
        let ways = self.surrender(&call.args, ways);
        valued(ways, &Value::Unknown)
    }

    fn table_access(
        &mut self,
        lent: Lent,
        (does, effect): (Does, Effect),
        call: &'a ExprMethodCall,
        ways: Ways,
    ) -> Ways {
        let key = call.args.first().map(|key| (key, plain_words(key)));
        let ways = self.each(ways, |reader, mut way| {
            let key = key.as_ref().map(|(key, plain)| words_of(key, plain, &way));
            reader.touch(&mut way, lent, does, effect, key, call.method.span());
            vec![way]
        });
        // Inserted values are plain data, so they can't contain a closure.
        let ways = self.surrender(&call.args, ways);
        valued(ways, &Value::Unknown)
    }

    /// An access to objects or items, which ids and numbers find, and no keys.
    fn object_access(
        &mut self,
        lent: Lent,
        (does, effect): (Does, Effect),
        call: &'a ExprMethodCall,
        ways: Ways,
    ) -> Ways {
        let ways = self.each(ways, |reader, mut way| {
            reader.touch(&mut way, lent, does, effect, None, call.method.span());
            vec![way]
        });
        let ways = self.surrender(&call.args, ways);
        valued(ways, &Value::Unknown)
    }

    /// Path of a state's type.
    fn owner(&self, lent: Lent) -> Option<Vec<String>> {
        let mut referent = &self.parameters[lent.state].referent;
        if let (ParameterAccess::Merged { .. }, syn::Type::Path(path)) =
            (self.access(lent), referent)
            && let syn::PathArguments::AngleBracketed(list) = &path.path.segments.last()?.arguments
            && let Some(syn::GenericArgument::Type(state)) = list.args.first()
        {
            referent = state;
        }
        let syn::Type::Path(path) = referent else { return None };
        let path = path.path.segments.iter();
        let path: Vec<String> = path.map(|segment| written::name(&segment.ident)).collect();
        self.surroundings.canonical(&path, self.frames.first()?.module)
    }

    /// A method that the program defines on a state, if there is one.
    fn own_method(
        &mut self,
        lent: Lent,
        own: Option<usize>,
        call: &'a ExprMethodCall,
        mut ways: Ways,
    ) -> Ways {
        let span = call.method.span();
        let Some(routine) = own else {
            let why =
                format!("the effect of `{}` on the state can't be seen from here", call.method);
            let looks =
                matches!(self.access(lent), ParameterAccess::Shared | ParameterAccess::Rows(_));
            for way in &mut ways {
                if looks {
                    self.reads(way, lent, span);
                } else {
                    self.unseen(way, lent, span, &why);
                }
            }
            let ways = self.surrender(&call.args, ways);
            return self.tidy(ways);
        };
        let table = matches!(self.access(lent), ParameterAccess::Table { .. });
        let count = call.args.len();
        let busy = ways.iter().any(|way| {
            let given = &way.stack[way.stack.len() - count..];
            given.iter().any(|value| value.lent().is_some() || value.closure().is_some())
        });
        let changes = self.callable[routine].signature.receiver().is_some_and(|receiver| {
            matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, Some(_)))
        });
        let lent = Lent { mutable: lent.mutable && changes, ..lent };
        if table || busy {
            return self.follow(routine, Some(&Value::State(lent)), &call.args, span, ways);
        }
        self.one_access(routine, lent, call, ways)
    }

    /// A method that touches only its own state is a single access, and returns the result of its
    /// body.
    fn one_access(
        &mut self,
        routine: usize,
        lent: Lent,
        call: &'a ExprMethodCall,
        ways: Ways,
    ) -> Ways {
        let span = call.method.span();
        let blank = ways.iter().map(|way| Way { trace: Trace::default(), ..way.clone() });
        let blank = bound::distinct(blank.collect());
        let outside = std::mem::take(&mut self.effects);
        self.effects = vec![Effect::default(); outside.len()];
        self.quiet += 1;
        let ended = self.follow(routine, Some(&Value::State(lent)), &call.args, span, blank);
        self.quiet -= 1;
        let effect = std::mem::replace(&mut self.effects, outside)[lent.state];
        let results = bound::distinct(ended.into_iter().map(|way| way.value).collect::<Vec<_>>());
        let effect = Effect { reads: effect.reads || !effect.writes, ..effect };
        let does = if effect.writes { Does::Write } else { Does::Read };
        let ways = self.each(ways, |reader, mut way| {
            way.stack.truncate(way.stack.len() - call.args.len());
            reader.touch(&mut way, lent, does, effect, None, span);
            results.iter().map(|value| way.clone().with(value.clone())).collect()
        });
        self.tidy(ways)
    }

    /// A method on a part of a state.
    fn of_part(&mut self, lent: Lent, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        let span: Span = call.method.span();
        let updates = UPDATES.contains(&written::name(&call.method).as_str());
        let ways = self.surrender(&call.args, ways);
        self.each(ways, |reader, mut way| {
            if lent.mutable {
                reader.writes(&mut way, lent, !updates, span);
                if !updates {
                    reader.own_reads.insert(lent.state);
                }
            } else {
                reader.reads(&mut way, lent, span);
            }
            vec![way.with(Value::Unknown)]
        })
    }

    /// A method on a value that is not a state.
    fn of_other(&mut self, receiver: &Value, call: &'a ExprMethodCall, ways: Ways) -> Ways {
        let method = written::name(&call.method);
        let looks = LOOK.contains(&method.as_str());
        let variable = written::variable(&call.receiver);
        let lazy = LAZY.contains(&method.as_str());
        let mut ways = self.surrender(&call.args, ways);
        for way in &mut ways {
            if let (Some(name), false) = (&variable, looks) {
                way.forget(name);
            }
            if !lazy {
                way.value = Value::Unknown;
            }
        }
        if let Some(closure) = receiver.closure() {
            ways = self.repeat(&closure.clone(), ways);
            if lazy {
                ways = valued(ways, &Value::Lazy(closure.clone()));
            }
            return ways;
        }
        match (success_question(&method), receiver) {
            (Some(success), Value::Succeeds(_)) => valued(ways, &Value::Bool(success)),
            (Some(success), Value::Fails) => valued(ways, &Value::Bool(!success)),
            (None, Value::Succeeds(_)) if KEEP.contains(&method.as_str()) => {
                valued(ways, &Value::Succeeds(None))
            }
            (None, Value::Fails) if KEEP.contains(&method.as_str()) => valued(ways, &Value::Fails),
            _ => ways,
        }
    }
}
