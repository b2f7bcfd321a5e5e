//! The symmetric product P'P of packed panels: register tiles over the upper triangle, summed in `f64` across panels.
//!
//! A tile is `rows` x (`vectors` full vectors) of P'P held in registers while the rows of a panel pass by: one broadcast
//! serves all vectors of its row, one load serves all rows of its column. Both operands come from the same packed strips,
//! whose width is a multiple of the tile's rows and of its columns, so nothing is packed twice.

use super::panel::Panel;
use super::{Lane, run};
use crate::error::Result;
use crate::matrix::zeros;
use crate::threads::Team;
use bytemuck::cast_slice;
use pulp::{Simd, WithSimd};
use std::ops::Range;

/// Pieces that a team shares: enough that uneven threads finish together, each still some 100 us at d = 300.
const PIECES: usize = 32;

/// How an instruction set cuts the columns: tiles of `rows` x (`vectors` * `lanes`), strips of `strip` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) lanes: usize,
    pub(super) rows: usize,
    pub(super) vectors: usize,
    pub(super) strip: usize,
}

impl Shape {
    /// The shape of the level in use.
    #[must_use]
    pub fn of<T: Lane>() -> Self {
        run(Find::<T>(std::marker::PhantomData))
    }

    /// Number of strips that hold `cols` columns.
    #[must_use]
    pub fn strips(&self, cols: usize) -> usize {
        cols.div_ceil(self.strip)
    }

    #[inline(always)]
    pub(super) fn at<T: Lane, S: Simd>(_: S) -> Self {
        let lanes = T::lanes::<S>();
        let (rows, vectors, line) = if wide::<S>() { (8, 3, 3) } else { (6, 2, 6) };
        Self { lanes, rows, vectors, strip: line * lanes }
    }
}

/// Whether there are 32 registers of 512 bits: 8 x 3 accumulators fit, otherwise 6 x 2 in 16 registers.
#[inline(always)]
pub(super) fn wide<S: Simd>() -> bool {
    S::F64_LANES == 8
}

struct Find<T>(std::marker::PhantomData<T>);

impl<T: Lane> WithSimd for Find<T> {
    type Output = Shape;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Shape {
        Shape::at::<T, S>(simd)
    }
}

/// One tile: rows from `row` of strip `a`, vectors `vector .. vector + count` of strip `b`. A tall tile trades vectors
/// for rows: `rows * vectors` rows of one vector, in as many registers.
#[derive(Clone, Copy, Debug)]
struct Job {
    a: usize,
    row: usize,
    b: usize,
    vector: usize,
    count: usize,
    tall: bool,
}

/// The running sum of P'P over panels, its upper triangle cut into tiles.
#[derive(Debug)]
pub struct Tiles {
    cols: usize,
    shape: Shape,
    jobs: Vec<Job>,
    sums: Vec<f64>,
}

impl Tiles {
    /// All zero, for `cols` columns.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn new(cols: usize, shape: Shape) -> Result<Self> {
        let jobs = plan(cols, shape);
        let sums = zeros(jobs.len() * shape.rows * shape.vectors * shape.lanes, "the products of columns")?;
        Ok(Self { cols, shape, jobs, sums })
    }

    /// Back to zero.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds the sums of another product of as many columns.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!((self.cols, self.shape), (other.cols, other.shape));
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, v)| *sum += v);
    }

    /// Adds P'P of each panel, in order. With more than one thread the tiles are shared out; the sums do not depend on how.
    pub fn add<T: Lane>(&mut self, panels: &[Panel<T>], team: &Team) {
        let size = self.shape.rows * self.shape.vectors * self.shape.lanes;
        if team.threads() == 1 {
            return run(Add { panels, jobs: &self.jobs, sums: &mut self.sums });
        }
        let jobs = self.jobs.len().div_ceil(PIECES).max(1);
        let pieces = self.jobs.chunks(jobs).zip(self.sums.chunks_mut(jobs * size)).collect();
        team.map(pieces, |(jobs, sums)| run(Add { panels, jobs, sums }));
    }

    /// The upper triangle in pieces of rows: `piece(i, j, values)` gets entries (i, j), (i, j + 1), ... with j >= i.
    pub fn upper(&self, mut piece: impl FnMut(usize, usize, &[f64])) {
        self.touching(0..self.cols, |block| {
            for (i, values) in block.rows() {
                let from = i.max(block.left);
                piece(i, from, &values[from - block.left..]);
            }
        });
    }

    /// The blocks on and above the diagonal with an entry whose row or column lies in `lines`, and perhaps others.
    pub fn touching(&self, lines: Range<usize>, mut visit: impl FnMut(Block)) {
        let Shape { lanes, rows, vectors, strip } = self.shape;
        let touches = |from: usize, to: usize| from < lines.end && lines.start < to;
        for (job, tile) in self.jobs.iter().zip(self.sums.chunks_exact(rows * vectors * lanes)) {
            let (stride, height) = if job.tall { (lanes, rows * vectors) } else { (vectors * lanes, rows) };
            let (top, left) = (job.a * strip + job.row, job.b * strip + job.vector * lanes);
            let right = self.cols.min(left + job.count * lanes);
            let height = height.min(right - top);
            if touches(left, right) || touches(top, top + height) {
                visit(Block { top, left, height, width: right - left, values: tile, stride });
            }
        }
    }
}

/// Entries of P'P: rows `top ..` against columns `left ..`. What lies below the diagonal does not count.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The first row.
    pub top: usize,
    /// The first column.
    pub left: usize,
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
    values: &'a [f64],
    stride: usize,
}

impl<'a> Block<'a> {
    /// The rows by their numbers.
    pub fn rows(self) -> impl Iterator<Item = (usize, &'a [f64])> {
        let rows = self.values.chunks_exact(self.stride).take(self.height);
        (self.top..).zip(rows.map(move |row| &row[..self.width]))
    }

    /// The column j from above.
    pub fn column(self, j: usize) -> impl Iterator<Item = f64> {
        self.values[j - self.left..].iter().step_by(self.stride).take(self.height).copied()
    }
}

/// The tiles that touch the upper triangle, one pair of strips after the other so that both stay in the first cache.
fn plan(cols: usize, shape: Shape) -> Vec<Job> {
    let Shape { lanes, rows, vectors, strip } = shape;
    let mut jobs = Vec::with_capacity(cols.div_ceil(rows) * cols.div_ceil(vectors * lanes));
    for b in 0..shape.strips(cols) {
        let columns = b * strip..cols.min((b + 1) * strip);
        for a in 0..=b {
            let mut first = columns.start;
            while first < columns.end {
                // What does not fill a tile comes first, where fewest rows lie above the diagonal.
                let count = match (columns.end - first).div_ceil(lanes) % vectors {
                    0 => vectors,
                    odd => odd,
                };
                let block = first..columns.end.min(first + count * lanes);
                first = block.end;
                rows_of_block(&mut jobs, shape, (a, b), block);
            }
        }
    }
    jobs
}

/// The tiles of strip `a`'s rows against a block of strip `b`'s columns.
fn rows_of_block(jobs: &mut Vec<Job>, shape: Shape, (a, b): (usize, usize), block: Range<usize>) {
    let Shape { lanes, rows, vectors, strip } = shape;
    let end = block.end.min((a + 1) * strip);
    let mut top = a * strip;
    while top < end {
        let from = block.start.max(top / lanes * lanes); // vectors wholly below the diagonal are left out
        let count = (block.end - from).div_ceil(lanes);
        let tall = count == 1 && from == block.start && end - top > rows && strip % (rows * vectors) == 0;
        jobs.push(Job { a, row: top % strip, b, vector: from % strip / lanes, count, tall });
        top += if tall { rows * vectors } else { rows };
    }
}

/// sums += P'P of every panel, tile by tile.
struct Add<'a, T> {
    panels: &'a [Panel<T>],
    jobs: &'a [Job],
    sums: &'a mut [f64],
}

impl<T: Lane> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if wide::<S>() { self.tiles::<S, 8, 24, 3, 3>(simd) } else { self.tiles::<S, 6, 12, 2, 6>(simd) }
    }
}

impl<T: Lane> Add<'_, T> {
    #[inline(always)]
    fn tiles<S: Simd, const ROWS: usize, const TALL: usize, const VECTORS: usize, const LINE: usize>(self, simd: S) {
        let lanes = T::lanes::<S>();
        let line = VECTORS * lanes;
        for panel in self.panels {
            for (job, sums) in self.jobs.iter().zip(self.sums.chunks_exact_mut(ROWS * line)) {
                let (a, b) = ((panel.strip(job.a), job.row), (panel.strip(job.b), job.vector));
                match job.count {
                    1 if job.tall => tile::<T, S, TALL, 1, LINE>(simd, a, b, lanes, sums),
                    1 => tile::<T, S, ROWS, 1, LINE>(simd, a, b, line, sums),
                    2 => tile::<T, S, ROWS, 2, LINE>(simd, a, b, line, sums),
                    _ => tile::<T, S, ROWS, VECTORS, LINE>(simd, a, b, line, sums),
                }
            }
        }
    }
}

/// `sums[r][c]` += sum over the panel's rows of `a[row + r]` `b[vector * lanes + c]`, for `N` vectors.
#[inline(always)]
fn tile<T: Lane, S: Simd, const ROWS: usize, const N: usize, const LINE: usize>(
    simd: S,
    (a, row): (&[T], usize),
    (b, vector): (&[T], usize),
    line: usize,
    sums: &mut [f64],
) {
    let mut tile = [[T::splat(simd, T::zeroed()); N]; ROWS];
    let (a, b) = (T::vectors::<S>(a).0.as_chunks::<LINE>().0, T::vectors::<S>(b).0.as_chunks::<LINE>().0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (&cast_slice::<_, T>(a)[row..row + ROWS], &b[vector..vector + N]);
        for r in 0..ROWS {
            let x = T::splat(simd, a[r]);
            for j in 0..N {
                tile[r][j] = T::fma(simd, x, b[j], tile[r][j]);
            }
        }
    }
    for r in 0..ROWS {
        let row = tile[r]; // a copy: borrowing the tile itself would keep it in memory all along
        T::flush(simd, &row, &mut sums[r * line..(r + 1) * line]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::Pack;
    use super::super::panel::{Shift, Weights};
    use super::super::{Level, run_at};
    use super::*;
    use crate::matrix::MatrixView;

    /// Packs and multiplies at one level: the sums and the whole product.
    struct Whole<'a, T> {
        x: MatrixView<'a, T>,
        center: &'a [T],
        weights: Option<Weights<'a, T>>,
    }

    impl<T: Lane> WithSimd for Whole<'_, T> {
        type Output = (Vec<f64>, Vec<f64>);

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let (shape, cols) = (Shape::at::<T, S>(simd), self.x.cols());
            let shift = Shift::new(self.center.to_vec(), std::iter::repeat_n(T::of(2.0), cols), shape);
            let mut panel = Panel::new(self.x.rows(), cols, shape);
            Pack { x: self.x, shift: &shift, weights: self.weights, panel: &mut panel }.with_simd(simd);
            let mut tiles = Tiles::new(cols, shape).unwrap();
            Add { panels: std::slice::from_ref(&panel), jobs: &tiles.jobs, sums: &mut tiles.sums }.with_simd(simd);
            let mut product = vec![f64::NAN; cols * cols];
            tiles.upper(|i, j, values| product[i * cols + j..][..values.len()].copy_from_slice(values));
            (panel.sums().iter().map(|&s| s.into()).collect(), product)
        }
    }

    /// Small integers, exact in either type, at every level and around every boundary of lanes, tiles and strips.
    fn products_are_exact<T: Lane>() {
        let weights: Vec<T> = (0..61).map(|i| T::of(f64::from(i % 3 * (i % 3)))).collect();
        let roots: Vec<T> = (0..61).map(|i| T::of(f64::from(i % 3))).collect();
        for (rows, cols) in
            [(0, 3), (1, 1), (3, 2), (4, 6), (5, 7), (61, 13), (7, 23), (9, 24), (8, 25), (6, 49), (13, 101)]
        {
            let entry = |i: usize, j: usize| ((i * 7 + j * 5 + i * j) % 11) as f64;
            let data: Vec<T> = (0..rows * cols).map(|at| T::of(entry(at / cols, at % cols))).collect();
            let center: Vec<T> = (0..cols).map(|j| T::of((j % 5) as f64)).collect();
            let packed = |i: usize, j: usize| 2.0 * (entry(i, j) - (j % 5) as f64);
            for weighted in [false, true] {
                let weight = |i: usize| if weighted { ((i % 3) * (i % 3)) as f64 } else { 1.0 };
                for level in Level::available() {
                    let whole = Whole {
                        x: MatrixView::new(&data, rows, cols).unwrap(),
                        center: &center,
                        weights: weighted.then_some(Weights { weights: &weights, roots: &roots }),
                    };
                    let (sums, product) = run_at(level, whole).unwrap();
                    for i in 0..cols {
                        assert_eq!(sums[i], (0..rows).map(|r| weight(r) * packed(r, i)).sum::<f64>());
                        for j in i..cols {
                            let right: f64 = (0..rows).map(|r| weight(r) * packed(r, i) * packed(r, j)).sum();
                            assert_eq!(product[i * cols + j], right, "{rows} x {cols} ({i}, {j}) {level:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn products_are_exact_at_every_level() {
        products_are_exact::<f32>();
        products_are_exact::<f64>();
    }
}
