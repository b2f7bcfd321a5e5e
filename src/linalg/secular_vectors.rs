//! The eigenvectors of `D + rho z z'` from its roots, orthogonal to rounding.
//!
//! The vectors `z_i / (d_i - lambda_j)` of roots with errors are not orthogonal where roots are close. They are exact
//! for the z that has exactly the computed roots, and that z differs from the given one by roundings only. Reference:
//! Gu and Eisenstat (1994), "A stable and efficient algorithm for the rank-one modification of the symmetric
//! eigenproblem", SIAM J. Matrix Anal. Appl. 15(4).

use super::secular::MAX_LANES;
use pulp::{Simd, WithSimd};

/// The z whose secular equation has exactly the computed roots (Gu and Eisenstat): what makes the eigenvectors
/// orthogonal to rounding without extra precision.
///
/// `z_i^2 = (lambda_i - d_i) prod_{j != i} (lambda_j - d_i) / (d_j - d_i)`, up to the factor rho, which the
/// normalisation of the vectors removes.
pub(super) struct Corrected<'a> {
    pub(super) poles: &'a [f64],
    pub(super) origin: &'a [f64],
    pub(super) shift: &'a [f64],
    /// The first entry wanted.
    pub(super) first: usize,
    /// Comes in with the signs of z, goes out corrected; as many entries as it holds.
    pub(super) z: &'a mut [f64],
}

impl WithSimd for Corrected<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { poles, origin, shift, first, z } = self;
        let k = poles.len();
        assert!(origin.len() == k && shift.len() == k && first + z.len() <= k);
        for (group, z) in z.chunks_mut(S::F64_LANES).enumerate() {
            let at = first + group * S::F64_LANES;
            let end = at + z.len();
            let pole = simd.partial_load_f64s(&poles[at..end]);
            let mut product = simd.splat_f64s(1.0);
            for j in (0..at).chain(end..k) {
                let above = simd.sub_f64s(simd.splat_f64s(shift[j]), simd.sub_f64s(pole, simd.splat_f64s(origin[j])));
                let below = simd.sub_f64s(simd.splat_f64s(poles[j]), pole);
                product = simd.mul_f64s(product, simd.div_f64s(above, below));
            }
            let mut products = [1.0; MAX_LANES];
            simd.partial_store_f64s(&mut products[..S::F64_LANES], product);
            for (q, (z, mut product)) in z.iter_mut().zip(products).enumerate() {
                let i = at + q;
                for j in at..end {
                    let above = shift[j] - (poles[i] - origin[j]);
                    product *= if j == i { above } else { above / (poles[j] - poles[i]) };
                }
                *z = product.abs().sqrt().copysign(*z);
            }
        }
    }
}

/// Unit eigenvectors `u_j ~ z_i / (d_i - lambda_j)`, one a column, for the roots given; poles and z in any order.
pub(super) struct Vectors<'a> {
    pub(super) poles: &'a [f64],
    pub(super) z: &'a [f64],
    /// Of the wanted roots only.
    pub(super) origin: &'a [f64],
    pub(super) shift: &'a [f64],
    /// One column of `poles.len()` for each root.
    pub(super) columns: &'a mut [f64],
}

impl WithSimd for Vectors<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { poles, z, origin, shift, columns } = self;
        assert!(z.len() == poles.len() && columns.len() == poles.len() * shift.len());
        let ((pole_vectors, pole_tail), (z_vectors, z_tail)) = (S::as_simd_f64s(poles), S::as_simd_f64s(z));
        let columns = columns.chunks_exact_mut(poles.len().max(1));
        for ((column, &origin), &shift) in columns.zip(origin).zip(shift) {
            let point = [simd.splat_f64s(origin), simd.splat_f64s(shift)];
            let (vectors, tail) = S::as_mut_simd_f64s(column);
            let mut squares = simd.splat_f64s(0.0);
            for ((u, d), z) in vectors.iter_mut().zip(pole_vectors).zip(z_vectors) {
                *u = simd.div_f64s(*z, simd.sub_f64s(simd.sub_f64s(*d, point[0]), point[1]));
                squares = simd.mul_add_e_f64s(*u, *u, squares);
            }
            let mut square = simd.reduce_sum_f64s(squares);
            for ((u, d), z) in tail.iter_mut().zip(pole_tail).zip(z_tail) {
                *u = z / ((d - origin) - shift);
                square += *u * *u;
            }
            let inverse = 1.0 / square.sqrt();
            for u in column {
                *u *= inverse;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::secular::Roots;
    use super::super::testing::rank_one_problem;
    use super::*;
    use crate::simd::{Level, run_at};
    use nalgebra::DMatrix;

    #[test]
    fn vectors_solve_the_rank_one_problem_at_every_level() {
        for k in [1, 2, 3, 7, 8, 9, 33, 100] {
            let (poles, weights) = rank_one_problem(k);
            let z: Vec<f64> =
                weights.iter().enumerate().map(|(i, w)| if i % 3 == 0 { -w.sqrt() } else { w.sqrt() }).collect();
            let a = DMatrix::from_fn(k, k, |i, j| z[i] * z[j] + if i == j { poles[i] } else { 0.0 });
            for level in Level::available() {
                let (values, u) = solve(&poles, &weights, &z, level);
                let bound = 20.0 * k as f64 * f64::EPSILON * values[k - 1].abs();
                let back = DMatrix::from_fn(k, k, |i, j| u[(i, j)] * values[j]);
                assert!((&a * &u - back).amax() <= bound, "k = {k}, {}", level.name());
                assert!((u.transpose() * &u - DMatrix::identity(k, k)).amax() <= 20.0 * k as f64 * f64::EPSILON);
            }
        }
    }

    /// Values and vectors, entry by entry from the parts of this room.
    fn solve(poles: &[f64], weights: &[f64], z: &[f64], level: Level) -> (Vec<f64>, DMatrix<f64>) {
        let k = poles.len();
        let (mut origin, mut shift, mut z) = (vec![0.0; k], vec![0.0; k], z.to_vec());
        let roots = Roots { poles, weights, first: 0, origin: &mut origin, shift: &mut shift };
        assert!(run_at(level, roots).unwrap());
        run_at(level, Corrected { poles, origin: &origin, shift: &shift, first: 0, z: &mut z }).unwrap();
        let mut columns = vec![0.0; k * k];
        let vectors = Vectors { poles, z: &z, origin: &origin, shift: &shift, columns: &mut columns };
        run_at(level, vectors).unwrap();
        (origin.iter().zip(&shift).map(|(o, s)| o + s).collect(), DMatrix::from_vec(k, k, columns))
    }
}
