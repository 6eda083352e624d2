//! JSON as Cora writes it: ordered, and the same on every machine.

use serde::Serialize;

/// Ordered JSON with a newline at the end. Cora's types hold only values that JSON can represent.
pub(crate) fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Rounds a figure to six significant digits, because sums of floating-point numbers differ in
/// their last digits between compilers.
pub(crate) fn rounded(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}
