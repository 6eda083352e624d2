//! Whole numbers that the source alone determines.

use syn::{BinOp, Expr, Lit};

/// The fault of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// It contains something other than numbers and `+ - * / <<`.
    NotArithmetic,
    /// More than 64 bits, below zero, or divided by zero.
    OutOfRange,
}

/// The value of a literal, or of arithmetic and shifts on literals.
pub(crate) fn evaluate(expression: &Expr) -> Result<u64, NumberError> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().map_err(|_| NumberError::OutOfRange),
            _ => Err(NumberError::NotArithmetic),
        },
        Expr::Paren(inner) => evaluate(&inner.expr),
        Expr::Group(inner) => evaluate(&inner.expr),
        Expr::Binary(binary) => {
            let (left, right) = (evaluate(&binary.left)?, evaluate(&binary.right)?);
            match binary.op {
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Div(_) => left.checked_div(right),
                BinOp::Shl(_) => shift(left, right),
                _ => return Err(NumberError::NotArithmetic),
            }
            .ok_or(NumberError::OutOfRange)
        }
        _ => Err(NumberError::NotArithmetic),
    }
}

/// `left << right`, unless bits are lost.
fn shift(left: u64, right: u64) -> Option<u64> {
    let right = u32::try_from(right).ok()?;
    let shifted = left.checked_shl(right)?;
    (shifted >> right == left).then_some(shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, NumberError> {
        evaluate(&syn::parse_str(text).unwrap())
    }

    #[test]
    fn arithmetic() {
        for (text, expected) in [
            ("1_000_000", 1_000_000),
            ("0x10", 16),
            ("64 * 1024", 65_536),
            ("1 << 20", 1 << 20),
            ("(2 + 3) * 4 - 10 / 2", 15),
            ("10u32", 10),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_refused() {
        for text in ["MAX", "f()", "-1", "\"5\"", "1.0", "6 % 4", "true"] {
            assert_eq!(value(text), Err(NumberError::NotArithmetic), "{text}");
        }
        for text in ["99999999999999999999", "1 - 2", "1 / 0", "1 << 64", "1 << 70", "3 << 63"] {
            assert_eq!(value(text), Err(NumberError::OutOfRange), "{text}");
        }
    }
}
