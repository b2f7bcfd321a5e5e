//! The moments of one chunk of rows: pilot, panels, tiles, and the correction for the pilot's distance from the mean.

use super::moments::{Moments, two_sum};
use super::pilot::{Pilot, Sample};
use super::product::Product;
use super::scaled::row_start;
use super::weights::{RowWeights, total};
use crate::error::Result;
use crate::matrix::{MatrixView, zeros};
use crate::power::scale;
use crate::simd::Lane;
use crate::simd::panel::{Panel, Weights};
use crate::threads::Team;
use std::mem::take;
use std::ops::Range;

/// The matrix, and how it is to be read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub(super) x: MatrixView<'a, T>,
    pub(super) weights: Option<&'a RowWeights<'a, T>>,
    pub(super) centered: bool,
}

/// Buffers that serve one chunk after the other.
pub(super) struct Scratch<T> {
    product: Product<T>,
    sums: Vec<f64>,
}

impl<T: Lane> Scratch<T> {
    /// For chunks of at most `rows` rows.
    pub(super) fn new(rows: usize, cols: usize, team: &Team) -> Result<Self> {
        Ok(Self { product: Product::new(rows, cols, team)?, sums: Vec::new() })
    }

    /// The moments of the rows in `range`.
    pub(super) fn moments(&mut self, source: Source<T>, range: Range<usize>, team: &Team) -> Result<Moments> {
        let x = source.x.rows_in(range.clone());
        let rows = source.weights.map(|w| w.rows(range.clone()));
        let mut sample = Sample::Spread;
        loop {
            let mut pilot = Pilot::of(x, rows, source.centered, sample, self.product.shape());
            self.accumulate(x, rows, &pilot, team)?;
            let mut moments =
                self.correct(&mut pilot, rows.map_or(x.rows() as f64, |w| total(w.weights)), source.centered)?;
            if moments.scatter_is_finite() && !(sample == Sample::Spread && pilot.lost(x, |j| moments.scatter_at(j, j)))
            {
                let (count, weight) = source.weights.map_or((x.rows() as u64, x.rows() as f64), |w| w.count(range));
                moments.set_rows(count, weight, source.weights.map_or(0, |w| w.level));
                return Ok(moments);
            }
            // Either the data are not finite, or the sample said too little about the units.
            x.check_finite("X")?;
            if sample == Sample::All {
                return Ok(moments);
            }
            sample = Sample::All;
        }
    }

    /// Fills the product with P'P and the sums with 1'P of the packed rows P.
    fn accumulate(&mut self, x: MatrixView<T>, rows: Option<Weights<T>>, pilot: &Pilot<T>, team: &Team) -> Result<()> {
        self.product.sums.clear();
        self.sums.clear();
        self.sums.resize(x.cols(), 0.0);
        let pack = |panel: &mut Panel<T>, range| panel.pack(&x, range, &pilot.shift, rows);
        let add = |panel: &Panel<T>| self.sums.iter_mut().zip(panel.sums()).for_each(|(sum, &s)| *sum += s.into());
        self.product.add(x.rows(), team, |rows| x.rows_in(rows), pack, add)
    }

    /// S = P'P - r r' / w with r = 1'P: the scatter about the mean instead of the pilot. Rows are counted by the caller.
    fn correct(&self, pilot: &mut Pilot<T>, weight: f64, centered: bool) -> Result<Moments> {
        let dim = self.sums.len();
        let mut scatter = zeros(row_start(dim, dim), "the scatter of X")?;
        let share = if centered && weight > 0.0 { 1.0 / weight } else { 0.0 };
        self.product.sums.upper(|i, j, values| {
            let by = self.sums[i] * share;
            let row = &mut scatter[row_start(dim, i) + j - i..][..values.len()];
            for ((s, &v), &r) in row.iter_mut().zip(values).zip(&self.sums[j..]) {
                *s = v - by * r;
            }
            if i == j && row[0] < 0.0 {
                row[0] = 0.0; // by rounding alone
            }
        });
        let mut mean = [vec![0.0; dim], vec![0.0; dim]];
        if centered {
            for j in 0..dim {
                let residual = scale(self.sums[j] * share, pilot.exponents[j]);
                (mean[0][j], mean[1][j]) = two_sum(pilot.shift.center()[j].into(), residual);
            }
        }
        Ok(Moments::from_parts(mean, take(&mut pilot.exponents), scatter, T::EPSILON))
    }
}
