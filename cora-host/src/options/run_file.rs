//! Run files: the options of a run as TOML, with the long names of
//! [`RunOptions`](crate::options::RunOptions) as keys.
//!
//! ```toml
//! nic = "native"
//! live = { inside = "xdp:eth0", outside = "xdp:eth1" }
//! # or a card: "emulated", "local", or "IFACE,MAC", then with `live = "card"` if it has ports
//! # card = "enp1s0f0np0,b8:ce:f6:00:12:34"
//! config = { Rules = "rules.txt" }      # or ["Rules=rules.txt"]
//! restarts = 3
//! json = true
//! ```
//!
//! A value has the form of the command line, and is parsed by the same parser: text, a number,
//! `true` for an option without a value, a list for a repeatable option, and `{ NAME = VALUE }` for
//! an option of the form `NAME=VALUE`. Paths are relative to the file.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::ingress::capture::STANDARD;
use crate::options::words::option;
use crate::options::{FILE, parser};
use crate::process::log::LogTo;
use crate::spelling::nearest;

/// An option that a file sets.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its clap identifier.
    pub(crate) id: String,
    /// Its command-line words.
    pub(crate) words: Vec<OsString>,
}

/// Reads a run file.
///
/// # Errors
/// All its faults, one per line, each with its line number.
pub(crate) fn read(path: &Path) -> Result<Vec<Setting>, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    let near = path.parent().unwrap_or(path);
    settings(&text, near).map_err(|faults| {
        let shown = |(line, fault): &(usize, String)| format!("{}:{line}: {fault}", path.display());
        faults.iter().map(shown).collect::<Vec<_>>().join("\n")
    })
}

/// The settings in this text, for a file in this directory; or all faults, each with its line.
fn settings(text: &str, near: &Path) -> Result<Vec<Setting>, Vec<(usize, String)>> {
    let line = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut faults: Vec<(usize, String)> = errors
        .iter()
        .map(|error| (line(error.span().map_or(0, |span| span.start)), error.message().to_owned()))
        .collect();
    let options = parser();
    let mut settings = Vec::new();
    for (key, value) in table.get_ref() {
        let place = line(key.span().start);
        let Some(arg) = known(&options).find(|arg| arg.get_long() == Some(key.get_ref())) else {
            faults.push((place, unknown(key.get_ref(), &options)));
            continue;
        };
        if !errors.is_empty() {
            // Only the syntax error is reported: the parser's recovery of a damaged value is
            // meaningless.
            continue;
        }
        match words(arg, value, near) {
            Ok(words) => settings.push(Setting { id: arg.get_id().to_string(), words }),
            Err(wrong) => faults.extend(wrong.into_iter().map(|(at, why)| (line(at), why))),
        }
    }
    faults.sort();
    if faults.is_empty() { Ok(settings) } else { Err(faults) }
}

/// The options that a file may set.
fn known(options: &Command) -> impl Iterator<Item = &Arg> {
    options.get_arguments().filter(|arg| arg.get_id() != FILE && !arg.is_hide_set())
}

fn unknown(key: &str, options: &Command) -> String {
    let names: Vec<&str> = known(options).filter_map(Arg::get_long).collect();
    match nearest(key, names.iter().copied()) {
        Some(name) => format!("unknown key `{key}`: did you mean `{name}`?"),
        None => format!("unknown key `{key}`: a run's file may set {}", names.join(", ")),
    }
}

/// Faults, each with its byte offset.
type Wrong = Vec<(usize, String)>;

/// An option with its values, as words.
fn words(arg: &Arg, value: &Spanned<DeValue<'_>>, near: &Path) -> Result<Vec<OsString>, Wrong> {
    let name = arg.get_long().unwrap_or_default();
    if !arg.get_action().takes_values() {
        return match value.get_ref() {
            DeValue::Boolean(true) => Ok(option(arg, None)),
            DeValue::Boolean(false) => Ok(Vec::new()),
            _ => Err(vec![(value.span().start, format!("`{name}` is true or false"))]),
        };
    }
    let repeated = matches!(arg.get_action(), ArgAction::Append);
    let mut wrong = Vec::new();
    let mut words = Vec::new();
    for (at, text) in texts(name, value, repeated)? {
        let text = located(name, &text, near);
        match refusal(arg, &text) {
            None => words.extend(option(arg, Some(text.into()))),
            Some(why) => wrong.push((at, format!("{name} = \"{text}\": {why}"))),
        }
    }
    if wrong.is_empty() { Ok(words) } else { Err(wrong) }
}

/// The values in the form of the command line, each with its offset.
fn texts(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    repeated: bool,
) -> Result<Vec<(usize, String)>, Wrong> {
    let at = value.span().start;
    let parts: Vec<(usize, Result<String, String>)> = match value.get_ref() {
        DeValue::Array(list) if repeated => {
            list.iter().map(|item| (item.span().start, plain(name, item.get_ref()))).collect()
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                let text = plain(name, value.get_ref());
                (key.span().start, text.map(|text| format!("{}={text}", key.get_ref())))
            };
            let mut entries: Vec<_> = table.iter().map(entry).collect();
            // Further ports get their numbers in the order of the file.
            entries.sort_by_key(|(at, _)| *at);
            entries
        }
        single => vec![(at, plain(name, single))],
    };
    let wrong = parts.iter().filter_map(|(at, part)| Some((*at, part.as_ref().err()?.clone())));
    let wrong: Wrong = wrong.collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let parts = parts.into_iter().filter_map(|(at, part)| Some((at, part.ok()?)));
    if repeated {
        return Ok(parts.collect());
    }
    Ok(vec![(at, parts.map(|(_, part)| part).collect::<Vec<_>>().join(","))])
}

fn plain(name: &str, value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|error| format!("`{name}`: {error}")),
        DeValue::Array(_) => Err(format!("`{name}` has one value, and no list")),
        other => Err(format!("`{name}` is text or a whole number, and no {}", other.type_str())),
    }
}

/// Why the option's own parser refuses this text.
fn refusal(arg: &Arg, text: &str) -> Option<String> {
    let one = Command::new("run").no_binary_name(true).disable_help_flag(true).arg(arg.clone());
    let word = format!("--{}={text}", arg.get_long().unwrap_or_default());
    let error = one.try_get_matches_from([word]).err()?;
    if let Some(cause) = std::error::Error::source(&error) {
        return Some(cause.to_string());
    }
    Some(match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) => format!("say one of {}", valid.join(", ")),
        _ => error.kind().to_string(),
    })
}

/// Makes the paths in a value relative to this directory.
fn located(name: &str, text: &str, near: &Path) -> String {
    let joined = |path: &str| near.join(path).display().to_string();
    let behind = |mark: &str| match text.split_once(mark) {
        Some((before, path)) if !path.is_empty() => format!("{before}{mark}{}", joined(path)),
        _ => text.to_owned(),
    };
    match name {
        "in" | "out" | "messages" if text == STANDARD => text.to_owned(),
        "log-to" if LogTo::is_known(text) => text.to_owned(),
        "in" | "out" | "control" | "state-out" | "card-program" | "log-to" => joined(text),
        "config" | "change" => behind("="),
        "moves" if text.starts_with("adapt:") => behind(":"),
        "metrics" if text.starts_with("unix:") => behind(":"),
        "ipfix" | "messages" if !text.starts_with("udp:") => joined(text),
        "live" => {
            let port = |port: &str| match port.split_once("=pcap:") {
                Some((side, files)) => {
                    let files: Vec<String> = files.split('+').map(joined).collect();
                    format!("{side}=pcap:{}", files.join("+"))
                }
                None => port.to_owned(),
            };
            text.split(',').map(port).collect::<Vec<_>>().join(",")
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let settings = settings(text, Path::new("/there")).unwrap();
        let words = settings.iter().flat_map(|setting| &setting.words);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_says_what_a_command_line_says() {
        let text = "nic = \"native\"\nlive = { inside = \"xdp:eth0\", outside = \"pcap:a+/b\" }\n\
                    config = { Rules = \"rules.txt\" }\nseconds = 0x10\njson = true\ncontrol = \"c.sock\"\nmetrics = \"unix:m\"\n";
        let mut words: Vec<String> = said(text).split(" --").map(str::to_owned).collect();
        words.sort();
        assert_eq!(
            words,
            [
                "--config Rules=/there/rules.txt",
                "control /there/c.sock",
                "json",
                "live inside=xdp:eth0,outside=pcap:/there/a+/b",
                "metrics unix:/there/m",
                "nic native",
                "seconds 16",
            ]
        );
        assert_eq!(said("config = [\"A=x\", \"B=/y\"]"), "--config A=/there/x --config B=/y");
        assert_eq!(said("moves = \"adapt:log\""), "--moves adapt:/there/log");
        assert_eq!(said("moves = \"adapt\"\njson = false"), "--moves adapt");
        assert_eq!(
            said("live.inside = \"tap:a\"\nlive.outside = \"tap:b\""),
            "--live inside=tap:a,outside=tap:b"
        );
        assert_eq!(
            said(
                "live = { inside = \"tap:a\", zone = \"pcap:b\", outside = \"tap:c\", dmz = \"tap:d\", 9 = \"tap:e\" }"
            ),
            "--live inside=tap:a,zone=pcap:/there/b,outside=tap:c,dmz=tap:d,9=tap:e"
        );
        assert_eq!(said("ipfix = \"udp:h:1\""), "--ipfix udp:h:1");
        assert_eq!(said("log = \"info,ports=debug\""), "--log info,ports=debug");
        assert_eq!(said("log = { ports = \"debug\" }"), "--log ports=debug");
        assert_eq!(said("log-to = \"journal\""), "--log-to journal");
        assert_eq!(said("log-to = \"log\""), "--log-to /there/log");
    }

    #[test]
    fn every_fault_is_told_at_once_with_its_line() {
        let text = "state_out = \"s\"\npages = \"2m\"\n\nshards = 65\njson = 1\nin = [\"a\"]\n\
                    live = { inside = \"tap:a\", left = \"tap:b\" }\nzzz = 1\nseconds = 1.5\n\
                    config = [\"A=x\",\n  \"B\"]\nfile = \"x\"\n";
        let faults = settings(text, Path::new("")).unwrap_err();
        let wanted = [
            (1, "unknown key `state_out`: did you mean `state-out`?"),
            (2, "pages = \"2m\": say one of 4k, thp, hugetlb"),
            (4, "shards = \"65\": 65 is not in 1..=64"),
            (5, "`json` is true or false"),
            (6, "`in` has one value, and no list"),
            (7, "the port `outside` is missing"),
            (8, "unknown key `zzz`: a run's file may set nic, in"),
            (9, "`seconds` is text or a whole number, and no float"),
            (11, "config = \"B\": write it as State=file"),
            (12, "unknown key `file`: "),
        ];
        assert_eq!(faults.len(), wanted.len(), "{faults:#?}");
        for ((line, fault), (at, words)) in faults.iter().zip(wanted) {
            assert!(*line == at && fault.contains(words), "{at}: {words}, and not {line}: {fault}");
        }
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let faults =
            settings("nic = \"off\"\nshards = = 2\nnci = \"off\"\n", Path::new("")).unwrap_err();
        assert_eq!(faults.first().map(|fault| fault.0), Some(2), "{faults:?}");
        assert!(
            faults.iter().any(|(line, fault)| *line == 3 && fault.contains("`nic`")),
            "{faults:?}"
        );
    }

    #[test]
    fn whatever_names_a_file_is_looked_for_beside_the_run_file() {
        let options = parser();
        let values =
            [("WHO", "adapt:f"), ("WHERE", "f"), ("PORTS", "inside=pcap:f+f"), ("PATH", "f")];
        for arg in known(&options) {
            let name = arg.get_long().unwrap();
            let shown = arg.get_value_names().map_or("", |names| names[0].as_str());
            let value = match values.iter().find(|(word, _)| *word == shown) {
                Some((_, value)) => (*value).to_owned(),
                None if shown.contains("FILE") => shown.replace("FILE", "f"),
                None => continue,
            };
            assert!(located(name, &value, Path::new("/there")).contains("/there/f"), "{name}");
        }
    }
}
