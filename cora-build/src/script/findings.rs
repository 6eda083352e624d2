//! What was found in a program of several files: one sink per file.

use std::fmt::Write as _;

use crate::diag::{Diagnostics, Severity};

/// A sink per file of the program.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    sinks: Vec<Diagnostics>,
}

/// Names and texts of the files that findings are in.
pub trait Texts {
    /// Name and text of the file with this number.
    fn text(&self, file: usize) -> Option<(&str, &str)>;
}

impl Findings {
    /// The sink of the file with this number.
    pub fn at(&mut self, file: usize) -> &mut Diagnostics {
        if self.sinks.len() <= file {
            self.sinks.resize_with(file + 1, Diagnostics::new);
        }
        &mut self.sinks[file]
    }

    /// Takes what another pass found.
    pub fn append(&mut self, other: Self) {
        for (file, sink) in other.sinks.into_iter().enumerate() {
            self.at(file).append(sink);
        }
    }

    /// Whether an error was found.
    pub fn has_errors(&self) -> bool {
        self.sinks.iter().any(Diagnostics::has_errors)
    }

    /// Everything, with lines and carets, in the order of files and lines.
    pub fn render(&self, texts: &impl Texts) -> String {
        let mut out = String::new();
        for (file, sink) in self.sinks.iter().enumerate().filter(|(_, sink)| !sink.is_empty()) {
            if let Some((name, text)) = texts.text(file) {
                out.push_str(&sink.render(text, name));
            }
        }
        out
    }

    /// The warnings, one line each: so Cargo shows them.
    pub fn warnings(&self, texts: &impl Texts) -> Vec<String> {
        let mut lines = Vec::new();
        for (file, sink) in self.sinks.iter().enumerate() {
            let Some((name, _)) = texts.text(file) else { continue };
            for found in sink.iter().filter(|found| found.severity == Severity::Warning) {
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
