//! Householder reduction of a symmetric matrix to tridiagonal form: one pass over one triangle for each column.
//!
//! `Q' A Q = T`, `Q = H_0 H_1 ... H_{n-2}`, `H_k = I - tau_k v_k v_k'`. Column k gives
//!
//! ```text
//! y = A v,   w = tau y - (tau^2 / 2) (v'y) v,   A <- A - v w' - w v'
//! ```
//!
//! The update by column k and the product `A v` of column k + 1 share one pass, so the triangle goes through the cache
//! once for each column. Reference: Golub and Van Loan, Matrix Computations (4th ed., 2013), 5.1 and 8.3.1.

use crate::simd::{Aligned, run};
use nalgebra::DMatrix;
use pulp::{Simd, WithSimd};

/// Rows are padded with zeros to a multiple of this: the lanes of the widest vector, and a cache line.
const PAD: usize = 8;

/// A squared length below this is zero: for a matrix of norm near 1 what is dropped is 1e-140 of it, while the squares of
/// what is kept are normal numbers with all their digits, so that `tau v'v = 2` holds to rounding.
const NEGLIGIBLE_SQUARE: f64 = 1e-280;

/// `n` rounded up to full vectors: the distance between padded rows.
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(PAD)
}

/// The reflectors that make up Q.
pub(super) struct Reflectors {
    /// Row k holds `v_k` in full: zeros up to column k, a one, the rest. All zeros where `H_k = I`.
    pub(super) rows: Aligned<f64>,
    /// Distance between rows.
    pub(super) stride: usize,
    /// `tau_k`; 0 where `H_k = I`.
    pub(super) tau: Vec<f64>,
}

/// `A = Q T Q'`, T tridiagonal.
pub(super) struct Tridiagonal {
    /// The diagonal of T.
    pub(super) diagonal: Vec<f64>,
    /// `T_{i,i+1}`; the last entry is 0.
    pub(super) off_diagonal: Vec<f64>,
    /// Q.
    pub(super) reflectors: Reflectors,
}

impl Tridiagonal {
    /// Reduces `factor * a`, reading only the lower triangle of the square matrix `a`. `4/3 n^3` operations.
    pub(super) fn of(a: &DMatrix<f64>, factor: f64) -> Self {
        let mut tridiagonal = Self::packed(a, factor);
        let mut work = Aligned::zeros(3 * tridiagonal.reflectors.stride);
        run(Reduce::new(&mut tridiagonal, &mut work));
        tridiagonal
    }

    /// The lower triangle of `factor * a`, its columns in padded rows, not yet reduced.
    fn packed(a: &DMatrix<f64>, factor: f64) -> Self {
        let n = a.ncols();
        let stride = padded(n);
        let mut rows = Aligned::zeros(n * stride);
        let columns = a.as_slice().chunks_exact(n.max(1));
        for (k, (row, column)) in rows.chunks_exact_mut(stride.max(1)).zip(columns).enumerate() {
            for (to, from) in row.iter_mut().zip(column).skip(k) {
                *to = from * factor;
            }
        }
        let reflectors = Reflectors { rows, stride, tau: vec![0.0; n] };
        Self { diagonal: vec![0.0; n], off_diagonal: vec![0.0; n], reflectors }
    }
}

/// Reduces the upper triangle held in `rows`, leaving the reflectors there.
struct Reduce<'a> {
    rows: &'a mut [f64],
    stride: usize,
    diagonal: &'a mut [f64],
    off_diagonal: &'a mut [f64],
    tau: &'a mut [f64],
    /// Three padded rows of zeros.
    work: &'a mut [f64],
}

impl<'a> Reduce<'a> {
    fn new(of: &'a mut Tridiagonal, work: &'a mut [f64]) -> Self {
        let Tridiagonal { diagonal, off_diagonal, reflectors: Reflectors { rows, stride, tau } } = of;
        Self { rows, stride: *stride, diagonal, off_diagonal, tau, work }
    }
}

impl WithSimd for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, stride, diagonal, off_diagonal, tau, work } = self;
        let n = diagonal.len();
        assert!(off_diagonal.len() == n && tau.len() == n && stride == padded(n));
        assert!(rows.len() == n * stride && work.len() == 3 * stride);
        let (none, work) = work.split_at_mut(stride);
        let (w, y) = work.split_at_mut(stride);
        for k in 0..n {
            let (done, trailing) = rows.split_at_mut((k + 1) * stride);
            let (before, row) = done.split_at_mut(k * stride);
            let v = if k == 0 { &*none } else { &before[(k - 1) * stride..] };
            update_row(row, v, w, k, n);
            diagonal[k] = row[k];
            row[k] = 0.0;
            if k + 1 == n {
                break;
            }
            (off_diagonal[k], tau[k]) = reflector(simd, &mut row[k + 1..n]);
            update_and_multiply(simd, trailing, k + 1, n, &Update { v, w }, row, y);
            let half = 0.5 * tau[k] * tau[k] * dot(simd, &row[k + 1..n], &y[k + 1..n]);
            w[k] = 0.0;
            for j in k + 1..n {
                w[j] = tau[k] * y[j] - half * row[j];
            }
        }
    }
}

/// `row -= v_k w' + w_k v'` from column k on.
#[inline(always)]
fn update_row(row: &mut [f64], v: &[f64], w: &[f64], k: usize, n: usize) {
    let (v_k, w_k) = (v[k], w[k]);
    for ((x, v), w) in row[k..n].iter_mut().zip(&v[k..n]).zip(&w[k..n]) {
        *x -= v_k * w + w_k * v;
    }
}

/// Turns x into v with `v_0 = 1` and `(I - tau v v') x = beta e_0`; gives (beta, tau). `tau = 0` and `v = 0` when x is a
/// multiple of `e_0` already.
#[inline(always)]
fn reflector<S: Simd>(simd: S, x: &mut [f64]) -> (f64, f64) {
    let Some((head, tail)) = x.split_first_mut() else { return (0.0, 0.0) };
    let alpha = *head;
    let square = dot(simd, tail, tail);
    if square <= NEGLIGIBLE_SQUARE {
        x.fill(0.0);
        return (alpha, 0.0);
    }
    // The sign that avoids cancellation in alpha - beta.
    let beta = -(alpha * alpha + square).sqrt().copysign(alpha);
    let scale = 1.0 / (alpha - beta);
    *head = 1.0;
    for x in tail {
        *x *= scale;
    }
    (beta, (beta - alpha) / beta)
}

/// The rank-two update `- v w' - w v'`.
struct Update<'a> {
    v: &'a [f64],
    w: &'a [f64],
}

/// One pass over the trailing triangle, whose first row is row `first` of the matrix: `A -= v w' + w v'`, then `y = A x`.
#[inline(always)]
fn update_and_multiply<S: Simd>(
    simd: S,
    trailing: &mut [f64],
    first: usize,
    n: usize,
    update: &Update,
    x: &[f64],
    y: &mut [f64],
) {
    let stride = x.len();
    assert!(update.v.len() >= stride && update.w.len() >= stride && y.len() == stride && n <= stride);
    y[first..n].fill(0.0);
    let mut pairs = trailing.chunks_exact_mut(2 * stride);
    let mut i = first;
    for pair in &mut pairs {
        let (upper, lower) = pair.split_at_mut(stride);
        row_pair(simd, upper, lower, i, n, update, x, y);
        i += 2;
    }
    if i < n {
        let row = pairs.into_remainder();
        row[i] -= 2.0 * update.v[i] * update.w[i];
        y[i] += row[i] * x[i];
    }
}

/// Rows i and i + 1 of the pass: the 2 x 2 corner, the columns before the next full vector, then vectors.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn row_pair<S: Simd>(
    simd: S,
    upper: &mut [f64],
    lower: &mut [f64],
    i: usize,
    n: usize,
    update: &Update,
    x: &[f64],
    y: &mut [f64],
) {
    let (v, w, stride) = (&update.v[..x.len()], &update.w[..x.len()], x.len());
    assert!(upper.len() == stride && lower.len() == stride && y.len() == stride && i + 1 < n && n <= stride);
    let ([v0, v1], [w0, w1], [x0, x1]) = ([v[i], v[i + 1]], [w[i], w[i + 1]], [x[i], x[i + 1]]);
    upper[i] -= 2.0 * v0 * w0;
    upper[i + 1] -= v0 * w1 + w0 * v1;
    lower[i + 1] -= 2.0 * v1 * w1;
    let mut sum0 = upper[i] * x0 + upper[i + 1] * x1;
    let mut sum1 = upper[i + 1] * x0 + lower[i + 1] * x1;
    let full = (i + 2).next_multiple_of(S::F64_LANES).min(stride);
    for j in i + 2..full.min(n) {
        upper[j] -= v0 * w[j] + w0 * v[j];
        lower[j] -= v1 * w[j] + w1 * v[j];
        sum0 += upper[j] * x[j];
        sum1 += lower[j] * x[j];
        y[j] += upper[j] * x0 + lower[j] * x1;
    }
    let minus_v = [simd.splat_f64s(-v0), simd.splat_f64s(-v1)];
    let minus_w = [simd.splat_f64s(-w0), simd.splat_f64s(-w1)];
    let here = [simd.splat_f64s(x0), simd.splat_f64s(x1)];
    let mut sums = [simd.splat_f64s(0.0); 2];
    let (upper, lower) = (S::as_mut_simd_f64s(&mut upper[full..]).0, S::as_mut_simd_f64s(&mut lower[full..]).0);
    let (v, w) = (S::as_simd_f64s(&v[full..]).0, S::as_simd_f64s(&w[full..]).0);
    let (x, beyond) = (S::as_simd_f64s(&x[full..]).0, S::as_mut_simd_f64s(&mut y[full..]).0);
    for (((((a, b), v), w), x), y) in upper.iter_mut().zip(lower).zip(v).zip(w).zip(x).zip(beyond) {
        *a = simd.mul_add_e_f64s(minus_w[0], *v, simd.mul_add_e_f64s(minus_v[0], *w, *a));
        *b = simd.mul_add_e_f64s(minus_w[1], *v, simd.mul_add_e_f64s(minus_v[1], *w, *b));
        sums[0] = simd.mul_add_e_f64s(*a, *x, sums[0]);
        sums[1] = simd.mul_add_e_f64s(*b, *x, sums[1]);
        *y = simd.mul_add_e_f64s(*b, here[1], simd.mul_add_e_f64s(*a, here[0], *y));
    }
    y[i] += sum0 + simd.reduce_sum_f64s(sums[0]);
    y[i + 1] += sum1 + simd.reduce_sum_f64s(sums[1]);
}

/// a'b, in four running sums.
#[inline(always)]
fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_tail), (b, b_tail)) = (S::as_simd_f64s(a), S::as_simd_f64s(b));
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [simd.splat_f64s(0.0); 4];
    for (a, b) in a.iter().zip(b) {
        for q in 0..4 {
            sums[q] = simd.mul_add_e_f64s(a[q], b[q], sums[q]);
        }
    }
    for (a, b) in a_rest.iter().zip(b_rest) {
        sums[0] = simd.mul_add_e_f64s(*a, *b, sums[0]);
    }
    let sum = simd.add_f64s(simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3]));
    a_tail.iter().zip(b_tail).fold(simd.reduce_sum_f64s(sum), |total, (a, b)| total + a * b)
}

#[cfg(test)]
mod tests {
    use super::super::testing::noise;
    use super::*;
    use crate::simd::{Level, run_at};

    #[test]
    fn a_tridiagonal_matrix_comes_back_at_every_level() {
        for n in [0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 64, 101] {
            let entries = noise(n * n, n);
            let a = DMatrix::from_fn(n, n, |i, j| entries[i.max(j) * n + i.min(j)]);
            for level in Level::available() {
                let (t, q) = reduce(&a, level);
                let back = &q * t * q.transpose();
                let bound = 20.0 * n as f64 * f64::EPSILON;
                assert!(n == 0 || (back - &a).amax() <= bound, "n = {n}, {}", level.name());
                assert!(n == 0 || (q.transpose() * &q - DMatrix::identity(n, n)).amax() <= bound);
            }
        }
    }

    /// (T, Q) as matrices.
    fn reduce(a: &DMatrix<f64>, level: Level) -> (DMatrix<f64>, DMatrix<f64>) {
        let n = a.nrows();
        let mut reduced = Tridiagonal::packed(a, 1.0);
        let mut work = Aligned::zeros(3 * padded(n));
        run_at(level, Reduce::new(&mut reduced, &mut work)).unwrap();
        let (d, e) = (&reduced.diagonal, &reduced.off_diagonal);
        let t = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
            0 => d[i],
            1 => e[i.min(j)],
            _ => 0.0,
        });
        let q = reduced.reflectors.transposed_q();
        (t, DMatrix::from_fn(n, n, |i, j| q[j * padded(n) + i]))
    }

    #[test]
    fn a_column_that_needs_no_reflection_gets_none() {
        let a = DMatrix::from_row_slice(3, 3, &[1.0, 5.0, 0.0, 5.0, 2.0, 7.0, 0.0, 7.0, 3.0]);
        let reduced = Tridiagonal::of(&a, 2.0);
        assert_eq!(reduced.diagonal, [2.0, 4.0, 6.0]);
        assert_eq!(reduced.off_diagonal, [10.0, 14.0, 0.0]);
        assert_eq!(reduced.reflectors.tau, [0.0; 3]);
    }
}
