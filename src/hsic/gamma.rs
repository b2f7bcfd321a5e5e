//! The null distribution as a gamma distribution with the right mean and (nearly) the right variance: no permutations.

use super::centering::Shifts;
use super::source::{Sample, Source};
use super::statistic::{Estimator, Place, pair_sums};
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
/// divisor. Two passes over the pairs, O(n d) memory.
///
/// # Errors
/// As [`hsic`](super::hsic).
///
/// Reference: Gretton, Fukumizu, Teo, Song, Schoelkopf, Smola (2007), A kernel statistical test of independence.
pub fn gamma_test<T: Element, U: Element>(x: &Sample<T>, y: &Sample<U>, team: &Team) -> Result<GammaTest> {
    Estimator::Biased.check(x, y)?;
    if x.len() < ROWS_NEEDED {
        return Err(Error::TooFew { what: "X", found: x.len(), wanted: ROWS_NEEDED });
    }
    let (k, l) = (Source::of(x, "X", team)?, Source::of(y, "Y", team)?);
    let sums = pair_sums(&k, &l, x.len(), false, team)?;
    let statistic = sums.cross(Estimator::Biased);
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
    if !(mean > 0.0 && variance > 0.0) {
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

/// Q(a, x) = Gamma(a, x) / Gamma(a), the probability that a gamma variable of shape a > 0 exceeds x >= 0.
///
/// Series below a + 1, continued fraction (Lentz) above; relative error some 1e-13.
///
/// Reference: Gautschi (1979), A computational procedure for incomplete gamma functions.
#[must_use]
pub fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < a + 1.0 { 1.0 - density(a, x) * series(a, x) } else { density(a, x) * fraction(a, x) }
}

/// sum_k x^k / (a (a+1) .. (a+k)), so that P(a, x) = x^a e^-x / Gamma(a) times it.
fn series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut below) = (1.0 / a, 1.0 / a, a);
    while term > sum * f64::EPSILON {
        below += 1.0;
        term *= x / below;
        sum += term;
    }
    sum
}

/// 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ..)), so that Q(a, x) = x^a e^-x / Gamma(a) times it.
fn fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = f64::MAX;
    let mut d = 1.0 / b;
    let mut value = d;
    let mut i = 0.0;
    loop {
        i += 1.0;
        let numerator = i * (a - i);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b);
        c = nonzero(b + numerator / c);
        value *= d * c;
        if (d * c - 1.0).abs() <= f64::EPSILON {
            return value;
        }
    }
}

/// Lentz's guard: a denominator of 0 becomes the smallest number whose inverse is finite.
fn nonzero(x: f64) -> f64 {
    if x == 0.0 { f64::MIN_POSITIVE } else { x }
}

/// From here on Stirling's series gives ln Gamma to the last digits.
const LARGE: f64 = 10.0;

/// x^a e^-x / Gamma(a). For large a as sqrt(a / 2 pi) exp(-a (m - 1 - ln m)) over Stirling's correction, m = x / a: the
/// powers themselves would leave few digits of their quotient.
fn density(a: f64, x: f64) -> f64 {
    if a >= LARGE {
        let apart = (x - a) / a;
        let exponent = -a * (apart - apart.ln_1p()) - stirling(a);
        return (a / std::f64::consts::TAU).sqrt() * exponent.exp();
    }
    // Gamma(a) = Gamma(a + m) / (a (a+1) .. (a+m-1))
    let (mut shifted, mut product) = (a, 1.0);
    while shifted < LARGE {
        product *= shifted;
        shifted += 1.0;
    }
    let log_gamma = (shifted - 0.5) * shifted.ln() - shifted + 0.5 * std::f64::consts::TAU.ln() + stirling(shifted);
    product * (a * x.ln() - x - log_gamma).exp()
}

/// ln Gamma(a) - [(a - 1/2) ln a - a + ln(2 pi) / 2] for a >= 10: the Bernoulli series.
fn stirling(a: f64) -> f64 {
    let z = 1.0 / (a * a);
    let coefficients =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    coefficients.iter().rev().fold(0.0, |sum, c| sum * z + c) / a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incomplete_gamma_function_has_its_known_values() {
        // Q(1, x) = e^-x; Q(k, x) = e^-x sum_{j<k} x^j / j! (Poisson); the others from mpmath with 40 digits.
        let known = [
            (1.0, 0.3, (-0.3f64).exp()),
            (1.0, 50.0, (-50f64).exp()),
            (0.5, 1.0, 0.157_299_207_050_285_13),
            (3.0, 2.0, 5.0 * (-2f64).exp()),
            (2.0, 700.0, 701.0 * (-700f64).exp()),
            (12.5, 9.0, 0.842_390_715_580_460_2),
            (12.5, 30.0, 1.045_548_613_152_647_3e-4),
            (1000.0, 1100.0, 1.059_323_253_929_977_3e-3),
            (1000.0, 900.0, 0.999_450_097_734_288_2),
            (5e4, 5.05e4, 1.286_884_037_723_367e-2),
            (0.01, 2.0, 4.966_645_372_185_268e-4),
            (9.99, 12.0, 0.241_421_272_287_895_2),
            (3.0, 40.0, 3.572_865_928_700_226e-15),
        ];
        for (a, x, right) in known {
            assert!((upper_gamma(a, x) / right - 1.0).abs() < 1e-12, "Q({a}, {x}) = {}", upper_gamma(a, x));
        }
        assert_eq!(upper_gamma(2.0, 0.0), 1.0);
        assert_eq!(upper_gamma(2.0, 1e300), 0.0);
    }
}
