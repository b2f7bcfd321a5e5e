//! Applying the Q of a tridiagonalisation to many columns, in blocks of reflectors.
//!
//! A product of b reflectors is `H_j .. H_{j+b-1} = I - V S^{-1} V'` with S upper triangular,
//! `S = striu(V'V) + diag(1 / tau)`, so that a block costs matrix products instead of b passes. Reference: Puglisi
//! (1992); Joffrain, Low, Quintana-Orti, van de Geijn and Van Zee (2006), "Accumulating Householder transformations,
//! revisited".

use super::divide_conquer::SHARED;
use super::tridiagonal::Reflectors;
use crate::error::Result;
use crate::simd::Aligned;
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};

/// Reflectors in a block: enough for matrix products at full rate, few enough that S stays small.
const BLOCK: usize = 32;

/// Groups of columns that the team shares.
const GROUPS: usize = 8;

impl Reflectors {
    /// `Z <- Q Z` for n x k `z`, column-major. `2 n^2 k` operations.
    ///
    /// # Errors
    /// [`crate::Error::Interrupted`].
    pub(super) fn apply(&self, z: &mut [f64], team: &Team) -> Result<()> {
        let n = self.tau.len();
        if n < 3 || z.is_empty() {
            return Ok(());
        }
        let columns = z.len() / n;
        let width = if n < SHARED { columns } else { columns.div_ceil(GROUPS).next_multiple_of(BLOCK) };
        let coefficients = self.coefficients();
        let mut work = Aligned::zeros(BLOCK * width * columns.div_ceil(width));
        let groups = z.chunks_mut(width * n).zip(work.chunks_exact_mut(BLOCK * width));
        let done = team.map(groups.collect(), |(z, work)| self.apply_to_group(&coefficients, z, work, team));
        done.into_iter().collect()
    }

    fn apply_to_group(&self, coefficients: &[f64], z: &mut [f64], work: &mut [f64], team: &Team) -> Result<()> {
        let n = self.tau.len();
        let columns = z.len() / n;
        let starts = (0..n - 2).step_by(BLOCK);
        for (from, s) in starts.zip(coefficients.chunks_exact(BLOCK * BLOCK)).rev() {
            team.check()?;
            let v = self.block(from);
            let s = MatRef::from_column_major_slice(&s[..v.ncols() * v.ncols()], v.ncols(), v.ncols());
            let z = MatMut::from_column_major_slice_mut(&mut *z, n, columns);
            apply_block(v, s, z.subrows_mut(from + 1, n - from - 1), work);
        }
        Ok(())
    }

    /// V of the block whose first reflector is number `from`, without the rows of zeros above. The last two reflectors
    /// are the identity and belong to no block.
    fn block(&self, from: usize) -> MatRef<'_, f64> {
        let n = self.tau.len();
        // Column j of V is row `from + j` of the reflectors, whose first `from + 1` entries are 0.
        let rows = &self.rows[from * self.stride..];
        let size = BLOCK.min(n - 2 - from);
        let v = MatRef::from_column_major_slice_with_stride(rows, n, size, self.stride);
        v.subrows(from + 1, n - from - 1)
    }

    /// S of every block. Where `H = I`, v = 0 and any finite entry will do.
    fn coefficients(&self) -> Aligned<f64> {
        let starts = (0..self.tau.len() - 2).step_by(BLOCK);
        let mut all = Aligned::zeros(starts.len() * BLOCK * BLOCK);
        for (from, s) in starts.zip(all.chunks_exact_mut(BLOCK * BLOCK)) {
            let v = self.block(from);
            let size = v.ncols();
            let products = MatMut::from_column_major_slice_mut(&mut s[..size * size], size, size);
            matmul(products, Accum::Replace, v.transpose(), v, 1.0, Par::Seq);
            for (j, tau) in self.tau[from..from + size].iter().enumerate() {
                s[j * size + j] = if *tau == 0.0 { 1.0 } else { 1.0 / tau };
            }
        }
        all
    }
}

/// `Z -= V S^{-1} V' Z`
fn apply_block(v: MatRef<f64>, s: MatRef<f64>, mut z: MatMut<f64>, work: &mut [f64]) {
    let (size, columns) = (v.ncols(), z.ncols());
    let mut work = MatMut::from_column_major_slice_mut(&mut work[..size * columns], size, columns);
    matmul(work.as_mut(), Accum::Replace, v.transpose(), z.as_ref(), 1.0, Par::Seq);
    solve_upper_triangular_in_place(s, work.as_mut(), Par::Seq);
    matmul(z.as_mut(), Accum::Add, v, work.as_ref(), -1.0, Par::Seq);
}
