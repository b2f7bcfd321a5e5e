//! How the columns of a symmetric product P'P are cut: into strips for the panels, into tiles for the registers.

use super::{Lane, run, run_narrow};
use pulp::{Simd, WithSimd};

/// Rows of P'P whose tiles are computed together, by one thread, before the next ones are. A multiple of every tile's
/// rows.
pub(super) const BAND: usize = 48;

/// Most that columns filled up to whole vectors may count of themselves, in tenths, before narrower vectors are taken.
const FILLED_TENTHS: usize = 11;

/// Rows of the short tiles, of one vector each, where there are 16 registers. With 32 there are none: full tiles,
/// compiled beside them, lost 5 % of their speed.
const SHORT: [usize; 2] = [2, 4];

/// How an instruction set cuts the columns: tiles of `rows` x (`vectors` * `lanes`), strips of `strip` columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) lanes: usize,
    pub(super) rows: usize,
    pub(super) vectors: usize,
    pub(super) strip: usize,
    /// Whether vectors have at most 256 bits.
    narrow: bool,
}

impl Shape {
    /// The shape of the level in use, or of a narrower one where its vectors would stay too empty.
    #[must_use]
    pub fn of<T: Lane>(cols: usize) -> Self {
        let widest = run(Find::<T>(std::marker::PhantomData));
        if cols.next_multiple_of(widest.lanes) * 10 > cols * FILLED_TENTHS {
            return Self { narrow: true, ..run_narrow(Find::<T>(std::marker::PhantomData)) };
        }
        widest
    }

    /// Runs a hot loop with the vectors of this shape.
    #[inline]
    pub(super) fn run<Op: WithSimd>(self, op: Op) -> Op::Output {
        if self.narrow { run_narrow(op) } else { run(op) }
    }

    /// Number of strips that hold `cols` columns.
    #[must_use]
    pub fn strips(&self, cols: usize) -> usize {
        cols.div_ceil(self.strip)
    }

    /// Whether its tiles fill 32 registers.
    fn is_wide(self) -> bool {
        self.vectors == 3
    }

    /// Entries of a tile.
    pub(super) fn tile(self) -> usize {
        self.rows * self.vectors * self.lanes
    }

    #[inline(always)]
    pub(super) fn at<T: Lane, S: Simd>(_: S) -> Self {
        let lanes = T::lanes::<S>();
        let (rows, vectors) = if wide::<S>() { (8, 3) } else { (6, 2) };
        Self { lanes, rows, vectors, strip: line::<T, S>() * lanes, narrow: false }
    }
}

/// Vectors in a row of a strip: those of a tile, or a vector a row of it where they would be fewer columns than its
/// rows.
#[inline(always)]
pub(super) fn line<T: Lane, S: Simd>() -> usize {
    match (wide::<S>(), T::lanes::<S>()) {
        (true, _) => 3,
        (false, 1 | 2) => 6,
        (false, _) => 2,
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

/// One tile: rows from `row` of strip `a` on, `split` of them, and the others from the start of strip `next`, `height`
/// in all, against vectors `vector .. vector + count` of strip `b`. A tall tile trades vectors for rows:
/// `rows * vectors` rows of one vector, in as many registers. A short one ends at the diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) a: usize,
    pub(super) row: usize,
    pub(super) split: usize,
    pub(super) next: usize,
    pub(super) b: usize,
    pub(super) vector: usize,
    pub(super) count: usize,
    pub(super) height: usize,
}

/// The tiles of the band from row `first` on that touch the upper triangle, one strip of columns after the other.
pub(super) fn plan(first: usize, cols: usize, shape: Shape) -> Vec<Job> {
    let Shape { lanes, rows, vectors, strip, .. } = shape;
    let mut jobs = Vec::new();
    for b in first / strip..shape.strips(cols) {
        let end = cols.min((b + 1) * strip);
        for left in (b * strip..end).step_by(vectors * lanes) {
            let right = end.min(left + vectors * lanes);
            let mut top = first;
            while top < right.min(first + BAND) {
                let from = left.max(top / lanes * lanes); // vectors wholly below the diagonal are left out
                let (a, row, count) = (top / strip, top % strip, (right - from).div_ceil(lanes));
                let within = |height: usize| height.min(strip - row);
                let most = rows * vectors;
                let fits = top + most <= first + BAND && tall_splits(most).contains(&within(most));
                let tall = count == 1 && left == from && right - top > rows && fits;
                let ends = |&height: &usize| count == 1 && right - top <= height && row + height <= strip;
                let short = SHORT.into_iter().find(ends).filter(|_| !shape.is_wide());
                let height = if tall { most } else { short.unwrap_or(rows) };
                let split = within(height);
                // Rows beyond strip b lie below the diagonal and do not count.
                let next = if split < height && a < b { a + 1 } else { a };
                jobs.push(Job { a, row, split, next, b, vector: from % strip / lanes, count, height });
                top += height;
            }
        }
    }
    jobs
}

/// How the rows of a tall tile may be cut between two strips.
fn tall_splits(rows: usize) -> [usize; 3] {
    [4, 8, rows]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every level's shape, for vectors of 64 to 512 bits, whether or not this machine has it.
    fn shapes() -> impl Iterator<Item = Shape> {
        let narrow = [(1, 6), (2, 6), (4, 2), (8, 2)].map(|(lanes, line)| (lanes, 6, 2, line));
        let wide = [8, 16].map(|lanes| (lanes, 8, 3, 3));
        let shapes = narrow.into_iter().chain(wide);
        shapes.map(|(lanes, rows, vectors, line)| Shape { lanes, rows, vectors, strip: line * lanes, narrow: false })
    }

    #[test]
    fn tiles_cover_the_upper_triangle_once() {
        for shape in shapes() {
            let Shape { lanes, rows, vectors, strip, .. } = shape;
            for cols in [1, 2, 5, 8, 9, 20, 47, 48, 50, 97, 100, 101, 150] {
                let mut seen = vec![0; cols * cols];
                for first in (0..cols).step_by(BAND) {
                    for job in plan(first, cols, shape) {
                        let (top, left) = (job.a * strip + job.row, job.b * strip + job.vector * lanes);
                        let height = job.height;
                        let tall = height == rows * vectors;
                        let cuts = if tall { tall_splits(height) } else { [2, 4, rows] };
                        let short = SHORT.contains(&height) && job.split == height && job.count == 1;
                        assert!(tall || short || height == rows);
                        assert!(cuts.contains(&job.split) && height - job.split <= strip, "{shape:?} {job:?}");
                        assert!(job.row + job.split <= strip && job.count <= if tall { 1 } else { vectors });
                        assert!(first <= top && top + height <= first + BAND);
                        let right = cols.min(left + job.count * lanes);
                        for i in top..right.min(top + height) {
                            // Rows that count lie in the strips that are read.
                            let read = if i - top < job.split { job.a } else { job.next };
                            assert_eq!(i / strip, read, "{shape:?} {job:?}");
                            (i.max(left)..right).for_each(|j| seen[i * cols + j] += 1);
                        }
                    }
                }
                for (at, &times) in seen.iter().enumerate() {
                    assert_eq!(times, i32::from(at % cols >= at / cols), "{shape:?} {cols}: {at}");
                }
            }
        }
    }
}
