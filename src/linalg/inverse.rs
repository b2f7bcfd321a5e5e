//! Inverses of triangular matrices.

use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::{MatMut, MatRef, Par};
use nalgebra::DMatrix;

/// R^-1 of an upper triangular R without zeros on its diagonal, itself upper triangular. d^3 / 3 operations.
#[must_use]
pub fn inverse_of_upper(r: &DMatrix<f64>) -> DMatrix<f64> {
    let d = r.nrows();
    let mut inverse = DMatrix::identity(d, d);
    let target = MatMut::from_column_major_slice_mut(inverse.as_mut_slice(), d, d);
    solve_upper_triangular_in_place(MatRef::from_column_major_slice(r.as_slice(), d, d), target, Par::Seq);
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_by_hand() {
        let r = DMatrix::from_row_slice(3, 3, &[2.0, 4.0, 0.0, 0.0, -1.0, 3.0, 0.0, 0.0, 4.0]);
        let right = [0.5, 2.0, -1.5, 0.0, -1.0, 0.75, 0.0, 0.0, 0.25];
        assert_eq!(inverse_of_upper(&r), DMatrix::from_row_slice(3, 3, &right));
    }
}
