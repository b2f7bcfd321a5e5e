//! The moments of one chunk of rows: pilot, panels, tiles, and the correction for the pilot's distance from the mean.

use super::fading::Fading;
use super::moments::Moments;
use super::pilot::{Pilot, Sample};
use super::product::Product;
use super::scaled::row_start;
use super::weights::{ChunkWeights, RowWeights, total};
use crate::error::Result;
use crate::matrix::{MatrixView, zeros};
use crate::power::{scale, two_sum};
use crate::simd::Lane;
use crate::simd::panel::{Panel, Weights};
use crate::threads::Team;
use std::mem::take;
use std::ops::Range;

/// Share of an epsilon of the scatter that rows too light to be summed with the others may add to it unseen.
const UNSEEN: f64 = 0.25;

/// The matrix, and how it is to be read.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, T> {
    pub(super) x: MatrixView<'a, T>,
    pub(super) weights: Option<RowWeights<'a>>,
    pub(super) centered: bool,
}

/// Buffers that serve one chunk after the other.
pub(super) struct Scratch<T> {
    product: Product<T>,
    sums: Vec<f64>,
    weights: ChunkWeights<T>,
}

impl<T: Lane> Scratch<T> {
    /// For chunks of at most `rows` rows.
    pub(super) fn new(rows: usize, cols: usize, team: &Team) -> Result<Self> {
        Ok(Self { product: Product::new(rows, cols, team)?, sums: Vec::new(), weights: ChunkWeights::default() })
    }

    /// The moments of the rows in `range`, and what they leave of those before.
    pub(super) fn moments(&mut self, source: Source<T>, range: Range<usize>, team: &Team) -> Result<Fading> {
        let x = source.x.rows_in(range.clone());
        let Some(rows) = source.weights else {
            let (mut moments, _) = self.of_rows(x, None, source.centered, team)?;
            moments.set_rows(x.rows() as u64, x.rows() as f64, 0);
            return Ok(Fading::new(moments, 1.0));
        };
        let mut weights = take(&mut self.weights);
        let kept = weights.fill(rows, range);
        weights.check_others(x)?;
        let (mut moments, mut blurred) = self.of_rows(x, Some(weights.taken()), source.centered, team)?;
        moments.set_rows(weights.count, weights.weight(), weights.level);
        blurred |= light_rows_count(x, &weights, &moments);
        if blurred {
            moments = self.of_bands(x, &mut weights, source.centered, team)?;
        }
        self.weights = weights;
        Ok(Fading::new(moments, kept))
    }

    /// The moments of rows of very different weights, merged from those of rows of similar ones: rows that hardly count
    /// may lie so far away that in their unit nothing is left of the others, or of themselves.
    fn of_bands(
        &mut self,
        x: MatrixView<T>,
        weights: &mut ChunkWeights<T>,
        centered: bool,
        team: &Team,
    ) -> Result<Moments> {
        let (mut whole, mut below) = (Moments::new(x.cols())?, i32::MAX);
        while let Some(band) = weights.band_below(below) {
            below = *band.start();
            weights.take(band);
            let (mut moments, _) = self.of_rows(x, Some(weights.taken()), centered, team)?;
            moments.set_rows(0, weights.weight(), weights.level);
            whole.merge(&moments)?;
        }
        whole.set_rows(weights.count, whole.weight(), 0);
        Ok(whole)
    }

    /// The moments of `x`, rows not yet counted, and whether weights blur them.
    fn of_rows(
        &mut self,
        x: MatrixView<T>,
        rows: Option<Weights<T>>,
        centered: bool,
        team: &Team,
    ) -> Result<(Moments, bool)> {
        // With weights every row is looked at, all the same.
        let mut sample = if rows.is_some() { Sample::All } else { Sample::Spread };
        loop {
            let mut pilot = Pilot::of(x, rows, centered, sample, self.product.shape());
            self.accumulate(x, rows, &pilot, team)?;
            let weight = rows.map_or(x.rows() as f64, |w| total(w.weights));
            let moments = self.correct(&mut pilot, weight, centered)?;
            let (square, finite) = (|j: usize| moments.square(j).0, moments.scatter_is_finite());
            if finite && !(sample == Sample::Spread && pilot.lost(x, square)) {
                let blurred = rows.is_some() && pilot.blurred(x.rows(), square);
                return Ok((moments, blurred));
            }
            // Either the data are not finite, or the sample said too little about the units.
            x.check_finite("X")?;
            if sample == Sample::All {
                return Ok((moments, rows.is_some()));
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

    /// S = P'P - r r' / w with r = 1'P: the scatter about the mean instead of the pilot. Rows are counted by the
    /// caller.
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

/// Whether the rows that were too light to be summed with the others count beside them, for they lie far away: w r^2
/// and UNSEEN eps S_jj are compared, w the weight of all of them and r the largest distance from the mean of the
/// others.
fn light_rows_count<T: Lane>(x: MatrixView<T>, weights: &ChunkWeights<T>, moments: &Moments) -> bool {
    let (mut weight, mut reach) = (0.0, Vec::new());
    let (mean, _) = moments.mean_parts();
    for (i, w) in weights.light() {
        weight += w;
        reach.resize(x.cols(), 0.0);
        reach.iter_mut().zip(mean).enumerate().for_each(|(j, (reach, mean))| {
            *reach = f64::max(*reach, (x.at(i, j) - mean).abs());
        });
    }
    let counts = |(j, &reach): (usize, &f64)| {
        let (square, unit) = moments.square(j);
        reach > 0.0 && weight * scale(reach, -unit).powi(2) >= UNSEEN * T::EPSILON * square
    };
    reach.iter().enumerate().any(counts)
}
