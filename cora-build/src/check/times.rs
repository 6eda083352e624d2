//! When entries end by themselves: `idle` and `life`, and what goes with them.

use super::duration::{self, DurationError};
use super::hook;
use super::value::wrong_value;
use crate::diag::{Code, Diagnostics, codes};
use crate::syntax::NEVER;
use crate::syntax::arguments::{Argument, Name};
use crate::syntax::state::StateShape;

/// Words for `never`.
const ENDLESS: [&str; 9] =
    ["never", "forever", "none", "no", "off", "infinite", "infinity", "unlimited", "always"];

/// `idle` and `life` of a keyed state, in nanoseconds, as far as they are given and in range.
pub(super) fn of(shape: &StateShape, diagnostics: &mut Diagnostics) -> (Option<u64>, Option<u64>) {
    let find = |name| shape.arguments.iter().find(|argument| argument.name == name);
    let (idle, life) = (find(Name::Idle), find(Name::Life));
    let idle_ns = idle.and_then(|given| time(given, diagnostics));
    let life_ns = life.and_then(|given| time(given, diagnostics));
    let (idle, timed) = (idle.zip(idle_ns), life.zip(life_ns));
    let has_own = find(Name::IdleBy).is_some();
    if let (Some((idle, idle_ns)), Some((_, life_ns))) = (idle, timed)
        && !has_own
        && life_ns <= idle_ns
        && idle_ns != NEVER
    {
        without_effect(idle, diagnostics);
    }
    if let Some(hook) = find(Name::OnExpire) {
        if let Some((idle, NEVER)) = idle
            && life.is_none()
            && !has_own
        {
            never_runs(hook, idle, diagnostics);
        }
        hook::state(hook, [idle, timed], find(Name::AssuredBy), diagnostics);
    }
    (idle_ns, life_ns)
}

/// Reports an idle time that no entry reaches.
fn without_effect(idle: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::IDLE_BEYOND_LIFE,
            idle.place(),
            "`life` ends every entry before this time is over, so it has no effect",
        )
        .help("write `idle = \"never\"`, or a time shorter than `life`");
}

/// Reports a hook that nothing calls.
fn never_runs(hook: &Argument, idle: &Argument, diagnostics: &mut Diagnostics) {
    diagnostics
        .error(
            codes::HOOK_NEVER,
            idle.place(),
            format!(
                "entries never expire, and `{}` is about those that do",
                hook.name.text()
            ),
        )
        .help("give `idle` a time, add `life` or `idle_by`, or take `on_expire` away: a handler that removes an entry has it in hand");
}

/// `idle` or `life` in nanoseconds, if it is in range.
pub(super) fn time(argument: &Argument, diagnostics: &mut Diagnostics) -> Option<u64> {
    let name = argument.name.text();
    let is_life = argument.name == Name::Life;
    let written = argument.value.clone().unwrap_or_default();
    let Ok(text) = syn::parse2::<syn::LitStr>(written.clone()) else {
        let number = syn::parse2::<syn::LitInt>(written.clone()).map(|number| number.to_string());
        let help = if !is_life && is_endless(&written.to_string()) {
            "write `idle = \"never\"`".to_owned()
        } else {
            format!("write `{name} = \"{}s\"`", number.as_deref().unwrap_or("300"))
        };
        wrong_value(argument, "a duration in quotes", help, diagnostics);
        return None;
    };
    let mut refuse = |code: Code, message: String, help: &str| {
        diagnostics.error(code, argument.place(), message).help(help);
        None
    };
    let text = text.value();
    if text == "never" && !is_life {
        return Some(NEVER);
    }
    if is_life && is_endless(&text) {
        return refuse(
            codes::LIFE_NEVER,
            "`life` says when an entry ends at the latest, and this says that it does not"
                .to_owned(),
            "take `life` away",
        );
    }
    match duration::nanoseconds(&text) {
        Ok(0) => refuse(
            codes::IDLE_ZERO,
            "an entry that lives for no time is gone before the next packet".to_owned(),
            if is_life {
                "say how long an entry lives: `\"1s\"`"
            } else {
                "say how long an entry lives unused: `\"5m\"`"
            },
        ),
        Ok(time) if time <= duration::LONGEST => Some(time),
        Ok(_) | Err(DurationError::TooLong) => refuse(
            codes::IDLE_TOO_LONG,
            format!("an entry lives{} for a year at most", if is_life { "" } else { " unused" }),
            "say at most `\"365d\"`",
        ),
        Err(DurationError::Unreadable(meant)) => {
            let meant = if is_endless(&text) { Some("never".to_owned()) } else { meant };
            refuse(
                codes::IDLE_UNREADABLE,
                format!("`{text}` is not a readable duration"),
                &meant.map_or_else(
                    || {
                        "write whole numbers with a unit: `\"30s\"`, `\"5m\"`, `\"1h30m\"`"
                            .to_owned()
                    },
                    |meant| format!("did you mean `\"{meant}\"`?"),
                ),
            )
        }
    }
}

fn is_endless(text: &str) -> bool {
    ENDLESS.contains(&text.to_lowercase().as_str())
}
