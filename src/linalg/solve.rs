//! Linear systems with a positive definite matrix.

use crate::error::{Error, Result};
use faer::linalg::solvers::{Llt, Solve};
use faer::{MatMut, MatRef, Side};
use nalgebra::DMatrix;

/// Overwrites `b` (n x m) by A^-1 b, for a symmetric positive definite A, of which the lower triangle is read.
///
/// Cholesky: n^3 / 3 + 2 n^2 m operations, one n x n copy.
///
/// # Errors
/// [`Error::Singular`] when A is not positive definite as far as rounding lets tell, calling it `what` and saying what
/// `helps`.
pub fn solve_positive(a: &DMatrix<f64>, b: &mut DMatrix<f64>, what: &'static str, helps: &str) -> Result<()> {
    let (n, m) = b.shape();
    if n == 0 || m == 0 {
        return Ok(());
    }
    let factor = Llt::new(MatRef::from_column_major_slice(a.as_slice(), n, n), Side::Lower)
        .map_err(|_| Error::Singular { what, detail: helps.into() })?;
    factor.solve_in_place(MatMut::from_column_major_slice_mut(b.as_mut_slice(), n, m));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_by_hand() {
        let a = DMatrix::from_row_slice(2, 2, &[4.0, 2.0, 2.0, 3.0]);
        let mut b = DMatrix::from_row_slice(2, 2, &[8.0, 2.0, 8.0, 5.0]);
        solve_positive(&a, &mut b, "the system", "add to it").unwrap();
        assert!((b - DMatrix::from_row_slice(2, 2, &[1.0, -0.5, 2.0, 2.0])).amax() < 1e-15);
        let indefinite = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        let error = solve_positive(&indefinite, &mut DMatrix::identity(2, 2), "the system", "add to it").unwrap_err();
        assert_eq!(error.to_string(), "the system is not positive definite: add to it");
        solve_positive(&DMatrix::zeros(0, 0), &mut DMatrix::zeros(0, 2), "the system", "add to it").unwrap();
    }
}
