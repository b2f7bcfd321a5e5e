//! Rows without their own mean: the step per image before natural images are whitened.

use crate::error::Result;
use crate::matrix::MatrixView;
use crate::power::{exponent, power, scale};
use crate::simd::Lane;
use crate::threads::Team;
use std::ops::Range;

/// Rows of a piece of work for one thread.
const PIECE_ROWS: usize = 1024;

/// Binary exponents below the largest number at which differences are summed: room for 2^62 of them.
const ROOM: i32 = 64;

/// Writes `x_ij - mean_j(x_ij)` to `out` (n x d, row-major). The mean is taken in `f64` about the row's first value, so
/// an offset costs no digits.
///
/// # Errors
/// [`crate::Error::NotFinite`] naming X, [`crate::Error::Interrupted`].
pub fn center_rows<T: Lane>(x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
    x.check_finite("X")?;
    let (n, d) = (x.rows(), x.cols());
    let ranges = (0..n).step_by(PIECE_ROWS).map(|start| start..n.min(start + PIECE_ROWS));
    let pieces = ranges.zip(out.chunks_mut((PIECE_ROWS * d).max(1))).collect();
    let done = team.map(pieces, |(range, out): (Range<usize>, &mut [T])| {
        team.check()?;
        x.copy_rows(range, out);
        out.chunks_exact_mut(d.max(1)).for_each(center);
        Ok(())
    });
    done.into_iter().collect()
}

fn center<T: Lane>(row: &mut [T]) {
    let largest = row.iter().fold(0.0, |most: f64, &x| most.max(x.into().abs()));
    let level = if largest > 0.0 && exponent(largest) > f64::MAX_EXP - ROOM { ROOM } else { 0 };
    let value = |x: T| x.into() * power(-level);
    let base = row.first().map_or(0.0, |&x| value(x));
    let offset = row.iter().map(|&x| value(x) - base).sum::<f64>() / row.len() as f64;
    for x in row {
        *x = T::of(scale(value(*x) - base - offset, level));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_have_a_mean() {
        // Mean 0.75 M, M = 2^1023: a difference of 2.25 M is beyond the largest number, no distance from the mean is.
        let most = 2f64.powi(1023);
        let mut row = [1.5 * most, 1.5 * most, -0.75 * most, 0.75 * most];
        center(&mut row);
        assert_eq!(row, [0.75 * most, 0.75 * most, -1.5 * most, 0.0]);
        for mut equal in [[f32::MAX; 20], [0.0; 20]] {
            center(&mut equal);
            assert_eq!(equal, [0.0; 20]);
        }
    }

    #[test]
    fn rows_sum_to_zero_far_from_it() {
        let data = [1e15, 1e15 + 2.0, 1e15 + 4.0, 0.0, 0.0, 3.0];
        let mut out = [0.0; 6];
        center_rows(MatrixView::new(&data, 2, 3).unwrap(), &mut out, &Team::solo()).unwrap();
        assert_eq!(out, [-2.0, 0.0, 2.0, -1.0, -1.0, 2.0]);
    }
}
