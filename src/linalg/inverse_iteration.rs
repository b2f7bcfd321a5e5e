//! Eigenvectors of a symmetric tridiagonal matrix for a few of its eigenvalues, by inverse iteration.
//!
//! `(T - lambda) z_new = z` multiplies the part of z along an eigenvector by `1 / (lambda_j - lambda)`: two or three
//! steps leave nothing else. Each vector is kept orthogonal to those before it, so that equal and close values share
//! their space out. References: Wilkinson (1965), chapter 5; Ipsen (1997), "Computing an eigenvector with inverse
//! iteration".

use super::orthogonal::{normalize, project};
use super::random::Random;
use super::unit::largest;

/// Steps for each vector: the first finds it, the second cleans it, the third makes up for an unlucky start and is left
/// out where the residual says that there was none.
const STEPS: usize = 3;
const LEAST_STEPS: usize = 2;

/// Starts for each vector.
const STARTS: usize = 3;

/// Accepted residual |T z - lambda z|, in units of `sqrt(n) eps |T|`.
const RESIDUAL: f64 = 8.0;

/// The residual, in the same units, that another step would not make smaller by much: its own rounding.
const SETTLED: f64 = 1.0;

/// A vector that keeps less than this share of its length beside the others has to go on, and the last one is projected
/// once more: only what keeps most of its length is orthogonal to the others after one projection.
const SAFE_SHARE: f64 = 0.5;

/// Orthonormal eigenvectors of the tridiagonal (diagonal, `off_diagonal`) for these eigenvalues, one after the other;
/// `None` where one does not come out as it should. `O(n k + n k^2)` operations.
pub(super) fn vectors_of(diagonal: &[f64], off_diagonal: &[f64], values: &[f64]) -> Option<Vec<f64>> {
    let n = diagonal.len();
    let mut vectors = Vec::with_capacity(n * values.len());
    let (mut random, mut factors) = (Random::new(0), Factors::new(n));
    let norm = norm_of(diagonal, off_diagonal);
    let unit = (n as f64).sqrt() * f64::EPSILON * norm;
    for &value in values {
        factors.factor(diagonal, off_diagonal, value, f64::EPSILON * norm + f64::MIN_POSITIVE);
        let within = |vector: &[f64], units: f64| residual(diagonal, off_diagonal, value, vector) <= units * unit;
        let vector = (0..STARTS).find_map(|_| iterate(&factors, &vectors, &mut random, within))?;
        vectors.extend_from_slice(&vector);
    }
    Some(vectors)
}

/// Largest sum of magnitudes of a row.
fn norm_of(diagonal: &[f64], off_diagonal: &[f64]) -> f64 {
    let mut before = 0.0;
    diagonal.iter().zip(off_diagonal).fold(0.0, |norm: f64, (d, e)| {
        let sum = before + d.abs() + e.abs();
        before = e.abs();
        norm.max(sum)
    })
}

/// A unit vector from a random start, orthogonal to the `others`; `None` when the last step still lost it among them,
/// or when its residual is not `within` what is accepted.
fn iterate(
    factors: &Factors,
    others: &[f64],
    random: &mut Random,
    within: impl Fn(&[f64], f64) -> bool,
) -> Option<Vec<f64>> {
    let n = factors.pivots.len();
    let mut vector = vec![0.0; n];
    random.fill_symmetric(&mut vector);
    let mut kept = 0.0;
    for step in 1..=STEPS {
        factors.solve(&mut vector);
        to_unit_length(&mut vector)?;
        project(others, &mut vector, n);
        kept = to_unit_length(&mut vector)?;
        if step >= LEAST_STEPS && kept >= SAFE_SHARE && within(&vector, SETTLED) {
            return Some(vector);
        }
    }
    if kept < SAFE_SHARE {
        project(others, &mut vector, n);
        to_unit_length(&mut vector)?;
    }
    within(&vector, RESIDUAL).then_some(vector)
}

/// Makes a vector of any size one of unit length; its length before, unless that is no positive number.
fn to_unit_length(vector: &mut [f64]) -> Option<f64> {
    let largest = largest(vector, "a vector").ok().filter(|&largest| largest > 0.0)?;
    for x in &mut *vector {
        *x /= largest;
    }
    let rest = normalize(vector).filter(|rest| rest.is_finite())?;
    Some(rest * largest)
}

/// |T z - value z|
fn residual(diagonal: &[f64], off_diagonal: &[f64], value: f64, z: &[f64]) -> f64 {
    let n = z.len();
    let mut square = 0.0;
    for i in 0..n {
        let before = if i > 0 { off_diagonal[i - 1] * z[i - 1] } else { 0.0 };
        let after = if i + 1 < n { off_diagonal[i] * z[i + 1] } else { 0.0 };
        square += ((diagonal[i] - value) * z[i] + before + after).powi(2);
    }
    square.sqrt()
}

/// `P (T - value) = L U` with rows exchanged for the larger pivot: U has two diagonals above its own.
struct Factors {
    /// Diagonal of U, never 0, inverted.
    pivots: Vec<f64>,
    /// Its first and second upper diagonal.
    upper: Vec<[f64; 2]>,
    /// What each row was subtracted times from the next, and whether the two were exchanged before.
    steps: Vec<(f64, bool)>,
}

impl Factors {
    fn new(n: usize) -> Self {
        Self { pivots: vec![0.0; n], upper: vec![[0.0; 2]; n], steps: vec![(0.0, false); n] }
    }

    /// Pivots below `least` in magnitude become it: a change of the matrix by its own rounding.
    fn factor(&mut self, diagonal: &[f64], off_diagonal: &[f64], value: f64, least: f64) {
        let n = diagonal.len();
        // What is left of the row at hand: its diagonal entry and the one after.
        let mut row = [diagonal.first().map_or(0.0, |d| d - value), off_diagonal.first().copied().unwrap_or(0.0)];
        for i in 0..n {
            let is_last = i + 1 == n;
            let below = if is_last { 0.0 } else { off_diagonal[i] };
            let next = if is_last {
                [0.0, 0.0]
            } else {
                [diagonal[i + 1] - value, if i + 2 < n { off_diagonal[i + 1] } else { 0.0 }]
            };
            let after = if is_last { 0.0 } else { row[1] };
            let exchanged = below.abs() > row[0].abs();
            let (pivot, upper, lower, rest) =
                if exchanged { (below, next, row[0], [after, 0.0]) } else { (row[0], [after, 0.0], below, next) };
            let pivot = if pivot.abs() < least { least.copysign(pivot) } else { pivot };
            let multiple = lower / pivot;
            (self.pivots[i], self.upper[i], self.steps[i]) = (1.0 / pivot, upper, (multiple, exchanged));
            row = [rest[0] - multiple * upper[0], rest[1] - multiple * upper[1]];
        }
    }

    /// z becomes the solution of `(T - value) x = z`.
    fn solve(&self, z: &mut [f64]) {
        let n = z.len();
        for i in 0..n.saturating_sub(1) {
            let (multiple, exchanged) = self.steps[i];
            if exchanged {
                z.swap(i, i + 1);
            }
            z[i + 1] -= multiple * z[i];
        }
        let mut after = [0.0; 2];
        for i in (0..n).rev() {
            let [first, second] = self.upper[i];
            z[i] = (z[i] - first * after[0] - second * after[1]) * self.pivots[i];
            after = [z[i], after[0]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bisection::largest_values;
    use super::super::testing::noise;
    use super::*;
    use crate::threads::Team;

    #[test]
    fn a_solution_solves() {
        let n = 20;
        let (diagonal, off_diagonal, right) = (noise(n, 1), noise(n, 2), noise(n, 3));
        let (mut factors, mut z) = (Factors::new(n), right.clone());
        factors.factor(&diagonal, &off_diagonal, 0.3, 1e-16);
        factors.solve(&mut z);
        for i in 0..n {
            let before = if i > 0 { off_diagonal[i - 1] * z[i - 1] } else { 0.0 };
            let after = if i + 1 < n { off_diagonal[i] * z[i + 1] } else { 0.0 };
            assert!(((diagonal[i] - 0.3) * z[i] + before + after - right[i]).abs() < 1e-12);
        }
    }

    /// Equal, close and decoupled values: the vectors are orthonormal, and each has its residual checked.
    #[test]
    fn equal_values_share_their_space_out() {
        let n = 90;
        let glued: Vec<f64> = (0..n).map(|i| (i % 21usize).abs_diff(10) as f64).collect();
        let joints: Vec<f64> = (0..n).map(|i| if i % 21 == 20 { 1e-15 } else { 1.0 }).collect();
        for (diagonal, off_diagonal) in [
            (vec![1.0; n], vec![0.0; n]),
            (vec![0.0; n], vec![0.0; n]),
            (glued, joints),
            (noise(n, 4), noise(n, 5)),
            ((0..90).map(|i| 0.1f64.powi(i)).collect(), (0..90).map(|i| 0.1f64.powi(i + 1)).collect()),
        ] {
            let values = largest_values(&diagonal, &off_diagonal, 15, &Team::solo());
            let vectors = vectors_of(&diagonal, &off_diagonal, &values).unwrap();
            for (i, a) in vectors.chunks(n).enumerate() {
                for (j, b) in vectors.chunks(n).enumerate() {
                    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                    assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-14);
                }
            }
        }
    }
}
