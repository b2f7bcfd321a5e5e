//! Products of centred rows with other columns, in `f64` whatever the rows.

use crate::error::Result;
use crate::memory;
use crate::simd::{Centered, Lane};
use crate::threads::{Team, split};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use nalgebra::DMatrix;

/// Values of a panel of rows: it stays in the second cache.
const PANEL: usize = 1 << 15;
/// Fewest rows of a panel, and of a group of rows for each column: merging groups costs a small share of the products.
const LEAST_ROWS: usize = 16;
/// Most groups of rows whose products are summed apart.
const GROUPS: usize = 16;
/// Fewest multiplications of a group: about 0.3 ms.
const GROUP_WORK: usize = 1 << 20;

/// `Xc'D` (d x m) for D (n x m): one read of both, nothing rounded to the element type. 2 n d m operations.
///
/// # Errors
/// [`crate::Error::Memory`], [`crate::Error::Interrupted`].
pub fn cross_product<T: Lane>(rows: &Centered<T>, by: &DMatrix<f64>, team: &Team) -> Result<DMatrix<f64>> {
    let (n, d, m) = (rows.rows(), rows.cols(), by.ncols());
    debug_assert_eq!(n, by.nrows());
    let work = n.saturating_mul(d).saturating_mul(m);
    let groups = (n / (LEAST_ROWS * m.max(1))).min(work / GROUP_WORK).clamp(1, GROUPS);
    let step = (PANEL / d.max(1)).max(LEAST_ROWS).min(n.max(1));
    // The products of each group, their total, and a panel of each thread.
    let lines = (groups + 1).saturating_mul(m).saturating_add(groups.min(team.threads()) * step);
    memory::check_matrices::<f64>(1, (d, lines), "the product of X and the target")?;
    let parts = team.map(split(0..n, groups), |group| {
        let mut sum = DMatrix::zeros(d, m);
        let mut panel = vec![0.0; step * d];
        for start in group.clone().step_by(step) {
            team.check()?;
            let range = start..group.end.min(start + step);
            let lines = &mut panel[..range.len() * d];
            rows.pack_wide(range.clone(), lines);
            let lines = MatRef::from_row_major_slice(lines, range.len(), d);
            let columns = MatRef::from_column_major_slice(by.as_slice(), n, m).subrows(start, range.len());
            let out = MatMut::from_column_major_slice_mut(sum.as_mut_slice(), d, m);
            matmul(out, Accum::Add, lines.transpose(), columns, 1.0, Par::Seq);
        }
        Ok(sum)
    });
    let mut total = DMatrix::zeros(d, m);
    for part in parts {
        total += part? as DMatrix<f64>;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;

    #[test]
    fn products_are_those_of_the_definition() {
        for (n, d, m) in [(1, 1, 1), (3, 2, 4), (2000, 7, 3), (40, 900, 2)] {
            let data: Vec<f32> = (0..n * d).map(|i| ((i * 7) % 19) as f32).collect();
            let by = DMatrix::from_fn(n, m, |i, j| ((i * 5 + j * 3) % 11) as f64 - 5.0);
            let mean = vec![2.0; d];
            let rows = Centered::new(MatrixView::new(&data, n, d).unwrap(), &mean, None);
            let got = cross_product(&rows, &by, &Team::solo()).unwrap();
            let right = DMatrix::from_fn(d, m, |j, c| {
                (0..n).map(|i| (f64::from(data[i * d + j]) - 2.0) * by[(i, c)]).sum::<f64>()
            });
            assert_eq!(got, right); // whole numbers: no rounding anywhere
        }
    }
}
