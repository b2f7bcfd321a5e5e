//! The null distribution as a gamma distribution with the right mean and (nearly) the right variance: no permutations.

use super::centering::Shifts;
use super::incomplete_gamma::upper_gamma;
use super::source::{Sample, Source};
use super::statistic::{Estimator, Place, finite, pair_sums};
use crate::error::{Error, Result};
use crate::kernel::parts;
use crate::matrix::Element;
use crate::power;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Rows from which the variance formula is defined.
const ROWS_NEEDED: usize = 6;

/// The biased statistic and its place in the gamma distribution that stands for the null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaTest {
    /// The biased statistic, tr(K H L H) / (n - 1)^2.
    pub statistic: f64,
    /// The probability of a value at least as large under independence; 1 when a side is constant.
    pub pvalue: f64,
    /// Shape of the gamma distribution.
    pub shape: f64,
    /// Scale of the gamma distribution.
    pub scale: f64,
}

/// Tests independence by the moment-matched gamma approximation, for n >= 6 (trustworthy from some hundred on).
///
/// Null mean tr(HKH) tr(HLH) / (n - 1)^3, the mean over all permutations; variance
/// 2 (n-4)(n-5) / (n (n-1)(n-2)(n-3)) times the mean of (HKH)_ij^2 (HLH)_ij^2 over i != j, times (n / (n-1))^4 for this
/// divisor. Two passes over the pairs, O(n d) memory, in units in which neither overflows or vanishes.
///
/// # Errors
/// As [`hsic`](super::hsic), but for a statistic that `f64` cannot hold: it is infinite, the p-value is right.
///
/// Reference: Gretton, Fukumizu, Teo, Song, Schoelkopf, Smola (2007), A kernel statistical test of independence.
pub fn gamma_test<T: Element, U: Element>(x: &Sample<T>, y: &Sample<U>, team: &Team) -> Result<GammaTest> {
    Estimator::Biased.check(x, y)?;
    if x.len() < ROWS_NEEDED {
        return Err(Error::TooFew { what: "X", found: x.len(), wanted: ROWS_NEEDED });
    }
    let (k, l) = (Source::of(x, "X", team)?, Source::of(y, "Y", team)?);
    let sums = pair_sums(&k, &l, x.len(), true, team)?;
    let statistic = finite(sums.cross(Estimator::Biased))?;
    let k_shifts = Shifts::of(Estimator::Biased, &sums.rows.0, &sums.diagonals.0, k.pilot());
    let l_shifts = Shifts::of(Estimator::Biased, &sums.rows.1, &sums.diagonals.1, l.pilot());
    let parts = team.map((0..parts(x.len().div_ceil(strip::<f64>()))).collect(), |part| {
        team.check()?;
        Ok(run(Pass { k: (&k, &k_shifts), l: (&l, &l_shifts), part }))
    });
    let squares: f64 = parts.into_iter().sum::<Result<f64>>()?;
    let n = x.len() as f64;
    let k_trace: f64 = k_shifts.diagonal(&sums.diagonals.0, k.pilot()).iter().sum();
    let l_trace: f64 = l_shifts.diagonal(&sums.diagonals.1, l.pilot()).iter().sum();
    let mean = k_trace * l_trace / (n - 1.0).powi(3);
    let factor = 2.0 * (n - 4.0) * (n - 5.0) / (n * (n - 1.0) * (n - 2.0) * (n - 3.0));
    let variance = factor * squares / (n * (n - 1.0)) * (n / (n - 1.0)).powi(4);
    let units = |value: f64| power::scale(value, sums.exponents.0 + sums.exponents.1);
    let (own_x, own_y) = sums.sides(Estimator::Biased);
    if own_x.length == 0.0 || own_y.length == 0.0 || !(mean > 0.0 && variance > 0.0) {
        return Ok(GammaTest { statistic: units(statistic), pvalue: 1.0, shape: 0.0, scale: 0.0 });
    }
    let (shape, scale) = (mean * mean / variance, variance / mean);
    let pvalue = upper_gamma(shape, (statistic / scale).max(0.0));
    Ok(GammaTest { statistic: units(statistic), pvalue, shape, scale: units(scale) })
}

/// Sum over i != j of the squared products of centred kernels: one part of the pairs.
struct Pass<'a, 'b> {
    k: (&'a Source<'b>, &'a Shifts),
    l: (&'a Source<'b>, &'a Shifts),
    part: usize,
}

impl WithSimd for Pass<'_, '_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { k: (k, k_shifts), l: (l, l_shifts), part } = self;
        let (n, size) = (k_shifts.samples(), strip::<f64>());
        let together = k.group().max(l.group());
        let area = together * together * size * size;
        let (mut k_blocks, mut l_blocks) = (Aligned::zeros(area), Aligned::zeros(area));
        let mut sum = 0.0;
        let strips = n.div_ceil(size);
        for group in Group::triangle(strips, together, part, parts(strips)) {
            k_shifts.fill(simd, k, &group, &mut k_blocks);
            l_shifts.fill(simd, l, &group, &mut l_blocks);
            let blocks = k_blocks.chunks_exact(size * size).zip(l_blocks.chunks_exact(size * size));
            for ((a, b), (k, l)) in group.blocks().zip(blocks) {
                let times = if a == b { 1.0 } else { 2.0 };
                let height = Place::of(n, (a, b)).height;
                sum += times * squared_products(simd, &k[..height * size], &l[..height * size]);
            }
        }
        sum
    }
}

#[inline(always)]
fn squared_products<S: Simd>(simd: S, k: &[f64], l: &[f64]) -> f64 {
    let mut sum = simd.splat_f64s(0.0);
    for (&k, &l) in S::as_simd_f64s(k).0.iter().zip(S::as_simd_f64s(l).0) {
        let product = simd.mul_f64s(k, l);
        sum = simd.mul_add_e_f64s(product, product, sum);
    }
    simd.reduce_sum_f64s(sum)
}
