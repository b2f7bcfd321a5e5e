//! Implicit QL for a symmetric tridiagonal matrix: the direct road for small sizes and the leaves of divide and
//! conquer.
//!
//! Each sweep chases one Wilkinson shift from the bottom of an unreduced block to its top. The rotations of several
//! sweeps are kept and applied together, a few columns at a time, so that the vectors pass through the cache once for
//! each batch. Reference: Golub and Van Loan, Matrix Computations (4th ed., 2013), 8.3; Dubrulle, Martin and Wilkinson
//! (1968).

use crate::error::{Error, Result};
use crate::simd::run;
use pulp::{Simd, WithSimd};

/// Sweeps allowed for each eigenvalue. About 1.7 are used; LAPACK allows 30.
const SWEEPS: usize = 40;

/// Rotations kept before they are applied, in multiples of n: enough to make the pass over the vectors worth it, few
/// enough to stay in the second cache beside them.
const BATCH: usize = 8;

/// For a matrix of norm near 1, an off-diagonal entry below this is zero whatever stands beside it. Its cube is still a
/// normal number, so the products of what is kept do not underflow.
pub(super) const NEGLIGIBLE: f64 = 1e-100;

/// The rotations of finished sweeps: scratch, kept between calls.
pub(super) struct Rotations {
    /// (cosine, sine), in the order of application.
    pairs: Vec<[f64; 2]>,
    /// (low, high) of each sweep, which turned rows `high - 1, high` down to `low, low + 1`.
    sweeps: Vec<(usize, usize)>,
}

impl Rotations {
    /// Room for what is kept of a matrix of order n: a full batch and one sweep more.
    pub(super) fn new(n: usize) -> Self {
        Self { pairs: Vec::with_capacity((BATCH + 1) * n), sweeps: Vec::with_capacity(SWEEPS) }
    }

    fn clear(&mut self) {
        self.pairs.clear();
        self.sweeps.clear();
    }
}

/// Eigenvalues of the tridiagonal (d, e) into `d`, in no order; `e` is used up.
///
/// `vectors` holds rows of length `stride` (whole vectors, padded), row i belonging to index i of the matrix: started
/// from the rows of `Q'`, row i becomes the eigenvector of `d[i]`. Empty when only the values are wanted. About `3 n^3`
/// operations with vectors, `O(n^2)` without.
///
/// # Errors
/// [`Error::NoConvergence`] after 40 n sweeps.
pub(super) fn implicit_ql(
    d: &mut [f64],
    e: &mut [f64],
    vectors: &mut [f64],
    stride: usize,
    rotations: &mut Rotations,
) -> Result<()> {
    let n = d.len();
    if n == 0 {
        return Ok(());
    }
    // QL is at its best when the small entries come first (graded matrices keep their digits, fewer sweeps).
    if d[0].abs() > d[n - 1].abs() {
        d.reverse();
        e[..n - 1].reverse();
        reverse_rows(vectors, stride);
    }
    rotations.clear();
    if run(ImplicitQl { d, e, vectors, stride, rotations }) {
        return Ok(());
    }
    let detail = format!("{} sweeps were not enough for a tridiagonal matrix of order {n}", SWEEPS * n);
    Err(Error::NoConvergence { what: "implicit QL", detail })
}

fn reverse_rows(rows: &mut [f64], stride: usize) {
    let mut rows = rows.chunks_exact_mut(stride.max(1));
    while let (Some(first), Some(last)) = (rows.next(), rows.next_back()) {
        first.swap_with_slice(last);
    }
}

struct ImplicitQl<'a> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    vectors: &'a mut [f64],
    stride: usize,
    rotations: &'a mut Rotations,
}

impl WithSimd for ImplicitQl<'_> {
    /// Whether every eigenvalue was found.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { d, e, vectors, stride, rotations } = self;
        let n = d.len();
        let wanted = !vectors.is_empty();
        assert!(n > 0 && e.len() == n && (!wanted || vectors.len() == n * stride));
        e[n - 1] = 0.0;
        let mut budget = SWEEPS * n;
        for l in 0..n {
            loop {
                let m = end_of_block(d, e, l);
                if m == l {
                    break;
                }
                if budget == 0 {
                    return false;
                }
                budget -= 1;
                sweep(d, e, l, m, rotations);
                if !wanted {
                    rotations.clear();
                } else if rotations.pairs.len() > BATCH * n {
                    apply(simd, vectors, stride, rotations);
                }
            }
        }
        if wanted {
            apply(simd, vectors, stride, rotations);
        }
        true
    }
}

/// The last index of the unreduced block that starts at `l`.
#[inline(always)]
fn end_of_block(d: &[f64], e: &[f64], l: usize) -> usize {
    let n = d.len();
    assert!(e.len() == n);
    for m in l..n - 1 {
        // The relative test keeps the digits of graded matrices, the absolute one ends blocks of zeros.
        if e[m].abs() <= f64::EPSILON * (d[m].abs() + d[m + 1].abs()) + NEGLIGIBLE {
            return m;
        }
    }
    n - 1
}

/// One implicit QL sweep over the block l..=m, with the shift of Wilkinson from its top.
#[inline(always)]
fn sweep(d: &mut [f64], e: &mut [f64], l: usize, m: usize, rotations: &mut Rotations) {
    assert!(l < m && m < d.len() && m < e.len());
    let theta = (d[l + 1] - d[l]) / (2.0 * e[l]);
    let root = (theta * theta + 1.0).sqrt();
    let mut g = d[m] - d[l] + e[l] / (theta + root.copysign(theta));
    let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
    for i in (l..m).rev() {
        let (f, b) = (s * e[i], c * e[i]);
        let r = (f * f + g * g).sqrt();
        e[i + 1] = r;
        if r == 0.0 {
            // The bulge has vanished: the block splits here.
            d[i + 1] -= p;
            e[m] = 0.0;
            rotations.sweeps.push((i + 1, m));
            return;
        }
        let inverse = 1.0 / r;
        (s, c) = (f * inverse, g * inverse);
        g = d[i + 1] - p;
        let t = (d[i] - g) * s + 2.0 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        rotations.pairs.push([c, s]);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
    rotations.sweeps.push((l, m));
}

/// Applies all rotations to the rows, a few vectors of columns at a time, and forgets them.
#[inline(always)]
fn apply<S: Simd>(simd: S, rows: &mut [f64], stride: usize, rotations: &mut Rotations) {
    let rows = S::as_mut_simd_f64s(rows).0;
    let width = stride / S::F64_LANES;
    let mut at = 0;
    while at + 4 <= width {
        apply_columns::<S, 4>(simd, rows, width, at, rotations);
        at += 4;
    }
    while at + 2 <= width {
        apply_columns::<S, 2>(simd, rows, width, at, rotations);
        at += 2;
    }
    while at < width {
        apply_columns::<S, 1>(simd, rows, width, at, rotations);
        at += 1;
    }
    rotations.clear();
}

/// All sweeps on B vectors of columns; the row that takes part in every rotation of a sweep stays in registers.
#[inline(always)]
fn apply_columns<S: Simd, const B: usize>(simd: S, rows: &mut [S::f64s], width: usize, at: usize, turns: &Rotations) {
    let mut pairs = turns.pairs.iter();
    for &(low, high) in &turns.sweeps {
        let mut sweep = rows[low * width..(high + 1) * width].chunks_exact_mut(width).rev();
        let Some(mut above) = sweep.next().and_then(|row| row[at..].first_chunk_mut::<B>()) else { return };
        let mut moving = *above;
        for (row, &[c, s]) in sweep.zip(&mut pairs) {
            let Some(row) = row[at..].first_chunk_mut::<B>() else { return };
            let (c, s, minus_s) = (simd.splat_f64s(c), simd.splat_f64s(s), simd.splat_f64s(-s));
            for q in 0..B {
                above[q] = simd.mul_add_e_f64s(c, moving[q], simd.mul_f64s(s, row[q]));
                moving[q] = simd.mul_add_e_f64s(minus_s, moving[q], simd.mul_f64s(c, row[q]));
            }
            above = row;
        }
        *above = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::noise;
    use super::super::tridiagonal::padded;
    use super::*;
    use crate::simd::{Level, run_at};
    use nalgebra::DMatrix;

    #[test]
    fn values_and_vectors_at_every_level() {
        for n in [1, 2, 3, 8, 9, 17, 40, 65] {
            let (d, mut e) = (noise(n, n), noise(n, n + 1));
            e[n - 1] = 0.0;
            let t = DMatrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
                0 => d[i],
                1 => e[i.min(j)],
                _ => 0.0,
            });
            for level in Level::available() {
                let (values, v) = solve(&d, &e, level);
                let back = DMatrix::from_fn(n, n, |i, j| v[(i, j)] * values[j]);
                let bound = 20.0 * n as f64 * f64::EPSILON;
                assert!((&t * &v - back).amax() <= bound, "n = {n}, {}", level.name());
                assert!((v.transpose() * &v - DMatrix::identity(n, n)).amax() <= bound);
            }
        }
    }

    fn solve(d: &[f64], e: &[f64], level: Level) -> (Vec<f64>, DMatrix<f64>) {
        let (n, stride) = (d.len(), padded(d.len()));
        let (mut d, mut e, mut rows) = (d.to_vec(), e.to_vec(), vec![0.0; n * stride]);
        for i in 0..n {
            rows[i * stride + i] = 1.0;
        }
        let mut rotations = Rotations::new(n);
        let ql = ImplicitQl { d: &mut d, e: &mut e, vectors: &mut rows, stride, rotations: &mut rotations };
        assert_eq!(run_at(level, ql), Some(true));
        (d, DMatrix::from_fn(n, n, |i, j| rows[j * stride + i]))
    }

    /// [[a, b], [b, c]] by hand: 2 +- sqrt 2 for (1, 1, 3).
    #[test]
    fn two_by_two() {
        let (mut d, mut e) = ([1.0, 3.0], [1.0, 0.0]);
        implicit_ql(&mut d, &mut e, &mut [], 0, &mut Rotations::new(2)).unwrap();
        d.sort_by(f64::total_cmp);
        assert!((d[0] - (2.0 - 2f64.sqrt())).abs() <= 4.0 * f64::EPSILON);
        assert!((d[1] - (2.0 + 2f64.sqrt())).abs() <= 4.0 * f64::EPSILON);
    }

    /// Numbers that are none never settle: the budget ends the search.
    #[test]
    fn the_budget_ends_what_cannot_converge() {
        let mut e = [f64::NAN, f64::NAN, 0.0];
        let found = implicit_ql(&mut [1.0, 2.0, 3.0], &mut e, &mut [], 0, &mut Rotations::new(3));
        assert!(matches!(found, Err(Error::NoConvergence { .. })));
    }
}
