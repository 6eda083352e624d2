//! The command lines in README, docs and the pages of the examples: their programs accept them, and
//! docs/command.md lists every option.

#[path = "command_lines/notation.rs"]
mod notation;
#[path = "command_lines/pages.rs"]
mod pages;

use std::collections::BTreeSet;

use clap::Command;
use clap::error::ErrorKind;

use pages::Written;

/// The page with every option.
const COMMAND_PAGE: &str = "docs/command.md";

/// Returns the reason why a parser refuses a line; `None` if it accepts the line.
fn refusal(line: &str, is_named: bool) -> Option<String> {
    let all: Vec<&str> = line.split_whitespace().collect();
    match all[..] {
        ["cargo", "cora"] if is_named => None,
        ["cargo", "cora", command] if is_named => {
            let there = cargo_cora::command_line().find_subcommand(command).is_some();
            let placeholder = command.chars().all(|letter| letter.is_ascii_uppercase());
            (!there && !placeholder).then(|| format!("there is no command `{command}`"))
        }
        ["cargo", "cora", "COMMAND", ..] => None,
        ["cargo", "cora", ..] => of_clap(cargo_cora::command_line(), &all[1..]),
        ["cargo", "xtask", ..] => of_xtask(&all[2..]),
        _ => of_clap(cora_host::command_line("program"), &all),
    }
}

fn of_clap(parser: Command, line: &[&str]) -> Option<String> {
    let words = notation::words(&line.join(" "), &parser);
    let given = words.iter().map(Into::into);
    let matches = match cora_host::read_command_line(parser, given) {
        Ok(matches) => matches,
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            return None;
        }
        Err(error) => return Some(error.to_string()),
    };
    let (_, run) = matches.subcommand().filter(|(name, _)| *name == "run")?;
    // A file that a page names does not exist.
    let reads_file = words.iter().any(|word| word == "--file");
    if reads_file { None } else { cora_host::Run::read(run).err() }
}

/// Checks a line against the usage of `cargo xtask`, which has no parser.
fn of_xtask(line: &[&str]) -> Option<String> {
    let source = pages::read("xtask/src/main.rs");
    let usages =
        source.lines().filter_map(|line| line.split_once("cargo xtask ")?.1.split('"').next());
    let commands = |usage: &str| -> Vec<String> {
        let names = usage.split(" [").next().unwrap_or(usage).split(['|', ' ']);
        names
            .filter(|name| !name.is_empty() && !name.starts_with("--"))
            .map(str::to_owned)
            .collect()
    };
    let (command, rest) = line.split_first()?;
    let usages: Vec<&str> =
        usages.filter(|usage| commands(usage).iter().any(|name| name == command)).collect();
    if usages.is_empty() {
        return Some(format!("usage names no `{command}`"));
    }
    let options = rest.iter().filter(|word| word.starts_with("--"));
    let is_there = |option: &&&str| !usages.iter().any(|usage| usage.contains(**option));
    options.filter(is_there).map(|option| format!("usage names no `{option}`")).next()
}

#[test]
fn every_command_line_of_the_pages_is_understood() {
    let written = pages::all();
    assert!(written.len() > 60, "pages are full of them: {}", written.len());
    let mut wrong = Vec::new();
    for Written { place, text, is_named } in &written {
        for line in notation::lines(text) {
            if let Some(why) = refusal(&line, *is_named) {
                wrong.push(format!("{place}: `{line}`\n  {}", why.trim().replace('\n', "\n  ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} lines are not understood:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_wrong_line_is_found() {
    for wrong in [
        "cargo cora rnu nat --in a.pcap",
        "cargo cora run nat --nic off --in a.pcap --outt b.pcap",
        "cargo cora run nat --in a.pcap --control x.sock",
        "cargo cora graph nat --format png",
        "nat run --live inside=tap:a,outside=tap:b --change 1:A=b",
        "cargo xtask bench --quikc",
        "cargo xtask dem",
    ] {
        assert!(refusal(wrong, false).is_some(), "{wrong}");
    }
    let near = refusal("cargo cora rnu nat --in a.pcap", false).unwrap_or_default();
    assert!(near.contains("'run'"), "the nearest command is named: {near}");
    let near = refusal("nat rnu --in a.pcap", false).unwrap_or_default();
    assert!(near.contains("'run'"), "the nearest command is named: {near}");
}

/// Collects the long options in the help of a command and its subcommands.
fn options(command: &Command, into: &mut BTreeSet<String>) {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    into.extend(shown.filter_map(|arg| arg.get_long()).map(|name| format!("--{name}")));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        options(inner, into);
    }
}

#[test]
fn every_option_is_on_the_page_of_the_command() {
    let mut all = BTreeSet::new();
    options(&cargo_cora::command_line(), &mut all);
    options(&cora_host::command_line("program"), &mut all);
    assert!(all.contains("--restarts") && all.contains("--host-cores"), "{all:?}");
    let page = pages::read(COMMAND_PAGE);
    let is_end = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '-');
    let is_named = |option: &&String| {
        page.match_indices(option.as_str())
            .any(|(at, found)| page[at + found.len()..].chars().next().is_none_or(is_end))
    };
    let missing: Vec<&String> = all.iter().filter(|option| !is_named(option)).collect();
    assert!(missing.is_empty(), "{COMMAND_PAGE} names no {missing:?}");
}
