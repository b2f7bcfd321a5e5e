//! What a linear map leaves of the rows: images, residuals and their squares. `x_hat = s U z + mu`.

use super::block::Block;
use super::projection::{LinearMap, PIECE_ROWS, pieces};
use crate::error::Result;
use crate::matrix::MatrixView;
use crate::memory;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use std::ops::Range;

/// Rows that pass through the map together: a block of 784 columns and its images stay in the second cache.
const BLOCK_ROWS: usize = 64;

impl<C: Lane> LinearMap<'_, C> {
    /// (n, d) projections onto the affine subspace, written to `out`.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::Interrupted`].
    pub fn reconstruct<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.images(x, out, team, |map, j, _, fitted| fitted * map.unit(j) + map.mean()[j])
    }

    /// (n, d) x - x_hat, written to `out`: from the centred rows, so that an offset costs no digits.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::Interrupted`].
    pub fn residuals<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.images(x, out, team, |map, j, centred, fitted| (centred - fitted) * map.unit(j))
    }

    /// |x - x_hat|^2 of each row, in the units of x.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::Interrupted`].
    pub fn squared_residuals<T: Lane>(&self, x: MatrixView<T>, team: &Team) -> Result<Vec<f64>> {
        self.per_row(x, team, |block, i| {
            let parts = block.line(i).iter().zip(block.fitted_line(i)).enumerate();
            parts.map(|(j, (x, y))| ((x - y) * self.unit(j)).powi(2)).sum()
        })
    }

    /// Mean over the rows of |(x - x_hat) / scale|^2: in standardised units where there is a scale.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::Interrupted`].
    pub fn reconstruction_error<T: Lane>(&self, x: MatrixView<T>, team: &Team) -> Result<f64> {
        let squares = self.per_row(x, team, |block, i| {
            let parts = block.line(i).iter().zip(block.fitted_line(i)).enumerate();
            parts.filter(|(j, _)| self.lives(*j)).map(|(_, (x, y))| (x - y).powi(2)).sum()
        })?;
        Ok(squares.iter().sum::<f64>() / squares.len() as f64)
    }

    /// A number for each row from its centred values, scores and image, in row order.
    pub(super) fn per_row<T: Lane>(
        &self,
        x: MatrixView<T>,
        team: &Team,
        number: impl Fn(&Block, usize) -> f64 + Sync + Send,
    ) -> Result<Vec<f64>> {
        memory::check::<f64>(x.rows(), "the result")?;
        self.check_copy()?;
        x.check_finite("X")?;
        let (rows, w, back) = (self.centered(x)?, self.widened(), self.transposed());
        let parts = team.map(pieces(x.rows()), |range: Range<usize>| {
            team.check()?;
            let mut numbers = Vec::with_capacity(range.len());
            for range in blocks(range) {
                let block = self.block(&rows, range, &w, &back);
                numbers.extend((0..block.rows).map(|i| number(&block, i)));
            }
            Ok(numbers)
        });
        let parts: Result<Vec<Vec<f64>>> = parts.into_iter().collect();
        Ok(parts?.concat())
    }

    /// Writes `entry(j, centred, fitted)` for every entry of every row.
    fn images<T: Lane>(
        &self,
        x: MatrixView<T>,
        out: &mut [T],
        team: &Team,
        entry: impl Fn(&Self, usize, f64, f64) -> f64 + Sync + Send,
    ) -> Result<()> {
        self.check_copy()?;
        x.check_finite("X")?;
        let (rows, w, back, d) = (self.centered(x)?, self.widened(), self.transposed(), self.d());
        let pieces = pieces(x.rows()).into_iter().zip(out.chunks_mut(PIECE_ROWS * d)).collect();
        let done = team.map(pieces, |(range, out): (Range<usize>, &mut [T])| {
            team.check()?;
            for (range, out) in blocks(range).zip(out.chunks_mut(BLOCK_ROWS * d)) {
                let block = self.block(&rows, range, &w, &back);
                let values = block.lines.iter().zip(&block.fitted).enumerate();
                for (out, (at, (x, y))) in out.iter_mut().zip(values) {
                    *out = T::of(entry(self, at % d, *x, *y));
                }
            }
            Ok(())
        });
        done.into_iter().collect()
    }

    /// Some rows, centred and in standardised units. Where the inverse of a deviation is no number they are divided by
    /// it.
    fn block<T: Lane>(&self, x: &Centered<T>, range: Range<usize>, w: &[f64], back: &[f64]) -> Block {
        let (d, factors) = (self.d(), self.inverse_scale().unwrap_or_default());
        let mut lines = vec![0.0; range.len() * d];
        x.pack_wide(range.clone(), &mut lines);
        for j in (0..factors.len()).filter(|&j| factors[j].is_infinite()) {
            for (i, line) in range.clone().zip(lines.chunks_exact_mut(d)) {
                line[j] = (x.raw().at(i, j) - self.mean()[j]) / self.unit(j);
            }
        }
        Block::new(lines, d, w, back)
    }
}

fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(BLOCK_ROWS).map(move |start| start..end.min(start + BLOCK_ROWS))
}
