//! What is raised to a power: gamma x'y + coef0, as it is or in a unit in which no power over- or underflows.

use super::Rate;
use crate::matrix::{Element, MatrixView};
use crate::power;

/// Whole degrees up to here have a power of two as the unit of their base, so that scaling costs no digits, and leave
/// values of at most 2^degree.
const EXACT_DEGREE: f64 = 64.0;

/// Exponents of values beyond this are cut: two of them have a sum, and the values are 0 or infinite anyway.
const FARTHEST: f64 = 5e8;

/// gamma x'y + coef0 = u (factor s + shift), with s = x'y in units of 2^(2 size) and u^degree = 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Base {
    pub(super) factor: f64,
    pub(super) shift: f64,
    pub(super) exponent: i32,
}

impl Base {
    /// In units of 1.
    pub(super) fn plain(gamma: Rate, coef0: f64, size: i32) -> Self {
        Self { factor: gamma.in_units(2 * size), shift: coef0, exponent: 0 }
    }

    /// In a unit near the largest |gamma| |x|^2 + |coef0| of the rows x, whose square is at most `longest` 2^(2 size).
    pub(super) fn own(gamma: Rate, coef0: f64, degree: f64, (longest, size): (f64, i32)) -> Self {
        // The two terms as a 2^e, each with an exponent of its own.
        let (value, exponent) = gamma.parts();
        let unit = power::unit(value);
        let (product, apart) = (power::scale(value, -unit) * longest, unit + exponent + 2 * size);
        let terms = [(product, apart), (coef0.abs(), 0)];
        let exponents = terms.iter().filter(|(x, _)| *x > 0.0).map(|(x, e)| power::exponent(*x) + e);
        let Some(unit) = exponents.max() else { return Self::plain(gamma, coef0, size) };
        let (unit, rest, exponent) = if degree.fract() == 0.0 && degree <= EXACT_DEGREE {
            (unit, 1.0, f64::from(unit) * degree)
        } else {
            // u = 2^(w / degree) with w whole; what lies between u and a power of two is `rest`.
            let bound: f64 = terms.iter().map(|(x, e)| power::scale(*x, e - unit)).sum();
            let exponent = (degree * (f64::from(unit) + bound.log2())).round();
            let whole = (exponent / degree).floor();
            #[allow(clippy::cast_possible_truncation)] // that of a number
            (whole as i32, (whole - exponent / degree).exp2(), exponent)
        };
        Self {
            factor: gamma.in_units(2 * size - unit) * rest,
            shift: power::scale(coef0, -unit) * rest,
            #[allow(clippy::cast_possible_truncation)] // in range
            exponent: exponent.clamp(-FARTHEST, FARTHEST) as i32,
        }
    }
}

/// The square of the longest row, in units of 2^(2 size).
pub(super) fn longest<T: Element>(x: MatrixView<T>, size: i32) -> f64 {
    let down = power::power(-size);
    let mut longest = 0.0f64;
    x.each_row(|row| longest = longest.max(row.iter().map(|&x| (x.into() * down) * (x.into() * down)).sum()));
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_powers_are_powers_of_two() {
        // 3 s + 5 with s <= 2: the terms stay below 2^3.
        let rate = Rate::new(3.0).unwrap();
        let base = Base::own(rate, 5.0, 3.0, (2.0, 0));
        assert_eq!(base, Base { factor: 3.0 / 8.0, shift: 5.0 / 8.0, exponent: 9 });
        assert_eq!(Base::own(rate, 0.0, 2.0, (0.0, 0)), Base { factor: 3.0, shift: 0.0, exponent: 0 });
        // u^2.5 = 2^exponent, and the bound of the base is 1 but for the rounding of the exponent.
        for (degree, size) in [(2.5, 0), (2.5, -400), (1000.0, 700), (0.3, 30)] {
            let Base { factor, shift, exponent } = Base::own(rate, 5.0, degree, (2.0, size));
            let log_bound = (f64::from(2 * size) + (6.0 + 5.0 * power::power(-2 * size)).log2()) * degree;
            assert!((f64::from(exponent) - log_bound).abs() <= 0.5 + 1e-9, "{degree} {size}");
            assert!(((2.0 * factor + shift).log2() * degree).abs() <= 0.5 + 1e-9, "{degree} {size}");
        }
    }

    #[test]
    fn terms_outside_the_range_of_numbers_keep_their_ratio() {
        let far = Rate::in_parts(0.75, 4000).unwrap();
        let base = Base::own(far, 1.0, 3.0, (1.0, 500));
        assert_eq!(base, Base { factor: 0.75, shift: 0.0, exponent: 15_000 });
        let near = Rate::in_parts(0.75, -1200).unwrap();
        let base = Base::own(near, power::power(-200), 1.0, (1.0, 500));
        assert_eq!(base, Base { factor: 0.375, shift: 0.5, exponent: -199 });
    }
}
