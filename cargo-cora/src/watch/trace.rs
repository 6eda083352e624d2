//! `trace`: packets on their way through the handlers of both sides.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::made;
use super::tap::not_told;
use super::text::{number, word};
use crate::arguments::{Packets, Trace};
use crate::control;
use crate::failure::{Failure, Outcome};
use crate::tell::{tell, tell_line};

/// How long a run may take beside the seconds of the trace.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Trace) -> Outcome {
    let Trace { control, packets: meant, limit, seconds, packet, payload, at, json } = arguments;
    let Packets { net, port, protocol } = meant;
    let line = packet.join(" ");
    let question = if packet.is_empty() {
        json!({
            "command": "trace", "net": net, "port": port, "protocol": protocol, "limit": limit,
            "seconds": seconds,
        })
    } else {
        let frame = made::frame(&line, *payload).map_err(Failure::Usage)?;
        let digits = frame.iter().fold(String::new(), |mut digits, byte| {
            // Text in memory takes anything.
            let _written = write!(digits, "{byte:02x}");
            digits
        });
        json!({ "command": "trace", "frame": digits, "at": at })
    };
    let answer = control::ask(control, &question, Duration::from_secs(*seconds) + PATIENCE)?;
    if *json {
        tell_line(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(text(&answer))?;
    if packets(&answer).is_empty() {
        return Err(nothing(control, *seconds));
    }
    Ok(ExitCode::SUCCESS)
}

fn nothing(control: &Path, seconds: u64) -> Failure {
    let control = control.display();
    Failure::Failed(format!(
        "no packet that is meant came within {seconds} s: `cargo cora outcomes {control}` says whether any \
         comes at all"
    ))
}

fn packets(answer: &Value) -> &[Value] {
    answer["packets"].as_array().map_or(&[], Vec::as_slice)
}

/// Packets, each with a line for each step.
fn text(answer: &Value) -> String {
    packets(answer).iter().map(packet).collect::<String>() + &not_told(answer)
}

fn packet(of: &Value) -> String {
    let name = if of["number"].is_null() {
        "this packet".into()
    } else {
        format!("packet {}", number(of, "number"))
    };
    let flow = if of["flow"].is_null() { "no flow".into() } else { word(of, "flow") };
    let mut text = format!(
        "{name}: {flow}, {} bytes, in at {}, shard {}\n",
        number(of, "length"),
        word(of, "at"),
        word(of, "shard"),
    );
    for run in list(&of["runs"]) {
        side(&mut text, run);
    }
    text
}

/// Writes what a packet met on a side.
fn side(text: &mut String, run: &Value) {
    // Text in memory takes anything.
    let mut add = |name: &str, what: String| {
        let _written = writeln!(text, "  {name:<6} {what}");
    };
    let mut head = word(run, "side");
    for step in list(&run["handlers"]) {
        let states: Vec<_> = list(&step["states"]).iter().filter_map(Value::as_str).collect();
        let states = if states.is_empty() { "no state".into() } else { states.join(", ") };
        let ends = word(step, "ends");
        add(&std::mem::take(&mut head), format!("{}: {states}: {ends}", word(step, "handler")));
    }
    for entry in list(&run["entries"]) {
        let (is, state, key) = (word(entry, "is"), word(entry, "state"), word(entry, "key"));
        let [before, after] = ["before", "after"].map(|when| &entry[when]);
        let value = match (before.is_null(), after.is_null()) {
            (true, _) => after.to_string(),
            (false, true) => before.to_string(),
            (false, false) => format!("{before} to {after}"),
        };
        add(&std::mem::take(&mut head), format!("{is} in {state}: {key}  {value}"));
    }
    let mut ends = word(run, "ends");
    for left in list(&run["out"]) {
        let flow = if left["flow"].is_null() { String::new() } else { word(left, "flow") + ", " };
        let length = number(left, "length");
        let _written = write!(ends, ", out at {}: {flow}{length} bytes", word(left, "port"));
    }
    if number(run, "sent") > 0 {
        let _written = write!(ends, ", sent {} besides", number(run, "sent"));
    }
    if !run["why"].is_null() {
        let _written = write!(ends, ": {}", word(run, "why"));
    }
    add(&std::mem::take(&mut head), ends);
    if !run["unsure"].is_null() {
        add("", format!("(not sure: {})", word(run, "unsure")));
    }
}

fn list(of: &Value) -> &[Value] {
    of.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_reads_from_top_to_bottom() {
        let answer = json!({ "missed": 0, "passed_by": 7, "packets": [{
            "number": 17, "shard": 0, "at": "inside", "length": 74,
            "flow": "tcp 10.0.0.1:4711 > 192.0.2.7:443",
            "runs": [
                { "side": "nic", "ends": "punt", "why": "the flow is new", "handlers": [],
                  "entries": [], "out": [], "sent": 0 },
                { "side": "host", "ends": "transmit",
                  "handlers": [{ "handler": "nat", "states": ["Session", "PortPool"],
                                 "ends": "transmit" }],
                  "entries": [{ "state": "Session", "key": "k", "is": "inserted",
                                "after": { "port": 9 } }],
                  "out": [{ "port": "outside", "length": 74,
                            "flow": "tcp 203.0.113.1:9 > 192.0.2.7:443" }],
                  "sent": 0, "unsure": "x" },
            ],
        }] });
        let expected = "\
packet 17: tcp 10.0.0.1:4711 > 192.0.2.7:443, 74 bytes, in at inside, shard 0
  nic    punt: the flow is new
  host   nat: Session, PortPool: transmit
         inserted in Session: k  {\"port\":9}
         transmit, out at outside: tcp 203.0.113.1:9 > 192.0.2.7:443, 74 bytes
         (not sure: x)
7 packets or more were passed by: the side was too busy to look at all
";
        assert_eq!(text(&answer), expected);
    }
}
