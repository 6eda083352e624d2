//! Diagnostics: collected, then shown together.
//!
//! A pass adds its findings to a [`Diagnostics`] and goes on, so that one run shows every fault of
//! a stage. Macros show them as `compile_error!`, build scripts with line and carets; the messages
//! are the same.

mod catalogue;
pub mod catalogue_handler;
pub mod catalogue_message;
pub mod catalogue_program;
pub mod catalogue_state;
pub mod fault;
pub mod findings;
mod render;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

pub use catalogue::{Code, Entry, entries, lookup};

/// The codes, by their names.
pub mod codes {
    pub use super::catalogue_handler::codes::*;
    pub use super::catalogue_message::codes::*;
    pub use super::catalogue_program::codes::*;
    pub use super::catalogue_state::codes::*;
}

/// A place in the source, from its first to its last token.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    start: Span,
    end: Span,
}

impl Place {
    /// From the first to the last of these tokens; the macro's call if there are none.
    pub fn of(tokens: &impl ToTokens) -> Self {
        let mut tokens = tokens.to_token_stream().into_iter();
        let start = tokens.next().map_or_else(Span::call_site, |token| token.span());
        let end = tokens.last().map_or(start, |token| token.span());
        Self { start, end }
    }

    /// The span of the first token.
    pub fn start(&self) -> Span {
        self.start
    }

    /// The span of the last token.
    pub fn end(&self) -> Span {
        self.end
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self { start: span, end: span }
    }
}

/// The reader of an item.
///
/// The two see different items: a macro gets its item without the attribute, a build script gets it
/// as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// An attribute macro, in the compiler.
    Macro,
    /// A build script, before the compiler runs.
    BuildScript,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The build continues. Only build scripts show it, because macros can't warn.
    Warning,
    /// The build fails.
    Error,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Its code; the catalogue explains it.
    pub code: Code,
    /// Error or warning.
    pub severity: Severity,
    /// The fault.
    pub message: String,
    /// A few words next to the carets.
    pub label: Option<String>,
    /// The remedy.
    pub help: Option<String>,
    /// Its place.
    pub place: Place,
}

impl Diagnostic {
    /// Adds a few words next to the carets.
    pub fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(label.into());
        self
    }

    /// Adds the remedy.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }
}

/// A sink for findings.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error; the result accepts a label and help.
    pub fn error(
        &mut self,
        code: Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(code, Severity::Error, place.into(), message.into())
    }

    /// Adds a warning; the result accepts a label and help.
    pub fn warning(
        &mut self,
        code: Code,
        place: impl Into<Place>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        self.push(code, Severity::Warning, place.into(), message.into())
    }

    fn push(
        &mut self,
        code: Code,
        severity: Severity,
        place: Place,
        message: String,
    ) -> &mut Diagnostic {
        let at = self.list.len();
        self.list.push(Diagnostic { code, severity, message, label: None, help: None, place });
        &mut self.list[at]
    }

    /// Moves all findings from another sink.
    pub fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.list.iter().filter(|found| found.severity == Severity::Error).count()
    }

    /// The findings, in order of detection.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// One `compile_error!` per error, at the user's tokens.
    pub fn to_compile_errors(&self) -> TokenStream {
        self.list
            .iter()
            .filter(|found| found.severity == Severity::Error)
            .map(render::compile_error)
            .collect()
    }

    /// The findings as text, in source order, each with its line and carets. `source` is the text
    /// of their file, and `path` is its name.
    pub fn render(&self, source: &str, path: impl AsRef<std::path::Path>) -> String {
        render::text(&self.list, source, &path.as_ref().display().to_string())
    }
}

impl Diagnostic {
    /// The text below the first line: the place with its line and carets, and the remedy. `source`
    /// is the text of its file, and `path` is its name.
    pub fn details(&self, source: &str, path: &str) -> String {
        render::details(self, source, path)
    }
}
