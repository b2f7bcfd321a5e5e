//! Implicit QL for a symmetric tridiagonal matrix: the direct road for small sizes and the leaves of divide and
//! conquer.
//!
//! Each sweep chases one Wilkinson shift from the bottom of an unreduced block to its top. What a rotation needs of the
//! one before is found by one division; the root, its cosine and sine, and the vectors that it turns are waited for by
//! none. References: Golub and Van Loan, Matrix Computations (4th ed., 2013), 8.3; Dubrulle, Martin and Wilkinson
//! (1968).

use crate::error::{Error, Result};
use crate::power::scale;
use crate::simd::run;
use pulp::{Simd, WithSimd};
use std::hint::black_box;

/// Sweeps allowed for each eigenvalue. About two are used; LAPACK allows 30.
const SWEEPS: usize = 40;

/// For a matrix of norm near 1, an off-diagonal entry below this is zero whatever stands beside it. Its cube is still a
/// normal number, so the products of what is kept do not underflow.
pub(super) const NEGLIGIBLE: f64 = 1e-100;

/// A squared length above this is a normal number with all its digits, and so is its inverse.
const LEAST_SQUARE: f64 = 1e-280;

/// Lengths below the root of [`LEAST_SQUARE`] are raised by so many powers of two, for squares that are normal numbers.
const RAISED: i32 = 900;

/// Eigenvalues of the tridiagonal (d, e) into `d`, in no order; `e` is used up.
///
/// `vectors` holds rows of length `stride` (whole vectors, padded), row i belonging to index i of the matrix: started
/// from the rows of `Q'`, row i becomes the eigenvector of `d[i]`. Empty when only the values are wanted. About `3 n^3`
/// operations with vectors, `O(n^2)` without.
///
/// # Errors
/// [`Error::NoConvergence`] after 40 n sweeps.
pub(super) fn implicit_ql(d: &mut [f64], e: &mut [f64], vectors: &mut [f64], stride: usize) -> Result<()> {
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
    if run(ImplicitQl { d, e, vectors, stride }) {
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
}

impl WithSimd for ImplicitQl<'_> {
    /// Whether every eigenvalue was found.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { d, e, vectors, stride } = self;
        let n = d.len();
        assert!(n > 0 && e.len() == n && (vectors.is_empty() || vectors.len() == n * stride));
        let mut rows = Rows { vectors: S::as_mut_simd_f64s(vectors).0, width: stride / S::F64_LANES };
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
                sweep(simd, d, e, l, m, &mut rows);
            }
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
///
/// A rotation of cosine `c = g / r` and sine `s = f / r`, `r^2 = f^2 + g^2`, gives
///
/// ```text
/// t = (d_i - h) s + 2 c b,   p = s t,   g <- c t - b,   f <- s e_{i-1},   b <- c e_{i-1}
/// ```
///
/// With `u = r t` and `q = u / r^2` that is `p = f q`, `g <- g q - b`, and of the next f the square alone is needed at
/// once, `(f^2 / r^2) e_{i-1}^2`: the next r^2 waits for one division, not for a root, its inverse and their products.
#[inline(always)]
fn sweep<S: Simd>(simd: S, d: &mut [f64], e: &mut [f64], l: usize, m: usize, rows: &mut Rows<S>) {
    assert!(l < m && m < d.len() && m < e.len());
    let half = 0.5 * (d[l + 1] - d[l]);
    let root = (half * half + e[l] * e[l]).sqrt();
    let mut g = d[m] - d[l] + e[l] * e[l] / (half + root.copysign(half));
    let (mut turn, mut s_square, mut p) = (Turn { c: 1.0, s: 1.0 }, 1.0, 0.0);
    for i in (l..m).rev() {
        let (f, b) = (turn.s * e[i], turn.c * e[i]);
        let square = s_square * (e[i] * e[i]) + g * g;
        let h = d[i + 1] - p;
        if square > LEAST_SQUARE {
            let inverse = 1.0 / square;
            let q = ((d[i] - h) * f + g * (b + b)) * inverse;
            let r = square.sqrt();
            // Out of the compiler's sight: packed with what is waited for, they would make all wait for the root.
            turn = black_box(Turn { c: g * (r * inverse), s: f * (r * inverse) });
            s_square = f * (f * inverse); // in this order, for f^2 may vanish where s^2 counts
            e[i + 1] = r;
            p = f * q;
            g = g * q - b;
        } else {
            let Some((r, small)) = turn_of_small(f, g) else {
                // The bulge has vanished: the block splits here.
                e[i + 1] = 0.0;
                d[i + 1] = h;
                e[m] = 0.0;
                return;
            };
            turn = small;
            s_square = turn.s * turn.s;
            e[i + 1] = r;
            let t = (d[i] - h) * turn.s + turn.c * (b + b);
            p = turn.s * t;
            g = turn.c * t - b;
        }
        d[i + 1] = h + p;
        rows.turn(simd, i, turn);
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0.0;
}

/// The cosine and sine of a rotation.
#[derive(Clone, Copy)]
struct Turn {
    c: f64,
    s: f64,
}

/// The length of (f, g), whose squares are too small, and its rotation; `None` where both are zero.
#[cold]
fn turn_of_small(f: f64, g: f64) -> Option<(f64, Turn)> {
    let (f, g) = (scale(f, RAISED), scale(g, RAISED));
    let r = (f * f + g * g).sqrt();
    (r > 0.0).then(|| (scale(r, -RAISED), Turn { c: g / r, s: f / r }))
}

/// The vectors, row by row.
struct Rows<'a, S: Simd> {
    vectors: &'a mut [S::f64s],
    width: usize,
}

impl<S: Simd> Rows<'_, S> {
    /// Turns rows `i` and `i + 1`, where there are rows.
    #[inline(always)]
    fn turn(&mut self, simd: S, i: usize, turn: Turn) {
        if self.vectors.is_empty() {
            return;
        }
        let (c, s, minus_s) = (simd.splat_f64s(turn.c), simd.splat_f64s(turn.s), simd.splat_f64s(-turn.s));
        let (low, high) = self.vectors[i * self.width..(i + 2) * self.width].split_at_mut(self.width);
        for (low, high) in low.iter_mut().zip(high) {
            let (x, y) = (*low, *high);
            *high = simd.mul_add_e_f64s(c, y, simd.mul_f64s(s, x));
            *low = simd.mul_add_e_f64s(minus_s, y, simd.mul_f64s(c, x));
        }
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
        let ql = ImplicitQl { d: &mut d, e: &mut e, vectors: &mut rows, stride };
        assert_eq!(run_at(level, ql), Some(true));
        (d, DMatrix::from_fn(n, n, |i, j| rows[j * stride + i]))
    }

    /// [[a, b], [b, c]] by hand: 2 +- sqrt 2 for (1, 1, 3).
    #[test]
    fn two_by_two() {
        let (mut d, mut e) = ([1.0, 3.0], [1.0, 0.0]);
        implicit_ql(&mut d, &mut e, &mut [], 0).unwrap();
        d.sort_by(f64::total_cmp);
        assert!((d[0] - (2.0 - 2f64.sqrt())).abs() <= 4.0 * f64::EPSILON);
        assert!((d[1] - (2.0 + 2f64.sqrt())).abs() <= 4.0 * f64::EPSILON);
    }

    /// Squares of the bulge underflow where entries lie at the end of what counts; the rotations stay rotations.
    #[test]
    fn small_entries_keep_the_vectors_orthonormal() {
        let n = 12;
        for small in [1e-99, 3e-100, 1e-80] {
            // Zeros on the diagonal: nothing else stands beside the entries.
            let (d, mut e) = (vec![0.0; n], vec![small; n]);
            e[0] = 1.0;
            e[n - 1] = 0.0;
            for level in Level::available() {
                let v = solve(&d, &e, level).1;
                let defect = (v.transpose() * &v - DMatrix::identity(n, n)).amax();
                assert!(defect <= 20.0 * n as f64 * f64::EPSILON, "{small:e}, {}: {defect:e}", level.name());
            }
        }
    }

    #[test]
    fn a_rotation_of_small_numbers_is_one() {
        let (r, Turn { c, s }) = turn_of_small(3e-170, -4e-170).unwrap();
        assert!((r / 5e-170 - 1.0).abs() <= 4.0 * f64::EPSILON);
        assert!((c + 0.8).abs() <= f64::EPSILON && (s - 0.6).abs() <= f64::EPSILON);
        assert!(turn_of_small(0.0, 0.0).is_none());
    }

    /// Numbers that are none never settle: the budget ends the search.
    #[test]
    fn the_budget_ends_what_cannot_converge() {
        let mut e = [f64::NAN, f64::NAN, 0.0];
        let found = implicit_ql(&mut [1.0, 2.0, 3.0], &mut e, &mut [], 0);
        assert!(matches!(found, Err(Error::NoConvergence { .. })));
    }
}
