//! The numbers that moments are made of, for storing them.

use super::scaled::row_start;

/// Exponents beyond this cannot come from numbers that `f64` holds.
const LARGEST_EXPONENT: i32 = 2200;

/// Everything that [`Moments`](super::Moments) holds.
#[derive(Clone, Debug, PartialEq)]
pub struct MomentsState {
    /// Rows of positive weight.
    pub count: u64,
    /// Sum of the weights.
    pub weight: f64,
    /// The mean, rounded to `f64`.
    pub mean_high: Vec<f64>,
    /// What the rounding leaves.
    pub mean_low: Vec<f64>,
    /// Binary exponent of each column's unit.
    pub exponents: Vec<i32>,
    /// Upper triangle of the scatter, row by row, in these units.
    pub scatter: Vec<f64>,
    /// Machine epsilon of the coarsest data seen.
    pub epsilon: f64,
}

impl MomentsState {
    /// Whether rows can have given these numbers.
    #[must_use]
    pub(super) fn is_possible(&self) -> bool {
        let d = self.exponents.len();
        let fits = [&self.mean_high, &self.mean_low].iter().all(|mean| mean.len() == d)
            && d.checked_mul(d + 1).is_some_and(|twice| self.scatter.len() == twice / 2);
        let mut numbers = self.mean_high.iter().chain(&self.mean_low).chain(&self.scatter);
        fits && (0.0..f64::INFINITY).contains(&self.weight)
            && (0.0..1.0).contains(&self.epsilon)
            && self.exponents.iter().all(|e| e.abs() <= LARGEST_EXPONENT)
            && numbers.all(|x| x.is_finite())
            && (0..d).all(|j| self.scatter[row_start(d, j)] >= 0.0)
    }
}
