//! Applying the Q of a tridiagonalisation to many columns, in blocks of reflectors.
//!
//! A product of b reflectors is `H_j .. H_{j+b-1} = I - V S^{-1} V'` with S upper triangular, `S = striu(V'V) + diag(1 / tau)`,
//! so that a block costs three matrix products instead of b passes. Reference: Puglisi (1992); Joffrain, Low, Quintana-Orti,
//! van de Geijn and Van Zee (2006), "Accumulating Householder transformations, revisited".

use super::tridiagonal::Reflectors;
use crate::error::Result;
use crate::simd::Aligned;
use crate::threads::Team;
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};

/// Reflectors in a block: enough for matrix products at full rate, few enough that S stays small.
const BLOCK: usize = 32;

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
        // The last two rows hold no reflector.
        let starts = (0..n - 2).step_by(BLOCK);
        let mut coefficients = Aligned::zeros(BLOCK * BLOCK);
        let mut work = Aligned::zeros(BLOCK * columns);
        for from in starts.rev() {
            team.check()?;
            let size = BLOCK.min(n - 2 - from);
            // Column j of V is row `from + j` of the reflectors, whose first `from + 1` entries are 0.
            let rows = &self.rows[from * self.stride..];
            let v = MatRef::from_column_major_slice_with_stride(rows, n, size, self.stride);
            let v = v.subrows(from + 1, n - from - 1);
            let s = self.coefficients(v, from, &mut coefficients);
            let z = MatMut::from_column_major_slice_mut(z, n, columns).subrows_mut(from + 1, n - from - 1);
            apply_block(v, s, z, &mut work);
        }
        Ok(())
    }

    /// S of the block whose reflectors are the columns of `v`, the first being number `from`. Where `H = I`, v = 0 and any
    /// finite entry will do.
    fn coefficients<'a>(&self, v: MatRef<f64>, from: usize, s: &'a mut [f64]) -> MatRef<'a, f64> {
        let size = v.ncols();
        let s = &mut s[..size * size];
        let products = MatMut::from_column_major_slice_mut(s, size, size);
        matmul(products, Accum::Replace, v.transpose(), v, 1.0, Par::Seq);
        for (j, tau) in self.tau[from..from + size].iter().enumerate() {
            s[j * size + j] = if *tau == 0.0 { 1.0 } else { 1.0 / tau };
        }
        MatRef::from_column_major_slice(s, size, size)
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
