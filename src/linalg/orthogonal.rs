//! Orthonormal columns: keeping a basis orthonormal while it grows, and completing one.

use super::product::{add_combinations, columns, inner_products};
use super::random::Random;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, Par};
use nalgebra::DMatrix;
use std::cmp::Ordering;

/// A vector that keeps less than this share of its length when its projection is removed has lost digits to
/// cancellation, and is projected again ("twice is enough": Giraud, Langou, Rozloznik, van den Eshof 2005).
const SAFE_SHARE: f64 = 0.1;
/// Below this share nothing but rounding is left: the vector lies in the span of the others.
const DEAD_SHARE: f64 = 64.0 * f64::EPSILON;
/// Projections of one vector: the second makes it orthogonal to rounding, the third serves a nearly full basis.
const PROJECTIONS: usize = 3;

/// Removes from the vectors of `block` their projections on the orthonormal `basis`; vectors of length `len` lie one
/// after the other. Returns the coefficients `basis' block`, the row of each basis vector one after the other.
pub(super) fn project(basis: &[f64], block: &mut [f64], len: usize) -> Vec<f64> {
    let coefficients = inner_products(basis, block, len);
    let negative: Vec<f64> = coefficients.iter().map(|c| -c).collect();
    add_combinations(basis, &negative, block, len);
    coefficients
}

/// [`project`] twice, so that what is left is orthogonal to the basis however little it is. Returns the sum of both
/// coefficients.
fn deflate(basis: &[f64], block: &mut [f64], len: usize) -> Vec<f64> {
    let mut total = project(basis, block, len);
    let rest = project(basis, block, len);
    total.iter_mut().zip(rest).for_each(|(total, c)| *total += c);
    total
}

/// How far V, the given vectors over their `lengths`, is from orthonormal: |V'V g - g| / |g| for a vector of random
/// signs g, on average the Frobenius norm of V'V - I over the root of their number. 4 d k operations;
/// V'V takes d k^2.
#[must_use]
pub fn skew(vectors: &[f64], lengths: &[f64]) -> f64 {
    let (k, mut random) = (lengths.len(), Random::new(0));
    let len = vectors.len().checked_div(k).unwrap_or(0);
    let signs: Vec<f64> = lengths.iter().map(|_| if random.bits() & 1 == 0 { 1.0 } else { -1.0 }).collect();
    let weights: Vec<f64> = signs.iter().zip(lengths).map(|(sign, length)| sign / length).collect();
    let mut sum = vec![0.0; len];
    add_combinations(vectors, &weights, &mut sum, len);
    let back = inner_products(vectors, &sum, len);
    let missed = back.iter().zip(lengths).zip(&signs).map(|((back, length), sign)| (back / length - sign).powi(2));
    (missed.sum::<f64>() / k as f64).sqrt()
}

/// Makes nearly orthonormal vectors V of length `len` orthonormal to the square of what they miss: V (I - U) with
/// V'V - I = U' + U, U upper triangular. Each loses what it shares with those before it, as by Gram and Schmidt.
/// 2 d k^2 operations.
pub fn straighten(vectors: &mut [f64], len: usize) {
    let view = columns(vectors, len);
    let k = view.ncols();
    let mut turn = vec![0.0; k * k];
    let square = MatMut::from_column_major_slice_mut(&mut turn, k, k);
    triangular::matmul(square, UPPER, Accum::Replace, view.transpose(), WHOLE, view, WHOLE, 1.0, Par::Seq);
    for (at, entry) in turn.iter_mut().enumerate() {
        *entry = match (at % k).cmp(&(at / k)) {
            Ordering::Less => -*entry,
            Ordering::Equal => 1.5 - 0.5 * *entry,
            Ordering::Greater => 0.0,
        };
    }
    let mut vectors = MatMut::from_column_major_slice_mut(vectors, len, k);
    let mut turned = vec![0.0; PANEL.min(len) * k];
    for start in (0..len).step_by(PANEL) {
        let rows = PANEL.min(len - start);
        let mut panel = vectors.rb_mut().subrows_mut(start, rows);
        let mut out = MatMut::from_column_major_slice_mut(&mut turned[..rows * k], rows, k);
        let turn = columns(&turn, k);
        triangular::matmul(out.rb_mut(), WHOLE, Accum::Replace, panel.rb(), WHOLE, turn, UPPER, 1.0, Par::Seq);
        panel.copy_from(out);
    }
}

/// The parts of a matrix that count.
const WHOLE: BlockStructure = BlockStructure::Rectangular;
const UPPER: BlockStructure = BlockStructure::TriangularUpper;
/// Entries of all vectors turned at a time: with those of a few hundred vectors they stay in the second cache.
const PANEL: usize = 256;

/// The lengths of a column of a block: as it was, and before the basis was last projected out of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub(super) whole: f64,
    pub(super) left: f64,
}

/// Appends an orthonormal basis of `block` to the orthonormal `basis`, whose span `block` is already orthogonal to.
///
/// What is left of a column counts as nothing when it is rounding of its `whole` length, and is deflated again when it
/// is little beside what was `left` before. Dead columns are replaced by random directions, so that `wanted` columns
/// are appended always.
///
/// Returns R, wanted x (columns of the block F), row-major: `F = (new columns) R`.
pub(super) fn append(
    basis: &mut Vec<f64>,
    block: &[f64],
    before: &[Lengths],
    (len, wanted): (usize, usize),
    random: &mut Random,
) -> Vec<f64> {
    let (old, width) = (basis.len(), before.len());
    let mut triangle = vec![0.0; wanted * width];
    let mut count = 0;
    for (c, column) in block.chunks_exact(len.max(1)).enumerate() {
        if count == wanted {
            break;
        }
        let mut column = column.to_vec();
        let mut coefficients = deflate(&basis[old..], &mut column, len);
        let kept = length(&column);
        coefficients.iter().enumerate().for_each(|(i, &r)| triangle[i * width + c] = r);
        if kept <= DEAD_SHARE * before[c].whole || normalize(&mut column).is_none() {
            continue;
        }
        if kept < SAFE_SHARE * before[c].left {
            coefficients = deflate(basis, &mut column, len);
            debug_assert!(coefficients.iter().all(|c| c.abs() < 1.0));
            if normalize(&mut column).is_none() {
                continue;
            }
        }
        triangle[count * width + c] = kept;
        basis.extend_from_slice(&column);
        count += 1;
    }
    while count < wanted {
        append_random(basis, len, random);
        count += 1;
    }
    triangle
}

/// Appends a random unit vector orthogonal to the `basis`, which must not be full.
pub(super) fn append_random(basis: &mut Vec<f64>, len: usize, random: &mut Random) {
    let mut column = vec![0.0; len];
    random.fill_symmetric(&mut column);
    orthonormalize_against(basis, &mut column);
    basis.extend_from_slice(&column);
}

/// Makes `column` a unit vector orthogonal to `basis`; false when it lies in its span.
fn orthonormalize_against(basis: &[f64], column: &mut [f64]) -> bool {
    let len = column.len();
    (0..PROJECTIONS).all(|_| {
        let before = length(column);
        deflate(basis, column, len);
        length(column) > DEAD_SHARE * before && normalize(column).is_some()
    })
}

/// Replaces the columns of `vectors` from `living` on by an orthonormal completion of the first `living`, which are
/// orthonormal: the coordinate axes that keep the most of themselves, in order, orthogonalised. Deterministic, and
/// sparse where the given columns are.
///
/// Each step takes the axis that lies least in the span so far, which keeps at least sqrt(1 - m/d) of its length.
/// Cost O(d k^2).
pub fn complete(vectors: &mut DMatrix<f64>, living: usize) {
    let len = vectors.nrows();
    let mut inside: Vec<f64> = vec![0.0; len]; // squared length of each axis' projection on the columns so far
    for j in 0..vectors.ncols() {
        if j >= living {
            let axis = first_smallest(&inside);
            let (done, rest) = vectors.as_mut_slice().split_at_mut(j * len);
            let column = &mut rest[..len];
            column.fill(0.0);
            if let Some(entry) = column.get_mut(axis) {
                *entry = 1.0;
            }
            orthonormalize_against(done, column);
        }
        inside.iter_mut().zip(vectors.column(j).iter()).for_each(|(share, x)| *share += x * x);
    }
}

/// The first place whose value is the smallest to rounding.
fn first_smallest(values: &[f64]) -> usize {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().position(|&v| v <= least + f64::EPSILON.sqrt()).unwrap_or(0)
}

/// Euclidean length of a vector whose squares neither overflow nor vanish.
pub(super) fn length(x: &[f64]) -> f64 {
    inner_products(x, x, x.len()).first().map_or(0.0, |square| square.sqrt())
}

/// Divides by the length, and returns it; `None` for a zero vector. Its squares neither overflow nor vanish.
pub(super) fn normalize(x: &mut [f64]) -> Option<f64> {
    let size = Some(length(x)).filter(|&size| size > 0.0)?;
    for x in x {
        *x /= size;
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::transposed_product;

    fn defect(vectors: &[f64], len: usize) -> f64 {
        let count = vectors.len() / len;
        let gram = inner_products(vectors, vectors, len);
        (0..count * count).map(|i| (gram[i] - f64::from(u8::from(i / count == i % count))).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn vectors_are_straightened_by_those_before_them() {
        let lean = 1e-4_f64;
        for len in [3, PANEL + 5] {
            let mut vectors = DMatrix::<f64>::identity(len, 2);
            (vectors[(0, 1)], vectors[(len - 1, 1)]) = (lean, lean);
            straighten(vectors.as_mut_slice(), len);
            assert_eq!(vectors.column(0), DMatrix::<f64>::identity(len, 1).column(0));
            assert!((transposed_product(&vectors, &vectors) - DMatrix::identity(2, 2)).amax() <= 2.0 * lean * lean);
            assert!(vectors[(0, 1)].abs() <= lean * lean, "{len}");
        }
    }

    #[test]
    fn the_skew_of_vectors_is_what_they_share() {
        // Of lengths 2 and 3, at an angle with cosine 0.6: V'V - I has 0.6 twice, and (V'V - I) g that length.
        assert!((skew(&[2.0, 0.0, 1.8, 2.4], &[2.0, 3.0]) - 0.6).abs() < 1e-15);
        assert_eq!(skew(DMatrix::<f64>::identity(3, 2).as_slice(), &[1.0, 1.0]), 0.0);
    }

    #[test]
    fn dependent_columns_are_replaced_and_the_factors_multiply_back() {
        let (len, mut random) = (9, Random::new(1));
        let mut block = vec![0.0; 4 * len];
        random.fill_symmetric(&mut block);
        let (first, rest) = block.split_at_mut(len);
        rest[..len].iter_mut().zip(&*first).for_each(|(x, y)| *x = -2.0 * y); // dependent
        rest[len..2 * len].iter_mut().zip(&*first).for_each(|(x, y)| *x = y + 1e-9 * *x); // nearly
        let before: Vec<Lengths> =
            block.chunks_exact(len).map(length).map(|whole| Lengths { whole, left: whole }).collect();
        let mut basis = Vec::new();
        let triangle = append(&mut basis, &block, &before, (len, 4), &mut random);
        assert_eq!(basis.len(), 4 * len);
        assert!(defect(&basis, len) < 1e-14);
        for c in 0..4 {
            for j in 0..len {
                let sum: f64 = (0..4).map(|i| basis[i * len + j] * triangle[i * 4 + c]).sum();
                assert!((sum - block[c * len + j]).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn a_basis_grows_to_the_whole_space() {
        let (len, mut random, mut basis) = (50, Random::new(5), Vec::new());
        (0..len).for_each(|_| append_random(&mut basis, len, &mut random));
        assert!(defect(&basis, len) < 1e-14);
    }

    #[test]
    fn completion_takes_the_axes_that_are_free() {
        let mut v = DMatrix::zeros(4, 3);
        v[(0, 0)] = 1.0;
        complete(&mut v, 1);
        assert_eq!(v.as_slice(), [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let mut v = DMatrix::from_element(6, 6, 1.0 / 6f64.sqrt());
        complete(&mut v, 1);
        assert!(defect(v.as_slice(), 6) < 1e-15 * 8.0);
    }
}
