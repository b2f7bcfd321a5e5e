//! Rows without their own mean: the step per image before natural images are whitened.

use crate::error::Result;
use crate::matrix::MatrixView;
use crate::simd::Lane;
use crate::threads::Team;
use std::ops::Range;

/// Rows of a piece of work for one thread.
const PIECE_ROWS: usize = 1024;

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
    let base: f64 = row.first().map_or(0.0, |&x| x.into());
    let offset = row.iter().map(|&x| x.into() - base).sum::<f64>() / row.len() as f64;
    for x in row {
        *x = T::of((*x).into() - base - offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_sum_to_zero_far_from_it() {
        let data = [1e15, 1e15 + 2.0, 1e15 + 4.0, 0.0, 0.0, 3.0];
        let mut out = [0.0; 6];
        center_rows(MatrixView::new(&data, 2, 3).unwrap(), &mut out, &Team::solo()).unwrap();
        assert_eq!(out, [-2.0, 0.0, 2.0, -1.0, -1.0, 2.0]);
    }
}
