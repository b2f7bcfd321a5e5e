//! A matrix given as symmetric: it is to rounding, or it is refused by the pair of entries that is not.

use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView, zeros};
use bytemuck::try_cast_slice;
use std::borrow::Cow;

/// Largest difference between K_ij and K_ji, in units of eps max|K|, that passes for rounding: that of an inner product
/// of a few hundred thousand terms.
const ASYMMETRY: f64 = 1e3;

/// Rows and columns of a square in which a matrix is compared with its transpose: both stay in the first cache.
const SQUARE: usize = 32;

/// The largest magnitude of a `k` that is square, finite and symmetric to rounding, or an error that says what `k`,
/// called `what`, is instead. Time O(n^2).
///
/// # Errors
/// [`Error::Value`], [`Error::NotFinite`].
pub fn check_symmetric<T: Element>(k: MatrixView<T>, what: &'static str) -> Result<f64> {
    if let Some(largest) = exact_size(k) { Ok(largest) } else { compare_halves(k, what, |_, _, _| ()) }
}

/// The n x n matrix `k`, called `what` in errors, exactly symmetric and in `f64`: itself where it is all that, else the
/// mean of both halves.
///
/// # Errors
/// Those of [`check_symmetric`].
pub fn symmetric<'a, T: Element>(k: MatrixView<'a, T>, what: &'static str) -> Result<Cow<'a, [f64]>> {
    if let Some(entries) = contiguous(k).and_then(|entries| try_cast_slice(entries).ok().filter(|_| T::DOUBLE))
        && exact_size(k).is_some()
    {
        return Ok(Cow::Borrowed(entries));
    }
    let mut out = zeros(k.rows().saturating_mul(k.cols()), what)?;
    symmetric_into(k, what, &mut out)?;
    Ok(Cow::Owned(out))
}

/// The mean of both halves of the n x n matrix `k`, called `what` in errors, written to `out`: exactly symmetric.
///
/// # Errors
/// [`Error::Value`] when `k` is not square, or not symmetric to rounding; [`Error::NotFinite`]; [`Error::Shape`] when
/// `out` does not hold n^2 values.
pub fn symmetric_into<T: Element>(k: MatrixView<T>, what: &'static str, out: &mut [f64]) -> Result<()> {
    let n = k.rows();
    let wanted = n.saturating_mul(n);
    if k.cols() == n && out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    compare_halves(k, what, |(i, j), a, b| {
        let mean = 0.5 * a + 0.5 * b;
        out[i * n + j] = mean;
        out[j * n + i] = mean;
    })?;
    Ok(())
}

/// The entries row after row, or column after column, which is the same for a symmetric matrix.
fn contiguous<T: Element>(k: MatrixView<'_, T>) -> Option<&[T]> {
    k.as_slice().or_else(|| k.transpose().as_slice())
}

/// The largest magnitude of `k` where it is square and contiguous, every entry finite and equal to its mirror image:
/// the usual case, seen at several times the speed of [`compare_halves`].
fn exact_size<T: Element>(k: MatrixView<T>) -> Option<f64> {
    let n = k.rows();
    let entries = contiguous(k).filter(|_| k.cols() == n)?;
    // One a column of the squares: a single one would wait for itself.
    let mut largest = [T::of(0.0); SQUARE];
    let mut mirrored = [[T::of(0.0); SQUARE]; SQUARE];
    for (top, left) in (0..n).step_by(SQUARE).flat_map(|i| (0..=i).step_by(SQUARE).map(move |j| (i, j))) {
        let (height, width) = (SQUARE.min(n - top), SQUARE.min(n - left));
        for (j, row) in entries[left * n..].chunks(n).take(width).enumerate() {
            row[top..top + height].iter().zip(&mut mirrored).for_each(|(&entry, line)| line[j] = entry);
        }
        let mut exact = true;
        for (row, line) in entries[top * n..].chunks(n).zip(&mirrored).take(height) {
            for ((a, b), largest) in row[left..left + width].iter().zip(line).zip(&mut largest) {
                // NaN is not equal to itself.
                exact &= a == b;
                let size = T::of((*a).into().abs());
                *largest = if size > *largest { size } else { *largest };
            }
        }
        if !exact {
            return None;
        }
    }
    Some(largest.into_iter().map(Into::into).fold(0.0, f64::max)).filter(|largest| largest.is_finite())
}

/// Shows each pair of mirrored entries, square by square; the largest magnitude.
fn compare_halves<T: Element>(
    k: MatrixView<T>,
    what: &'static str,
    mut visit: impl FnMut((usize, usize), f64, f64),
) -> Result<f64> {
    k.check_finite(what)?;
    let n = k.rows();
    if k.cols() != n {
        return Err(Error::value(what, format!("shape ({n}, {})", k.cols()), "a square matrix"));
    }
    let (mut largest, mut worst) = (0.0f64, (0.0, 0, 0));
    let mut mirrored = [[0.0; SQUARE]; SQUARE];
    for (top, left) in (0..n).step_by(SQUARE).flat_map(|i| (0..=i).step_by(SQUARE).map(move |j| (i, j))) {
        let (rows, cols) = (top..n.min(top + SQUARE), left..n.min(left + SQUARE));
        for (j, line) in cols.clone().zip(&mut mirrored) {
            rows.clone().zip(line).for_each(|(i, to)| *to = k.at(j, i));
        }
        for (at, i) in rows.enumerate() {
            for (j, line) in (left..cols.end.min(i + 1)).zip(&mirrored) {
                let (a, b) = (k.at(i, j), line[at]);
                largest = largest.max(a.abs()).max(b.abs());
                if (a - b).abs() > worst.0 {
                    worst = ((a - b).abs(), i, j);
                }
                visit((i, j), a, b);
            }
        }
    }
    let (apart, i, j) = worst;
    if apart > ASYMMETRY * T::EPSILON * largest {
        let found = format!("entry ({i}, {j}) = {} and entry ({j}, {i}) = {}", k.at(i, j), k.at(j, i));
        return Err(Error::value(what, found, "symmetric"));
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_evened_out_and_more_is_refused() {
        let mut out = [0.0; 4];
        let nearly = [2.0, 1.0, 1.0 + 4.0 * f64::EPSILON, 3.0];
        symmetric_into(MatrixView::new(&nearly, 2, 2).unwrap(), "X", &mut out).unwrap();
        assert_eq!(out, [2.0, 1.0 + 2.0 * f64::EPSILON, 1.0 + 2.0 * f64::EPSILON, 3.0]);
        let crooked = [2.0, 1.0, 0.5, 2.0];
        let sentence = symmetric_into(MatrixView::new(&crooked, 2, 2).unwrap(), "X", &mut out).unwrap_err().to_string();
        assert_eq!(sentence, "X must be symmetric, got entry (1, 0) = 0.5 and entry (0, 1) = 1");
        assert!(symmetric_into(MatrixView::new(&crooked, 1, 4).unwrap(), "X", &mut out).is_err());
        assert_eq!(check_symmetric(MatrixView::new(&nearly, 2, 2).unwrap(), "X"), Ok(3.0));
        assert_eq!(check_symmetric(MatrixView::new(&crooked, 2, 2).unwrap(), "X").unwrap_err().to_string(), sentence);
        let missing = [1.0, f64::NAN, f64::NAN, 1.0];
        assert!(check_symmetric(MatrixView::new(&missing, 2, 2).unwrap(), "X").is_err());
    }

    #[test]
    fn every_entry_has_its_place() {
        let n = 70;
        let k: Vec<f64> = (0..n * n).map(|at| ((at / n) * (at % n)) as f64).collect();
        let mut out = vec![0.0; n * n];
        symmetric_into(MatrixView::new(&k, n, n).unwrap(), "X", &mut out).unwrap();
        assert_eq!(out, k);
        let given = MatrixView::new(&k, n, n).unwrap();
        assert!(matches!(symmetric(given, "A").unwrap(), Cow::Borrowed(same) if same == k));
        for (at, odd) in [(1, 0.5), (n * n - 2, 1e300), (69 * n + 33, f64::INFINITY), (3 * n + 3, f64::NAN)] {
            let mut k = k.clone();
            k[at] = odd;
            k[at % n * n + at / n] = if odd.is_finite() { 0.0 } else { odd };
            assert!(check_symmetric(MatrixView::new(&k, n, n).unwrap(), "A").is_err(), "entry {at}");
        }
        assert!(matches!(symmetric(given.transpose(), "A").unwrap(), Cow::Borrowed(same) if same == k));
    }
}
