//! Symmetric matrices in one power-of-two unit, and packed upper triangles.

use crate::power::scale_all;
use crate::simd::mirror::mirror;
use crate::threads::Team;
use nalgebra::DMatrix;

/// A matrix whose true value is `matrix * 2^exponent`: entries near 1 where the truth would overflow or vanish.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// The matrix in its unit.
    pub matrix: DMatrix<f64>,
    /// The unit is 2^exponent.
    pub exponent: i32,
}

impl Scaled {
    /// The matrix itself; entries beyond the range of `f64` are honestly 0 or infinite.
    #[must_use]
    pub fn unscaled(mut self) -> DMatrix<f64> {
        scale_all(self.matrix.as_mut_slice(), self.exponent);
        self.matrix
    }
}

/// Where row `i` of a packed upper triangle starts: row 0 has `dim` entries, row 1 one less, and so on.
pub(super) fn row_start(dim: usize, i: usize) -> usize {
    i * (2 * dim - i + 1) / 2
}

/// The symmetric matrix of a packed upper triangle, each row passed through `row(i, entries)` first.
pub(super) fn unpack(dim: usize, packed: &[f64], row: impl Fn(usize, &mut [f64])) -> DMatrix<f64> {
    let mut matrix = DMatrix::zeros(dim, dim);
    // Row i of the upper triangle is column i of the lower one.
    for (i, column) in matrix.as_mut_slice().chunks_exact_mut(dim.max(1)).enumerate() {
        let start = row_start(dim, i);
        column[i..].copy_from_slice(&packed[start..start + dim - i]);
        row(i, &mut column[i..]);
    }
    mirror(dim, matrix.as_mut_slice(), &Team::solo());
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpacking_is_symmetric() {
        for dim in [0, 1, 2, 15, 16, 17, 40] {
            let packed: Vec<f64> = (0..dim * (dim + 1) / 2).map(|i| i as f64).collect();
            let matrix = unpack(dim, &packed, |_, _| ());
            for i in 0..dim {
                for j in i..dim {
                    assert_eq!(matrix[(i, j)], packed[row_start(dim, i) + j - i]);
                    assert_eq!(matrix[(j, i)], matrix[(i, j)]);
                }
            }
        }
    }
}
