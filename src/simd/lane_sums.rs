//! Several dot products at once, as vectors of one sum a lane: the tile that projections and products share.

use super::Lane;
use pulp::Simd;

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
        for b in 0..B {
            let v = by_vectors[b][i];
            for r in 0..R {
                sums[r][b] = T::fma(simd, line_vectors[r][i], v, sums[r][b]);
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
