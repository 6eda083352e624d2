//! Rendering of findings, as tokens for the compiler or as text with carets.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::{Diagnostic, Severity};

/// `compile_error!` with the finding's message. The compiler underlines from the span of the
/// macro's name to the span of its braces, so these have the two ends of the place.
pub(super) fn compile_error(found: &Diagnostic) -> TokenStream {
    let mut words = format!("{}: {}", found.code, found.message);
    if let Some(help) = &found.help {
        let _infallible = write!(words, "\nhelp: {help}");
    }
    let name = quote_spanned!(found.place.start()=> ::core::compile_error!);
    let mut braces = proc_macro2::Group::new(proc_macro2::Delimiter::Brace, quote!(#words));
    braces.set_span(found.place.end());
    quote!(#name #braces)
}

/// All findings of one file, in the order of its lines.
pub(super) fn text(list: &[Diagnostic], source: &str, path: &str) -> String {
    let mut sorted: Vec<&Diagnostic> = list.iter().collect();
    sorted.sort_by_key(|found| {
        let start = found.place.start().start();
        (start.line, start.column, found.code)
    });
    let mut out = String::new();
    for found in &sorted {
        let kind = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (code, message) = (found.code, &found.message);
        let _infallible = writeln!(out, "{kind}[{code}]: {message}");
        out.push_str(&details(found, source, path));
        out.push('\n');
    }
    if let Some(first) = sorted.first() {
        let _infallible =
            writeln!(out, "for more about an error: `cargo cora explain {}`", first.code);
    }
    out
}

/// The text below a finding's first line.
pub(super) fn details(found: &Diagnostic, source: &str, path: &str) -> String {
    let mut out = String::new();
    let _infallible = write_details(&mut out, found, source, path);
    out
}

fn write_details(
    out: &mut String,
    found: &Diagnostic,
    source: &str,
    path: &str,
) -> std::fmt::Result {
    let start = found.place.start().start();
    let number = start.line.to_string();
    let margin = " ".repeat(number.len());
    writeln!(out, "{margin}--> {path}:{}:{}", start.line, start.column + 1)?;
    if let Some(line) = start.line.checked_sub(1).and_then(|line| source.lines().nth(line)) {
        let (shown, before, width) = underline(line, found);
        let label = found.label.as_deref().unwrap_or_default();
        let carets = format!("{}{} {label}", " ".repeat(before), "^".repeat(width));
        writeln!(out, "{margin} |")?;
        writeln!(out, "{number} | {shown}")?;
        writeln!(out, "{margin} | {}", carets.trim_end())?;
    }
    if let Some(help) = &found.help {
        let mut prefix = "= help:";
        for line in help.lines() {
            writeln!(out, "{margin} {prefix} {line}")?;
            prefix = "       ";
        }
    }
    Ok(())
}

/// The line with expanded tabs, and the start and number of the carets. For a place of several
/// lines, the carets end with its first line.
fn underline(line: &str, found: &Diagnostic) -> (String, usize, usize) {
    const TAB: &str = "    ";
    let widen = |text: String| text.replace('\t', TAB);
    let (start, end) = (found.place.start().start(), found.place.end().end());
    let length = line.chars().count();
    let stop = if end.line == start.line { end.column.min(length) } else { length };
    let before = widen(line.chars().take(start.column).collect());
    let marked = widen(line.chars().take(stop).skip(start.column).collect());
    (widen(line.to_owned()), before.chars().count(), marked.chars().count().max(1))
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Diagnostics, Place};

    #[test]
    fn carets_stand_under_the_tokens() {
        let source = "// first\n\tlet größe = (a + b);\n";
        let tokens: proc_macro2::TokenStream = source.parse().unwrap();
        let found: proc_macro2::TokenStream = tokens.into_iter().skip(3).take(1).collect();
        let mut diagnostics = Diagnostics::new();
        diagnostics
            .error(Code(1), Place::of(&found), "a sum stands here")
            .label("this one")
            .help("take it away\nor not");
        assert_eq!(
            diagnostics.render(source, "src/a.rs"),
            "error[CORA0001]: a sum stands here\n \
             --> src/a.rs:2:14\n  \
             |\n\
             2 |     let größe = (a + b);\n  \
             |                 ^^^^^^^ this one\n  \
             = help: take it away\n          \
             or not\n\n\
             for more about an error: `cargo cora explain CORA0001`\n"
        );
    }

    #[test]
    fn the_order_is_that_of_the_lines() {
        let tokens: Vec<_> =
            "a\nb\nc".parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect();
        let mut diagnostics = Diagnostics::new();
        for (token, code) in [(2, 9), (0, 8), (1, 7)] {
            diagnostics.error(Code(code), tokens[token].span(), "here");
        }
        let text = diagnostics.render("a\nb\nc", "x.rs");
        let places: Vec<_> = text.lines().filter(|line| line.contains("-->")).collect();
        assert_eq!(places, [" --> x.rs:1:1", " --> x.rs:2:1", " --> x.rs:3:1"]);
    }

    #[test]
    fn every_error_becomes_a_compile_error_and_no_warning_does() {
        let mut diagnostics = Diagnostics::new();
        let here = proc_macro2::Span::call_site();
        diagnostics.error(Code(1), here, "one").help("do so");
        diagnostics.warning(Code(2), here, "two");
        diagnostics.error(Code(3), here, "three");
        let tokens = diagnostics.to_compile_errors().to_string();
        assert_eq!(tokens.matches("compile_error").count(), 2);
        assert!(tokens.contains("CORA0001: one\\nhelp: do so"), "{tokens}");
    }
}
