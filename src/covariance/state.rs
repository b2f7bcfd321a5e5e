//! The numbers that moments are made of, for storing them.

use super::scaled::row_start;
use crate::matrix::Element;

/// Exponents beyond this cannot come from numbers that `f64` holds.
const LARGEST_EXPONENT: i32 = 2200;
/// How far |S_ij| may lie above sqrt(S_ii S_jj): single-precision panels of 192 rows about a pilot that costs a factor
/// of 33 leave 10^-3 at most, and a sum of rows that is refused is lost.
const ROOM: f64 = 1.25;

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
            && self.exponents.iter().all(|e| e.abs() <= LARGEST_EXPONENT)
            && numbers.all(|x| x.is_finite())
            && if self.count == 0 { self.is_empty() } else { self.is_of_rows() }
    }

    /// Whether these are the numbers of no rows.
    fn is_empty(&self) -> bool {
        let mut numbers = self.mean_high.iter().chain(&self.mean_low).chain(&self.scatter);
        self.weight == 0.0 && self.epsilon == 0.0 && numbers.all(|&x| x == 0.0)
    }

    /// Whether the scatter is bounded by its diagonal, |S_ij| <= sqrt(S_ii S_jj), and the precision one that there is.
    /// The weight may be anything: it fades.
    fn is_of_rows(&self) -> bool {
        let d = self.exponents.len();
        // A scatter that has faded to the end of the range has been rounded there, entry by entry.
        let length = |j: usize| (self.scatter[row_start(d, j)] + f64::MIN_POSITIVE).sqrt();
        let lengths: Vec<f64> = (0..d).map(length).collect();
        let bounded = |i: usize| {
            let row = &self.scatter[row_start(d, i)..row_start(d, i + 1)];
            row[0] >= 0.0 && row.iter().zip(&lengths[i..]).all(|(s, length)| s.abs() <= ROOM * lengths[i] * length)
        };
        [<f32 as Element>::EPSILON, <f64 as Element>::EPSILON].contains(&self.epsilon) && (0..d).all(bounded)
    }
}
