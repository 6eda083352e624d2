//! Suggestions for mistyped words, for commands and for keys of a run file.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

/// Similarity above which a word counts as a mistyped known one.
const NEAR: f64 = 0.5;

/// The most similar known word, if it is near enough. Two swapped letters are one mistake.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &'a str| (strsim::normalized_damerau_levenshtein(word, name), name);
    let (best, name) = known.map(likeness).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (best > NEAR).then_some(name)
}

/// Parses a command line. For an unknown command, the error suggests the nearest one; clap's own
/// suggestion fails for swapped letters.
///
/// # Errors
/// As clap reports them.
pub fn read_command_line(
    mut command: Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<ArgMatches, clap::Error> {
    command.try_get_matches_from_mut(arguments).map_err(|mut error| {
        let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else {
            return error;
        };
        let names = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let near = nearest(wrong, names.map(Command::get_name)).map(str::to_owned);
        if error.kind() == ErrorKind::InvalidSubcommand
            && error.get(ContextKind::SuggestedSubcommand).is_none()
            && let Some(near) = near
        {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
        }
        error
    })
}

#[cfg(test)]
mod tests {
    use crate::options::nearest::nearest;

    #[test]
    fn what_was_meant_is_found_and_what_was_not_is_not() {
        let known = || ["run", "graph", "plan", "state-out"].into_iter();
        for (wrong, meant) in [
            ("rnu", Some("run")),
            ("state_out", Some("state-out")),
            ("paln", Some("plan")),
            ("zzz", None),
        ] {
            assert_eq!(nearest(wrong, known()), meant, "{wrong}");
        }
    }
}
