//! Eigenvalues and eigenvectors of a symmetric matrix: the direct road.

use super::divide_conquer::divide_and_conquer;
use super::ql::{Rotations, implicit_ql};
use super::tridiagonal::Tridiagonal;
use crate::error::{Error, Result};
use crate::simd::run;
use crate::threads::Team;
use nalgebra::DMatrix;
use pulp::{Simd, WithSimd};

/// Up to this order an explicit Q and QL on its rows win; above it, divide and conquer with Q applied in blocks (measured).
const EXPLICIT: usize = 32;

/// The exponents whose powers of two, and their inverses, are normal numbers with room for the eigenvalues.
const EXPONENTS: i32 = 1000;

/// Eigenpairs of a symmetric d x d matrix, the largest first.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The k eigenvalues, descending.
    pub values: Vec<f64>,
    /// d x k: column j is the unit eigenvector of `values[j]`. Signs are as they come.
    pub vectors: DMatrix<f64>,
}

/// All eigenpairs of a symmetric matrix, of which only the lower triangle counts.
///
/// `A V = V diag(values)`, `V'V = I`, each to a few `d eps |A|` (d eps) whatever the scale of A. About `9 d^3` operations, 4 d^2
/// numbers of scratch.
///
/// Reduction to tridiagonal form, then implicit QL (d <= 32) or divide and conquer (Golub and Van Loan 2013, chapter 8).
///
/// # Errors
/// [`Error::Shape`] when `a` is not square, [`Error::NotFinite`], [`Error::NoConvergence`], [`Error::Interrupted`].
pub fn eigh(a: &DMatrix<f64>, team: &Team) -> Result<Eigen> {
    eigh_leading(a, a.nrows(), team)
}

/// The `k` largest eigenvalues (algebraically) with their eigenvectors; see [`eigh`].
///
/// `4/3 d^3 + O(d^2 k)` operations, and the part of divide and conquer below its last step.
///
/// # Errors
/// Those of [`eigh`]; [`Error::Value`] when k > d.
pub fn eigh_leading(a: &DMatrix<f64>, k: usize, team: &Team) -> Result<Eigen> {
    let d = a.nrows();
    if k > d {
        return Err(Error::value("k", k, format!("at most the order {d} of the matrix")));
    }
    let unit = unit_of(a)?;
    let mut reduced = Tridiagonal::of(a, 1.0 / unit);
    team.check()?;
    let mut eigen = if d <= EXPLICIT { by_ql(&mut reduced, k)? } else { by_divide_and_conquer(&mut reduced, k, team)? };
    for value in &mut eigen.values {
        *value *= unit;
    }
    Ok(eigen)
}

/// All eigenvalues of a symmetric matrix, descending, without vectors: `4/3 d^3` operations. See [`eigh`].
///
/// # Errors
/// Those of [`eigh`].
pub fn eigenvalues(a: &DMatrix<f64>, team: &Team) -> Result<Vec<f64>> {
    let unit = unit_of(a)?;
    let Tridiagonal { mut diagonal, mut off_diagonal, .. } = Tridiagonal::of(a, 1.0 / unit);
    team.check()?;
    implicit_ql(&mut diagonal, &mut off_diagonal, &mut [], 0, &mut Rotations::default())?;
    diagonal.sort_by(|x, y| y.total_cmp(x));
    Ok(diagonal.into_iter().map(|value| value * unit).collect())
}

fn by_ql(reduced: &mut Tridiagonal, k: usize) -> Result<Eigen> {
    let Tridiagonal { diagonal, off_diagonal, reflectors } = reduced;
    let mut rows = reflectors.transposed_q();
    implicit_ql(diagonal, off_diagonal, &mut rows, reflectors.stride, &mut Rotations::default())?;
    Ok(gather(diagonal, &rows, reflectors.stride, k))
}

fn by_divide_and_conquer(reduced: &mut Tridiagonal, k: usize, team: &Team) -> Result<Eigen> {
    let Tridiagonal { diagonal, off_diagonal, reflectors } = reduced;
    let vectors = divide_and_conquer(diagonal, off_diagonal, k, team)?;
    let mut eigen = gather(diagonal, &vectors, diagonal.len(), k);
    drop(vectors);
    reflectors.apply(eigen.vectors.as_mut_slice(), team)?;
    Ok(eigen)
}

/// The k largest values, descending, and their vectors, which lie `stride` apart.
fn gather(values: &[f64], vectors: &[f64], stride: usize, k: usize) -> Eigen {
    let d = values.len();
    let order = &descending(values)[..k];
    let mut columns = Vec::with_capacity(d * k);
    for &j in order {
        columns.extend_from_slice(&vectors[j * stride..][..d]);
    }
    Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors: DMatrix::from_vec(d, k, columns) }
}

/// Indices in descending order of value; among equals the last comes first.
pub(super) fn descending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&i, &j| values[j].total_cmp(&values[i]).then(j.cmp(&i)));
    order
}

/// The power of two near the largest entry: dividing by it is exact and brings the norm near 1, where no square over- or
/// underflows. 1 for a matrix of zeros.
fn unit_of(a: &DMatrix<f64>) -> Result<f64> {
    if a.nrows() != a.ncols() {
        return Err(Error::Shape { what: "the second dimension of a", found: a.ncols(), wanted: a.nrows() });
    }
    let (largest, finite) = run(Largest(a.as_slice()));
    if !finite {
        return Err(Error::NotFinite { what: "a", nan: a.iter().any(|x| x.is_nan()) });
    }
    Ok(if largest == 0.0 { 1.0 } else { power_of_two(largest) })
}

/// The largest power of two up to `x > 0`, within 2^-1000 and 2^1000.
fn power_of_two(x: f64) -> f64 {
    /// Bits of the fraction of a double, and the bias of its exponent.
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    const BIAS: u64 = 1023;
    const LIMIT: u64 = EXPONENTS.unsigned_abs() as u64;
    let exponent = (x.to_bits() >> FRACTION).clamp(BIAS - LIMIT, BIAS + LIMIT);
    f64::from_bits(exponent << FRACTION)
}

/// The largest magnitude, and whether every value is finite.
struct Largest<'a>(&'a [f64]);

impl WithSimd for Largest<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, bool) {
        let (vectors, tail) = S::as_simd_f64s(self.0);
        let zero = simd.splat_f64s(0.0);
        let mut largest = [zero; 4];
        // x * 0 is NaN exactly where x is not finite.
        let mut zeros = [zero; 4];
        let (fours, rest) = vectors.as_chunks::<4>();
        for four in fours {
            for q in 0..4 {
                largest[q] = simd.max_f64s(simd.abs_f64s(four[q]), largest[q]);
                zeros[q] = simd.mul_add_e_f64s(four[q], zero, zeros[q]);
            }
        }
        for x in rest {
            largest[0] = simd.max_f64s(simd.abs_f64s(*x), largest[0]);
            zeros[0] = simd.mul_add_e_f64s(*x, zero, zeros[0]);
        }
        let (mut most, mut sum) = (0.0f64, 0.0);
        for q in 0..4 {
            most = most.max(simd.reduce_max_f64s(largest[q]));
            sum += simd.reduce_sum_f64s(zeros[q]);
        }
        for x in tail {
            most = most.max(x.abs());
            sum += x * 0.0;
        }
        (most, sum == 0.0)
    }
}
