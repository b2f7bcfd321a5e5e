//! The moments of two sets of rows together (Chan, Golub, LeVeque 1983).

use super::{Moments, near_one};
use crate::covariance::scaled::row_start;
use crate::error::{Error, Result};
use crate::power::{exponent, power, scale, two_sum};

/// One column of a merge: factors that bring both scatters to the common unit, and mu_b - mu_a in it.
#[derive(Clone, Copy)]
struct Step {
    ours: f64,
    theirs: f64,
    delta: f64,
}

impl Moments {
    /// Merges `other`, of the same number of columns, which errors call `what`; on an error nothing has changed.
    ///
    /// # Errors
    /// [`Error::Value`] for weights without a finite sum.
    pub(in crate::covariance) fn add(&mut self, other: &Self, what: &'static str) -> Result<()> {
        let weight = self.sum_of_weights(1.0, other, what)?;
        let (count, epsilon) = (self.count.saturating_add(other.count), self.epsilon.max(other.epsilon));
        if self.weight == 0.0 {
            self.clone_from(other);
        } else if other.weight > 0.0 {
            self.add_weighted(other, weight);
        }
        // Rows whose weight has faded to 0 have been seen all the same.
        (self.count, self.weight, self.epsilon) = (count, weight, epsilon);
        Ok(())
    }

    /// The weight of what is `kept` of this and of `other`.
    pub(in crate::covariance) fn sum_of_weights(&self, kept: f64, other: &Self, what: &'static str) -> Result<f64> {
        let sum = self.weight * kept + other.weight;
        if sum.is_finite() {
            return Ok(sum);
        }
        let found = format!("weights that sum to {sum} with those before");
        Err(Error::value(what, found, "light enough that all weights have a finite sum"))
    }

    /// [`add`](Self::add) where both have a weight, `weight` in all.
    fn add_weighted(&mut self, other: &Self, weight: f64) {
        let (kept, share) = (self.weight / weight, other.weight / weight);
        // The lighter may be so light that its share has lost its digits.
        let (cross, level) = near_one(self.weight.min(other.weight));
        let cross = cross * kept.max(share);
        let steps: Vec<Step> = (0..self.dim)
            .map(|j| {
                let (delta, half) = self.delta(other, j);
                self.step(j, other.extent(j), (delta, half + level), cross)
            })
            .collect();
        for i in 0..self.dim {
            let row = row_start(self.dim, i)..row_start(self.dim, i + 1);
            let Step { ours, theirs, delta } = steps[i];
            for ((s, o), step) in self.scatter[row.clone()].iter_mut().zip(&other.scatter[row]).zip(&steps[i..]) {
                *s = *s * ours * step.ours + o * theirs * step.theirs + cross * delta * step.delta;
            }
        }
        for j in 0..self.dim {
            self.move_mean(other, j, (kept, share));
        }
    }

    /// The moments about 0 instead of the mean: `sum w x x' = S + w mu mu'`.
    #[must_use]
    pub fn about_zero(&self) -> Self {
        let mut out = self.clone();
        let mean = |j: usize| (self.mean_high[j] + self.mean_low[j], 0);
        let steps: Vec<Step> = (0..self.dim).map(|j| out.step(j, None, mean(j), self.weight)).collect();
        for i in 0..self.dim {
            let row = row_start(self.dim, i)..row_start(self.dim, i + 1);
            let Step { ours, delta, .. } = steps[i];
            for (s, step) in out.scatter[row].iter_mut().zip(&steps[i..]) {
                *s = *s * ours * step.ours + self.weight * delta * step.delta;
            }
        }
        out.mean_high.fill(0.0);
        out.mean_low.fill(0.0);
        out
    }

    /// The exponent of what column `j` varies by, beside that of its unit, which may be a guess or what has faded
    /// since; `None` where it does not vary.
    fn extent(&self, j: usize) -> Option<(i32, i32)> {
        let square = self.scatter_at(j, j);
        (square > 0.0).then(|| (self.exponents[j] + exponent(square).div_euclid(2), self.exponents[j]))
    }

    /// The common unit of column `j`, stored, and what the merge needs in it: that of the larger of both scatters and
    /// of cross delta^2, so that neither leaves the range of numbers.
    fn step(&mut self, j: usize, theirs: Option<(i32, i32)>, (delta, half): (f64, i32), cross: f64) -> Step {
        let ours = self.extent(j);
        let apart = (delta != 0.0).then(|| exponent(delta) + half + exponent(cross).div_euclid(2));
        let extents = [ours.map(|o| o.0), theirs.map(|t| t.0), apart];
        let unit = extents.into_iter().flatten().max().unwrap_or(self.exponents[j]);
        self.exponents[j] = unit;
        let factor = |extent: Option<(i32, i32)>| extent.map_or(0.0, |(_, before)| power(before - unit));
        Step { ours: factor(ours), theirs: factor(theirs), delta: scale(delta, half - unit) }
    }

    /// mu_b - mu_a as (value, exponent): true = value 2^exponent, for the difference may exceed the largest number.
    fn delta(&self, other: &Self, j: usize) -> (f64, i32) {
        let delta = (other.mean_high[j] - self.mean_high[j]) + (other.mean_low[j] - self.mean_low[j]);
        if delta.is_finite() { (delta, 0) } else { (0.5 * other.mean_high[j] - 0.5 * self.mean_high[j], 1) }
    }

    /// mu = kept mu + share mu_b in two parts, as a step from the mean of the heavier: that of rows which hardly count
    /// may lie so far away that a step from there would lose the other.
    fn move_mean(&mut self, other: &Self, j: usize, (kept, share): (f64, f64)) {
        let (delta, half) = self.delta(other, j);
        let (from, step) = if kept >= share { (&*self, share * delta) } else { (other, -kept * delta) };
        let (high, low) = (from.mean_high[j], from.mean_low[j]);
        (self.mean_high[j], self.mean_low[j]) =
            if half == 0 { two_sum(high, low + step) } else { (2.0 * (0.5 * high + step), 0.0) };
    }
}
