//! Sums over the coordinates of every pair of rows: products, squared differences, absolute differences.
//!
//! A block is one strip of rows against another: every row of the first is spread over a vector and meets the vectors
//! of the second, with the sums in registers.

use super::Lane;
use super::points::CHUNK;
pub use super::points::{Packing, Points, SHARED, strip};
use pulp::Simd;
use std::ops::Range;

/// Strips `rows` of one set against strips `cols` of another.
#[derive(Clone, Debug)]
pub struct Group {
    /// Strips on the left.
    pub rows: Range<usize>,
    /// Strips on the right.
    pub cols: Range<usize>,
    /// Whether the two sets are one, and only blocks (a, b) with a <= b are wanted.
    pub upper: bool,
}

impl Group {
    /// The blocks (a, b) in the order in which they are stored.
    #[inline(always)]
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Self { rows, cols, upper } = self.clone();
        cols.flat_map(move |b| rows.clone().filter(move |&a| !upper || a <= b).map(move |a| (a, b)))
    }

    /// The groups of part `part` of `parts` of the upper triangle: every `parts`-th band of rows, so that parts are
    /// nearly equal. Bands are several strips high where there are many, so that they share what they read.
    pub fn triangle(strips: usize, size: usize, part: usize, parts: usize) -> impl Iterator<Item = Self> {
        let band = (strips / (2 * parts)).clamp(size, SHARED.max(size));
        let starts = (part * band..strips).step_by(parts * band);
        starts.flat_map(move |a| Self::cover(a..(a + band).min(strips), a..strips, true, size))
    }

    /// Every group of at most `size` x `size` blocks of `rows` x `cols`, none of them empty.
    pub fn cover(rows: Range<usize>, cols: Range<usize>, upper: bool, size: usize) -> impl Iterator<Item = Self> {
        let (row_end, col_end) = (rows.end, cols.end);
        let starts = cols.step_by(size).flat_map(move |b| rows.clone().step_by(size).map(move |a| (a, b)));
        starts.filter(move |&(a, b)| !upper || a < (b + size).min(col_end)).map(move |(a, b)| Self {
            rows: a..(a + size).min(row_end),
            cols: b..(b + size).min(col_end),
            upper,
        })
    }
}

/// How two coordinates meet.
pub trait Form {
    /// sum + (what `x` and `y` give)
    fn add<T: Lane, S: Simd>(simd: S, x: T::V<S>, y: T::V<S>, sum: T::V<S>) -> T::V<S>;
}

/// x y
#[derive(Clone, Copy, Debug)]
pub struct Product;

/// (x - y)^2: no centring needed, and exact for near points.
#[derive(Clone, Copy, Debug)]
pub struct Square;

/// |x - y|
#[derive(Clone, Copy, Debug)]
pub struct Absolute;

impl Form for Product {
    #[inline(always)]
    fn add<T: Lane, S: Simd>(simd: S, x: T::V<S>, y: T::V<S>, sum: T::V<S>) -> T::V<S> {
        T::fma(simd, x, y, sum)
    }
}

impl Form for Square {
    #[inline(always)]
    fn add<T: Lane, S: Simd>(simd: S, x: T::V<S>, y: T::V<S>, sum: T::V<S>) -> T::V<S> {
        let gap = T::vsub(simd, y, x);
        T::fma(simd, gap, gap, sum)
    }
}

impl Form for Absolute {
    #[inline(always)]
    fn add<T: Lane, S: Simd>(simd: S, x: T::V<S>, y: T::V<S>, sum: T::V<S>) -> T::V<S> {
        T::vadd(simd, sum, T::vabs(simd, T::vsub(simd, y, x)))
    }
}

/// The sums of every pair of a group: block after block of strip x strip values, row-major, in the order of
/// [`Group::blocks`]. `blocks` has room for them; rows of padding on the left are left as they are.
#[inline(always)]
pub fn pair_sums<F: Form, T: Lane, S: Simd>(
    simd: S,
    (rows, cols): (&Points<T>, &Points<T>),
    group: &Group,
    blocks: &mut [T],
) {
    let area = strip::<T>() * strip::<T>();
    for from in (0..rows.dim().max(1)).step_by(CHUNK) {
        let part = from..rows.dim().min(from + CHUNK);
        for ((a, b), block) in group.blocks().zip(blocks.chunks_exact_mut(area)) {
            let (x, y) = (rows.chunk(a, part.clone()), cols.chunk(b, part.clone()));
            let height = rows.rows_in(a);
            if T::lanes::<S>() * 3 == strip::<T>() {
                by_tiles::<F, T, S, 8, 3, 3>(simd, (x, height), y, from > 0, block);
            } else {
                by_tiles::<F, T, S, 6, 2, 6>(simd, (x, height), y, from > 0, block);
            }
        }
    }
}

/// One block by register tiles of `ROWS` x `VECS` vectors; rows that are left over meet `WIDE` vectors at a time.
#[inline(always)]
fn by_tiles<F: Form, T: Lane, S: Simd, const ROWS: usize, const VECS: usize, const WIDE: usize>(
    simd: S,
    (x, height): (&[T], usize),
    y: &[T],
    more: bool,
    block: &mut [T],
) {
    let line = strip::<T>() / T::lanes::<S>();
    let block = T::vectors_mut::<S>(block).0;
    let whole = height / ROWS * ROWS;
    for v in (0..line).step_by(VECS) {
        for row in (0..whole).step_by(ROWS) {
            tile::<F, T, S, ROWS, VECS>(simd, (x, row), (y, v), more, block);
        }
    }
    for row in whole..height {
        for v in (0..line).step_by(WIDE) {
            tile::<F, T, S, 1, WIDE>(simd, (x, row), (y, v), more, block);
        }
    }
}

/// `ROWS` rows of x from `row` on against `VECS` vectors of y from `v` on, set in the block or added to it.
#[inline(always)]
fn tile<F: Form, T: Lane, S: Simd, const ROWS: usize, const VECS: usize>(
    simd: S,
    (x, row): (&[T], usize),
    (y, v): (&[T], usize),
    more: bool,
    block: &mut [T::V<S>],
) {
    let line = strip::<T>() / T::lanes::<S>();
    let mut sum = [[T::splat(simd, T::of(0.0)); VECS]; ROWS];
    if more {
        for r in 0..ROWS {
            for j in 0..VECS {
                sum[r][j] = block[(row + r) * line + v + j];
            }
        }
    }
    for (x, y) in x.chunks_exact(strip::<T>()).zip(T::vectors::<S>(y).0.chunks_exact(line)) {
        let (x, y) = (&x[row..row + ROWS], &y[v..v + VECS]);
        for r in 0..ROWS {
            let x = T::splat(simd, x[r]);
            for j in 0..VECS {
                sum[r][j] = F::add::<T, S>(simd, x, y[j], sum[r][j]);
            }
        }
    }
    for r in 0..ROWS {
        for j in 0..VECS {
            block[(row + r) * line + v + j] = sum[r][j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::MatrixView;
    use crate::simd::{Level, run_at};
    use pulp::WithSimd;
    use std::marker::PhantomData;

    struct All<'a, F, T>(&'a Points<T>, &'a Points<T>, &'a Group, &'a mut [T], PhantomData<F>);

    impl<F: Form, T: Lane> WithSimd for All<'_, F, T> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            pair_sums::<F, T, S>(simd, (self.0, self.1), self.2, self.3);
        }
    }

    /// Small multiples of 1/8: every sum is exact in `f32`, so the tiles must agree with it bit for bit.
    fn numbers(count: usize, seed: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 97) as f64 / 8.0 - 6.0).collect()
    }

    fn check<F: Form, T: Lane>(n: usize, m: usize, d: usize, meet: impl Fn(f64, f64) -> f64) {
        let (x, y) = (numbers(n * d, 1), numbers(m * d, 2));
        let (x, y) = (MatrixView::new(&x, n, d).unwrap(), MatrixView::with_strides(&y, (m, d), (1, m)).unwrap());
        let (p, q) = (Points::<T>::pack(x, &Packing::default()), Points::<T>::pack(y, &Packing::default()));
        let size = strip::<T>();
        for level in Level::available() {
            for group in Group::cover(0..p.strips(), 0..q.strips(), false, 3) {
                let mut blocks = vec![T::of(f64::NAN); group.blocks().count() * size * size];
                run_at(level, All::<F, T>(&p, &q, &group, &mut blocks, PhantomData)).unwrap();
                for ((a, b), block) in group.blocks().zip(blocks.chunks(size * size)) {
                    for (i, row) in (a * size..n).zip(block.chunks(size)) {
                        for (j, got) in (b * size..m).zip(row) {
                            let right: f64 = (0..d).map(|k| meet(x.at(i, k), y.at(j, k))).sum();
                            assert_eq!((*got).into(), right, "{level:?} {n} {m} {d} {i} {j}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_pair_is_summed_at_every_level() {
        for (n, m, d) in [(1, 1, 1), (3, 50, 2), (50, 3, 65), (25, 49, 130), (0, 4, 3), (4, 4, 0), (100, 1, 64)] {
            check::<Product, f64>(n, m, d, |x, y| x * y);
            check::<Square, f64>(n, m, d, |x, y| (x - y) * (x - y));
            check::<Absolute, f64>(n, m, d, |x, y| (x - y).abs());
            check::<Product, f32>(n, m, d, |x, y| x * y);
            check::<Square, f32>(n, m, d, |x, y| (x - y) * (x - y));
            check::<Absolute, f32>(n, m, d, |x, y| (x - y).abs());
        }
    }

    #[test]
    fn groups_cover_each_block_once() {
        for (strips, size) in [(0, 1), (1, 4), (5, 1), (9, 4), (200, 1), (130, 4)] {
            let wanted: Vec<_> = (0..strips).flat_map(|a| (a..strips).map(move |b| (a, b))).collect();
            let whole: Vec<Group> = Group::cover(0..strips, 0..strips, true, size).collect();
            let parts: Vec<Group> = (0..3).flat_map(|part| Group::triangle(strips, size, part, 3)).collect();
            for groups in [whole, parts] {
                let mut seen: Vec<_> = groups.iter().flat_map(Group::blocks).collect();
                seen.sort_unstable();
                assert_eq!(seen, wanted);
            }
        }
    }
}
