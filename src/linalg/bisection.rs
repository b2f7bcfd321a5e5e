//! The largest eigenvalues of a symmetric tridiagonal matrix, each by bisection, a vector of them at a time.
//!
//! The number of eigenvalues below x is the number of negative terms of the Sturm sequence
//!
//! ```text
//! q_1 = d_1 - x,   q_i = d_i - x - e_{i-1}^2 / q_{i-1}
//! ```
//!
//! which IEEE arithmetic computes monotonically in x, through zeros and infinities too (Demmel, Dhillon and Ren 1995).

use crate::simd::run;
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Most vectors of shifts in step: a division takes some 15 cycles, a new one can start every 5.
const CHAINS: usize = 4;

/// Values in a piece of work: the widest vectors times [`CHAINS`].
const GROUP: usize = 32;

/// Halvings: from the whole spectrum to its last bit.
const STEPS: usize = 54;

/// The `k` largest eigenvalues of the tridiagonal (diagonal, `off_diagonal`), descending, each to `eps |T|`. About
/// `54 n k` divisions.
pub(super) fn largest_values(diagonal: &[f64], off_diagonal: &[f64], k: usize, team: &Team) -> Vec<f64> {
    let n = diagonal.len();
    let coupling = |i: usize| off_diagonal[i].abs();
    let around =
        |i: usize| if i == 0 { coupling(0) } else { coupling(i - 1) + if i + 1 < n { coupling(i) } else { 0.0 } };
    // Gershgorin's circles, a little wider.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (i, d) in diagonal.iter().enumerate() {
        (low, high) = (low.min(d - around(i)), high.max(d + around(i)));
    }
    let slack = 2.0 * n as f64 * f64::EPSILON * low.abs().max(high.abs());
    let mut values = vec![0.0; k];
    if slack == 0.0 {
        return values; // of the zero matrix, exactly
    }
    // Above 0, so that 0 / 0 never comes up.
    let squares: Vec<f64> = off_diagonal.iter().map(|e| (e * e).max(f64::MIN_POSITIVE)).collect();
    let bounds = (low - slack, high + slack);
    team.map(values.chunks_mut(GROUP).enumerate().collect(), |(group, values)| {
        run(Bisect { diagonal, squares: &squares, bounds, first: group * GROUP, values });
    });
    values
}

/// The values number `first`, `first + 1`, ... from the top.
struct Bisect<'a> {
    diagonal: &'a [f64],
    squares: &'a [f64],
    bounds: (f64, f64),
    first: usize,
    values: &'a mut [f64],
}

impl WithSimd for Bisect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { diagonal, squares, bounds, mut first, values } = self;
        for values in values.chunks_mut(CHAINS * S::F64_LANES) {
            let part = Bisect { diagonal, squares, bounds, first, values: &mut *values };
            match part.values.len().div_ceil(S::F64_LANES) {
                1 => part.halve::<S, 1>(simd),
                2 => part.halve::<S, 2>(simd),
                3 => part.halve::<S, 3>(simd),
                _ => part.halve::<S, CHAINS>(simd),
            }
            first += values.len();
        }
    }
}

impl Bisect<'_> {
    /// All values at once, in `N` vectors.
    #[inline(always)]
    fn halve<S: Simd, const N: usize>(self, simd: S) {
        let Self { diagonal, squares, bounds: (low, high), first, values } = self;
        let half = simd.splat_f64s(0.5);
        let mut below = [simd.splat_f64s(0.0); N];
        // At most this many eigenvalues lie below the one looked for.
        for (lane, to) in below.iter_mut().flat_map(|v| lanes_of::<S>(v)).enumerate() {
            *to = diagonal.len().saturating_sub(first + lane + 1) as f64;
        }
        let (mut lows, mut highs) = ([simd.splat_f64s(low); N], [simd.splat_f64s(high); N]);
        for _ in 0..STEPS {
            let mut middles = lows;
            for c in 0..N {
                middles[c] = simd.mul_f64s(half, simd.add_f64s(lows[c], highs[c]));
            }
            let counts = sturm_counts(simd, diagonal, squares, middles);
            for c in 0..N {
                let is_low = simd.less_than_or_equal_f64s(counts[c], below[c]);
                lows[c] = simd.select_f64s(is_low, middles[c], lows[c]);
                highs[c] = simd.select_f64s(is_low, highs[c], middles[c]);
            }
        }
        for (value, low) in values.iter_mut().zip(lows.iter_mut().flat_map(|v| lanes_of::<S>(v))) {
            *value = *low;
        }
    }
}

/// The lanes of a vector, one after the other.
#[inline(always)]
fn lanes_of<S: Simd>(vector: &mut S::f64s) -> &mut [f64] {
    bytemuck::cast_slice_mut(std::slice::from_mut(vector))
}

/// Eigenvalues below each shift.
#[inline(always)]
fn sturm_counts<S: Simd, const N: usize>(
    simd: S,
    diagonal: &[f64],
    squares: &[f64],
    shifts: [S::f64s; N],
) -> [S::f64s; N] {
    let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
    let (mut counts, mut terms) = ([zero; N], [one; N]);
    let mut square = zero; // of the entry before the diagonal one
    for (d, next) in diagonal.iter().zip(squares) {
        let d = simd.splat_f64s(*d);
        for c in 0..N {
            let term = simd.sub_f64s(simd.sub_f64s(d, shifts[c]), simd.div_f64s(square, terms[c]));
            let is_negative = simd.less_than_f64s(term, zero);
            counts[c] = simd.add_f64s(counts[c], simd.select_f64s(is_negative, one, zero));
            terms[c] = term;
        }
        square = simd.splat_f64s(*next);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    /// The second difference: eigenvalues 2 - 2 cos(j pi / (n + 1)).
    #[test]
    fn second_differences_at_every_level() {
        for n in [1, 2, 3, 30, 100] {
            let (diagonal, squares) = (vec![2.0; n], vec![1.0; n]);
            let right = |j: usize| 2.0 - 2.0 * ((n - j) as f64 * std::f64::consts::PI / (n + 1) as f64).cos();
            for level in Level::available() {
                let mut values = vec![0.0; n];
                let bounds = (-0.5, 4.5);
                run_at(level, Bisect { diagonal: &diagonal, squares: &squares, bounds, first: 0, values: &mut values })
                    .unwrap();
                for (j, value) in values.iter().enumerate() {
                    assert!((value - right(j)).abs() < 8.0 * f64::EPSILON, "{n} {j} {value} {}", right(j));
                }
            }
        }
    }

    #[test]
    fn zeros_copies_and_parts_are_counted() {
        let diagonal = [0.0, 3.0, 0.0, 3.0, -1.0];
        let values = largest_values(&diagonal, &[0.0; 5], 5, &Team::solo());
        for (value, right) in values.iter().zip([3.0, 3.0, 0.0, 0.0, -1.0]) {
            assert!((value - right).abs() < 4.0 * f64::EPSILON);
        }
        assert_eq!(largest_values(&[0.0; 3], &[0.0; 3], 3, &Team::solo()), [0.0; 3]);
    }
}
