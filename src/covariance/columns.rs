//! Mean and centred sum of squares of each column in one read and O(d) memory: for the roads that never form a
//! d x d matrix.
//!
//! Chunks of rows are shifted by a pilot and put into power-of-two units, so that neither an offset nor a unit of 1e200
//! costs a digit; chunks merge by Chan, Golub and LeVeque (1983).

use super::pilot::{Pilot, Sample};
use crate::error::Result;
use crate::matrix::MatrixView;
use crate::memory;
use crate::power::{power, scale, two_sum};
use crate::simd::panel::Shift;
use crate::simd::tiling::Shape;
use crate::simd::{Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::ops::Range;

/// Rows of a chunk: as many as a pilot of the largest sample is a sixteenth of.
const CHUNK_ROWS: usize = 4096;
/// Columns of a piece of work: its running sums stay in the first cache.
const BLOCK_COLS: usize = 512;
/// Rows accumulated in the element type before they are added up in `f64`.
const FLUSH_ROWS: usize = 128;

/// Rows accumulated together, so that sums are loaded once for all of them.
const GROUP: usize = 4;

/// Numbers a column of its moments, and of a mean in two parts of the element type for those who subtract it.
const A_COLUMN: usize = 6;

/// First and second moments of each column.
#[derive(Clone, Debug)]
pub struct Columns {
    /// Number of rows.
    pub count: usize,
    /// Column means, rounded to `f64`.
    pub mean: Vec<f64>,
    /// What their rounding leaves.
    pub mean_rest: Vec<f64>,
    /// sum_i (x_ij - mean_j)^2 / 4^exponent_j
    pub squares: Vec<f64>,
    /// Binary exponent of each column's unit.
    pub exponents: Vec<i32>,
}

impl Columns {
    /// Reads `x` once (a chunk twice where its sample misleads about a unit). `center` off takes the moments about 0.
    ///
    /// # Errors
    /// [`crate::Error::NotFinite`] naming X, [`crate::Error::Memory`], [`crate::Error::Interrupted`].
    pub fn of<T: Lane>(x: MatrixView<T>, center: bool, team: &Team) -> Result<Self> {
        let (n, d) = (x.rows(), x.cols());
        let sets = n.div_ceil(CHUNK_ROWS).saturating_add(1); // of each chunk, and of all
        memory::check_matrices::<f64>(sets, (A_COLUMN, d), "the means and squares of the columns")?;
        let blocks: Vec<Range<usize>> = (0..d).step_by(BLOCK_COLS).map(|j| j..d.min(j + BLOCK_COLS)).collect();
        let chunks: Vec<Range<usize>> = (0..n).step_by(CHUNK_ROWS).map(|i| i..n.min(i + CHUNK_ROWS)).collect();
        let pieces = blocks.iter().flat_map(|cols| chunks.iter().map(|rows| (rows.clone(), cols.clone()))).collect();
        let parts = team.map(pieces, |(rows, cols): (Range<usize>, Range<usize>)| {
            team.check()?;
            Self::of_piece(x.rows_in(rows).columns_in(cols), center)
        });
        let mut all = Self::empty(n);
        let mut parts = parts.into_iter();
        for _ in &blocks {
            let mut block: Option<Self> = None;
            for part in parts.by_ref().take(chunks.len()) {
                match &mut block {
                    None => block = Some(part?),
                    Some(block) => block.merge(&part?, center),
                }
            }
            if let Some(block) = block {
                all.mean.extend(block.mean);
                all.mean_rest.extend(block.mean_rest);
                all.squares.extend(block.squares);
                all.exponents.extend(block.exponents);
            }
        }
        Ok(all)
    }

    fn empty(count: usize) -> Self {
        Self { count, mean: Vec::new(), mean_rest: Vec::new(), squares: Vec::new(), exponents: Vec::new() }
    }

    /// One chunk of rows, one block of columns.
    fn of_piece<T: Lane>(x: MatrixView<T>, center: bool) -> Result<Self> {
        let mut sample = Sample::Spread;
        loop {
            let pilot = Pilot::of(x, None, center, sample, Shape::of::<T>(x.cols()));
            let found = Self::about(&pilot, x, center)?;
            let finite = found.squares.iter().chain(&found.mean).all(|value| value.is_finite());
            if finite && !(sample == Sample::Spread && pilot.lost(x, |j| found.squares[j])) {
                return Ok(found);
            }
            // Either the data are not finite, or the sample said too little about the units.
            x.check_finite("X")?;
            if sample == Sample::All {
                return Ok(found);
            }
            sample = Sample::All;
        }
    }

    /// The moments of `x` from sums about the pilot.
    fn about<T: Lane>(pilot: &Pilot<T>, x: MatrixView<T>, center: bool) -> Result<Self> {
        let (n, d) = (x.rows(), x.cols());
        let (mut sums, mut squares) = (vec![0.0; d], vec![0.0; d]);
        // Rows that do not lie in memory as such are copied first.
        let apart = !x.has_contiguous_rows();
        let mut buffer = vec![T::of(0.0); if apart { FLUSH_ROWS.min(n) * d } else { 0 }];
        for start in (0..n).step_by(FLUSH_ROWS) {
            let range = start..n.min(start + FLUSH_ROWS);
            let rows = if apart { copied(x, range, &mut buffer)? } else { x.rows_in(range) };
            let mut part = (vec![T::of(0.0); d], vec![T::of(0.0); d]);
            run(Accumulate { rows, shift: &pilot.shift, sums: &mut part.0, squares: &mut part.1 });
            sums.iter_mut().zip(part.0).for_each(|(t, x)| *t += x.into());
            squares.iter_mut().zip(part.1).for_each(|(t, x)| *t += x.into());
        }
        let rows = n as f64;
        let (mut mean, mut mean_rest) = (vec![0.0; d], vec![0.0; d]);
        for j in 0..d {
            let offset = sums[j] / rows;
            if center {
                squares[j] -= sums[j] * offset;
                if squares[j] < 0.0 {
                    squares[j] = 0.0; // by rounding alone; what has left the range of numbers stays seen
                }
                (mean[j], mean_rest[j]) = two_sum(pilot.shift.center()[j].into(), scale(offset, pilot.exponents[j]));
            }
        }
        Ok(Self { count: n, mean, mean_rest, squares, exponents: pilot.exponents.clone() })
    }

    /// Adds the rows of `other`: S += S_b + n_a n_b / (n_a + n_b) delta^2, in the larger of the two units.
    fn merge(&mut self, other: &Self, center: bool) {
        let (a, b) = (self.count as f64, other.count as f64);
        for j in 0..self.mean.len() {
            let exponent = self.exponents[j].max(other.exponents[j]);
            let ours = self.squares[j] * power(2 * (self.exponents[j] - exponent));
            let theirs = other.squares[j] * power(2 * (other.exponents[j] - exponent));
            let rest = other.mean_rest[j] - self.mean_rest[j];
            let delta = if center { other.mean[j] - self.mean[j] + rest } else { 0.0 };
            let scaled = scale(delta, -exponent);
            self.squares[j] = ours + theirs + a * b / (a + b) * scaled * scaled;
            let (mean, rest) = two_sum(self.mean[j], delta * (b / (a + b)) + self.mean_rest[j]);
            (self.mean[j], self.mean_rest[j]) = (mean, rest);
            self.exponents[j] = exponent;
        }
        self.count += other.count;
    }
}

/// The rows in `range`, laid one after the other in `buffer`.
fn copied<'b, T: Lane>(x: MatrixView<T>, range: Range<usize>, buffer: &'b mut [T]) -> Result<MatrixView<'b, T>> {
    let (rows, cols) = (range.len(), x.cols());
    let lines = &mut buffer[..rows * cols];
    x.copy_rows(range, lines);
    MatrixView::new(lines, rows, cols)
}

/// Sums and sums of squares of the shifted columns of contiguous rows.
struct Accumulate<'a, T> {
    rows: MatrixView<'a, T>,
    shift: &'a Shift<T>,
    sums: &'a mut [T],
    squares: &'a mut [T],
}

impl<T: Lane> WithSimd for Accumulate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let grouped = self.rows.rows() / GROUP * GROUP;
        (0..grouped).step_by(GROUP).for_each(|first| self.group::<S, GROUP>(simd, first));
        (grouped..self.rows.rows()).for_each(|first| self.group::<S, 1>(simd, first));
    }
}

impl<T: Lane> Accumulate<'_, T> {
    /// Adds `N` rows from `first`, in order.
    #[inline(always)]
    fn group<S: Simd, const N: usize>(&mut self, simd: S, first: usize) {
        let rows: [_; N] = from_fn(|r| T::vectors::<S>(self.rows.row(first + r).unwrap_or_default()));
        let (unit, unit_tail) = T::vectors::<S>(self.shift.units());
        let (offset, offset_tail) = T::vectors::<S>(self.shift.offsets());
        let (sums, sums_tail) = T::vectors_mut::<S>(self.sums);
        let (squares, squares_tail) = T::vectors_mut::<S>(self.squares);
        let vectors = rows.map(|(row, _)| &row[..sums.len()]);
        let columns = sums.iter_mut().zip(squares).zip(unit).zip(offset).enumerate();
        for (at, (((sum, square), &unit), &offset)) in columns {
            let mut running = (*sum, *square);
            for row in vectors {
                let v = T::fma(simd, row[at], unit, offset);
                running = (T::vadd(simd, running.0, v), T::fma(simd, v, v, running.1));
            }
            (*sum, *square) = running;
        }
        let columns = sums_tail.iter_mut().zip(squares_tail).zip(unit_tail).zip(offset_tail).enumerate();
        for (at, (((sum, square), &unit), &offset)) in columns {
            for (_, row) in rows {
                let v = row[at] * unit + offset;
                *sum = *sum + v;
                *square = v * v + *square;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn of(data: &[f64], cols: usize) -> Columns {
        Columns::of(MatrixView::new(data, data.len() / cols, cols).unwrap(), true, &Team::solo()).unwrap()
    }

    #[test]
    fn an_offset_and_a_unit_cost_nothing() {
        // 0..n-1: mean (n-1)/2, sum of squares n (n^2-1) / 12, both exact.
        let n = 10_000;
        let rows = f64::from(n);
        let right = rows * (rows * rows - 1.0) / 12.0;
        for (offset, unit) in [(0.0, 1.0), (2f64.powi(40), 1.0), (0.0, 2f64.powi(900)), (0.0, 2f64.powi(-1000))] {
            let data: Vec<f64> = (0..n).map(|i| (f64::from(i) + offset) * unit).collect();
            let got = of(&data, 1);
            assert_eq!(got.mean[0], ((rows - 1.0) / 2.0 + offset) * unit);
            let squares = got.squares[0] * (2f64.powi(got.exponents[0]) / unit).powi(2);
            assert!((squares / right - 1.0).abs() < 1e-14, "{squares} {right}");
        }
    }

    #[test]
    fn misleading_first_rows_are_found_out() {
        let mut data = vec![0.0; 600];
        data[500] = 3e-200;
        let got = of(&data, 1);
        let squares = got.squares[0] * (2f64.powi(got.exponents[0]) / 3e-200).powi(2);
        assert!((squares - (1.0 - 1.0 / 600.0)).abs() < 1e-13, "{squares}");
        data[500] = 3e200;
        assert!(of(&data, 1).squares[0].is_finite());
    }

    #[test]
    fn layouts_agree_and_bad_values_are_named() {
        let data: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 11)).collect();
        let x = MatrixView::new(&data, 20, 3).unwrap();
        let mut columns = vec![0.0; 60];
        (0..60).for_each(|i| columns[(i % 3) * 20 + i / 3] = data[i]);
        let f = MatrixView::with_strides(&columns, (20, 3), (1, 20)).unwrap();
        let (a, b) = (Columns::of(x, true, &Team::solo()).unwrap(), Columns::of(f, true, &Team::solo()).unwrap());
        assert_eq!((a.mean, a.squares), (b.mean, b.squares));
        columns[7] = f64::NAN;
        let f = MatrixView::with_strides(&columns, (20, 3), (1, 20)).unwrap();
        assert_eq!(Columns::of(f, true, &Team::solo()).unwrap_err(), Error::NotFinite { what: "X", nan: true });
    }
}
