//! The statistic from sums over pairs, and its normalised form (CKA).

use super::features::{Features, TERMS, feature_sums};
use super::source::{Sample, Source};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, parts};
use crate::matrix::Element;
use crate::power;
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Values of a kernel that should all be the same differ by this many roundings at most, such as cosines of parallel
/// rows.
const ROUNDINGS: f64 = 8.0;

/// Which estimate of the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// tr(K H L H) / (n - 1)^2; n >= 2; positive under independence too.
    Biased,
    /// Song et al. (2012); n >= 4; 0 on average under independence.
    Unbiased,
}

impl Estimator {
    fn rows_needed(self) -> usize {
        match self {
            Self::Biased => 2,
            Self::Unbiased => 4,
        }
    }

    /// What the sum of products of centred kernels of n samples is divided by.
    pub(super) fn divisor(self, n: f64) -> f64 {
        match self {
            Self::Biased => (n - 1.0) * (n - 1.0),
            Self::Unbiased => n * (n - 3.0),
        }
    }

    /// Refuses samples of different or insufficient sizes.
    pub(super) fn check<T: Element, U: Element>(self, x: &Sample<T>, y: &Sample<U>) -> Result<()> {
        let (n, wanted) = (x.len(), self.rows_needed());
        if y.len() != n {
            return Err(Error::Shape { what: "Y", found: y.len(), wanted: n });
        }
        if n < wanted {
            return Err(Error::TooFew { what: "X", found: n, wanted });
        }
        Ok(())
    }
}

/// The Hilbert-Schmidt independence criterion of two samples; see the page of this module for the formulas.
///
/// Zero proves independence only in the population, and for characteristic kernels (rbf, laplacian). Time O(n^2 d),
/// memory O(n d); linear and delta kernels: O(n d_x d_y), by feature columns and class sums, where that is less.
///
/// # Errors
/// [`Error::Shape`], [`Error::TooFew`], [`Error::NotFinite`], [`Error::Value`] for parameters, [`Error::Interrupted`].
///
/// Reference: Gretton, Bousquet, Smola, Schoelkopf (2005); Song, Smola, Gretton, Bedo, Borgwardt (2012).
pub fn hsic<T: Element, U: Element>(x: &Sample<T>, y: &Sample<U>, estimator: Estimator, team: &Team) -> Result<f64> {
    let sums = sums(x, y, estimator, false, team)?;
    let value = finite(power::scale(sums.cross(estimator), sums.exponents.0 + sums.exponents.1))?;
    let definite = estimator == Estimator::Biased && is_definite(x) && is_definite(y);
    Ok(if definite { value.max(0.0) } else { value })
}

/// Centred kernel alignment, `HSIC_xy / sqrt(HSIC_xx HSIC_yy)`: 1 for equal kernels, 0 when a side is constant.
///
/// # Errors
/// As [`hsic`].
///
/// Reference: Cortes, Mohri, Rostamizadeh (2012); Kornblith, Norouzi, Lee, Hinton (2019).
pub fn cka<T: Element, U: Element>(x: &Sample<T>, y: &Sample<U>, estimator: Estimator, team: &Team) -> Result<f64> {
    let sums = sums(x, y, estimator, true, team)?;
    let (own_x, own_y) = sums.sides(estimator);
    if own_x.length == 0.0 || own_y.length == 0.0 {
        return finite(own_x.length + own_y.length).map(|_| 0.0);
    }
    finite(sums.cross(estimator) / own_x.length / own_y.length)
}

/// Whether a kernel is positive semidefinite whatever the rows, so that tr(K H L H) is negative by rounding alone.
fn is_definite<T: Element>(sample: &Sample<T>) -> bool {
    !matches!(sample, Sample::Precomputed(_) | Sample::Rows(_, Kernel::Poly { .. } | Kernel::Sigmoid { .. }))
}

/// `x`, or the error of a kernel or a statistic that `f64` cannot hold.
pub(super) fn finite(x: f64) -> Result<f64> {
    if !x.is_finite() {
        return Err(Error::value("the kernel", "values beyond the range of float64", "finite on this data"));
    }
    Ok(x)
}

/// Everything the estimators need, of kernels with a constant removed.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Sum of k_ij l_ij over i != j.
    pub(super) cross: f64,
    /// Sums of k_ij^2 and of l_ij^2 over i != j, where they are wanted.
    pub(super) squares: (f64, f64),
    /// What the squares are a difference from, where they are: the sums that include the diagonal.
    pub(super) reduced: (f64, f64),
    /// Row sums over j != i.
    pub(super) rows: (Vec<f64>, Vec<f64>),
    /// Diagonals.
    pub(super) diagonals: (Vec<f64>, Vec<f64>),
    /// True kernels are 2^exponent times as large.
    pub(super) exponents: (i32, i32),
    /// The constants that were removed.
    pub(super) pilots: (f64, f64),
}

impl Sums {
    /// The statistic of the two sides.
    pub(super) fn cross(&self, estimator: Estimator) -> f64 {
        let ((k, l), (d, e)) = (&self.rows, &self.diagonals);
        estimate(estimator, self.cross, (k, d), (l, e)).value
    }

    /// Each side beside itself.
    pub(super) fn sides(&self, estimator: Estimator) -> (Side, Side) {
        let ((k, l), (d, e)) = (&self.rows, &self.diagonals);
        (
            Side::of(estimator, (self.squares.0, self.reduced.0), (k, d), self.pilots.0),
            Side::of(estimator, (self.squares.1, self.reduced.1), (l, e), self.pilots.1),
        )
    }
}

/// One side beside itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// The root of its statistic with itself; 0 where it is no more than rounding.
    pub(super) length: f64,
    /// What the rounding of its kernel may add to that.
    pub(super) noise: f64,
}

impl Side {
    /// From the sum of squares over i != j and what it is a difference from, row sums and diagonal, and the constant
    /// that was removed.
    fn of(estimator: Estimator, (squares, reduced): (f64, f64), side: (&[f64], &[f64]), pilot: f64) -> Self {
        let n = side.0.len() as f64;
        let Estimate { value, terms } = estimate(estimator, squares, side, side);
        let noise = ROUNDINGS * f64::EPSILON * (pilot.abs() + terms.sqrt());
        // Sums of n equal terms may be wrong by n roundings, those with the diagonal by as many as are added at a time.
        let (long, short) = (ROUNDINGS + n, ROUNDINGS + n.min(TERMS as f64));
        let cancelled = f64::EPSILON * (long * terms + short * reduced / estimator.divisor(n));
        let rounding = noise * noise + cancelled;
        let length = if rounding.is_finite() && value <= rounding { 0.0 } else { value.sqrt() };
        Self { length, noise }
    }
}

/// A statistic, and the sizes of the terms that make it up.
struct Estimate {
    value: f64,
    terms: f64,
}

/// The estimate from the sum of products over i != j, and each side's row sums (j != i) and diagonal.
fn estimate(estimator: Estimator, products: f64, x: (&[f64], &[f64]), y: (&[f64], &[f64])) -> Estimate {
    let n = x.0.len() as f64;
    let (mut total, mut dot, mut sum_x, mut sum_y) = (products, 0.0, 0.0, 0.0);
    for ((k, d), (l, e)) in x.0.iter().zip(x.1).zip(y.0.iter().zip(y.1)) {
        let (k, l) = match estimator {
            Estimator::Biased => (k + d, l + e),
            Estimator::Unbiased => (*k, *l),
        };
        total += if estimator == Estimator::Biased { d * e } else { 0.0 };
        dot += k * l;
        sum_x += k;
        sum_y += l;
    }
    let (rows, grand) = match estimator {
        Estimator::Biased => (2.0 / n * dot, sum_x * sum_y / (n * n)),
        Estimator::Unbiased => (2.0 / (n - 2.0) * dot, sum_x * sum_y / ((n - 1.0) * (n - 2.0))),
    };
    let divisor = estimator.divisor(n);
    Estimate { value: (total - rows + grand) / divisor, terms: (total.abs() + rows.abs() + grand.abs()) / divisor }
}

/// The sums by the cheapest road; `own`: those of each side with itself are wanted too.
fn sums<T: Element, U: Element>(
    x: &Sample<T>,
    y: &Sample<U>,
    estimator: Estimator,
    own: bool,
    team: &Team,
) -> Result<Sums> {
    estimator.check(x, y)?;
    if Features::cheaper(x, y, own)
        && let (Some(x), Some(y)) = (Features::of(x, "X")?, Features::of(y, "Y")?)
    {
        return feature_sums(&x, &y, own, team);
    }
    pair_sums(&Source::of(x, "X", team)?, &Source::of(y, "Y", team)?, x.len(), own, team)
}

/// The sums in one pass over the pairs; the squares only where the sums of each side with itself (`own`) are wanted.
pub(super) fn pair_sums(x: &Source, y: &Source, n: usize, own: bool, team: &Team) -> Result<Sums> {
    let parts = team.map((0..parts(n.div_ceil(strip::<f64>()))).collect(), |part| {
        team.check()?;
        Ok(run(Pass { x, y, n, own, part }))
    });
    let zeros = || (vec![0.0; n], vec![0.0; n]);
    let mut total = Sums { rows: zeros(), diagonals: zeros(), ..Sums::default() };
    for part in parts {
        let part: Sums = part?;
        total.cross += part.cross;
        total.squares.0 += part.squares.0;
        total.squares.1 += part.squares.1;
        add(&mut total.rows.0, &part.rows.0);
        add(&mut total.rows.1, &part.rows.1);
        add(&mut total.diagonals.0, &part.diagonals.0);
        add(&mut total.diagonals.1, &part.diagonals.1);
    }
    total.exponents = (x.exponent(), y.exponent());
    total.pilots = (x.pilot(), y.pilot());
    Ok(total)
}

fn add(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
}

/// One part of the pass.
struct Pass<'a, 'b> {
    x: &'a Source<'b>,
    y: &'a Source<'b>,
    n: usize,
    own: bool,
    part: usize,
}

impl WithSimd for Pass<'_, '_> {
    type Output = Sums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Sums {
        let Self { x, y, n, own, part } = self;
        let size = strip::<f64>();
        let strips = n.div_ceil(size);
        let together = x.group().max(y.group());
        let area = together * together * size * size;
        let (mut k, mut l) = (Aligned::zeros(area), Aligned::zeros(area));
        let padded = || vec![0.0; strips * size];
        let mut sums = Sums { rows: (padded(), padded()), diagonals: (padded(), padded()), ..Sums::default() };
        for group in Group::triangle(strips, together, part, parts(strips)) {
            x.fill(simd, &group, &mut k);
            y.fill(simd, &group, &mut l);
            let blocks = k.chunks_exact_mut(size * size).zip(l.chunks_exact_mut(size * size));
            for (block, (k, l)) in group.blocks().zip(blocks) {
                let place = Place::of(n, block);
                let pilots = (x.pilot(), y.pilot());
                sums.prepare(&place, (k, l), pilots);
                if own {
                    sums.add::<S, true>(simd, &place, (k, l), pilots);
                } else {
                    sums.add::<S, false>(simd, &place, (k, l), pilots);
                }
            }
        }
        sums
    }
}

/// Where a block lies: its first row and column, and how many of them are not padding.
pub(super) struct Place {
    pub(super) at: (usize, usize),
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Place {
    /// The place of block (a, b) among `n` samples.
    pub(super) fn of(n: usize, (a, b): (usize, usize)) -> Self {
        let size = strip::<f64>();
        Self { at: (a * size, b * size), height: size.min(n - a * size), width: size.min(n - b * size) }
    }
}

impl Sums {
    /// Takes the diagonal out of a block, and fills its padding with the pilots, which count for nothing.
    #[inline(always)]
    fn prepare(&mut self, place: &Place, (k, l): (&mut [f64], &mut [f64]), pilots: (f64, f64)) {
        let size = strip::<f64>();
        let Place { at: (i0, j0), height, width } = *place;
        if i0 == j0 {
            for i in 0..height {
                self.diagonals.0[i0 + i] = k[i * (size + 1)] - pilots.0;
                self.diagonals.1[i0 + i] = l[i * (size + 1)] - pilots.1;
                (k[i * (size + 1)], l[i * (size + 1)]) = pilots;
            }
        }
        if width < size {
            k.chunks_exact_mut(size).for_each(|row| row[width..].fill(pilots.0));
            l.chunks_exact_mut(size).for_each(|row| row[width..].fill(pilots.1));
        }
    }

    /// Adds a block: once on the diagonal, where both its halves are there, else twice. `OWN`: the squares too.
    #[inline(always)]
    fn add<S: Simd, const OWN: bool>(&mut self, simd: S, place: &Place, (k, l): (&[f64], &[f64]), pilots: (f64, f64)) {
        let size = strip::<f64>();
        let (i0, j0) = place.at;
        let [zero, pk, pl] = [0.0, pilots.0, pilots.1].map(|x| simd.splat_f64s(x));
        // Two of each sum in turn: one alone would wait for itself.
        let (mut kl, mut kk, mut ll) = ([zero; 2], [zero; 2], [zero; 2]);
        let mut cols = [[0.0f64; strip::<f64>()]; 2];
        let [k_cols, l_cols] = &mut cols;
        let (k_cols, l_cols) = (S::as_mut_simd_f64s(k_cols).0, S::as_mut_simd_f64s(l_cols).0);
        for (i, (k, l)) in k.chunks_exact(size).zip(l.chunks_exact(size)).take(place.height).enumerate() {
            let (k, l) = (S::as_simd_f64s(k).0, S::as_simd_f64s(l).0);
            let (mut k_row, mut l_row) = (zero, zero);
            for (v, (((&k, &l), k_col), l_col)) in k.iter().zip(l).zip(&mut *k_cols).zip(&mut *l_cols).enumerate() {
                let (k, l) = (simd.sub_f64s(k, pk), simd.sub_f64s(l, pl));
                kl[v % 2] = simd.mul_add_e_f64s(k, l, kl[v % 2]);
                if OWN {
                    kk[v % 2] = simd.mul_add_e_f64s(k, k, kk[v % 2]);
                    ll[v % 2] = simd.mul_add_e_f64s(l, l, ll[v % 2]);
                }
                (k_row, l_row) = (simd.add_f64s(k_row, k), simd.add_f64s(l_row, l));
                (*k_col, *l_col) = (simd.add_f64s(*k_col, k), simd.add_f64s(*l_col, l));
            }
            self.rows.0[i0 + i] += simd.reduce_sum_f64s(k_row);
            self.rows.1[i0 + i] += simd.reduce_sum_f64s(l_row);
        }
        let sum = |[a, b]: [S::f64s; 2]| simd.reduce_sum_f64s(a) + simd.reduce_sum_f64s(b);
        let times = if i0 == j0 { 1.0 } else { 2.0 };
        self.cross += times * sum(kl);
        self.squares.0 += times * sum(kk);
        self.squares.1 += times * sum(ll);
        if i0 != j0 {
            self.rows.0[j0..].iter_mut().zip(&cols[0]).for_each(|(row, col)| *row += col);
            self.rows.1[j0..].iter_mut().zip(&cols[1]).for_each(|(row, col)| *row += col);
        }
    }
}
