//! Numbers for readers and for scripts. The same number gives the same text on every machine.

use crate::number::grouped_digits;

/// Three significant digits with separators: `0.0123`, `2.13`, `14.2`, `1,420`. Infinity is `no
/// limit`.
pub fn figure(number: f64) -> String {
    if !number.is_finite() {
        return "no limit".to_owned();
    }
    let size = number.abs();
    if size < 0.000_5 {
        return "0".to_owned();
    }
    // Numbers that round up to the next power of ten belong to that range.
    let decimals = match size {
        ..0.01 => 4,
        ..0.1 => 3,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    with_thousands(&format!("{number:.decimals$}"))
}

/// A whole number with separators, or two decimals if it is small and not whole.
pub fn count(number: f64) -> String {
    if !number.is_finite() {
        return "no limit".to_owned();
    }
    let whole = (number - number.round()).abs() < 0.005;
    let decimals = if whole || number.abs() >= 100.0 { 0 } else { 2 };
    with_thousands(&format!("{number:.decimals$}"))
}

/// Whole cores of a number of them: a core that polls does nothing else. Rounding makes no core of
/// nothing, and no other one of a full one.
pub fn whole_cores(number: f64) -> f64 {
    if number < 0.000_5 { 0.0 } else { (number - 1e-3).ceil().max(1.0) }
}

/// A share as `34.1 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= 999.5 {
        format!("{} %", count(percent.round()))
    } else {
        let text = format!("{percent:.1} %");
        // A number that rounds to zero has no sign.
        text.strip_prefix('-').filter(|text| *text == "0.0 %").map_or(text.clone(), str::to_owned)
    }
}

/// A requested rate in million packets a second: as [`count`], but never rounded to zero.
pub fn rate(mpps: f64) -> String {
    if mpps > 0.0 && mpps < 0.005 { format!("{mpps}") } else { count(mpps) }
}

/// Bytes in the unit with the smallest number: `1.50 GiB`.
pub fn bytes(number: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1024.0 * 1024.0 * 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| number >= *unit).unwrap_or((1.0, "B"));
    format!("{} {name}", figure(number / unit))
}

/// Nine significant digits, because all machines agree on these. `None` for infinity and NaN.
pub fn exact(number: f64) -> Option<f64> {
    // The formatted text of a finite number always parses.
    number.is_finite().then(|| format!("{number:.8e}").parse().unwrap_or(number))
}

/// `1,420.5` from `1420.5`.
fn with_thousands(text: &str) -> String {
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(a, b)| (a, Some(b)));
    let fraction = fraction.map_or_else(String::new, |fraction| format!(".{fraction}"));
    format!("{sign}{}{fraction}", grouped_digits(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_as_people_write_them() {
        for (number, text) in [
            (0.0, "0"),
            (0.012_34, "0.012"),
            (0.002_2, "0.0022"),
            (2.128, "2.13"),
            (9.996, "10.0"),
            (14.23, "14.2"),
            (1_423.4, "1,423"),
            (-3.5, "-3.50"),
            (f64::INFINITY, "no limit"),
        ] {
            assert_eq!(figure(number), text);
        }
        assert_eq!((count(998_000.2), count(1.5)), ("998,000".to_owned(), "1.50".to_owned()));
        assert_eq!((percent(0.341), percent(12.3)), ("34.1 %".to_owned(), "1,230 %".to_owned()));
        assert_eq!(bytes(16.0 * 1024.0 * 1024.0 * 1024.0), "16.0 GiB");
        assert_eq!(bytes(0.0), "0 B");
        let percents = [-0.000_4, -0.000_6, 0.0, -1.0].map(percent);
        assert_eq!(percents, ["0.0 %", "-0.1 %", "0.0 %", "-100.0 %"]);
        let rates = [10.0, 1.5, 0.005, 0.001, 1e-9, 0.0].map(rate);
        assert_eq!(rates, ["10", "1.50", "0.01", "0.001", "0.000000001", "0"]);
    }

    #[test]
    fn exact_numbers_keep_nine_digits() {
        assert_eq!(exact(0.1 + 0.2), Some(0.3));
        assert_eq!(exact(1.0 / 3.0), Some(0.333_333_333));
        assert_eq!(exact(f64::INFINITY), None);
    }
}
