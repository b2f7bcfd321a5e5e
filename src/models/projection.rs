//! The fitted map on rows: scores and the way back. `z = U'(x - mu) / s`, `x_hat = s U z + mu`.

use super::deviations::{root, whiten};
use super::ready::Ready;
use super::wide_rows::{WideRow, are_plain};
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::memory;
use crate::simd::affine::{products, project, scratch_len};
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use bytemuck::try_cast_slice;
use std::borrow::Cow;
use std::ops::Range;

/// Rows of a piece of work for one thread.
pub(super) const PIECE_ROWS: usize = 512;

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
    /// `scale`: standard deviations that the rows are divided by, 0 = left out. `whitening`: explained variances and
    /// the standard deviations of the scores, which stand in where a variance has left the normal numbers.
    ///
    /// # Errors
    /// [`Error::Shape`] naming the fitted attribute that does not fit `components` (k x d), [`Error::Memory`].
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
        memory::check_matrices::<f64>(1, (1, scale.map_or(0, <[f64]>::len)), "the inverse of scale_")?;
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

    /// What centred columns are multiplied by: infinite where the inverse of a scale is no number.
    pub(super) fn inverse_scale(&self) -> Option<&[f64]> {
        self.inverse_scale.as_deref()
    }

    /// The k x d matrix, row by row, with the standard deviations of the scores divided into its rows (0 for 0).
    pub(super) fn whitened_entries(&self) -> impl Iterator<Item = C> {
        let root = |c: usize| self.deviations.as_ref().map_or(1.0, |s| if s[c] > 0.0 { s[c] } else { f64::INFINITY });
        let places = (0..self.k()).flat_map(|c| (0..self.d()).map(move |j| (c, j)));
        places.map(move |(c, j)| C::of(self.entry(c, j) / root(c)))
    }

    /// (n, k) scores, row-major, written to `out`: `(x - mean) / scale . components`, over the root of the variance
    /// when whitening (0 where the variance is 0).
    ///
    /// # Errors
    /// [`Error::Shape`] when `x` has another number of columns, [`Error::NotFinite`], [`Error::Interrupted`].
    pub fn project<T: Lane>(&self, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        self.project_by(&self.ready(x.rows()), x, out, team)
    }

    /// [`project`](Self::project) with the components made [`ready`](Self::ready).
    pub(super) fn project_by<T: Lane>(&self, w: &Ready<T>, x: MatrixView<T>, out: &mut [T], team: &Team) -> Result<()> {
        // The rows that threads centre at a time, and the parts of mean and scale.
        let scratch = scratch_len::<T>(x.rows().min(PIECE_ROWS), self.d()).saturating_mul(team.threads());
        memory::check::<T>(scratch.saturating_add(3 * self.d()), "the rows about the mean")?;
        let rows = self.centered(x)?;
        let k = self.k();
        if k == 0 || !self.inverse_scale.iter().all(|factors| are_plain::<T>(factors)) {
            x.check_finite("X")?;
            return self.project_wide(x, out, |_| true, team);
        }
        // Whether all scores that were looked at are finite. A NaN or an infinity in a row makes every score of the row
        // NaN or infinite, before it is divided: one look at each row tells.
        let piece = |(range, out): (Range<usize>, &mut [T])| -> Result<bool> {
            team.check()?;
            project(&rows, range, w, out);
            Ok(match &self.deviations {
                Some(deviations) => whiten(out, deviations),
                None => out.iter().step_by(k).all(|&z| z.into().is_finite()),
            })
        };
        let finite = if x.rows() <= PIECE_ROWS {
            piece((0..x.rows(), &mut *out))? // a row takes no longer than listing the pieces
        } else {
            let pieces = pieces(x.rows()).into_iter().zip(out.chunks_mut(PIECE_ROWS * k)).collect();
            let seen: Result<Vec<bool>> = team.map(pieces, piece).into_iter().collect();
            seen?.into_iter().all(|finite| finite)
        };
        if finite {
            return Ok(());
        }
        x.check_finite("X")?;
        self.project_wide(x, out, |line| line.iter().any(|&z| !z.into().is_finite()), team)
    }

    /// Writes the scores of those finite rows again whose scores are `lost`, whatever the range of `T`.
    #[cold]
    fn project_wide<T: Lane>(
        &self,
        x: MatrixView<T>,
        out: &mut [T],
        lost: impl Fn(&[T]) -> bool,
        team: &Team,
    ) -> Result<()> {
        WideRow::check_room(self.d())?;
        for (i, line) in out.chunks_exact_mut(self.k().max(1)).enumerate().filter(|(_, line)| lost(line)) {
            team.check()?;
            let Some(row) = WideRow::new(|j| x.at(i, j), self.mean, self.scale) else { continue };
            for (c, z) in line.iter_mut().enumerate() {
                *z = row.score(|j| self.entry(c, j), self.deviations.as_ref().map(|s| s[c]));
            }
        }
        Ok(())
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
        self.check_copy()?;
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

    /// Refuses a copy of the components, which the way back needs, where there is no room for it.
    pub(super) fn check_copy(&self) -> Result<()> {
        memory::check_matrices::<f64>(1, (self.k(), self.d()), "a copy of the components in float64")
    }

    pub(super) fn centered<'b, T: Lane>(&'b self, x: MatrixView<'b, T>) -> Result<Centered<'b, T>> {
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

    pub(super) fn widened(&self) -> Cow<'a, [f64]> {
        self.lines()
    }

    /// The components' transpose (d x k), row-major.
    pub(super) fn transposed(&self) -> Vec<f64> {
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

/// Rows in pieces of work for one thread.
pub(super) fn pieces(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(PIECE_ROWS).map(|start| start..rows.min(start + PIECE_ROWS)).collect()
}
