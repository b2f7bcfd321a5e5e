//! The fitted map on rows: scores, the way back, residuals. `z = U'(x - mu) / s`, `x_hat = s U z + mu`.

use super::ready::Ready;
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::simd::affine::{products, project};
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use bytemuck::try_cast_slice;
use std::borrow::Cow;
use std::ops::Range;

/// Rows that pass through the map together: a block of 784 columns and its images stay in the second cache.
const BLOCK_ROWS: usize = 64;
/// Rows of a piece of work for one thread.
const PIECE_ROWS: usize = 512;

/// The fitted arrays of a linear model, checked to fit each other. k components in d columns.
#[derive(Clone, Debug)]
pub struct LinearMap<'a, C: Element> {
    mean: &'a [f64],
    components: MatrixView<'a, C>,
    scale: Option<&'a [f64]>,
    inverse_scale: Option<Vec<f64>>,
    deviations: Option<Vec<f64>>,
}

impl<'a, C: Lane> LinearMap<'a, C> {
    /// `scale`: standard deviations that the rows are divided by, 0 = left out. `whitening`: explained variances and the
    /// standard deviations of the scores, which stand in where a variance has left the normal numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the fitted attribute that does not fit `components` (k x d).
    pub fn new(
        mean: &'a [f64],
        components: MatrixView<'a, C>,
        scale: Option<&'a [f64]>,
        whitening: Option<[&[f64]; 2]>,
    ) -> Result<Self> {
        let fits = |what, found: usize, wanted| {
            if found == wanted { Ok(()) } else { Err(Error::Shape { what, found, wanted }) }
        };
        fits("mean_", mean.len(), components.cols())?;
        fits("scale_", scale.map_or(mean.len(), <[f64]>::len), components.cols())?;
        for values in whitening.into_iter().flatten() {
            fits("explained_variance_", values.len(), components.rows())?;
        }
        let inverse_scale = scale.map(|s| s.iter().map(|&s| if s > 0.0 { 1.0 / s } else { 1.0 }).collect());
        let deviations = whitening.map(|[v, s]| v.iter().zip(s).map(|(&v, &s)| root(v, s)).collect());
        Ok(Self { mean, components, scale, inverse_scale, deviations })
    }

    /// Number of components.
    #[must_use]
    pub fn k(&self) -> usize {
        self.components.rows()
    }

    /// Number of columns of the rows.
    #[must_use]
    pub fn d(&self) -> usize {
        self.components.cols()
    }

    /// What is subtracted from the rows.
    pub(super) fn mean(&self) -> &'a [f64] {
        self.mean
    }

    /// The components as they are, k x d.
    pub(super) fn components(&self) -> MatrixView<'a, C> {
        self.components
    }

    /// What centred columns are divided by.
    pub(super) fn scale(&self) -> Option<&'a [f64]> {
        self.scale
    }

    /// The k x d matrix, row by row, with the standard deviations of the scores divided into its rows (0 for 0).
    pub(super) fn whitened_entries(&self) -> impl Iterator<Item = C> {
        let root = |c: usize| self.deviations.as_ref().map_or(1.0, |s| if s[c] > 0.0 { s[c] } else { f64::INFINITY });
        let places = (0..self.k()).flat_map(|c| (0..self.d()).map(move |j| (c, j)));
        places.map(move |(c, j)| C::of(self.entry(c, j) / root(c)))
    }

    /// (n, k) scores, row-major, written to `out`: `(x - mean) / scale . components`, over the root of the variance when
    /// whitening (0 where the variance is 0).
    ///
    /// # Errors
    /// [`Error::Shape`] when `x` has another number of columns, [`Error::NotFinite`], [`Error::Interrupted`].
    pub fn project<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.project_by(&self.ready(x.rows()), x, out, team)
    }

    /// [`project`](Self::project) with the components made [`ready`](Self::ready).
    pub(super) fn project_by<T: Lane>(&self, w: &Ready<T>, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        let rows = self.centered(x)?;
        let k = self.k();
        let piece = |(range, out): (Range<usize>, &mut [T])| -> Result<()> {
            team.check()?;
            project(&rows, range, w, out);
            if let Some(deviations) = &self.deviations {
                whiten(out, deviations);
            }
            Ok(())
        };
        if x.rows() <= PIECE_ROWS {
            piece((0..x.rows(), &mut *out))?; // a row takes no longer than listing the pieces
        } else {
            let pieces = pieces(x.rows()).into_iter().zip(out.chunks_mut((PIECE_ROWS * k).max(1))).collect();
            team.map(pieces, piece).into_iter().collect::<Result<()>>()?;
        }
        // A NaN or an infinity in a row makes every score of the row NaN or infinite: one look at each row tells.
        let suspicious = k == 0 || out.iter().step_by(k).any(|&z| !z.into().is_finite());
        if suspicious { x.check_finite("X") } else { Ok(()) }
    }

    /// (n, d) rows from scores: `z . components * scale + mean`, the scores first multiplied back when whitening.
    ///
    /// # Errors
    /// [`Error::Shape`] when `z` has another number of columns than there are components, [`Error::Interrupted`].
    pub fn back_project<T: Lane>(&self, z: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        let (k, d) = (self.k(), self.d());
        if z.cols() != k {
            return Err(Error::Shape { what: "a row of X", found: z.cols(), wanted: k });
        }
        z.check_finite("X")?;
        let (zeros, w) = (vec![0.0; k], self.transposed());
        let scores = Centered::new(z, &zeros, self.deviations.as_deref());
        let pieces = pieces(z.rows()).into_iter().zip(out.chunks_mut(PIECE_ROWS * d)).collect();
        let done = team.map(pieces, |(range, out): (Range<usize>, &mut [T])| {
            team.check()?;
            let mut lines = vec![0.0; range.len() * k];
            scores.pack_wide(range.clone(), &mut lines);
            let mut rows = vec![0.0; range.len() * d];
            products(&lines, &w, k, &mut rows);
            for (out, row) in out.chunks_exact_mut(d).zip(rows.chunks_exact(d)) {
                for (j, (out, y)) in out.iter_mut().zip(row).enumerate() {
                    *out = T::of(y * self.unit(j) + self.mean[j]);
                }
            }
            Ok(())
        });
        done.into_iter().collect()
    }

    /// (n, d) projections onto the affine subspace, written to `out`.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Interrupted`].
    pub fn reconstruct<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.images(x, out, team, |map, j, _, fitted| fitted * map.unit(j) + map.mean[j])
    }

    /// (n, d) x - x_hat, written to `out`: from the centred rows, so that an offset costs no digits.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Interrupted`].
    pub fn residuals<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.images(x, out, team, |map, j, centred, fitted| (centred - fitted) * map.unit(j))
    }

    /// |x - x_hat|^2 of each row, in the units of x.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Interrupted`].
    pub fn squared_residuals<T: Lane>(&self, x: MatrixView<T>, team: &Team) -> Result<Vec<f64>> {
        self.per_row(x, team, |block, i| {
            let parts = block.line(i).iter().zip(block.fitted_line(i)).enumerate();
            parts.map(|(j, (x, y))| ((x - y) * self.unit(j)).powi(2)).sum()
        })
    }

    /// Mean over the rows of |(x - x_hat) / scale|^2: in standardised units where there is a scale.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Interrupted`].
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
        x.check_finite("X")?;
        let (rows, w, back) = (self.centered(x)?, self.widened(), self.transposed());
        let parts = team.map(pieces(x.rows()), |range: Range<usize>| {
            team.check()?;
            let mut numbers = Vec::with_capacity(range.len());
            for range in blocks(range) {
                let block = Block::new(&rows, range, &w, &back);
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
        x.check_finite("X")?;
        let (rows, w, back, d) = (self.centered(x)?, self.widened(), self.transposed(), self.d());
        let pieces = pieces(x.rows()).into_iter().zip(out.chunks_mut(PIECE_ROWS * d)).collect();
        let done = team.map(pieces, |(range, out): (Range<usize>, &mut [T])| {
            team.check()?;
            for (range, out) in blocks(range).zip(out.chunks_mut(BLOCK_ROWS * d)) {
                let block = Block::new(&rows, range, &w, &back);
                let values = block.lines.iter().zip(&block.fitted).enumerate();
                for (out, (at, (x, y))) in out.iter_mut().zip(values) {
                    *out = T::of(entry(self, at % d, *x, *y));
                }
            }
            Ok(())
        });
        done.into_iter().collect()
    }

    fn centered<'b, T: Lane>(&'b self, x: MatrixView<'b, T>) -> Result<Centered<'b, T>> {
        if x.cols() != self.d() {
            return Err(Error::Shape { what: "a row of X", found: x.cols(), wanted: self.d() });
        }
        Ok(Centered::new(x, self.mean, self.inverse_scale.as_deref()))
    }

    /// Whether column `j` takes part: a constant column of standardised data does not.
    pub(super) fn lives(&self, j: usize) -> bool {
        self.scale.is_none_or(|s| s[j] > 0.0)
    }

    /// What one standardised unit of column `j` is in the units of x.
    pub(super) fn unit(&self, j: usize) -> f64 {
        self.scale.map_or(1.0, |s| if s[j] > 0.0 { s[j] } else { 1.0 })
    }

    /// The components for `rows` rows in all.
    pub(super) fn ready<T: Lane>(&self, rows: usize) -> Ready<'a, T> {
        Ready::new(self.lines(), rows)
    }

    /// The components in the type of the rows, row-major, without their entries on columns left out.
    fn lines<T: Lane>(&self) -> Cow<'a, [T]> {
        let same = self.components.as_slice().and_then(|s| try_cast_slice(s).ok());
        match same {
            Some(same) if T::DOUBLE == C::DOUBLE && self.scale.is_none() => Cow::Borrowed(same),
            _ => Cow::Owned(self.entries(|c, j| T::of(self.entry(c, j)))),
        }
    }

    fn widened(&self) -> Cow<'a, [f64]> {
        self.lines()
    }

    /// The components' transpose (d x k), row-major.
    fn transposed(&self) -> Vec<f64> {
        let (k, d) = (self.k(), self.d());
        (0..d * k).map(|at| self.entry(at % k, at / k)).collect()
    }

    fn entries<T>(&self, entry: impl Fn(usize, usize) -> T) -> Vec<T> {
        (0..self.k()).flat_map(|c| (0..self.d()).map(move |j| (c, j))).map(|(c, j)| entry(c, j)).collect()
    }

    /// Entry of component `c` on column `j`.
    pub(super) fn entry(&self, c: usize, j: usize) -> f64 {
        if self.lives(j) { self.components.at(c, j) } else { 0.0 }
    }
}

/// Some rows with their scores and their images in the span of the components, in standardised units.
pub(super) struct Block {
    rows: usize,
    d: usize,
    k: usize,
    lines: Vec<f64>,
    scores: Vec<f64>,
    fitted: Vec<f64>,
}

impl Block {
    fn new<T: Lane>(x: &Centered<T>, range: Range<usize>, w: &[f64], back: &[f64]) -> Self {
        let (rows, d) = (range.len(), x.cols());
        let k = w.len().checked_div(d).unwrap_or(0);
        let (mut lines, mut scores, mut fitted) = (vec![0.0; rows * d], vec![0.0; rows * k], vec![0.0; rows * d]);
        x.pack_wide(range, &mut lines);
        if k > 0 {
            products(&lines, w, d, &mut scores);
            products(&scores, back, k, &mut fitted);
        }
        Self { rows, d, k, lines, scores, fitted }
    }

    /// Row `i`, centred.
    pub(super) fn line(&self, i: usize) -> &[f64] {
        &self.lines[i * self.d..][..self.d]
    }

    /// Scores of row `i`.
    pub(super) fn scores(&self, i: usize) -> &[f64] {
        &self.scores[i * self.k..][..self.k]
    }

    /// Image of row `i`.
    pub(super) fn fitted_line(&self, i: usize) -> &[f64] {
        &self.fitted[i * self.d..][..self.d]
    }
}

/// Whether the root `s` of a fitted variance stands in for the variance `v`: where that has left the normal numbers. A `v`
/// that a user has set to 0 stands, for its root says that the fitted one was in their range.
pub(super) fn stands_in(v: f64, s: f64) -> bool {
    let in_range = 2.0 * f64::MIN_POSITIVE..=0.5 * f64::MAX; // by more than rounding
    !v.is_normal() && !in_range.contains(&(s * s))
}

/// The standard deviation of a variance `v` whose fitted root is `s`.
pub(super) fn root(v: f64, s: f64) -> f64 {
    if stands_in(v, s) { s } else { v.max(0.0).sqrt() }
}

/// Divides each line of scores by the deviations; a dead direction scores 0.
fn whiten<T: Lane>(scores: &mut [T], deviations: &[f64]) {
    for line in scores.chunks_exact_mut(deviations.len().max(1)) {
        for (z, &deviation) in line.iter_mut().zip(deviations) {
            *z = if deviation > 0.0 { T::of((*z).into() / deviation) } else { T::zeroed() };
        }
    }
}

fn pieces(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(PIECE_ROWS).map(|start| start..rows.min(start + PIECE_ROWS)).collect()
}

fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(BLOCK_ROWS).map(move |start| start..end.min(start + BLOCK_ROWS))
}
