//! Householder reduction of a symmetric matrix to tridiagonal form: one pass over one triangle for each column.
//!
//! `Q' A Q = T`, `Q = H_0 H_1 ... H_{n-2}`, `H_k = I - tau_k v_k v_k'`. Column k gives
//!
//! ```text
//! y = A v,   w = tau y - (tau^2 / 2) (v'y) v,   A <- A - v w' - w v'
//! ```
//!
//! The update by column k and the product `A v` of column k + 1 share one pass, so the triangle goes through the cache
//! once for each column. Where the triangle is larger than the cache, updates are put off (see [`super::deferred`]).
//! Reference: Golub and Van Loan, Matrix Computations (4th ed., 2013), 5.1 and 8.3.1.

use super::deferred::reduce_leading;
use super::operator::{Dense, Operator};
use super::triangle::{Pair, Pass, multiply};
use crate::error::Result;
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::mem::swap;

/// Rows are padded with zeros to a multiple of this: the lanes of the widest vector, and a cache line.
const PAD: usize = 8;

/// A squared length below this is zero: for a matrix of norm near 1 what is dropped is 1e-140 of it, while the squares
/// of what is kept are normal numbers with all their digits, so that `tau v'v = 2` holds to rounding.
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
    /// Reduces `factor * a`, reading only the lower triangle of `a`. `4/3 n^3` operations.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub(super) fn of(a: Dense, factor: f64, team: &Team) -> Result<Self> {
        let mut tridiagonal = Self::packed(a, factor);
        let mut work = Aligned::zeros(2 * tridiagonal.reflectors.stride);
        let from = reduce_leading(&mut tridiagonal, &mut work, team)?;
        run(Reduce::new(&mut tridiagonal, from, &mut work));
        Ok(tridiagonal)
    }

    /// The lower triangle of `factor * a`, its columns in padded rows, not yet reduced.
    pub(super) fn packed(a: Dense, factor: f64) -> Self {
        let n = a.dim();
        let stride = padded(n);
        let mut rows = Aligned::zeros(n * stride);
        let columns = a.entries().chunks_exact(n.max(1));
        for (k, (row, column)) in rows.chunks_exact_mut(stride.max(1)).zip(columns).enumerate() {
            for (to, from) in row[k..].iter_mut().zip(&column[k..]) {
                *to = from * factor;
            }
        }
        let reflectors = Reflectors { rows, stride, tau: vec![0.0; n] };
        Self { diagonal: vec![0.0; n], off_diagonal: vec![0.0; n], reflectors }
    }
}

/// Reduces the columns `from ..` of the upper triangle held in `rows`, leaving the reflectors there.
struct Reduce<'a> {
    rows: &'a mut [f64],
    stride: usize,
    diagonal: &'a mut [f64],
    off_diagonal: &'a mut [f64],
    tau: &'a mut [f64],
    from: usize,
    /// Two padded rows: w of column `from - 1`, which is not yet applied, and y. Zero in the padding.
    work: &'a mut [f64],
}

impl<'a> Reduce<'a> {
    fn new(of: &'a mut Tridiagonal, from: usize, work: &'a mut [f64]) -> Self {
        let Tridiagonal { diagonal, off_diagonal, reflectors: Reflectors { rows, stride, tau } } = of;
        Self { rows, stride: *stride, diagonal, off_diagonal, tau, from, work }
    }
}

impl WithSimd for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, stride, diagonal, off_diagonal, tau, from, work } = self;
        let n = diagonal.len();
        assert!(off_diagonal.len() == n && tau.len() == n && stride == padded(n));
        assert!(rows.len() == n * stride && work.len() == 2 * stride);
        let (mut w, mut y) = work.split_at_mut(stride);
        for k in from..n {
            let (done, rows) = rows.split_at_mut((k + 1) * stride);
            let (before, row) = done.split_at_mut(k * stride);
            let v = &before[k.saturating_sub(1) * stride..];
            let column = Column { row, k, n };
            let found = if k == 0 { column.reflect(simd, &[]) } else { column.reflect(simd, &[Pair { v, w }]) };
            (diagonal[k], off_diagonal[k], tau[k]) = (found.diagonal, found.off_diagonal, found.tau);
            if k + 1 == n {
                break;
            }
            if k == 0 {
                multiply(simd, Pass { rows, first: k + 1, pending: [], x: row, y });
            } else {
                multiply(simd, Pass { rows, first: k + 1, pending: [Pair { v, w }], x: row, y });
            }
            finish(simd, found.tau, &row[k + 1..n], &mut y[k + 1..n]);
            swap(&mut w, &mut y);
        }
    }
}

/// Row k of the triangle, which becomes the reflector of column k.
pub(super) struct Column<'a> {
    pub(super) row: &'a mut [f64],
    pub(super) k: usize,
    pub(super) n: usize,
}

/// What a column gives to T, and the factor of its reflector.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) diagonal: f64,
    pub(super) off_diagonal: f64,
    pub(super) tau: f64,
}

impl Column<'_> {
    /// Applies the pending updates to the row and turns it into the reflector.
    #[inline(always)]
    pub(super) fn reflect<S: Simd>(self, simd: S, pending: &[Pair]) -> Found {
        let Self { row, k, n } = self;
        for Pair { v, w } in pending {
            let (v_k, w_k) = (v[k], w[k]);
            for ((x, v), w) in row[k..n].iter_mut().zip(&v[k..n]).zip(&w[k..n]) {
                *x -= v_k * w + w_k * v;
            }
        }
        let diagonal = row[k];
        row[k] = 0.0;
        let (off_diagonal, tau) = reflector(simd, &mut row[k + 1..n]);
        Found { diagonal, off_diagonal, tau }
    }
}

/// y becomes w = tau y - (tau^2 / 2) (x'y) x.
#[inline(always)]
pub(super) fn finish<S: Simd>(simd: S, tau: f64, x: &[f64], y: &mut [f64]) {
    let half = 0.5 * tau * tau * dot(simd, x, y);
    for (y, x) in y.iter_mut().zip(x) {
        *y = tau * *y - half * x;
    }
}

/// Turns x into v with `v_0 = 1` and `(I - tau v v') x = beta e_0`; gives (beta, tau). `tau = 0` and `v = 0` when x is
/// a multiple of `e_0` already.
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

/// a'b, in four running sums.
#[inline(always)]
pub(super) fn dot<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
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
    use nalgebra::DMatrix;

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
        let mut reduced = Tridiagonal::packed(a.try_into().unwrap(), 1.0);
        let mut work = Aligned::zeros(2 * padded(n));
        run_at(level, Reduce::new(&mut reduced, 0, &mut work)).unwrap();
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
        let reduced = Tridiagonal::of((&a).try_into().unwrap(), 2.0, &Team::solo()).unwrap();
        assert_eq!(reduced.diagonal, [2.0, 4.0, 6.0]);
        assert_eq!(reduced.off_diagonal, [10.0, 14.0, 0.0]);
        assert_eq!(reduced.reflectors.tau, [0.0; 3]);
    }
}
