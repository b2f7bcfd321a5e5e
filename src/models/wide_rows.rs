//! Scores of rows for which the element type of the fast loops has no numbers: rows that lie further from the mean than
//! its largest number, means beyond it, standard deviations whose inverse is none. One row at a time in `f64`.

use crate::error::Result;
use crate::matrix::Element;
use crate::memory;
use crate::power::{exponent, scale};

/// A row whose entries are `line 2^unit`: nothing over- or underflows however far apart rows, means and deviations are.
pub(super) struct WideRow {
    line: Vec<f64>,
    unit: i32,
}

impl WideRow {
    /// Refuses a row of `d` columns, with the parts that it is made of, where there is no room for them.
    pub(super) fn check_room(d: usize) -> Result<()> {
        memory::check_matrices::<f64>(1, (3, d), "a row in float64, in parts,")
    }

    /// `(x - mean) / s` for columns of deviation s (0: left out); `None` where a number is not finite.
    pub(super) fn new(x: impl Fn(usize) -> f64, mean: &[f64], deviations: Option<&[f64]>) -> Option<Self> {
        let parts: Option<Vec<(f64, i32)>> =
            (0..mean.len()).map(|j| quotient(x(j), mean[j], deviations.map_or(1.0, |s| s[j]))).collect();
        let parts = parts?;
        let unit = parts.iter().filter(|(value, _)| *value != 0.0).map(|&(_, e)| e).max().unwrap_or(0);
        Some(Self { line: parts.into_iter().map(|(value, e)| scale(value, e - unit)).collect(), unit })
    }

    /// Its product with a component of the map, divided by the deviation of the score where there is one (0: the score
    /// is 0).
    pub(super) fn score<T: Element>(&self, component: impl Fn(usize) -> f64, deviation: Option<f64>) -> T {
        let sum: f64 = self.line.iter().enumerate().map(|(j, x)| x * component(j)).sum();
        T::of(match deviation {
            None => scale(sum, self.unit),
            Some(s) if s > 0.0 && s.is_finite() => scale(sum / scale(s, -exponent(s)), self.unit - exponent(s)),
            Some(_) => 0.0,
        })
    }
}

/// `(x - mean) / s` as (value, e): value 2^e with a value near 1, or 0.
fn quotient(x: f64, mean: f64, s: f64) -> Option<(f64, i32)> {
    let difference = x - mean;
    // Beyond the largest number: halves of numbers as large as these are exact.
    let (difference, half) = if difference.is_finite() { (difference, 0) } else { (0.5 * x - 0.5 * mean, 1) };
    if !difference.is_finite() {
        return None;
    }
    if difference == 0.0 || !(s > 0.0 && s.is_finite()) {
        return Some((0.0, 0));
    }
    let (above, below) = (exponent(difference), exponent(s));
    Some((scale(difference, -above) / scale(s, -below), above + half - below))
}

/// Whether every factor, the inverse of a deviation, is a normal number of the element type.
pub(super) fn are_plain<T: Element>(factors: &[f64]) -> bool {
    factors.iter().all(|factor| (T::MIN_POSITIVE..=T::MAX).contains(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(x: &[f64], mean: &[f64], deviations: Option<&[f64]>, w: &[f64], deviation: Option<f64>) -> f64 {
        WideRow::new(|j| x[j], mean, deviations).unwrap().score(|j| w[j], deviation)
    }

    #[test]
    fn ordinary_rows_have_the_scores_of_the_formula() {
        assert_eq!(score(&[3.0, 5.0], &[1.0, 1.0], Some(&[2.0, 4.0]), &[1.0, 2.0], None), 3.0);
        assert_eq!(score(&[3.0, 5.0], &[1.0, 1.0], None, &[1.0, 2.0], Some(5.0)), 2.0);
        assert_eq!(score(&[3.0, 5.0], &[1.0, 1.0], Some(&[2.0, 0.0]), &[1.0, 2.0], None), 1.0);
        assert_eq!(score(&[3.0, 5.0], &[1.0, 1.0], None, &[1.0, 2.0], Some(0.0)), 0.0);
        assert_eq!(score(&[1.0, 1.0], &[1.0, 1.0], None, &[1.0, 2.0], Some(5.0)), 0.0);
    }

    #[test]
    fn both_ends_of_the_range() {
        let tiny = 2f64.powi(-1060);
        assert_eq!(score(&[3.0 * tiny], &[tiny], Some(&[4.0 * tiny]), &[1.0], None), 0.5);
        let huge = 2f64.powi(1023);
        assert_eq!(score(&[-huge], &[huge], Some(&[huge]), &[1.0], None), -2.0);
        assert_eq!(score(&[-huge], &[huge], None, &[0.5], Some(huge)), -1.0);
        assert_eq!(score(&[-huge], &[huge], None, &[1.0], None), f64::NEG_INFINITY);
        assert!(WideRow::new(|_| f64::NAN, &[0.0], None).is_none());
        assert!(WideRow::new(|_| 0.0, &[f64::INFINITY], None).is_none());
    }

    #[test]
    fn factors_are_plain_in_the_type_that_holds_them() {
        assert!(are_plain::<f64>(&[1e300, 1e-300]) && are_plain::<f32>(&[1e38, 1e-37]));
        assert!(!are_plain::<f64>(&[1.0, f64::INFINITY]) && !are_plain::<f32>(&[1e39]) && !are_plain::<f32>(&[1e-39]));
    }
}
