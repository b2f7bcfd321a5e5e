//! The permutation test: the statistic of x with y in a random order, many times over.

use super::centering::Shifts;
use super::shuffle::{index, shuffled};
use super::source::{Sample, Source};
use super::statistic::{Estimator, finite, pair_sums};
use crate::error::{Error, Result};
use crate::matrix::{Element, zeros};
use crate::memory;
use crate::power;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, prefetch, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Entries of a kernel a job visits, about 1 ms: jobs are a fixed number of permutations long.
const JOB: usize = 1 << 21;

/// Products summed side by side in each row: one sum alone would wait for itself.
const ABREAST: usize = 4;

/// Values in a cache line.
const LINE: usize = 8;

/// A permuted statistic this near to the observed one, in units of eps |HKH| |HLH|, is the same but for rounding: the
/// error of a sum of n^2 products in blocks, with a margin. A side that is no more than the rounding of a constant
/// counts with that: then all permutations tie.
const TIES: f64 = 64.0;

/// How many permutations, and from which seed.
#[derive(Clone, Copy, Debug)]
pub struct Permutations<'a> {
    /// Number of permutations, at least 1.
    pub count: usize,
    /// Permutation i depends on the seed and i alone.
    pub seed: u64,
    /// Counts the permutations done, for whoever watches.
    pub progress: Option<&'a AtomicUsize>,
}

/// The outcome of the permutation test.
#[derive(Clone, Debug, PartialEq)]
pub struct PermutationTest {
    /// The statistic of the data.
    pub statistic: f64,
    /// (1 + number of permutations with at least this statistic, ties within rounding counted) / (1 + count).
    pub pvalue: f64,
    /// The statistic of each permutation, in order.
    pub null: Vec<f64>,
}

/// Tests independence by permuting the samples of `y`: exact at any n, up to the number of permutations.
///
/// Both centred kernels are formed once; each permutation then costs n^2 / 2 products. The same numbers for any number
/// of threads. Memory 2 n^2 values and some.
///
/// # Errors
/// As [`hsic`](super::hsic), but for statistics that `f64` cannot hold: they are infinite, the p-value is right.
/// [`Error::Memory`] when the kernels do not fit, [`Error::Value`] without permutations.
pub fn permutation_test<T: Element, U: Element>(
    x: &Sample<T>,
    y: &Sample<U>,
    estimator: Estimator,
    permutations: &Permutations,
    team: &Team,
) -> Result<PermutationTest> {
    estimator.check(x, y)?;
    if permutations.count == 0 {
        return Err(Error::value("n_permutations", 0, "at least 1"));
    }
    memory::check::<f64>(permutations.count, "the statistics of all permutations")?;
    let pairs = Pairs::of(x, y, estimator, team)?;
    let statistic = finite(pairs.statistic(&(0..index(pairs.n)).collect::<Vec<u32>>()))?;
    let batch = (JOB / (pairs.n * pairs.n)).max(1);
    let batches: Vec<_> = (0..permutations.count).step_by(batch).collect();
    let done = team.map(batches, |first| {
        let mut values = Vec::with_capacity(batch);
        for i in first..permutations.count.min(first + batch) {
            team.check()?;
            values.push(pairs.statistic(&shuffled(pairs.n, permutations.seed, i as u64)));
            if let Some(progress) = permutations.progress {
                progress.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(values)
    });
    let mut null: Vec<f64> = Vec::with_capacity(permutations.count);
    for values in done {
        null.extend(values? as Vec<f64>);
    }
    let reached = null.iter().filter(|value| **value >= statistic - pairs.rounding).count();
    let pvalue = (1 + reached) as f64 / (1 + permutations.count) as f64;
    for value in &mut null {
        *value = power::scale(*value, pairs.exponent);
    }
    Ok(PermutationTest { statistic: power::scale(statistic, pairs.exponent), pvalue, null })
}

/// Both centred kernels, row-major.
struct Pairs {
    n: usize,
    k: Vec<f64>,
    l: Vec<f64>,
    diagonals: (Vec<f64>, Vec<f64>),
    /// What the sum of products is divided by.
    divisor: f64,
    /// How far two equal statistics may differ.
    rounding: f64,
    /// The true statistic is 2^exponent times as large.
    exponent: i32,
}

impl Pairs {
    fn of<T: Element, U: Element>(x: &Sample<T>, y: &Sample<U>, estimator: Estimator, team: &Team) -> Result<Self> {
        let n = x.len();
        let what = "the centred kernel matrices of the permutation test";
        let (mut k, mut l) = (zeros(n * n, what)?, zeros(n * n, what)?);
        let (of_x, of_y) = (Source::of(x, "X", team)?, Source::of(y, "Y", team)?);
        let sums = pair_sums(&of_x, &of_y, n, true, team)?;
        let k_shifts = Shifts::of(estimator, &sums.rows.0, &sums.diagonals.0, of_x.pilot());
        let l_shifts = Shifts::of(estimator, &sums.rows.1, &sums.diagonals.1, of_y.pilot());
        fill(&of_x, &k_shifts, &mut k, team)?;
        fill(&of_y, &l_shifts, &mut l, team)?;
        let diagonals =
            (k_shifts.diagonal(&sums.diagonals.0, of_x.pilot()), l_shifts.diagonal(&sums.diagonals.1, of_y.pilot()));
        let (x, y) = sums.sides(estimator);
        let noise = x.noise * y.length + x.length * y.noise + x.noise * y.noise;
        let rounding = TIES * f64::EPSILON * x.length * y.length + noise;
        let (divisor, exponent) = (estimator.divisor(n as f64), sums.exponents.0 + sums.exponents.1);
        Ok(Self { n, k, l, diagonals, divisor, rounding, exponent })
    }

    /// The statistic with sample i of x beside sample `order[i]` of y.
    fn statistic(&self, order: &[u32]) -> f64 {
        let (d, e) = &self.diagonals;
        let diagonal: f64 = d.iter().zip(order).map(|(d, &i)| d * e[i as usize]).sum();
        (2.0 * products(&self.k, &self.l, order) + diagonal) / self.divisor
    }
}

/// Writes a centred kernel, n x n.
fn fill(source: &Source, shifts: &Shifts, out: &mut [f64], team: &Team) -> Result<()> {
    let n = shifts.samples();
    let bands = out.chunks_mut(strip::<f64>() * n).enumerate().collect();
    let done = team.map(bands, |(a, out): (usize, &mut [f64])| {
        team.check()?;
        run(Band { source, shifts, a, out });
        Ok(())
    });
    done.into_iter().collect()
}

/// One strip of rows of a centred kernel.
struct Band<'a, 'b> {
    source: &'a Source<'b>,
    shifts: &'a Shifts,
    a: usize,
    out: &'a mut [f64],
}

impl WithSimd for Band<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { source, shifts, a, out } = self;
        let (n, size) = (shifts.samples(), strip::<f64>());
        let strips = n.div_ceil(size);
        let mut blocks = Aligned::zeros(source.group() * size * size);
        for group in Group::cover(a..a + 1, 0..strips, false, source.group()) {
            shifts.fill(simd, source, &group, &mut blocks);
            for ((_, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                let width = size.min(n - b * size);
                for (row, line) in out.chunks_exact_mut(n).zip(block.chunks_exact(size)).take(n - a * size) {
                    row[b * size..][..width].copy_from_slice(&line[..width]);
                }
            }
        }
    }
}

/// sum over i < j of k_ij l_(order i, order j).
///
/// Two rows share each index. Every entry of l is loaded by itself: instructions that gather are no faster, and whole
/// rows put in order would be moved to be read once. Plain arithmetic, so the same bits on every machine.
fn products(k: &[f64], l: &[f64], order: &[u32]) -> f64 {
    let n = order.len();
    let l_row = |i: usize| &l[order[i.min(n - 1)] as usize * n..][..n];
    let (mut first, mut sums) = (0.0, [[0.0; ABREAST]; 2]);
    for i in (1..n).step_by(2) {
        let [x, y] = [i - 1, i].map(|row| &k[row * n..][..n]);
        let [u, v] = [i - 1, i].map(l_row);
        first += x[i] * u[order[i] as usize];
        // The next rows are sent for whole: they will be read here and there, which no machine foresees.
        let [next, last] = [i + 1, i + 2].map(l_row);
        let ((x, x_rest), (y, y_rest)) = (x[i + 1..].as_chunks::<ABREAST>(), y[i + 1..].as_chunks::<ABREAST>());
        let (order, rest) = order[i + 1..].as_chunks::<ABREAST>();
        for (c, ((x, y), order)) in x.iter().zip(y).zip(order).enumerate() {
            if c * LINE < n {
                prefetch(&next[c * LINE]);
                prefetch(&last[c * LINE]);
            }
            for s in 0..ABREAST {
                let j = order[s] as usize;
                sums[0][s] += x[s] * u[j];
                sums[1][s] += y[s] * v[j];
            }
        }
        for ((x, y), &j) in x_rest.iter().zip(y_rest).zip(rest) {
            sums[0][0] += x * u[j as usize];
            sums[1][0] += y * v[j as usize];
        }
    }
    sums.as_flattened().iter().sum::<f64>() + first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_permuted_sum_is_right() {
        for n in [0usize, 1, 2, 3, 6, 7, 8, 9, 30, 65] {
            // Small whole numbers: every order of summation gives the same bits.
            let value = |i: usize, j: usize, seed: usize| ((i * j + i + j) * seed % 17) as f64 - 8.0;
            let matrix = |seed: usize| (0..n * n).map(|at| value(at / n, at % n, seed)).collect::<Vec<f64>>();
            let order = shuffled(n, 7, 3);
            let mut right = 0.0;
            for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
                right += value(i, j, 3) * value(order[i] as usize, order[j] as usize, 5);
            }
            assert_eq!(products(&matrix(3), &matrix(5), &order), right, "{n}");
        }
    }
}
