//! Blocks of centred kernels: k_ij less a shift of its row and one of its column.

use super::source::Source;
use super::statistic::{Estimator, Place};
use crate::simd::pairs::{Group, strip};
use pulp::Simd;

/// What centring subtracts from one kernel, its pilot included.
pub(super) struct Shifts {
    /// One a row, half the pilot in each; padded with zeros to whole strips.
    values: Vec<f64>,
    samples: usize,
    estimator: Estimator,
}

impl Shifts {
    /// From row sums over j != i and the diagonal, both without the pilot.
    ///
    /// Biased: H K H, mean of row and column subtracted and the grand mean added back. Unbiased: the same with n - 2
    /// and (n-1)(n-2) in place of n and n^2 off the diagonal, and a zero diagonal, so that the statistic is
    /// sum_ij A_ij B_ij / (n (n-3)) (Szekely and Rizzo 2014).
    pub(super) fn of(estimator: Estimator, rows: &[f64], diagonal: &[f64], pilot: f64) -> Self {
        let n = rows.len() as f64;
        let mut shifts: Vec<f64> = match estimator {
            Estimator::Biased => rows.iter().zip(diagonal).map(|(r, d)| (r + d) / n).collect(),
            Estimator::Unbiased => rows.iter().map(|r| r / (n - 2.0)).collect(),
        };
        // The sum of all shifts is n (resp. n - 1) times what has to be added back to every entry.
        let back = match estimator {
            Estimator::Biased => shifts.iter().sum::<f64>() / n,
            Estimator::Unbiased => shifts.iter().sum::<f64>() / (n - 1.0),
        };
        for shift in &mut shifts {
            *shift += 0.5 * (pilot - back);
        }
        shifts.resize(rows.len().next_multiple_of(strip::<f64>()), 0.0);
        Self { values: shifts, samples: rows.len(), estimator }
    }

    /// Number of samples.
    pub(super) fn samples(&self) -> usize {
        self.samples
    }

    /// The diagonal of the centred kernel, from that of the kernel less its pilot.
    pub(super) fn diagonal(&self, diagonal: &[f64], pilot: f64) -> Vec<f64> {
        match self.estimator {
            Estimator::Biased => diagonal.iter().zip(&self.values).map(|(d, s)| d - 2.0 * (s - 0.5 * pilot)).collect(),
            Estimator::Unbiased => vec![0.0; diagonal.len()],
        }
    }

    /// The centred kernel of a group of blocks; zero in the padding of the columns and on the diagonal.
    #[inline(always)]
    pub(super) fn fill<S: Simd>(&self, simd: S, source: &Source, group: &Group, blocks: &mut [f64]) {
        let size = strip::<f64>();
        source.fill(simd, group, blocks);
        for ((a, b), block) in group.blocks().zip(blocks.chunks_exact_mut(size * size)) {
            let Place { at: (i0, j0), height, width } = Place::of(self.samples, (a, b));
            let columns = &self.values[j0..j0 + size];
            for (row, shift) in block.chunks_exact_mut(size).zip(&self.values[i0..]).take(height) {
                row.iter_mut().zip(columns).for_each(|(k, column)| *k -= shift + column);
                row[width..].fill(0.0);
            }
            if a == b {
                block.iter_mut().step_by(size + 1).for_each(|k| *k = 0.0);
            }
        }
    }
}
