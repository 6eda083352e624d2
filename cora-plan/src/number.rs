//! Numbers for people.

/// A number with separators: `1,000,000`.
pub fn grouped(number: u64) -> String {
    grouped_digits(&number.to_string())
}

/// Separators for digits without a sign.
pub(crate) fn grouped_digits(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
