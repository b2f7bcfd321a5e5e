//! Tridiagonalisation of what does not fit the cache: every other pass over the triangle only reads it.
//!
//! Up to [`DEFERRED`] updates stay pending. The product of a new column with the matrix as it should be is that with
//! the matrix as it is, less `sum v (w'x) + w (v'x)`; every [`DEFERRED`]-th pass applies what is pending. This is the
//! panel of LAPACK's dlatrd, with the update of the panel in the same pass as the next product (Dongarra, Hammarling
//! and Sorensen 1989). The team shares each pass.

use super::triangle::{Pair, Pass};
use super::tridiagonal::{Column, Found, Reflectors, Tridiagonal, dot, finish};
use crate::error::Result;
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Updates that wait for one pass. With two, writing is a third of the traffic, the corrections stay below a hundredth
/// of the work, and what the pass needs of them stays in 16 registers: one that applies four takes over three times as
/// long as one that only reads.
const DEFERRED: usize = 2;

/// Up to this order the triangle stays in the second cache, and updating at once costs nothing.
const CACHED: usize = 256;

/// Rows of a triangle for each piece that is handed out: pieces of some 10 us.
const ROWS_OF_A_PIECE: usize = 256;

/// The most pieces of one pass; a power of two.
const PIECES: usize = 8;

/// Columns between two looks at the stop flag.
const COLUMNS_BETWEEN_CHECKS: usize = 16;

/// Reduces columns until the rest fits the cache. Returns the first column that remains, with the w of the one before
/// it, still to be applied, in the first half of `work`.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub(super) fn reduce_leading(of: &mut Tridiagonal, work: &mut [f64], team: &Team) -> Result<usize> {
    let n = of.diagonal.len();
    // One update is pending after a column that is a multiple of DEFERRED.
    let end = n.saturating_sub(CACHED).next_multiple_of(DEFERRED) + 1;
    if n <= CACHED || end >= n {
        return Ok(0);
    }
    let Tridiagonal { diagonal, off_diagonal, reflectors: Reflectors { rows, stride, tau } } = of;
    let stride = *stride;
    let mut waiting = Aligned::zeros(DEFERRED * stride);
    let mut products = Aligned::zeros(PIECES * stride);
    for k in 0..end {
        if k % COLUMNS_BETWEEN_CHECKS == 0 {
            team.check()?;
        }
        let pending = if k == 0 { 0 } else { (k - 1) % DEFERRED + 1 };
        let (done, trailing) = rows.split_at_mut((k + 1) * stride);
        let (before, row) = done.split_at_mut(k * stride);
        let pairs = pairs(&before[(k - pending) * stride..], &waiting, stride);
        let found = run(Reflect { column: Column { row, k, n }, pending: &pairs[..pending] });
        (diagonal[k], off_diagonal[k], tau[k]) = (found.diagonal, found.off_diagonal, found.tau);
        let task = Task { first: k + 1, n, x: row, pieces: pieces(n - k - 1) };
        let applied = pending == DEFERRED;
        if applied {
            task.share(trailing, pairs, &mut products, team);
        } else {
            task.share(trailing, [], &mut products, team);
        }
        let corrections = if applied { &[] } else { &pairs[..pending] };
        let y = &mut products[..task.pieces * stride];
        run(Finish { tau: found.tau, corrections, first: k + 1, n, x: row, y });
        let slot = if applied { 0 } else { pending };
        waiting[slot * stride + k + 1..slot * stride + n].copy_from_slice(&products[k + 1..n]);
    }
    work[..stride].copy_from_slice(&waiting[..stride]);
    Ok(end)
}

/// The last `pending` reflectors, whose rows start `before`, with their w.
fn pairs<'a>(before: &'a [f64], waiting: &'a [f64], stride: usize) -> [Pair<'a>; DEFERRED] {
    let mut pairs = [Pair { v: &[], w: &[] }; DEFERRED];
    for ((pair, v), w) in pairs.iter_mut().zip(before.chunks_exact(stride)).zip(waiting.chunks_exact(stride)) {
        *pair = Pair { v, w };
    }
    pairs
}

/// Pieces of a pass over a triangle of order `rows`: a power of two that depends on nothing else.
fn pieces(rows: usize) -> usize {
    (rows / ROWS_OF_A_PIECE).clamp(1, PIECES).next_power_of_two()
}

/// A pass over the triangle that starts at row `first`, in pieces.
struct Task<'a> {
    first: usize,
    n: usize,
    x: &'a [f64],
    pieces: usize,
}

impl Task<'_> {
    /// The first row of piece p, counted from the first of all; pieces have nearly equal areas.
    fn start(&self, p: usize) -> usize {
        let rows = self.n - self.first;
        if p == self.pieces {
            return rows;
        }
        let left = 1.0 - p as f64 / self.pieces as f64;
        // Rows are passed in pairs.
        rows.saturating_sub(ceiling(rows as f64 * left.sqrt())) / 2 * 2
    }

    /// Each piece's share of the product goes to its own row of `products`.
    fn share<const PENDING: usize>(
        &self,
        mut rows: &mut [f64],
        pending: [Pair; PENDING],
        products: &mut [f64],
        team: &Team,
    ) {
        let (stride, x) = (self.x.len(), self.x);
        let mut jobs = Vec::with_capacity(self.pieces);
        for (p, y) in products.chunks_exact_mut(stride).take(self.pieces).enumerate() {
            let (mine, rest) = rows.split_at_mut((self.start(p + 1) - self.start(p)) * stride);
            rows = rest;
            jobs.push((mine, self.first + self.start(p), y));
        }
        if PENDING == 0 {
            // Each thread goes back over what it has just updated.
            jobs.chunks_mut(self.pieces.div_ceil(team.threads())).for_each(<[_]>::reverse);
        }
        team.map(jobs, |(rows, first, y)| {
            y[self.first..first].fill(0.0);
            run(Pass { rows, first, pending, x, y });
        });
    }
}

/// The smallest whole number not below a small x >= 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn ceiling(x: f64) -> usize {
    x.ceil() as usize
}

/// [`Column::reflect`]
struct Reflect<'a> {
    column: Column<'a>,
    pending: &'a [Pair<'a>],
}

impl WithSimd for Reflect<'_> {
    type Output = Found;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Found {
        self.column.reflect(simd, self.pending)
    }
}

/// From the pieces of `A x` to w, which replaces the first piece; all from entry `first` on.
struct Finish<'a> {
    tau: f64,
    corrections: &'a [Pair<'a>],
    first: usize,
    n: usize,
    x: &'a [f64],
    /// Rows as long as x, one for each piece.
    y: &'a mut [f64],
}

impl WithSimd for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tau, corrections, first, n, x, y } = self;
        let stride = x.len();
        let (y, pieces) = y.split_at_mut(stride);
        let (x, y) = (&x[first..n], &mut y[first..n]);
        for piece in pieces.chunks_exact(stride) {
            y.iter_mut().zip(&piece[first..n]).for_each(|(y, piece)| *y += piece);
        }
        for Pair { v, w } in corrections {
            let (v, w) = (&v[first..n], &w[first..n]);
            let (along_v, along_w) = (dot(simd, v, x), dot(simd, w, x));
            for ((y, v), w) in y.iter_mut().zip(v).zip(w) {
                *y -= along_w * v + along_v * w;
            }
        }
        finish(simd, tau, x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::noise;
    use super::*;
    use crate::threads::run;
    use nalgebra::DMatrix;

    fn symmetric(n: usize) -> DMatrix<f64> {
        let entries = noise(n * n, n);
        DMatrix::from_fn(n, n, |i, j| entries[i.max(j) * n + i.min(j)])
    }

    /// The trace and the sum of squares survive, and the pieces cover every row once.
    #[test]
    fn large_matrices_keep_their_invariants() {
        for n in [257, 300, 523, 600] {
            let a = symmetric(n);
            let t = Tridiagonal::of((&a).try_into().unwrap(), 1.0, &Team::solo()).unwrap();
            let trace: f64 = t.diagonal.iter().sum();
            let squares: f64 =
                t.diagonal.iter().map(|d| d * d).sum::<f64>() + 2.0 * t.off_diagonal.iter().map(|e| e * e).sum::<f64>();
            let bound = 10.0 * n as f64 * f64::EPSILON;
            assert!((trace - a.trace()).abs() <= bound * a.norm(), "n = {n}");
            assert!((squares / a.norm_squared() - 1.0).abs() <= bound, "n = {n}");
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let a = symmetric(1100);
        let solo = Tridiagonal::of((&a).try_into().unwrap(), 1.0, &Team::solo()).unwrap();
        for threads in [2, 3] {
            let t = run(threads, || false, |team| Tridiagonal::of((&a).try_into().unwrap(), 1.0, team)).unwrap();
            assert!(t.diagonal == solo.diagonal && t.off_diagonal == solo.off_diagonal);
            assert!(*t.reflectors.rows == *solo.reflectors.rows);
        }
    }

    #[test]
    fn pieces_cover_the_triangle() {
        for rows in [1, 2, 255, 511, 512, 513, 1025, 5000] {
            let task = Task { first: 3, n: rows + 3, x: &[], pieces: pieces(rows) };
            assert_eq!((task.start(0), task.start(task.pieces)), (0, rows));
            assert!((0..task.pieces).all(|p| task.start(p) < task.start(p + 1)));
        }
    }
}
