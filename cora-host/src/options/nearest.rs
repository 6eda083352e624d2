//! Suggestions for mistyped commands.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};

use crate::spelling::nearest;

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
