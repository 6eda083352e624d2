//! Findings in a program with several files: two sinks per file, one for each reader that reports.

use std::fmt::Write as _;

use crate::diag::fault::{Fault, Faults};
use crate::diag::{Diagnostic, Diagnostics, Reader, Severity};

/// Sinks per file of the program.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    sinks: Vec<Diagnostics>,
    /// Findings that the macros also have.
    of_items: Vec<Diagnostics>,
}

/// Names and texts of the files with findings.
pub trait Texts {
    /// Name and text of the file with this index.
    fn text(&self, file: usize) -> Option<(&str, &str)>;
}

impl Findings {
    /// The sink of a file for findings that need the whole program.
    pub fn at(&mut self, file: usize) -> &mut Diagnostics {
        sink(&mut self.sinks, file)
    }

    /// The sink of a file for findings in an annotated item, which its macro also has.
    pub fn of_item(&mut self, file: usize) -> &mut Diagnostics {
        sink(&mut self.of_items, file)
    }

    /// Moves the findings from another pass.
    pub fn append(&mut self, other: Self) {
        for (file, sink) in other.sinks.into_iter().enumerate() {
            self.at(file).append(sink);
        }
        for (file, sink) in other.of_items.into_iter().enumerate() {
            self.of_item(file).append(sink);
        }
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.sinks.iter().chain(&self.of_items).any(Diagnostics::has_errors)
    }

    /// All findings in a file, with their reporters.
    fn found(&self, file: usize) -> impl Iterator<Item = (&Diagnostic, Reader)> {
        let whole = self.sinks.get(file).map(|sink| (sink, Reader::BuildScript));
        let items = self.of_items.get(file).map(|sink| (sink, Reader::Macro));
        let sinks = whole.into_iter().chain(items);
        sinks.flat_map(|(sink, told_by)| sink.iter().map(move |found| (found, told_by)))
    }

    fn files(&self) -> usize {
        self.sinks.len().max(self.of_items.len())
    }

    /// The errors, with lines and carets, in the order of files and lines.
    pub fn faults(&self, texts: &impl Texts) -> Faults {
        let mut faults = Vec::new();
        for file in 0..self.files() {
            let Some((name, text)) = texts.text(file) else { continue };
            let errors = self.found(file).filter(|(found, _)| found.severity == Severity::Error);
            let mut errors: Vec<(&Diagnostic, Reader)> = errors.collect();
            errors.sort_by_key(|(found, _)| {
                let start = found.place.start().start();
                (start.line, start.column, found.code)
            });
            faults.extend(errors.into_iter().map(|(found, told_by)| Fault {
                code: found.code,
                told_by,
                message: found.message.clone(),
                details: found.details(text, name),
            }));
        }
        Faults(faults)
    }

    /// The warnings, one line each, as Cargo shows them.
    pub fn warnings(&self, texts: &impl Texts) -> Vec<String> {
        let mut lines = Vec::new();
        for file in 0..self.files() {
            let Some((name, _)) = texts.text(file) else { continue };
            let found = self.found(file).map(|(found, _)| found);
            for found in found.filter(|found| found.severity == Severity::Warning) {
                let at = found.place.start().start();
                let mut line = format!("{}: {}", found.code, found.message);
                if let Some(help) = &found.help {
                    let _infallible = write!(line, "; {}", help.replace('\n', " "));
                }
                lines.push((
                    file,
                    at.line,
                    format!("{line} ({name}:{}:{})", at.line, at.column + 1),
                ));
            }
        }
        lines.sort();
        lines.into_iter().map(|(.., line)| line).collect()
    }
}

fn sink(sinks: &mut Vec<Diagnostics>, file: usize) -> &mut Diagnostics {
    if sinks.len() <= file {
        sinks.resize_with(file + 1, Diagnostics::new);
    }
    &mut sinks[file]
}
