//! Powers of two: scaling by them costs no digits, so data of any unit are computed near 1. And sums that lose none.

/// Bits of the fraction of an `f64`, its leading one included.
const DIGITS: i32 = 53;
/// Exponent of the smallest positive normal `f64`.
const LOWEST: i32 = -1022;
/// Exponent of the largest power of two in `f64`.
const HIGHEST: i32 = 1023;

/// The smallest `e` with |x| < 2^e and 2^e a number, for finite x: that of the smallest number for 0.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn exponent(x: f64) -> i32 {
    match (x.to_bits() >> (DIGITS - 1)) as i32 & 0x7ff {
        0 if x == 0.0 => LOWEST - DIGITS + 1,
        0 => exponent(x * normal(64)) - 64,
        biased => biased - HIGHEST + 1,
    }
}

/// Units are kept where they and their inverses are normal numbers.
const LIMIT: i32 = 1000;

/// The unit, 2^e, of data whose largest magnitude is x: the smallest e with |x| < 2^e, within +-1000. Scaling by it is
/// exact, and near 1 no square over- or underflows. 0 for 0 and for what is not finite.
#[must_use]
pub fn unit(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() { 0 } else { exponent(x).clamp(-LIMIT, LIMIT) }
}

/// 2^e; 0 or infinity outside the range of `f64`.
#[must_use]
pub fn power(e: i32) -> f64 {
    scale(1.0, e)
}

/// x 2^e, rounded once where the result is subnormal.
#[must_use]
#[inline]
pub fn scale(x: f64, e: i32) -> f64 {
    if (LOWEST..=HIGHEST).contains(&e) { x * normal(e) } else { stepwise(x, e) }
}

/// Every x becomes x 2^e, as by [`scale`].
pub fn scale_all(values: &mut [f64], e: i32) {
    if e == 0 {
        return;
    }
    if (LOWEST..=HIGHEST).contains(&e) {
        let factor = normal(e);
        for x in values {
            *x *= factor;
        }
    } else {
        for x in values {
            *x = stepwise(*x, e);
        }
    }
}

/// a + b as the nearest number and what it leaves (Knuth 1969).
#[must_use]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// 2^e for e in the normal range, straight from its bits.
#[inline]
fn normal(e: i32) -> f64 {
    f64::from_bits(u64::from((e + HIGHEST).unsigned_abs()) << (DIGITS - 1))
}

#[cold]
fn stepwise(mut x: f64, mut e: i32) -> f64 {
    for _ in 0..2 {
        if e > HIGHEST {
            (x, e) = (x * normal(HIGHEST), e - HIGHEST);
        } else if e < LOWEST {
            // A step that leaves the digits above the subnormal range: the last product alone rounds.
            (x, e) = (x * normal(LOWEST + DIGITS), e - LOWEST - DIGITS);
        }
    }
    x * normal(e.clamp(LOWEST, HIGHEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_bound_their_numbers() {
        for (x, e) in [(1.0, 1), (0.5, 0), (-3.0, 2), (f64::MAX, 1024), (f64::MIN_POSITIVE, -1021), (5e-324, -1073)] {
            assert_eq!(exponent(x), e, "{x}");
        }
        for zero in [0.0, -0.0] {
            assert_eq!(exponent(zero), -1074); // 2^-1074 is the smallest number
        }
    }

    #[test]
    fn units_and_their_inverses_are_normal() {
        for (x, e) in [(0.0, 0), (f64::NAN, 0), (f64::INFINITY, 0), (3.0, 2), (-3.0, 2), (1e308, 1000), (5e-324, -1000)]
        {
            assert_eq!(unit(x), e, "{x}");
        }
    }

    #[test]
    fn scaling_is_exact_and_rounds_once() {
        assert_eq!(power(1023), 2f64.powi(1023));
        assert_eq!(power(-1074), 5e-324);
        assert_eq!(power(-1075), 0.0);
        assert_eq!(power(1024), f64::INFINITY);
        assert_eq!(scale(5e-324, 2000), 2f64.powi(926));
        assert_eq!(scale(2f64.powi(1000), -2000), 2f64.powi(-1000));
        assert_eq!(scale(1.5, 4000), f64::INFINITY);
        assert_eq!(scale(f64::MAX, -4000), 0.0);
        for e in [3, -1074, 2000, -4000] {
            let mut values = [1.5, -5e-324, f64::MAX, 0.0];
            let right = values.map(|x| scale(x, e));
            scale_all(&mut values, e);
            assert_eq!(values, right);
        }
        // 1 + 2^-52 halves onto the subnormal grid: to nearest, once.
        assert_eq!(scale(1.0 + f64::EPSILON, -1074), 5e-324);
    }
}
