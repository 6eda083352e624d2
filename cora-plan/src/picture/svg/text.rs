//! Widths and escapes of text.

/// Width of text in a sans-serif of `size` pixels, rounded up. Widths per 1000 of the size are
/// Helvetica's in four classes, slightly enlarged.
pub(super) fn width(text: &str, size: i32) -> i32 {
    let thousandths: i32 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | '\'' | '|' | '!' => 280,
            'f' | 't' | 'r' | ' ' | '-' | '(' | ')' | '[' | ']' => 360,
            'm' | 'w' | 'M' | 'W' | '@' | '%' => 880,
            'A'..='Z' | '_' | '+' | '=' => 690,
            _ => 570,
        })
        .sum();
    (thousandths * size).div_euclid(1000) + 1
}

/// Text with XML escapes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
