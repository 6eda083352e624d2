//! Options as words for another command line.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use super::parser;

/// The explicitly given options of a run, as words for another command line.
pub fn words(given: &ArgMatches) -> Vec<OsString> {
    words_of(given, |_| true)
}

/// Those among them that are wanted.
pub(super) fn words_of(given: &ArgMatches, wanted: impl Fn(&str) -> bool) -> Vec<OsString> {
    let parser = parser();
    let given_here = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        wanted(id) && is_given(given, id)
    };
    let mut words = Vec::new();
    for arg in parser.get_arguments().filter(given_here) {
        if !arg.get_action().takes_values() {
            words.extend(option(arg, None));
            continue;
        }
        for value in given.get_raw(arg.get_id().as_str()).into_iter().flatten() {
            words.extend(option(arg, Some(value.to_owned())));
        }
    }
    words
}

/// Whether the option stands on the command line.
pub(super) fn is_given(given: &ArgMatches, id: &str) -> bool {
    given.value_source(id) == Some(ValueSource::CommandLine)
}

/// An option with this value, if it takes one, as words.
pub(super) fn option(arg: &Arg, value: Option<OsString>) -> Vec<OsString> {
    let name = OsString::from(format!("--{}", arg.get_long().unwrap_or_default()));
    match value {
        None => vec![name],
        // As a separate word, the value would be taken for an option.
        Some(value) if value.as_encoded_bytes().starts_with(b"-") => {
            let mut word = name;
            word.push("=");
            word.push(value);
            vec![word]
        }
        Some(value) => vec![name, value],
    }
}
