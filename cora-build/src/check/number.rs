//! Whole numbers that the source alone determines.

use syn::{BinOp, Expr, Lit};

/// The fault of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// It contains something other than numbers, names and `+ - * / <<`.
    NotArithmetic,
    /// It contains a name that is not resolved.
    Named,
    /// More than 64 bits, below zero, or divided by zero.
    OutOfRange,
}

/// The value of a constant by its path.
pub(crate) type Lookup<'a> = dyn FnMut(&syn::Path) -> Result<u64, NumberError> + 'a;

/// The value of a literal or a constant, or of arithmetic and shifts on them. Casts are passed
/// over.
pub(crate) fn evaluate(expression: &Expr, lookup: &mut Lookup<'_>) -> Result<u64, NumberError> {
    match expression {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().map_err(|_| NumberError::OutOfRange),
            _ => Err(NumberError::NotArithmetic),
        },
        Expr::Paren(inner) => evaluate(&inner.expr, lookup),
        Expr::Group(inner) => evaluate(&inner.expr, lookup),
        Expr::Cast(cast) => evaluate(&cast.expr, lookup),
        Expr::Path(path) if path.qself.is_none() => lookup(&path.path),
        Expr::Binary(binary) => {
            let left = evaluate(&binary.left, lookup)?;
            let right = evaluate(&binary.right, lookup)?;
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
        evaluate(&syn::parse_str(text).unwrap(), &mut |path| {
            if path.is_ident("MAX") { Ok(99) } else { Err(NumberError::Named) }
        })
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
            ("MAX as u32 + 1", 100),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_refused() {
        for text in ["f()", "-1", "\"5\"", "1.0", "6 % 4", "true"] {
            assert_eq!(value(text), Err(NumberError::NotArithmetic), "{text}");
        }
        for text in ["LEAST", "a::LEAST + 1"] {
            assert_eq!(value(text), Err(NumberError::Named), "{text}");
        }
        for text in ["99999999999999999999", "1 - 2", "1 / 0", "1 << 64", "1 << 70", "3 << 63"] {
            assert_eq!(value(text), Err(NumberError::OutOfRange), "{text}");
        }
    }
}
