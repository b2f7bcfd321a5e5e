//! Several dot products at once, as vectors of one sum a lane: the tile that projections and products share.

use super::Lane;
use bytemuck::cast_slice;
use pulp::Simd;
use std::array::from_fn;
use std::slice::from_ref;

/// For `R` lines and `B` others of one length, the sums of their products lane by lane: the sum of the lanes of
/// `[r][b]` is `lines[r] . by[b]`. Each sum runs along the line in one order, whatever `R` and `B`.
#[inline(always)]
pub(super) fn lane_sums<T: Lane, S: Simd, const R: usize, const B: usize>(
    simd: S,
    lines: [&[T]; R],
    by: [&[T]; B],
) -> [[T::V<S>; B]; R] {
    let len = lines[0].len();
    let full = len / T::lanes::<S>();
    let line_vectors = lines.map(|line| &T::vectors::<S>(line).0[..full]);
    let by_vectors = by.map(|line| &T::vectors::<S>(line).0[..full]);
    let mut sums = [[T::splat(simd, T::zeroed()); B]; R];
    for i in 0..full {
        // The side with fewer vectors stays in registers, or the sums would not.
        if R > B {
            for r in 0..R {
                let x = line_vectors[r][i];
                for b in 0..B {
                    sums[r][b] = T::fma(simd, x, by_vectors[b][i], sums[r][b]);
                }
            }
        } else {
            for b in 0..B {
                let v = by_vectors[b][i];
                for r in 0..R {
                    sums[r][b] = T::fma(simd, line_vectors[r][i], v, sums[r][b]);
                }
            }
        }
    }
    if full * T::lanes::<S>() < len {
        let mut ends = [T::splat(simd, T::zeroed()); R];
        for r in 0..R {
            ends[r] = T::rest(simd, lines[r]);
        }
        for b in 0..B {
            let v = T::last(simd, by[b]);
            for r in 0..R {
                sums[r][b] = T::fma(simd, ends[r], v, sums[r][b]);
            }
        }
    }
    sums
}

/// Bytes of vectors whose shuffles are known.
const SHUFFLED: [usize; 2] = [32, 64];

/// The sums of the lanes of each vector.
///
/// Four at a time: shuffled so that one vector holds the same lanes of all four, which takes half the instructions of
/// four sums. Each sum adds its lanes in one order, whatever `R`, `B` and the neighbours.
#[inline(always)]
pub fn totals<T: Lane, S: Simd, const R: usize, const B: usize>(simd: S, sums: [[T::V<S>; B]; R]) -> [[T; B]; R] {
    let mut all = [[T::zeroed(); B]; R];
    for first in (0..R * B).step_by(4) {
        let mut four = [T::splat(simd, T::zeroed()); 4];
        for i in first..(first + 4).min(R * B) {
            four[i - first] = sums[i / B][i % B];
        }
        let totals = four_totals(simd, four);
        for i in first..(first + 4).min(R * B) {
            all[i / B][i % B] = totals[i - first];
        }
    }
    all
}

#[inline(always)]
fn four_totals<T: Lane, S: Simd>(simd: S, four: [T::V<S>; 4]) -> [T; 4] {
    if !SHUFFLED.contains(&size_of::<T::V<S>>()) {
        return four.map(|vector| T::sum(simd, vector));
    }
    let [a, b, c, d] = T::quads(simd, four);
    let quarter = T::vadd(simd, T::vadd(simd, a, c), T::vadd(simd, b, d));
    match *cast_slice::<_, T>(from_ref(&quarter)) {
        [p, q, r, s] => [p, q, r, s],
        // Vectors of eight f64 keep their rows in pairs.
        [a, b, c, d, e, f, g, h] if T::DOUBLE => [a + c, b + d, e + g, f + h],
        [a, b, c, d, e, f, g, h] => [a + e, b + f, c + g, d + h],
        ref lanes => from_fn(|i| (lanes[i] + lanes[i + 8]) + (lanes[i + 4] + lanes[i + 12])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};
    use pulp::WithSimd;
    use std::marker::PhantomData;

    /// Totals of vectors of distinct powers of two: one lane that is lost, counted twice or misplaced shows.
    struct Seven<T>(PhantomData<T>);

    impl<T: Lane> WithSimd for Seven<T> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let lanes = T::lanes::<S>();
            let bit =
                |vector: usize, lane: usize| T::of(f64::from(1 << lane) + if lane == 0 { vector as f64 } else { 0.0 });
            let lines: Vec<T> = (0..7 * lanes).map(|at| bit(2 * (at / lanes), at % lanes)).collect();
            let vectors = T::vectors::<S>(&lines).0;
            let seven: [[T::V<S>; 7]; 1] = [from_fn(|i| vectors[i])];
            for (i, total) in totals::<T, S, 1, 7>(simd, seven)[0].into_iter().enumerate() {
                assert_eq!(total.into(), f64::from((1 << lanes) - 1) + 2.0 * i as f64);
            }
        }
    }

    #[test]
    fn every_lane_of_every_vector_counts_once() {
        for level in Level::available() {
            run_at(level, Seven::<f64>(PhantomData)).unwrap();
            run_at(level, Seven::<f32>(PhantomData)).unwrap();
        }
    }
}
