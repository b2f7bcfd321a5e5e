//! The permutation test: the statistic of x with y in a random order, many times over.

use super::centering::Shifts;
use super::shuffle::{index, shuffled};
use super::source::{Sample, Source};
use super::statistic::{Estimator, pair_sums};
use crate::error::{Error, Result};
use crate::matrix::{Element, zeros};
use crate::memory;
use crate::power;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of the first kernel are padded to a multiple of this, the lanes of the widest vector.
const PANEL: usize = 8;

/// Pairs a job visits, about 4 ms: jobs are a fixed number of permutations long.
const JOB: usize = 1 << 21;

/// A permuted statistic this near to the observed one, in units of eps |HKH| |HLH|, is the same but for rounding: the
/// error of a sum of n^2 products in blocks, with a margin.
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
/// As [`hsic`](super::hsic), [`Error::Memory`] when the kernels do not fit, [`Error::Value`] without permutations.
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
    let statistic = pairs.statistic(&(0..index(pairs.n)).collect::<Vec<u32>>());
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

/// Both centred kernels, laid out for [`Permuted`].
struct Pairs {
    n: usize,
    /// Rows in panels of as many as a vector has lanes, interleaved; entries with j <= i zero.
    k: Vec<f64>,
    /// Row-major, zero diagonal.
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
        let (mut k, mut l) = (zeros(n.next_multiple_of(PANEL) * n, what)?, zeros(n * n, what)?);
        let (of_x, of_y) = (Source::of(x, "X", team)?, Source::of(y, "Y", team)?);
        let sums = pair_sums(&of_x, &of_y, n, team)?;
        let k_shifts = Shifts::of(estimator, &sums.rows.0, &sums.diagonals.0, of_x.pilot());
        let l_shifts = Shifts::of(estimator, &sums.rows.1, &sums.diagonals.1, of_y.pilot());
        fill(&of_x, &k_shifts, &mut k, team)?;
        fill(&of_y, &l_shifts, &mut l, team)?;
        let panels = k.chunks_exact_mut(PANEL * n).enumerate().collect();
        team.map(panels, |(panel, rows): (usize, &mut [f64])| run(Interleave { rows, n, first: panel * PANEL }));
        let diagonals =
            (k_shifts.diagonal(&sums.diagonals.0, of_x.pilot()), l_shifts.diagonal(&sums.diagonals.1, of_y.pilot()));
        let size = n as f64;
        let divisor = match estimator {
            Estimator::Biased => (size - 1.0) * (size - 1.0),
            Estimator::Unbiased => size * (size - 3.0),
        };
        let (own_x, own_y) = sums.own(estimator);
        let rounding = TIES * f64::EPSILON * own_x.max(0.0).sqrt() * own_y.max(0.0).sqrt();
        Ok(Self { n, k, l, diagonals, divisor, rounding, exponent: sums.exponents.0 + sums.exponents.1 })
    }

    /// The statistic with sample i of x beside sample `order[i]` of y.
    fn statistic(&self, order: &[u32]) -> f64 {
        let (d, e) = &self.diagonals;
        let diagonal: f64 = d.iter().zip(order).map(|(d, &i)| d * e[i as usize]).sum();
        (2.0 * run(Permuted { k: &self.k, l: &self.l, order }) + diagonal) / self.divisor
    }
}

/// Writes a centred kernel to the first n rows of `out`, n columns each.
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
        if a >= strips {
            return; // the padding of the last panel
        }
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

/// Interleaves `PANEL` rows in place, as many at a time as a vector has lanes, and clears what is not above the diagonal.
struct Interleave<'a> {
    rows: &'a mut [f64],
    n: usize,
    first: usize,
}

impl WithSimd for Interleave<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, n, first } = self;
        let lanes = f64::lanes::<S>();
        let mut plain = vec![0.0; lanes * n];
        for (panel, rows) in rows.chunks_exact_mut(lanes * n).enumerate() {
            plain.copy_from_slice(rows);
            let top = first + panel * lanes;
            for (j, line) in rows.chunks_exact_mut(lanes).enumerate() {
                for (r, out) in line.iter_mut().enumerate() {
                    *out = if j > top + r { plain[r * n + j] } else { 0.0 };
                }
            }
        }
    }
}

/// sum over i < j of k_ij l_(order i, order j).
struct Permuted<'a> {
    k: &'a [f64],
    l: &'a [f64],
    order: &'a [u32],
}

impl WithSimd for Permuted<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { k, l, order } = self;
        let n = order.len();
        let lanes = f64::lanes::<S>();
        // The rows of l that meet a panel of k, interleaved like it: one index then loads a whole vector.
        let mut rows = Aligned::zeros(lanes * n);
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (panel, (k, now)) in k.chunks_exact(lanes * n).zip(order.chunks(lanes)).enumerate() {
            interleave(l, n, now, lanes, &mut rows);
            let (k, l) = (S::as_simd_f64s(k).0, S::as_simd_f64s(&rows).0);
            let from = panel * lanes;
            let ((k, k_rest), (order, rest)) = (k[from..].as_chunks::<4>(), order[from..].as_chunks::<4>());
            for (k, order) in k.iter().zip(order) {
                for u in 0..4 {
                    sums[u] = simd.mul_add_e_f64s(k[u], l[order[u] as usize], sums[u]);
                }
            }
            for (k, &j) in k_rest.iter().zip(rest) {
                sums[0] = simd.mul_add_e_f64s(*k, l[j as usize], sums[0]);
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f64s(sum)).sum()
    }
}

/// `out[j * lanes + r] = l[now[r]][j]`; where rows run out, the last again (it meets zeros).
#[inline(always)]
fn interleave(l: &[f64], n: usize, now: &[u32], lanes: usize, out: &mut [f64]) {
    let row = |r: usize| &l[now[r.min(now.len() - 1)] as usize * n..][..n];
    for r in (0..lanes / 4 * 4).step_by(4) {
        let (a, b, c, d) = (row(r), row(r + 1), row(r + 2), row(r + 3));
        for ((((line, &a), &b), &c), &d) in out.chunks_exact_mut(lanes).zip(a).zip(b).zip(c).zip(d) {
            line[r..r + 4].copy_from_slice(&[a, b, c, d]);
        }
    }
    for r in lanes / 4 * 4..lanes {
        out.iter_mut().skip(r).step_by(lanes).zip(row(r)).for_each(|(out, &l)| *out = l);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};

    #[test]
    fn the_permuted_sum_is_right_at_every_level() {
        for n in [1usize, 2, 3, 8, 9, 30] {
            let value = |i: usize, j: usize, seed: usize| ((i * j + i + j) * seed % 17) as f64 - 8.0;
            let l: Vec<f64> = (0..n * n).map(|at| value(at / n, at % n, 5)).collect();
            let order = shuffled(n, 7, 3);
            let mut right = 0.0;
            for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
                right += value(i, j, 3) * l[order[i] as usize * n + order[j] as usize];
            }
            for level in Level::available() {
                let mut k = vec![0.0; n.next_multiple_of(PANEL) * n];
                (0..n * n).for_each(|at| k[at] = value(at / n, at % n, 3));
                for (panel, rows) in k.chunks_exact_mut(PANEL * n).enumerate() {
                    run_at(level, Interleave { rows, n, first: panel * PANEL }).unwrap();
                }
                assert_eq!(run_at(level, Permuted { k: &k, l: &l, order: &order }), Some(right), "{n} {level:?}");
            }
        }
    }
}
