//! Compares numbers exactly: no digit is lost between integers and floating-point numbers.

use std::cmp::Ordering;

use crate::json::Json;

/// Compares two JSON numbers by value; `None` if one is not a number.
pub(super) fn compare(one: &Json, other: &Json) -> Option<Ordering> {
    match (one, other) {
        (Json::Int(one), Json::Int(other)) => Some(one.cmp(other)),
        (Json::Float(one), Json::Float(other)) => one.partial_cmp(other),
        (Json::Int(one), Json::Float(other)) => mixed(*one, *other),
        (Json::Float(one), Json::Int(other)) => mixed(*other, *one).map(Ordering::reverse),
        _ => None,
    }
}

/// 2^63, the first number that does not fit 64 signed bits.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

fn mixed(whole: i64, number: f64) -> Option<Ordering> {
    if number.is_nan() {
        return None;
    }
    if number >= BEYOND {
        return Some(Ordering::Less);
    }
    if number < -BEYOND {
        return Some(Ordering::Greater);
    }
    // Within 64 bits, the text of a number without its fraction is exact.
    let trunk: i64 = format!("{:.0}", number.trunc()).parse().ok()?;
    Some(whole.cmp(&trunk).then_with(|| 0.0_f64.total_cmp(&(number.fract() + 0.0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_is_lost() {
        let order = |one, other| compare(&Json::Int(one), &Json::Float(other));
        for (whole, number, wanted) in [
            (9_007_199_254_740_993, 9_007_199_254_740_992.0, Ordering::Greater),
            (i64::MAX, BEYOND, Ordering::Less),
            (i64::MIN, -BEYOND, Ordering::Equal),
            (0, -0.0, Ordering::Equal),
            (1, 1.5, Ordering::Less),
            (-1, -1.5, Ordering::Greater),
            (2, 2.0, Ordering::Equal),
        ] {
            assert_eq!(order(whole, number), Some(wanted), "{whole} and {number}");
            let reversed = compare(&Json::Float(number), &Json::Int(whole));
            assert_eq!(reversed, Some(wanted.reverse()), "{number} and {whole}");
        }
    }
}
