//! Q of a tridiagonalisation written out, for matrices small enough that QL turns its rows directly.

use super::tridiagonal::{Reflectors, padded};
use crate::simd::{Aligned, run};
use pulp::{Simd, WithSimd};

impl Reflectors {
    /// Q', row-major with padded rows: row i is column i of Q. `4/3 n^3` operations, for small n.
    pub(super) fn transposed_q(&self) -> Aligned<f64> {
        let mut q = Aligned::zeros(self.rows.len());
        run(FormQ { reflectors: self, q: &mut q });
        q
    }
}

/// `Q' = I H_{n-2} ... H_0`, growing from the lower right corner.
struct FormQ<'a> {
    reflectors: &'a Reflectors,
    /// Zeros.
    q: &'a mut [f64],
}

impl WithSimd for FormQ<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { reflectors: Reflectors { rows, stride, tau }, q } = self;
        let (n, stride) = (tau.len(), *stride);
        assert!(rows.len() == n * stride && q.len() == n * stride && stride == padded(n));
        for i in 0..n {
            q[i * stride + i] = 1.0;
        }
        for k in (0..n.saturating_sub(2)).rev().filter(|k| tau[*k] != 0.0) {
            let full = (k + 1) / S::F64_LANES * S::F64_LANES;
            let v = S::as_simd_f64s(&rows[k * stride + full..(k + 1) * stride]).0;
            let mut fours = q[(k + 1) * stride..].chunks_exact_mut(4 * stride);
            for four in &mut fours {
                let (rows01, rows23) = four.split_at_mut(2 * stride);
                let ((r0, r1), (r2, r3)) = (rows01.split_at_mut(stride), rows23.split_at_mut(stride));
                let mut four = [tail::<S>(r0, full), tail::<S>(r1, full), tail::<S>(r2, full), tail::<S>(r3, full)];
                reflect(simd, v, tau[k], &mut four);
            }
            for row in fours.into_remainder().chunks_exact_mut(stride) {
                reflect(simd, v, tau[k], &mut [tail::<S>(row, full)]);
            }
        }
    }
}

/// The vectors of a padded row from column `full` on.
#[inline(always)]
fn tail<S: Simd>(row: &mut [f64], full: usize) -> &mut [S::f64s] {
    S::as_mut_simd_f64s(&mut row[full..]).0
}

/// `r -= tau (r'v) v` for R rows at once.
#[inline(always)]
fn reflect<S: Simd, const R: usize>(simd: S, v: &[S::f64s], tau: f64, rows: &mut [&mut [S::f64s]; R]) {
    for q in 0..R {
        assert!(rows[q].len() == v.len());
    }
    let mut sums = [simd.splat_f64s(0.0); R];
    for j in 0..v.len() {
        for q in 0..R {
            sums[q] = simd.mul_add_e_f64s(rows[q][j], v[j], sums[q]);
        }
    }
    let mut factors = sums;
    for q in 0..R {
        factors[q] = simd.splat_f64s(-tau * simd.reduce_sum_f64s(sums[q]));
    }
    for j in 0..v.len() {
        for q in 0..R {
            rows[q][j] = simd.mul_add_e_f64s(factors[q], v[j], rows[q][j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::noise;
    use super::*;
    use crate::simd::{Level, run_at};
    use nalgebra::DMatrix;

    /// Against the product of the reflectors as matrices.
    #[test]
    fn q_is_the_product_of_its_reflectors_at_every_level() {
        for n in [1, 2, 3, 5, 8, 13, 32, 47] {
            let reflectors = random_reflectors(n);
            let mut wanted = DMatrix::<f64>::identity(n, n);
            for k in 0..n {
                let v = DMatrix::from_column_slice(n, 1, &reflectors.rows[k * padded(n)..][..n]);
                wanted *= DMatrix::identity(n, n) - &v * v.transpose() * reflectors.tau[k];
            }
            for level in Level::available() {
                let mut q = Aligned::zeros(n * padded(n));
                run_at(level, FormQ { reflectors: &reflectors, q: &mut q }).unwrap();
                let found = DMatrix::from_fn(n, n, |i, j| q[j * padded(n) + i]);
                assert!((found - &wanted).amax() <= 20.0 * n as f64 * f64::EPSILON, "n = {n}, {}", level.name());
            }
        }
    }

    /// Reflectors of random vectors, the middle one missing.
    fn random_reflectors(n: usize) -> Reflectors {
        let stride = padded(n);
        let mut reflectors = Reflectors { rows: Aligned::zeros(n * stride), stride, tau: vec![0.0; n] };
        for k in (0..n.saturating_sub(2)).filter(|k| *k != n / 2) {
            let row = &mut reflectors.rows[k * stride..][..n];
            row[k + 1] = 1.0;
            row[k + 2..].copy_from_slice(&noise(n - k - 2, k));
            reflectors.tau[k] = 2.0 / row.iter().map(|x| x * x).sum::<f64>();
        }
        reflectors
    }
}
