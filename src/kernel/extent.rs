//! Where the columns of the data lie: the unit in which distances are computed, and the mean.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::memory;
use crate::power;

/// Exponents beyond this are cut, so that a factor 2^-e and its inverse are normal numbers.
const FARTHEST: i32 = 1000;

/// Numbers a column that are there at once: the extent, the middle that its mean is taken about, and the factors of a
/// unit.
const A_COLUMN: usize = 5;

/// Lowest, highest and mean value of each column.
#[derive(Clone, Debug)]
pub struct Extent {
    low: Vec<f64>,
    high: Vec<f64>,
    mean: Vec<f64>,
    /// What rounding took from each mean: far from zero, as much as the column varies.
    rest: Vec<f64>,
}

impl Extent {
    /// The extent of `x`, called `what` in errors. Time O(n d).
    ///
    /// # Errors
    /// [`Error::NotFinite`] and, without rows or columns, [`Error::TooFew`] or [`Error::Value`]; [`Error::Memory`].
    pub fn of<T: Element>(x: MatrixView<T>, what: &'static str) -> Result<Self> {
        let (n, d) = (x.rows(), x.cols());
        if n == 0 {
            return Err(Error::TooFew { what, found: 0, wanted: 1 });
        }
        if d == 0 {
            return Err(Error::value(what, format!("an array of shape ({n}, 0)"), "an array with at least one column"));
        }
        memory::check_matrices::<f64>(1, (A_COLUMN, d), "the extent of the columns")?;
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        x.each_row(|row| {
            for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(row) {
                let x: f64 = x.into();
                *low = if x < *low { x } else { *low };
                *high = if x > *high { x } else { *high };
            }
        });
        // Infinities are seen here; a NaN fails every comparison, and is seen by the sums of the mean.
        let infinite = low.iter().chain(&high).any(|x| x.is_infinite());
        let mut extent = Self { mean: vec![0.0; d], rest: vec![0.0; d], low, high };
        if !infinite {
            extent.find_mean(x);
        }
        if infinite || !extent.mean.iter().all(|m| m.is_finite()) {
            x.check_finite(what)?;
        }
        Ok(extent)
    }

    /// About the middle of each column's range, in units of the widest: no sum overflows, and a constant is its own
    /// mean.
    fn find_mean<T: Element>(&mut self, x: MatrixView<T>) {
        let unit = self.spread_exponent();
        let (down, n) = (power::power(-unit), x.rows() as f64);
        let middle: Vec<f64> = self.low.iter().zip(&self.high).map(|(l, h)| 0.5 * l + 0.5 * h).collect();
        let sum = &mut self.mean;
        x.each_row(|row| {
            for ((sum, m), &x) in sum.iter_mut().zip(&middle).zip(row) {
                *sum += (x.into() - m) * down;
            }
        });
        for ((sum, rest), m) in sum.iter_mut().zip(&mut self.rest).zip(&middle) {
            (*sum, *rest) = power::two_sum(*m, power::scale(*sum / n, unit));
        }
    }

    /// The range of both, the mean of `self`.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let low = self.low.iter().zip(&other.low).map(|(a, b)| a.min(*b)).collect();
        let high = self.high.iter().zip(&other.high).map(|(a, b)| a.max(*b)).collect();
        Self { low, high, mean: self.mean.clone(), rest: self.rest.clone() }
    }

    /// Mean of each column, rounded.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// What each column less its rounded mean has as its own mean.
    #[must_use]
    pub fn rest(&self) -> &[f64] {
        &self.rest
    }

    /// The smallest e with 2^e above the width of every column (0 where all are constant).
    #[must_use]
    pub fn spread_exponent(&self) -> i32 {
        let half = self.low.iter().zip(&self.high).map(|(l, h)| 0.5 * h - 0.5 * l).fold(0.0, f64::max);
        if half > 0.0 { (power::exponent(half) + 1).clamp(-FARTHEST, FARTHEST) } else { 0 }
    }

    /// The smallest e with 2^e above every magnitude (0 where all are zero).
    #[must_use]
    pub fn size_exponent(&self) -> i32 {
        let largest = self.low.iter().zip(&self.high).map(|(l, h)| h.abs().max(l.abs())).fold(0.0, f64::max);
        if largest > 0.0 { power::exponent(largest).clamp(-FARTHEST, FARTHEST) } else { 0 }
    }

    /// The smallest unit in which every value is a number, and which has an inverse.
    pub(super) fn least_unit(&self) -> i32 {
        (self.size_exponent() - FARTHEST).max(-FARTHEST)
    }

    /// 2^-e for each column, 0 for constant ones: they add nothing to a difference, and could overflow in its unit.
    #[must_use]
    pub fn factors(&self, exponent: i32) -> Vec<f64> {
        let factor = power::power(-exponent);
        self.low.iter().zip(&self.high).map(|(l, h)| if l < h { factor } else { 0.0 }).collect()
    }

    /// Largest squared distance of the rows of `x` from the rounded mean, and the sum of the column variances (divisor
    /// n), in units of 2^(2 exponent).
    #[must_use]
    pub fn squared_distances<T: Element>(&self, x: MatrixView<T>, exponent: i32) -> (f64, f64) {
        let factors = self.factors(exponent);
        let (mut largest, mut total) = (0.0f64, 0.0);
        x.each_row(|row| {
            let mut sum = 0.0;
            for ((&x, m), f) in row.iter().zip(&self.mean).zip(&factors) {
                let apart = (x.into() - m) * f;
                sum += apart * apart;
            }
            largest = largest.max(sum);
            total += sum;
        });
        // The mean square about m is the variance and (mean - m)^2, which far from zero is no less.
        let beside: f64 = self.rest.iter().zip(&factors).map(|(rest, f)| (rest * f) * (rest * f)).sum();
        (largest, total / x.rows() as f64 - beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_right_at_the_ends_of_the_range() {
        let data =
            [f64::MAX, 3.0, 1e-300, f64::MAX, 3.0, 3e-300, f64::MAX * 0.5, 3.0, 2e-300, f64::MAX * 0.5, 3.0, 2e-300];
        let extent = Extent::of(MatrixView::new(&data, 4, 3).unwrap(), "X").unwrap();
        assert_eq!(extent.mean()[..2], [f64::MAX * 0.75, 3.0]);
        assert_eq!(extent.factors(1)[..2], [0.5, 0.0]);
        assert_eq!(extent.spread_exponent(), FARTHEST);
    }

    #[test]
    fn order_and_bad_values_are_seen() {
        let data = [1.0f32, 5.0, 2.0, 6.0];
        let x = MatrixView::with_strides(&data, (2, 2), (1, 2)).unwrap();
        let extent = Extent::of(x, "X").unwrap();
        assert_eq!(extent.mean(), [3.0, 4.0]);
        assert_eq!((extent.spread_exponent(), extent.size_exponent()), (3, 3));
        assert_eq!(extent.squared_distances(x, 0), (8.0, 8.0));
        let far = [2f64.powi(53), 2f64.powi(53) + 2.0]; // the mean lies between two numbers
        let x = MatrixView::new(&far, 2, 1).unwrap();
        let extent = Extent::of(x, "X").unwrap();
        assert_eq!(extent.mean()[0] - far[0] + extent.rest()[0], 1.0);
        assert_eq!(extent.squared_distances(x, 0).1, 1.0);
        let bad = [1.0, f64::NAN];
        let error = Extent::of(MatrixView::new(&bad, 2, 1).unwrap(), "Y").unwrap_err();
        assert_eq!(error, Error::NotFinite { what: "Y", nan: true });
        assert!(Extent::of(MatrixView::<f64>::new(&[], 0, 2).unwrap(), "X").is_err());
        assert!(Extent::of(MatrixView::<f64>::new(&[], 2, 0).unwrap(), "X").is_err());
    }
}
