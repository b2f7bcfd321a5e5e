//! Matrix products: faer's gemm for square-ish shapes, [`crate::simd::skinny`] for a few long vectors.

use crate::simd::run;
use crate::simd::skinny::{Dots, Lines, Updates};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use nalgebra::DMatrix;

/// A B
#[must_use]
pub fn product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    debug_assert_eq!(a.ncols(), b.nrows());
    let mut out = DMatrix::zeros(a.nrows(), b.ncols());
    multiply(view(a), view(b), out.as_mut_slice());
    out
}

/// A'B
#[must_use]
pub fn transposed_product(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    debug_assert_eq!(a.nrows(), b.nrows());
    let mut out = DMatrix::zeros(a.ncols(), b.ncols());
    multiply(view(a).transpose(), view(b), out.as_mut_slice());
    out
}

/// A B'
#[must_use]
pub fn product_transposed(a: &DMatrix<f64>, b: &DMatrix<f64>) -> DMatrix<f64> {
    debug_assert_eq!(a.ncols(), b.ncols());
    let mut out = DMatrix::zeros(a.nrows(), b.nrows());
    multiply(view(a), view(b).transpose(), out.as_mut_slice());
    out
}

/// The vectors of length `len` stored one after the other, as the columns of a matrix.
pub(super) fn columns(vectors: &[f64], len: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(vectors, len, vectors.len().checked_div(len).unwrap_or(0))
}

/// out = A B, `out` column-major.
pub(super) fn multiply(a: MatRef<'_, f64>, b: MatRef<'_, f64>, out: &mut [f64]) {
    let out = MatMut::from_column_major_slice_mut(out, a.nrows(), b.ncols());
    matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
}

fn view(a: &DMatrix<f64>) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(a.as_slice(), a.nrows(), a.ncols())
}

/// All dot products of two sets of vectors of length `len`: `out[r * count + c] = vectors[r] . block[c]`.
pub(super) fn inner_products(vectors: &[f64], block: &[f64], len: usize) -> Vec<f64> {
    let (lines, by) = (Lines::packed(vectors, len), Lines::packed(block, len));
    let mut out = vec![0.0; (vectors.len() / len.max(1)) * (block.len() / len.max(1))];
    run(Dots { lines, by, out: &mut out });
    out
}

/// `block[c] += sum_r weights[r * count + c] vectors[r]`, vectors of length `len`.
pub(super) fn add_combinations(vectors: &[f64], weights: &[f64], block: &mut [f64], len: usize) {
    run(Updates { lines: Lines::packed(vectors, len), weights, into: block, stride: len });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_small_matrices_by_hand() {
        let a = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = DMatrix::from_row_slice(3, 1, &[1.0, 0.0, -1.0]);
        assert_eq!(product(&a, &b).as_slice(), [-2.0, -2.0]);
        assert_eq!(transposed_product(&b, &b).as_slice(), [2.0]);
        assert_eq!(product_transposed(&a, &a).as_slice(), [14.0, 32.0, 32.0, 77.0]);
        assert_eq!(product(&DMatrix::zeros(2, 0), &DMatrix::zeros(0, 2)), DMatrix::zeros(2, 2));
    }

    #[test]
    fn blocks_of_vectors_by_hand() {
        let vectors = [1.0, 0.0, 2.0, 1.0];
        let mut block = [3.0, 4.0];
        assert_eq!(inner_products(&vectors, &block, 2), [3.0, 10.0]);
        add_combinations(&vectors, &[1.0, -1.0], &mut block, 2);
        assert_eq!(block, [2.0, 3.0]);
    }
}
