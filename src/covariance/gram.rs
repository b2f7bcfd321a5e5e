//! The n-side (dual) inner products of centred rows.

use super::product::{Product, groups, team_within};
use super::scaled::Scaled;
use crate::error::Result;
use crate::matrix::{MatrixView, zeros};
use crate::memory;
use crate::power::{exponent, power, scale, scale_all, unit};
use crate::simd::panel::Panel;
use crate::simd::syrk::CrossProduct;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;
use std::ops::Range;

/// Rows looked at, evenly spread, for the unit that the products are computed in.
const SAMPLE_ROWS: usize = 8;

/// What the user knows the matrix as.
const MATRIX: &str = "the Gram matrix";

/// `Y Y'` (n x n) of the centred, scaled rows `Y = (X - mean) * factor`, exactly symmetric.
///
/// Columns are packed side by side in one power-of-two unit, so data of any size neither overflow nor vanish, and go
/// through the tiles of [`Moments`](super::Moments). `f32` products are summed in `f64` across panels. Time n (n + 1) d
/// flops, memory O(n^2): nothing d x d, no copy of X.
///
/// # Errors
/// [`Error::NotFinite`](crate::Error::NotFinite) for NaN or infinity in X, [`Error::Memory`](crate::Error::Memory).
pub fn gram<T: Lane>(rows: &Centered<T>, team: &Team) -> Result<Scaled> {
    let n = rows.rows();
    // The result, 8 bytes an entry, and it with half as many sums beside it: asked before anything is computed.
    memory::check_matrices::<f64>(1, (n, n), MATRIX)?;
    memory::check_bytes(12 * (n as u128).pow(2), "the Gram matrix, with the sums it is read from,")?;
    let sampled = (0..SAMPLE_ROWS.min(n)).map(|i| i * n / SAMPLE_ROWS.min(n));
    let mut unit = unit_of(rows, sampled);
    let mut matrix = products(rows, unit, team)?;
    let largest = (0..n).map(|i| matrix[i * n + i]).fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
    if !(largest.is_finite() && largest >= T::MIN_POSITIVE.sqrt()) {
        // Not finite, all zero, or a sample that misled about the unit.
        rows.raw().check_finite("X")?;
        unit = unit_of(rows, 0..n);
        matrix = products(rows, unit, team)?;
    }
    Ok(Scaled { matrix: DMatrix::from_vec(n, n, matrix), exponent: 2 * unit })
}

/// `Y Y'` itself: each entry right beside the lengths of its own two rows, however much larger others are. Entries
/// beyond the range of `f64` are honestly 0 or infinite.
///
/// # Errors
/// Those of [`gram`].
pub fn inner_products<T: Lane>(rows: &Centered<T>, team: &Team) -> Result<DMatrix<f64>> {
    let scaled = gram(rows, team)?;
    if loses_rows(rows, &scaled.matrix) {
        return by_rows(rows, scaled, team);
    }
    Ok(scaled.unscaled())
}

/// Squared lengths down to 2^-SMALL, in `f64` and in `f32`, and products down to that of two such rows, keep their
/// digits.
const SMALL: [i32; 2] = [960, 100];

/// Whether a row that is not zero is too short for the common unit.
fn loses_rows<T: Lane>(rows: &Centered<T>, matrix: &DMatrix<f64>) -> bool {
    let least = power(-SMALL[usize::from(!T::DOUBLE)]);
    let mut row = vec![0.0; rows.cols()];
    (0..rows.rows()).filter(|&i| matrix[(i, i)] < least).any(|i| {
        rows.pack_wide(i..i + 1, &mut row);
        row.iter().any(|&x| x != 0.0)
    })
}

/// The products of rows in a unit of their own each, in `f64` whatever the data, through a copy of them.
fn by_rows<T: Lane>(rows: &Centered<T>, common: Scaled, team: &Team) -> Result<DMatrix<f64>> {
    let (n, d) = (rows.rows(), rows.cols());
    let mut wide = zeros::<f64>(n.saturating_mul(d), "a copy of X in float64")?;
    rows.pack_wide(0..n, &mut wide);
    if !wide.iter().all(|x| x.is_finite()) {
        // The difference of a row and the mean is beyond the range before any unit is.
        return Ok(common.unscaled());
    }
    let mut units = Vec::with_capacity(n);
    for row in wide.chunks_exact_mut(d.max(1)) {
        let own = unit(row.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
        scale_all(row, -own);
        units.push(own);
    }
    let none = vec![0.0; d];
    let scaled = Centered::new(MatrixView::new(&wide, n, d)?, &none, None);
    let mut matrix = products(&scaled, 0, team)?;
    for (line, own) in matrix.chunks_exact_mut(n.max(1)).zip(&units) {
        line.iter_mut().zip(&units).for_each(|(x, other)| *x = scale(*x, own + other));
    }
    Ok(DMatrix::from_vec(n, n, matrix))
}

/// Entries whose exponents are this far from 0, in `f64` and in `f32`, need no unit: their squares stay normal numbers,
/// with room for what is 2^30 times as large or small, and so do the squares of the sums, which are `f64`.
const MODERATE: [i32; 2] = [100, 16];

/// Exponent of the power of two above all entries of these rows; 0 where they are moderate.
fn unit_of<T: Lane>(rows: &Centered<T>, which: impl Iterator<Item = usize>) -> i32 {
    let mut row = vec![0.0; rows.cols()];
    let mut largest = 0f64;
    for i in which {
        rows.pack_wide(i..i + 1, &mut row);
        largest = row.iter().fold(largest, |most, x| most.max(x.abs()));
    }
    // The unit is folded into the rows' own factors, which must not leave the range of numbers with it.
    let reach = rows.factor().map_or(0, |factors| exponent(factors.iter().fold(1.0, |most: f64, f| most.max(f.abs()))));
    let top = exponent(T::MAX) - 2;
    let range = (exponent(T::MIN_POSITIVE).max(reach - top), top);
    let unit = if largest > 0.0 { exponent(largest) } else { 0 };
    if unit.abs() > MODERATE[usize::from(!T::DOUBLE)] { unit.clamp(range.0, range.1) } else { 0 }
}

/// The products in units of 4^unit.
fn products<T: Lane>(rows: &Centered<T>, unit: i32, team: &Team) -> Result<Vec<f64>> {
    let (n, d) = (rows.rows(), rows.cols());
    let inner = team_within(team, n);
    let parts = team.map(groups(d, n), |columns: Range<usize>| {
        let mut product = Product::<T>::new(columns.len(), n, &inner)?;
        let within = |range: Range<usize>| columns.start + range.start..columns.start + range.end;
        let source = |range| rows.raw().columns_in(within(range));
        let pack = |panel: &mut Panel<T>, range| panel.pack_columns(rows, within(range), T::of(power(-unit)));
        product.add(columns.len(), &inner, source, pack, |_| ())?;
        Ok(product.sums)
    });
    let whole = parts.into_iter().reduce(|whole, part| {
        let (mut whole, part) = (whole?, part?);
        whole.merge(&part);
        Ok(whole)
    });
    whole.transpose()?.map_or_else(|| Ok(Vec::new()), |sums: CrossProduct| sums.whole(MATRIX, team))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_points_by_hand() {
        // Mean (2, 4): rows (-2, -3), (0, 0), (2, 3).
        let data = [0.0, 1.0, 2.0, 4.0, 4.0, 7.0f64];
        let rows = Centered::new(MatrixView::new(&data, 3, 2).unwrap(), &[2.0, 4.0], None);
        let Scaled { matrix, exponent } = gram(&rows, &Team::solo()).unwrap();
        let right = [13.0, 0.0, -13.0, 0.0, 0.0, 0.0, -13.0, 0.0, 13.0];
        assert_eq!((matrix * power(exponent)).as_slice(), right);
    }

    #[test]
    fn one_large_row_leaves_the_others() {
        fn check<T: Lane>(large: f64) {
            let data = [large, 0.0, 3.0, 4.0, 0.0, 0.0, 1.0 / large, 0.0].map(T::of);
            let large: f64 = data[0].into();
            let view = MatrixView::new(&data, 4, 2).unwrap();
            let found = inner_products(&Centered::new(view, &[0.0; 2], None), &Team::solo()).unwrap();
            assert_eq!((found[(1, 1)], found[(2, 2)], found[(0, 2)]), (25.0, 0.0, 0.0));
            assert_eq!((found[(0, 1)], found[(1, 0)], found[(0, 3)]), (3.0 * large, 3.0 * large, 1.0));
            assert_eq!((found[(0, 0)], found[(3, 3)]), (large * large, large.recip() * large.recip()));
        }
        check::<f64>(power(500));
        check::<f64>(power(700));
        check::<f32>(power(100));
    }
}
