//! Eigenvectors of a centred matrix, made orthogonal to the constant vector that it maps to zero.

use nalgebra::{DMatrix, DVector};

/// Least squared cosine between the constant vector and the complement of the living vectors: below it, the constant
/// lies among them but for rounding, and one of them gives way to it.
const LEAST_ROOM: f64 = 0.25;

/// Turns orthonormal vectors (n x k) so that the first `living` of them are orthogonal to 1 = (1, ..., 1)'; returns how
/// many these are: one fewer than were given where 1 itself was among them, raised above the floor by rounding.
///
/// An eigenvector of H K H with eigenvalue lambda_j != 0 has v'1 = 0. A computed one has v'1 / sqrt(n) of about eps
/// lambda_1 / lambda_j, since 1 belongs to the eigenvalue 0; where lambda_j is small, what is built on V'1 = 0 loses
/// every digit. With u = 1 / sqrt(n), delta = V'u and w = V delta / |delta|, the rotation in the plane of u and w that
/// brings w into the complement of u is the least change that mends it. It keeps all vectors orthonormal, the dead ones
/// too, and moves a vector no further than |delta_j|, along u, where the matrix does nothing. Where 1 lies among the
/// living, a reflection of these brings w to the last place first, where it counts as dead.
pub fn turn_from_constant(vectors: &mut DMatrix<f64>, living: usize) -> usize {
    let n = vectors.nrows();
    let u = DVector::from_element(n, (n as f64).sqrt().recip());
    let delta: Vec<f64> = vectors.column_iter().take(living).map(|v| v.dot(&u)).collect();
    let sine = delta.iter().map(|cosine| cosine * cosine).sum::<f64>().sqrt();
    let room = 1.0 - sine * sine;
    if sine == 0.0 || room.is_nan() {
        return living;
    }
    if room < LEAST_ROOM {
        reflect(vectors, &delta, sine);
        return turn_from_constant(vectors, living - 1);
    }
    let cosine = room.sqrt();
    let mut w = DVector::zeros(n);
    delta.iter().zip(vectors.column_iter()).for_each(|(delta, v)| w.axpy(delta / sine, &v, 1.0));
    // Of the plane, w goes to (w - sine u) / cosine, and its other axis r = (u - sine w) / cosine to u.
    let r = (&u - &w * sine) / cosine;
    let left = 1.0 - cosine;
    let (w_moves, r_moves) = ((&w * left - &u * sine) / cosine, (&w * sine - &u * left) / cosine);
    for (j, mut vector) in vectors.column_iter_mut().enumerate() {
        if j < living {
            vector.axpy(delta[j] / sine, &w_moves, 1.0);
        } else {
            let along = r.dot(&vector);
            vector.axpy(along, &r_moves, 1.0);
        }
    }
    living
}

/// Makes V e, e = `delta` / `size` of length 1, the last of the vectors that have a share in it (but for the sign), by
/// a reflection in which each moves by about its own share: V (I - h h' / (1 + |e_m|)), h = e with e_m + sign(e_m) in
/// the last place m.
fn reflect(vectors: &mut DMatrix<f64>, delta: &[f64], size: f64) {
    let mut h: Vec<f64> = delta.iter().map(|share| share / size).collect();
    let Some(last) = h.last_mut() else { return };
    let scale = 1.0 + last.abs();
    *last += last.signum();
    let mut along = DVector::zeros(vectors.nrows());
    h.iter().zip(vectors.column_iter()).for_each(|(h, v)| along.axpy(*h, &v, 1.0));
    h.iter().zip(vectors.column_iter_mut()).for_each(|(h, mut v)| v.axpy(-h / scale, &along, 1.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Orthonormal columns, of which one leans towards the constant vector by `lean`, in front of the two dead ones.
    fn leaning(lean: f64) -> DMatrix<f64> {
        let h = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 0.5 } else { -0.5 };
        let all = DMatrix::from_fn(4, 4, |i, j| h(i, [1, 2, 3, 0][j]));
        let (c, s) = ((1.0 - lean * lean).sqrt(), lean);
        let mut vectors = all.clone();
        vectors.set_column(1, &(all.column(1) * c + all.column(3) * s));
        vectors.set_column(3, &(all.column(3) * c - all.column(1) * s));
        vectors
    }

    #[test]
    fn living_vectors_become_orthogonal_to_the_constant_and_all_stay_orthonormal() {
        for lean in [0.0, 1e-12, 1e-5, 0.3] {
            let (exact, mut vectors) = (leaning(0.0), leaning(lean));
            turn_from_constant(&mut vectors, 3);
            assert!((&vectors - exact).amax() <= 4.0 * f64::EPSILON, "{lean}: {vectors}");
            assert!(vectors.columns(0, 3).row_sum().amax() <= 4.0 * f64::EPSILON);
        }
    }

    #[test]
    fn the_constant_among_the_living_is_told_from_them() {
        for (lean, place) in [(0.0, 3), (1e-12, 3), (1e-5, 3), (0.3, 3), (0.0, 0), (1e-5, 1)] {
            let mut vectors = leaning(lean);
            vectors.swap_columns(place, 3);
            assert_eq!(turn_from_constant(&mut vectors, 4), 3, "{lean} {place}");
            assert!(vectors.columns(0, 3).row_sum().amax() <= 8.0 * f64::EPSILON, "{lean} {place}: {vectors}");
            let gram = vectors.transpose() * &vectors;
            assert!((gram - DMatrix::identity(4, 4)).amax() <= 8.0 * f64::EPSILON, "{lean} {place}");
        }
        let mut vectors = leaning(1e-9);
        turn_from_constant(&mut vectors, 4);
        assert!((vectors.columns(0, 3) - leaning(0.0).columns(0, 3)).amax() <= 1e-15, "the others stay: {vectors}");
    }
}
