//! The moments of two sets of rows together (Chan, Golub, LeVeque 1983).

use super::Moments;
use crate::covariance::scaled::row_start;
use crate::power::{exponent, power, scale};

/// One column of a merge: factors that bring both scatters to the common unit, and mu_b - mu_a in it.
#[derive(Clone, Copy)]
struct Step {
    ours: f64,
    theirs: f64,
    delta: f64,
}

impl Moments {
    /// Merges `other`, of the same number of columns.
    pub(super) fn add(&mut self, other: &Self) {
        if other.weight == 0.0 {
            return;
        }
        if self.weight == 0.0 {
            self.clone_from(other);
            return;
        }
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        let cross = self.weight * share;
        let steps: Vec<Step> = (0..self.dim).map(|j| self.step(other, j, cross)).collect();
        for i in 0..self.dim {
            let row = row_start(self.dim, i)..row_start(self.dim, i + 1);
            let Step { ours, theirs, delta } = steps[i];
            for ((s, o), step) in self.scatter[row.clone()].iter_mut().zip(&other.scatter[row]).zip(&steps[i..]) {
                *s = *s * (ours * step.ours) + o * (theirs * step.theirs) + cross * delta * step.delta;
            }
        }
        for j in 0..self.dim {
            self.move_mean(other, j, share);
        }
        (self.count, self.weight) = (self.count + other.count, weight);
        self.epsilon = self.epsilon.max(other.epsilon);
    }

    /// The common unit of column `j`, stored, and what the merge needs in it: large enough for cross delta^2 too.
    fn step(&mut self, other: &Self, j: usize, cross: f64) -> Step {
        let (before, (delta, half)) = (self.exponents[j], self.delta(other, j));
        let mut unit = before.max(other.exponents[j]);
        if delta != 0.0 {
            unit = unit.max(exponent(delta) + half + exponent(cross).div_euclid(2));
        }
        self.exponents[j] = unit;
        Step { ours: power(before - unit), theirs: power(other.exponents[j] - unit), delta: scale(delta, half - unit) }
    }

    /// mu_b - mu_a as (value, exponent): true = value 2^exponent, for the difference may exceed the largest number.
    fn delta(&self, other: &Self, j: usize) -> (f64, i32) {
        let delta = (other.mean_high[j] - self.mean_high[j]) + (other.mean_low[j] - self.mean_low[j]);
        if delta.is_finite() { (delta, 0) } else { (0.5 * other.mean_high[j] - 0.5 * self.mean_high[j], 1) }
    }

    /// mu += share (mu_b - mu), in two parts.
    fn move_mean(&mut self, other: &Self, j: usize, share: f64) {
        let (delta, half) = self.delta(other, j);
        let (high, low) = (self.mean_high[j], self.mean_low[j]);
        (self.mean_high[j], self.mean_low[j]) =
            if half == 0 { two_sum(high, low + share * delta) } else { (2.0 * (0.5 * high + share * delta), 0.0) };
    }
}

/// a + b as the nearest number and what it leaves (Knuth 1969).
pub(in crate::covariance) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}
