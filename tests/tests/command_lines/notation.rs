//! The meaning of a line with placeholders.
//!
//! | written | read as |
//! | --- | --- |
//! | `[x]` | nothing; and `x` |
//! | `[x \| y]` | nothing; `x`; and `y` |
//! | `a\|b` within a word | `a`; and `b` |
//! | `…` behind an option | its value; elsewhere nothing |
//! | `<x>`, `NAME`, `$(…)` | a value for that place |
//!
//! The tests try the choices one after the other, with the first choice in all other places: they
//! parse each choice once, and not each combination.

use clap::{Arg, Command};

/// Returns all lines that a text denotes, without values for placeholders.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let (alternatives, rest) = sequence(text);
    assert!(rest.is_empty(), "brackets don't match in `{text}`");
    let tidy = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
    alternatives.into_iter().map(tidy).collect()
}

/// Returns the alternatives up to the end or a closing bracket, and the rest of the text.
fn sequence(text: &str) -> (Vec<String>, &str) {
    let mut alternatives: Vec<Vec<Vec<String>>> = vec![Vec::new()];
    let mut rest = text;
    loop {
        let end = rest.find(['[', ']', '|']).unwrap_or(rest.len());
        let (plain, behind) = rest.split_at(end);
        let last = alternatives.last_mut().expect("there is one");
        last.push(vec![plain.to_owned()]);
        rest = behind;
        match rest.chars().next() {
            None | Some(']') => break,
            Some('[') => {
                let (inside, behind) = sequence(&rest[1..]);
                last.push(std::iter::once(String::new()).chain(inside).collect());
                rest = behind.strip_prefix(']').expect("a bracket closes");
            }
            // A bar between spaces separates whole readings; within a word, it separates readings
            // of that word.
            Some(_) if plain.ends_with(' ') => {
                alternatives.push(Vec::new());
                rest = &rest[1..];
            }
            Some(_) => {
                let (choices, behind) = word(plain, rest);
                let start = plain.rfind(' ').map_or(0, |space| space + 1);
                last.pop();
                last.push(vec![plain[..start].to_owned()]);
                last.push(choices);
                rest = behind;
            }
        }
    }
    (alternatives.iter().flat_map(|parts| one_by_one(parts)).collect(), rest)
}

/// Returns the readings of a word with bars, which begins at the end of `plain`, and the rest.
fn word<'a>(plain: &str, rest: &'a str) -> (Vec<String>, &'a str) {
    let start = plain.rfind(' ').map_or(0, |space| space + 1);
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, letter)| {
        depth += i32::from(*letter == '[') - i32::from(*letter == ']');
        depth < 0 || (depth == 0 && *letter == ' ')
    });
    let (inside, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
    let whole = format!("{}{inside}", &plain[start..]);
    // The part before the last `=` or `:` belongs to each reading of the part after it.
    let choices = whole.split('|').flat_map(|choice| sequence(choice).0).collect();
    (choices, behind)
}

/// Returns the first choice of each part; then each other choice with the first ones of all parts.
fn one_by_one(parts: &[Vec<String>]) -> Vec<String> {
    let with = |place: usize, choice: &str| {
        let part = |(number, part): (usize, &Vec<String>)| {
            if number == place { choice.to_owned() } else { part[0].clone() }
        };
        parts.iter().enumerate().map(part).collect::<String>()
    };
    let first: String = parts.iter().map(|part| part[0].as_str()).collect();
    let others = parts.iter().enumerate();
    let others = others.flat_map(|(at, part)| part.iter().skip(1).map(move |choice| (at, choice)));
    std::iter::once(first).chain(others.map(|(at, choice)| with(at, choice))).collect()
}

/// Returns the words of a line for this parser, with values for placeholders.
pub(crate) fn words(line: &str, parser: &Command) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut parser = parser;
    for word in line.split_whitespace() {
        let arg = words.last().and_then(|last| option(parser, last));
        if word.starts_with('…') || word == "..." {
            words.extend(arg.map(|arg| value(arg, "…")));
            continue;
        }
        let word = word.trim_end_matches('…').replace("$(ls", "x").replace("examples)", "");
        if word.is_empty() {
            continue;
        }
        if let Some(inner) = parser.find_subcommand(&word) {
            parser = inner;
        }
        words.push(arg.map_or_else(|| filled(&word, "x"), |arg| value(arg, &word)));
    }
    words
}

fn option<'a>(parser: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.strip_prefix("--")?;
    let takes = |arg: &&Arg| arg.get_long() == Some(name) && arg.get_action().takes_values();
    parser.get_arguments().find(takes)
}

/// Returns the value of an option, as written, or for a placeholder.
fn value(arg: &Arg, written: &str) -> String {
    let possible = arg.get_possible_values();
    let shown = arg.get_value_names().map_or("", |names| names[0].as_str());
    let sample = match (possible.first(), shown) {
        (Some(first), _) => first.get_name(),
        (None, "TIME") => "1s",
        (None, "PREFIXES" | "PREFIX,…") => "10.0.0.0/8",
        (None, "PORTS") => "inside=tap:a,outside=tap:b",
        (None, "STATE=PLACE") => "S=host",
        (None, "STATE=FILE") => "S=f",
        (None, "N:STATE=FILE") => "1:S=f",
        (None, "WHO") => "plan",
        (None, _) => "1",
    };
    if is_placeholder(written) || written == "…" {
        sample.to_owned()
    } else {
        filled(written, "1")
    }
}

/// Replaces each part that is a placeholder by `sample`.
fn filled(word: &str, sample: &str) -> String {
    let word = word.replace("inside=PORT", "inside=tap:a").replace("outside=PORT", "outside=tap:b");
    let mut filled = String::new();
    for part in word.split_inclusive(['=', ':', ',', '+']) {
        let name = part.trim_end_matches(['=', ':', ',', '+']);
        filled.push_str(if is_placeholder(name) { sample } else { name });
        filled.push_str(&part[name.len()..]);
    }
    filled
}

/// Returns whether the word is `<name>`, or a name in capitals.
fn is_placeholder(word: &str) -> bool {
    let in_brackets = word.starts_with('<') && word.ends_with('>');
    in_brackets || (!word.is_empty() && word.chars().all(|letter| letter.is_ascii_uppercase()))
}

#[test]
fn choices_are_tried_one_by_one() {
    let read = |text| lines(text);
    assert_eq!(read("run --nic off|native"), ["run --nic off", "run --nic native"]);
    assert_eq!(read("a [--b N | --c] d"), ["a d", "a --b N d", "a --c d"]);
    assert_eq!(
        read("a --m plan|adapt[:log] z"),
        ["a --m plan z", "a --m adapt z", "a --m adapt:log z"]
    );
    assert_eq!(read("a [--m x|y] [z]"), ["a", "a --m x", "a --m y", "a z"]);
}

#[test]
fn placeholders_get_values_that_fit() {
    let parser = cargo_cora::command_line();
    let read = |text: &str| words(text, &parser).join(" ");
    assert_eq!(read("cora graph <package> --format F"), "cora graph x --format text");
    assert_eq!(read("cora savings PACKAGE… --traffic …"), "cora savings x --traffic 1");
    assert_eq!(
        read("cora run P --live inside=PORT,outside=PORT --change N:S=f --idle …"),
        "cora run x --live inside=tap:a,outside=tap:b --change 1:1=f --idle"
    );
    assert_eq!(read("cora explain CORA0042"), "cora explain CORA0042");
}
