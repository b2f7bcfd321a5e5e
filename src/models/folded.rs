//! Rows weighted by frequencies, as rows that need no weights.

use crate::covariance::heaviest;
use crate::error::Result;
use crate::matrix::{MatrixView, room};
use crate::power::{exponent, scale, two_sum};
use crate::simd::Lane;

/// `sqrt(w) (x - mean) / 2^level` for the rows of positive weight.
pub(super) struct Folded<T> {
    data: Vec<T>,
    rows: usize,
    cols: usize,
    /// The heaviest row has a weight near 4^level: roots of weights of any unit lie in the range of any element type.
    pub(super) level: i32,
}

impl<T: Lane> Folded<T> {
    /// The mean comes as what `f64` holds of it and the rest.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn new(x: MatrixView<T>, weights: &[f64], mean: &[f64], rest: &[f64]) -> Result<Self> {
        let level = exponent(weights.iter().copied().fold(0.0, f64::max)).div_euclid(2);
        let rows = living(weights).count();
        let mut data = room(rows.saturating_mul(mean.len()), "a weighted copy of X")?;
        for (i, &weight) in living(weights) {
            let root = scale(weight, -2 * level).sqrt();
            let parts = mean.iter().zip(rest).enumerate();
            data.extend(parts.map(|(j, (high, low))| T::of((x.at(i, j) - high - low) * root)));
        }
        Ok(Self { data, rows, cols: mean.len(), level })
    }

    /// The rows.
    pub(super) fn view(&self) -> MatrixView<'_, T> {
        MatrixView::new(&self.data, self.rows, self.cols).unwrap_or(MatrixView::empty(self.cols))
    }
}

/// The rows that are present.
fn living(weights: &[f64]) -> impl Iterator<Item = (usize, &f64)> {
    weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0)
}

/// sum w x / sum w as what `f64` holds of it and the rest, so that an offset costs nothing.
///
/// Distances are taken from the heaviest row first, then from the mean that they give. The second step leaves an error
/// of eps sum w |x - mean| / sum w at most, eps times the standard deviation: were the heaviest row far away, the first
/// would leave eps times its distance, and let dead directions live.
pub(super) fn weighted_mean<T: Lane>(x: MatrixView<T>, weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let start = heaviest(weights);
    let base: Vec<f64> = (0..x.cols()).map(|j| x.at(start, j)).collect();
    let near: Vec<f64> = base.iter().zip(mean_distance(x, weights, &base)).map(|(base, step)| base + step).collect();
    let step = mean_distance(x, weights, &near);
    near.into_iter().zip(step).map(|(near, step)| two_sum(near, step)).unzip()
}

/// sum w (x - from) / sum w, with what rounding takes from the sums added at the end.
fn mean_distance<T: Lane>(x: MatrixView<T>, weights: &[f64], from: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let (mut sums, mut lost) = (vec![0.0; from.len()], vec![0.0; from.len()]);
    for (i, weight) in living(weights) {
        let share = weight / total;
        for (j, ((sum, lost), from)) in sums.iter_mut().zip(&mut lost).zip(from).enumerate() {
            let (next, rest) = two_sum(*sum, share * (x.at(i, j) - from));
            *sum = next;
            *lost += rest;
        }
    }
    sums.iter().zip(lost).map(|(sum, lost)| sum + lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_keeps_what_an_offset_hides() {
        // 2^26 + {0, 1, 2} 2^-26: the mean of weights 1, 1, 2 lies 1.25 steps above, a quarter of a step beyond f64.
        let data = [0.0, 1.0, 2.0].map(|k| 2f64.powi(26) + k * 2f64.powi(-26));
        let (mean, rest) = weighted_mean(MatrixView::new(&data, 3, 1).unwrap(), &[1.0, 1.0, 2.0]);
        assert_eq!((mean[0] - 2f64.powi(26)) + rest[0], 1.25 * 2f64.powi(-26));
    }

    #[test]
    fn a_far_row_of_the_largest_weight_leaves_the_others_their_mean() {
        // One row at 1e6 and 999 at 0.1, 999 times 1 and once 1.5: (1.5e6 + 99.9) / 1000.5.
        let mut data = vec![0.1; 1000];
        data[0] = 1e6;
        let mut weights = vec![1.0; 1000];
        weights[0] = 1.5;
        let (mean, rest) = weighted_mean(MatrixView::new(&data, 1000, 1).unwrap(), &weights);
        // sum w (x - mean) = 0
        let left = 1.5 * (1e6 - mean[0] - rest[0]) + 999.0 * (0.1 - mean[0] - rest[0]);
        assert!(left.abs() <= 4.0 * f64::EPSILON * 3e6, "{left:e}");
    }

    #[test]
    fn weights_of_any_unit_fold_alike() {
        let data = [1f32, -2.0, 3.0, 0.5];
        let x = MatrixView::new(&data, 4, 1).unwrap();
        let of = |unit: i32| Folded::new(x, &[1.0, 0.0, 3.0, 2.0].map(|w| scale(w, unit)), &[0.5], &[0.0]).unwrap();
        let near = of(0);
        for unit in [-400, 400] {
            let far = of(unit);
            assert_eq!(far.data, near.data);
            assert_eq!(far.level, near.level + unit / 2);
        }
    }
}
