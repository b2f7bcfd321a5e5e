//! One register tile of a symmetric product P'P: `rows` x (`vectors` full vectors) of it, held in registers while the
//! rows of a panel pass by. One broadcast serves all vectors of its row, one load serves all rows of its column.

use super::Lane;
use super::prefetch::Ahead;
use super::tiling::wide;
use bytemuck::cast_slice;
use pulp::Simd;

/// Rows of a panel between two calls to the memory, in tiles of 32 registers: time for a few cache lines to arrive.
/// Smaller tiles call once each: one loop inside the other would cost them the registers.
pub(super) const TURN: usize = 16;

/// The packed rows that a tile reads: from `row` of the first strip on, against vectors from `vector` of another.
pub(super) struct Operands<'a, T> {
    pub(super) a: [&'a [T]; 2],
    pub(super) row: usize,
    pub(super) b: &'a [T],
    pub(super) vector: usize,
}

impl<T: Lane> Operands<'_, T> {
    /// `sums[r][c]` += sum over the panel's rows of `a[row + r]` `b[vector * lanes + c]`, for `N` vectors; the rows
    /// from `SPLIT` on are the first of the second strip.
    #[inline(always)]
    pub(super) fn tile<
        S: Simd,
        const ROWS: usize,
        const SPLIT: usize,
        const N: usize,
        const LINE: usize,
        const SETS: usize,
    >(
        self,
        simd: S,
        line: usize,
        sums: &mut [f64],
        ahead: &mut Ahead<T>,
    ) {
        let Self { a, row, b, vector } = self;
        let mut tile = [[T::splat(simd, T::zeroed()); N]; ROWS];
        let [a, next, b] = [a[0], a[1], b].map(|strip| T::vectors::<S>(strip).0.as_chunks::<LINE>().0);
        if wide::<S>() {
            for ((a, next), b) in a.chunks(TURN).zip(next.chunks(TURN)).zip(b.chunks(TURN)) {
                ahead.send();
                tile = multiply::<T, S, ROWS, SPLIT, N, LINE>(simd, tile, [a, next, b], row, vector);
            }
        } else {
            ahead.send();
            tile = if SETS == 1 {
                multiply::<T, S, ROWS, SPLIT, N, LINE>(simd, tile, [a, next, b], row, vector)
            } else {
                multiply_in_turn::<T, S, ROWS, SPLIT, N, LINE, SETS>(simd, tile, [a, next, b], row, vector)
            };
        }
        for r in 0..ROWS {
            let row = tile[r]; // a copy: borrowing the tile itself would keep it in memory all along
            T::flush(simd, &row, &mut sums[r * line..(r + 1) * line]);
        }
    }
}

/// `tile[r][c] += a[row + r] b[vector * lanes + c]` for every row of the strips.
#[inline(always)]
fn multiply<T: Lane, S: Simd, const ROWS: usize, const SPLIT: usize, const N: usize, const LINE: usize>(
    simd: S,
    mut tile: [[T::V<S>; N]; ROWS],
    [a, next, b]: [&[[T::V<S>; LINE]]; 3],
    row: usize,
    vector: usize,
) -> [[T::V<S>; N]; ROWS] {
    for ((a, next), b) in a.iter().zip(next).zip(b) {
        let (a, b) = (&cast_slice::<_, T>(a)[row..row + SPLIT], &b[vector..vector + N]);
        let next = &cast_slice::<_, T>(next)[..ROWS - SPLIT];
        for r in 0..ROWS {
            let x = T::splat(simd, if r < SPLIT { a[r] } else { next[r - SPLIT] });
            for j in 0..N {
                tile[r][j] = T::fma(simd, x, b[j], tile[r][j]);
            }
        }
    }
    tile
}

/// [`multiply`] of a small tile, whose few sums would wait for each other: the rows take turns at `SETS` sets of them.
#[inline(always)]
fn multiply_in_turn<
    T: Lane,
    S: Simd,
    const ROWS: usize,
    const SPLIT: usize,
    const N: usize,
    const LINE: usize,
    const SETS: usize,
>(
    simd: S,
    tile: [[T::V<S>; N]; ROWS],
    strips: [&[[T::V<S>; LINE]]; 3],
    row: usize,
    vector: usize,
) -> [[T::V<S>; N]; ROWS] {
    let mut sets = [[[T::splat(simd, T::zeroed()); N]; ROWS]; SETS];
    sets[0] = tile;
    let [a, next, b] = strips.map(|strip| strip.as_chunks::<SETS>());
    for ((a, next), b) in a.0.iter().zip(next.0).zip(b.0) {
        for s in 0..SETS {
            let row_of = [&a[s..=s], &next[s..=s], &b[s..=s]];
            sets[s] = multiply::<T, S, ROWS, SPLIT, N, LINE>(simd, sets[s], row_of, row, vector);
        }
    }
    let mut tile = multiply::<T, S, ROWS, SPLIT, N, LINE>(simd, sets[0], [a.1, next.1, b.1], row, vector);
    for set in &sets[1..] {
        for r in 0..ROWS {
            for j in 0..N {
                tile[r][j] = T::vadd(simd, tile[r][j], set[r][j]);
            }
        }
    }
    tile
}
