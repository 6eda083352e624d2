//! `flows` and `flow`: entries of tables, where they are and why, and orders for flows.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use cora_plan::number::grouped;
use serde_json::{Map, Value, json};

use super::text::{lasted, number, word};
use crate::arguments::{Flow, Flows, Which};
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

/// A large table is listed beside the packets, and they go first.
const PATIENCE: Duration = Duration::from_mins(2);
/// Entries of an answer.
const PAGE: u64 = 10_000;

/// `flows`: entries, page by page.
pub(crate) fn flows(arguments: &Flows) -> Outcome {
    let Flows { control, which, limit, json, .. } = arguments;
    let filter = filter(which, None);
    let (mut left, mut after, mut listed, mut scanned) = (*limit, Value::Null, 0, 0);
    let next = loop {
        let question = json!({
            "command": "flows", "filter": filter, "limit": left.min(PAGE), "after": after,
        });
        let answer = control::ask(control, &question, PATIENCE)?;
        let entries = entries(&answer);
        if *json {
            tell_line(&answer)?;
        } else {
            tell(entries.iter().map(line).collect::<String>())?;
        }
        listed += entries.len() as u64;
        scanned += number(&answer, "scanned");
        left = left.saturating_sub(entries.len() as u64);
        after = answer["next"].clone();
        if left == 0 || after.is_null() {
            break after;
        }
    };
    if !json {
        let more = if next.is_null() { "" } else { "; more follow, see `--limit`" };
        tell_line(format_args!("{} of {} entries{more}", grouped(listed), grouped(scanned)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `flow`: the entries of a flow with all that is known, or what an order did.
pub(crate) fn flow(arguments: &Flow) -> Outcome {
    let Flow { control, key, which, delete, offer, recall, all, json } = arguments;
    let filter = filter(which, Some(key).filter(|key| !key.is_empty()));
    if filter.is_empty() {
        let why =
            "say which flow: words of its key, such as 10.0.0.1:4711, or an option such as --net";
        return Err(Failure::Usage(why.into()));
    }
    let question = match (delete, offer, recall) {
        (true, ..) => json!({ "command": "delete", "filter": filter, "all": all }),
        (_, true, _) => json!({ "command": "move", "to": "nic", "filter": filter, "all": all }),
        (.., true) => json!({ "command": "move", "to": "host", "filter": filter, "all": all }),
        _ => json!({ "command": "flows", "filter": filter, "limit": PAGE }),
    };
    let answer = control::ask(control, &question, PATIENCE)?;
    if *json {
        tell_line(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    if question["command"] != "flows" {
        tell(done(&answer))?;
        let all_done = ["not_removed", "not_moved"]
            .iter()
            .all(|what| answer[*what].as_array().is_none_or(Vec::is_empty));
        return Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let entries = entries(&answer);
    if entries.is_empty() {
        let scanned = grouped(number(&answer, "scanned"));
        return Err(Failure::Failed(format!("none of {scanned} entries is meant")));
    }
    tell(entries.iter().map(block).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}

/// The conditions as the run reads them.
fn filter(which: &Which, key: Option<&Vec<String>>) -> Map<String, Value> {
    let Which { net, port, protocol, side, shard, state, idle_over, idle_under } = which;
    let all = json!({
        "net": net, "port": port, "protocol": protocol, "side": side, "shard": shard,
        "state": state, "idle_over_ms": idle_over, "idle_under_ms": idle_under,
        "key": key.map(|words| words.join(" ")),
    });
    let all = all.as_object().cloned().unwrap_or_default();
    all.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn entries(answer: &Value) -> &[Value] {
    answer["entries"].as_array().map_or(&[], Vec::as_slice)
}

/// An entry in a line.
fn line(entry: &Value) -> String {
    let idle = lasted(number(entry, "idle_ms"));
    let (side, state, key) = (word(entry, "side"), word(entry, "state"), word(entry, "key"));
    let why = match entry["stay"]["is"].as_str() {
        // The rule needs no reason.
        Some("taken" | "planned") => String::new(),
        _ => format!("  ({})", word(entry, "why")),
    };
    format!("{side:<5} {state:<20} {key}  idle {idle}{why}\n")
}

/// An entry with all that is known.
fn block(entry: &Value) -> String {
    let mut text = format!("{} in {}\n", word(entry, "key"), word(entry, "state"));
    // Text in memory takes anything.
    let mut add = |name: &str, what: String| {
        let _written = writeln!(text, "  {name:<10} {what}");
    };
    if !entry["reply"].is_null() {
        add("reply", word(entry, "reply"));
    }
    if !entry["flow"].is_null() {
        add("flow", word(entry, "flow"));
    }
    add("place", format!("{}, shard {}", word(entry, "side"), word(entry, "shard")));
    add("because", word(entry, "why"));
    add("idle", lasted(number(entry, "idle_ms")));
    if !entry["age_ms"].is_null() {
        add("age", lasted(number(entry, "age_ms")));
    }
    add("value", entry["value"].to_string());
    text
}

/// What an order did.
fn done(answer: &Value) -> String {
    let mut text = String::new();
    for (name, what) in [
        ("removed", "entries removed"),
        ("moves", "flows move from now on"),
        ("there", "flows were there already"),
    ] {
        if !answer[name].is_null() && (name != "there" || number(answer, name) > 0) {
            let _written = writeln!(text, "{} {what}", grouped(number(answer, name)));
        }
    }
    for name in ["not_removed", "not_moved"] {
        for failed in answer[name].as_array().into_iter().flatten() {
            let (key, why) = (word(failed, "key"), word(failed, "why"));
            let _written = writeln!(text, "not {key}: {why}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_where_it_is_and_why() {
        let entry = json!({
            "shard": 0, "side": "host", "state": "Connection", "idle_ms": 1200,
            "key": "tcp 10.0.0.1:1 > 192.0.2.7:443", "value": { "packets": 3 },
            "stay": { "is": "packets" }, "why": "3 of 8 packets",
        });
        let told = line(&entry);
        assert!(told.starts_with("host  Connection"), "{told}");
        assert!(told.ends_with("443  idle 1.2 s  (3 of 8 packets)\n"), "{told}");
        let told = block(&entry);
        for part in ["place      host, shard 0", "because    3 of 8 packets", "{\"packets\":3}"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        let taken = json!({ "side": "nic", "stay": { "is": "taken" }, "why": "the NIC took it" });
        assert!(!line(&taken).contains("took"));
    }

    #[test]
    fn an_order_says_all_that_it_did_and_did_not() {
        let answer = json!({
            "moves": 0, "there": 2, "not_moved": [{ "key": "tcp", "why": "it is away" }],
        });
        let told = "0 flows move from now on\n2 flows were there already\nnot tcp: it is away\n";
        assert_eq!(done(&answer), told);
        assert_eq!(done(&json!({ "removed": 1, "not_removed": [] })), "1 entries removed\n");
    }
}
