//! The symmetric product P'P of packed panels: register tiles over the upper triangle, summed in `f64` across panels.
//!
//! Both operands of a tile come from the same packed strips, so nothing is packed twice. A strip is as wide as a tile,
//! and the rows of a tile may begin in one strip and end in the next: so the strip whose columns are loaded and the few
//! that are broadcast to it fit the first cache together.

use super::Lane;
use super::mirror::mirror;
use super::panel::Panel;
use super::prefetch::Ahead;
use super::tile::{Operands, TURN};
use super::tiling::{BAND, Job, Shape, line, plan, wide};
use crate::error::Result;
use crate::matrix::{Element, MatrixView, room, zeros};
use crate::memory;
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Entries of the largest tile: eight rows of three vectors of 16.
const MOST: usize = 8 * 3 * 16;

/// The running sum of P'P over panels: its upper triangle, tile by tile.
#[derive(Debug)]
pub struct CrossProduct {
    cols: usize,
    shape: Shape,
    bands: Vec<Band>,
}

/// Some rows of P'P: their tiles, and the sums of each, none before the first panel.
#[derive(Debug)]
struct Band {
    first: usize,
    jobs: Vec<Job>,
    sums: Vec<f64>,
}

impl CrossProduct {
    /// Of no panel, for `cols` columns.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn new(cols: usize, shape: Shape) -> Result<Self> {
        let what = "the products of columns";
        memory::check::<f64>(cols.saturating_mul(cols) / 2, what)?; // all of it, before some is taken
        let bands = (0..cols).step_by(BAND).map(|first| Band::new(first, cols, shape, what));
        Ok(Self { cols, shape, bands: bands.collect::<Result<_>>()? })
    }

    /// Back to no panel.
    pub fn clear(&mut self) {
        self.bands.iter_mut().for_each(|band| band.sums.clear());
    }

    /// Adds the sums of another product of as many columns.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!((self.cols, self.shape), (other.cols, other.shape));
        for (band, other) in self.bands.iter_mut().zip(&other.bands) {
            let known = band.sums.len().min(other.sums.len());
            band.sums.iter_mut().zip(&other.sums).for_each(|(sum, v)| *sum += v);
            band.sums.extend_from_slice(&other.sums[known..]);
        }
    }

    /// Adds P'P of each panel, in order. With more than one thread the bands are shared out; the sums do not depend on
    /// how. The rows that are packed `next` are sent for meanwhile.
    pub fn add<T: Lane>(&mut self, panels: &[Panel<T>], next: MatrixView<T>, team: &Team) {
        let shape = self.shape;
        let (all, mut done) = (self.bands.iter().map(|band| band.jobs.len()).sum::<usize>(), 0);
        let share = |jobs| next.rows() * jobs / all;
        let bands = self.bands.iter_mut().map(|band| {
            let from = share(done);
            done += band.jobs.len();
            (band, next.rows_in(from..share(done)))
        });
        team.map(bands.collect(), |(Band { jobs, sums, .. }, next): (&mut Band, MatrixView<T>)| {
            shape.run(Add { panels, jobs, sums, next });
        });
    }

    /// The upper triangle in pieces of rows: `piece(i, j, values)` gets entries (i, j), (i, j + 1), ... with j >= i.
    pub fn upper(&self, mut piece: impl FnMut(usize, usize, &[f64])) {
        self.bands.iter().for_each(|band| band.pieces(self.cols, self.shape, &mut piece));
    }

    /// The whole symmetric matrix, which the user knows as `what`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory).
    pub fn whole(&self, what: &'static str, team: &Team) -> Result<Vec<f64>> {
        let n = self.cols;
        let mut matrix = zeros(n.saturating_mul(n), what)?;
        let bands = self.bands.iter().zip(matrix.chunks_mut((BAND * n).max(1))).collect();
        team.map(bands, |(band, lines): (&Band, &mut [f64])| {
            band.pieces(n, self.shape, &mut |i, j, values: &[f64]| {
                // Too short for a call of memcpy.
                lines[(i - band.first) * n + j..].iter_mut().zip(values).for_each(|(entry, &v)| *entry = v);
            });
        });
        mirror(n, &mut matrix, team);
        Ok(matrix)
    }
}

/// The upper triangle of P'P over all panels, written to the row-major cols x cols `matrix` a band of rows at a time,
/// so that no sums of the whole are held. `finish(i, line)` then gets row i from the diagonal on, while it is near.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory), [`Error::Interrupted`](crate::Error::Interrupted).
pub fn upper_into<T: Lane, U: Element>(
    panels: &[Panel<T>],
    shape: Shape,
    (cols, matrix): (usize, &mut [U]),
    finish: impl Fn(usize, &mut [U]) + Sync + Send,
    team: &Team,
) -> Result<()> {
    let bands = (0..cols).step_by(BAND).zip(matrix.chunks_mut((BAND * cols).max(1))).collect();
    let done = team.map(bands, |(first, rows): (usize, &mut [U])| {
        team.check()?;
        let mut band = Band::new(first, cols, shape, "the products of rows")?;
        shape.run(Add { panels, jobs: &band.jobs, sums: &mut band.sums, next: MatrixView::empty(0) });
        band.pieces(cols, shape, &mut |i, j, values: &[f64]| {
            rows[(i - first) * cols + j..].iter_mut().zip(values).for_each(|(entry, &v)| *entry = U::of(v));
        });
        for (i, row) in (first..).zip(rows.chunks_exact_mut(cols)) {
            finish(i, &mut row[i..]);
        }
        Ok(())
    });
    done.into_iter().collect()
}

impl Band {
    /// The band of rows from `first` on, of no panel.
    fn new(first: usize, cols: usize, shape: Shape, what: &'static str) -> Result<Self> {
        let jobs = plan(first, cols, shape);
        let sums = room(jobs.len() * shape.tile(), what)?;
        Ok(Self { first, jobs, sums })
    }

    /// The rows of its tiles, each from the diagonal or the tile's first column on.
    fn pieces(&self, cols: usize, shape: Shape, piece: &mut impl FnMut(usize, usize, &[f64])) {
        let Shape { lanes, rows, vectors, strip, .. } = shape;
        for (job, tile) in self.jobs.iter().zip(self.sums.chunks_exact(shape.tile())) {
            let height = job.height;
            let stride = if height == rows * vectors { lanes } else { vectors * lanes };
            let (top, left) = (job.a * strip + job.row, job.b * strip + job.vector * lanes);
            let right = cols.min(left + job.count * lanes);
            for (i, values) in (top..right.min(top + height)).zip(tile.chunks_exact(stride)) {
                let from = i.max(left);
                piece(i, from, &values[from - left..right - left]);
            }
        }
    }
}

/// sums += P'P of every panel, tile by tile.
struct Add<'a, T> {
    panels: &'a [Panel<T>],
    jobs: &'a [Job],
    sums: &'a mut Vec<f64>,
    /// Rows to be sent for meanwhile.
    next: MatrixView<'a, T>,
}

impl<T: Lane> WithSimd for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match line::<T, S>() {
            3 => self.tiles::<S, 8, 24, 3, 3, 1>(simd),
            2 => self.tiles::<S, 6, 12, 2, 2, 2>(simd),
            _ => self.tiles::<S, 6, 12, 2, 6, 2>(simd),
        }
    }
}

impl<T: Lane> Add<'_, T> {
    /// `SETS` sets of sums for a tile of one vector, of which only few registers are in use.
    #[inline(always)]
    fn tiles<
        S: Simd,
        const ROWS: usize,
        const TALL: usize,
        const VECTORS: usize,
        const LINE: usize,
        const SETS: usize,
    >(
        self,
        simd: S,
    ) {
        let lanes = T::lanes::<S>();
        let line = VECTORS * lanes;
        let tile = ROWS * line;
        let turns = |panel: &Panel<T>| if wide::<S>() { panel.rows.div_ceil(TURN) } else { 1 };
        let calls = self.panels.iter().map(turns).sum::<usize>() * self.jobs.len();
        let ahead = &mut Ahead::new(self.next, calls);
        for panel in self.panels {
            for (at, job) in self.jobs.iter().enumerate() {
                if self.sums.len() < (at + 1) * tile {
                    self.sums.extend_from_slice(&[0.0; MOST][..tile]);
                }
                let sums = &mut self.sums[at * tile..][..tile];
                let a = [panel.strip(job.a), panel.strip(job.next)];
                let operands = Operands { a, row: job.row, b: panel.strip(job.b), vector: job.vector };
                let Job { height, split, count, .. } = *job;
                match (height, split, count) {
                    (2, ..) if !wide::<S>() => operands.tile::<S, 2, 2, 1, LINE, 4>(simd, line, sums, ahead),
                    (4, ..) if !wide::<S>() => operands.tile::<S, 4, 4, 1, LINE, 2>(simd, line, sums, ahead),
                    (_, 4, _) if height == TALL => operands.tile::<S, TALL, 4, 1, LINE, 1>(simd, lanes, sums, ahead),
                    (_, 8, _) if height == TALL => operands.tile::<S, TALL, 8, 1, LINE, 1>(simd, lanes, sums, ahead),
                    _ if height == TALL => operands.tile::<S, TALL, TALL, 1, LINE, 1>(simd, lanes, sums, ahead),
                    (_, 2, 1) => operands.tile::<S, ROWS, 2, 1, LINE, SETS>(simd, line, sums, ahead),
                    (_, 2, _) => operands.tile::<S, ROWS, 2, VECTORS, LINE, 1>(simd, line, sums, ahead),
                    (_, 4, 1) => operands.tile::<S, ROWS, 4, 1, LINE, SETS>(simd, line, sums, ahead),
                    (_, 4, _) => operands.tile::<S, ROWS, 4, VECTORS, LINE, 1>(simd, line, sums, ahead),
                    (.., 1) => operands.tile::<S, ROWS, ROWS, 1, LINE, SETS>(simd, line, sums, ahead),
                    (.., 2) => operands.tile::<S, ROWS, ROWS, 2, LINE, 1>(simd, line, sums, ahead),
                    _ => operands.tile::<S, ROWS, ROWS, VECTORS, LINE, 1>(simd, line, sums, ahead),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pack::Pack;
    use super::super::panel::{Shift, Weights};
    use super::super::{Level, run_at};
    use super::*;

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
            let mut product = CrossProduct::new(cols, shape).unwrap();
            for Band { jobs, sums, .. } in &mut product.bands {
                Add { panels: std::slice::from_ref(&panel), jobs, sums, next: self.x }.with_simd(simd);
            }
            (panel.sums().iter().map(|&s| s.into()).collect(), product.whole("the product", &Team::solo()).unwrap())
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
                            assert_eq!(product[j * cols + i], right);
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
