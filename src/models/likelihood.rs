//! Probabilistic PCA: x ~ N(mu, C) with C = S (U (Lambda - s2 I)+ U' + s2 I) S, S the standard deviations or I.
//!
//! Tipping and Bishop (1999), "Probabilistic principal component analysis". With U orthonormal, Woodbury's identity is
//! exact component by component: C^-1 = U Lambda^-1 U' + (I - U U') / s2, so nothing d x d is formed for a density.

use super::deviations::{root, stands_in};
use super::projection::LinearMap;
use crate::error::{Error, Result};
use crate::linalg::product_transposed;
use crate::matrix::MatrixView;
use crate::memory;
use crate::power;
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// Deviations up to 2^+-100 need no unit: their squares, and those of rows far beyond them, are normal numbers.
const ORDINARY: i32 = 100;

/// The variances of the model along its components and across them, in units of 4^exponent.
#[derive(Clone, Debug)]
pub struct Gaussian<'a, C: Lane> {
    map: LinearMap<'a, C>,
    along: Vec<f64>,
    across: f64,
    exponent: i32,
}

impl<'a, C: Lane> Gaussian<'a, C> {
    /// `along`: variances of the components and their roots; `across`: that of the noise and its root. The roots stand
    /// in where a variance has left the normal numbers. Components below the noise count as noise.
    ///
    /// # Errors
    /// [`Error::Shape`] when the components have another number.
    pub fn new(map: LinearMap<'a, C>, along: [&[f64]; 2], across: [f64; 2]) -> Result<Self> {
        if let Some(odd) = along.iter().find(|values| values.len() != map.k()) {
            return Err(Error::Shape { what: "explained_variance_", found: odd.len(), wanted: map.k() });
        }
        let pairs = || along[0].iter().zip(along[1]).map(|(&v, &s)| (v, s));
        let across = (across[0], across[1]);
        let unit = power::unit(pairs().map(|(v, s)| root(v, s)).fold(root(across.0, across.1), f64::max));
        let exponent = if unit.abs() > ORDINARY { unit } else { 0 };
        let variance = |(v, s): (f64, f64)| {
            if stands_in(v, s) { power::scale(s, -exponent).powi(2) } else { power::scale(v, -2 * exponent) }
        };
        let noise = variance(across);
        let along = pairs().map(|pair| variance(pair).max(noise)).collect();
        Ok(Self { map, along, across: noise, exponent })
    }

    /// Log-density of each row: -1/2 (m log 2 pi + log |C| + (x - mu)'C^-1 (x - mu)) over the m columns that vary.
    ///
    /// # Errors
    /// [`Error::Value`] where C is singular (a variance of 0), for then there is no density; [`Error::Shape`],
    /// [`Error::Interrupted`].
    pub fn score_samples<T: Lane>(&self, x: MatrixView<T>, team: &Team) -> Result<Vec<f64>> {
        let living = (0..self.map.d()).filter(|&j| self.map.lives(j));
        let (m, log_units) = living.fold((0, 0.0), |(m, sum), j| (m + 1, sum + self.map.unit(j).ln()));
        let across = self.across_dimensions(m)?;
        let log_det =
            self.living().map(f64::ln).sum::<f64>() + if across > 0 { across as f64 * self.across.ln() } else { 0.0 };
        let log_exponents = (self.living().count() + across) as f64 * f64::from(2 * self.exponent);
        let constant =
            m as f64 * std::f64::consts::TAU.ln() + log_det + 2.0 * log_units + log_exponents * std::f64::consts::LN_2;
        let inverse = power::power(-self.exponent);
        self.map.per_row(x, team, |block, i| {
            let scores = block.scores(i).iter().zip(&self.along).filter(|(_, v)| **v > 0.0);
            let along: f64 = scores.map(|(z, v)| (z * inverse).powi(2) / v).sum();
            let left = block.line(i).iter().zip(block.fitted_line(i)).enumerate();
            let outside: f64 =
                left.filter(|(j, _)| self.map.lives(*j)).map(|(_, (x, y))| ((x - y) * inverse).powi(2)).sum();
            let across = if across > 0 { outside / self.across } else { 0.0 };
            -0.5 * (constant + along + across)
        })
    }

    /// Mean log-density of the rows.
    ///
    /// # Errors
    /// Those of [`score_samples`](Self::score_samples).
    pub fn score<T: Lane>(&self, x: MatrixView<T>, team: &Team) -> Result<f64> {
        let all = self.score_samples(x, team)?;
        Ok(all.iter().sum::<f64>() / all.len() as f64)
    }

    /// Variances along the components that have any: those that lie on constant columns have none, nor do they count.
    fn living(&self) -> impl Iterator<Item = f64> {
        self.along.iter().copied().filter(|&v| v > 0.0)
    }

    /// How many of the m dimensions lie across the components; refuses a density that does not exist.
    fn across_dimensions(&self, m: usize) -> Result<usize> {
        let across = m.saturating_sub(self.living().count());
        if across > 0 && self.across <= 0.0 {
            let found = format!("{:e} across {across} of {m} dimensions", self.noise());
            return Err(Error::value(
                "noise_variance_",
                found,
                "positive for a density: the data lie in a subspace, so keep fewer components than their rank",
            ));
        }
        Ok(across)
    }

    /// The noise variance, in the units of x.
    fn noise(&self) -> f64 {
        power::scale(self.across, 2 * self.exponent)
    }

    /// C (d x d), exactly symmetric, in the units of x: entries beyond the range of `f64` are 0 or infinite.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn covariance(&self) -> Result<DMatrix<f64>> {
        let excess: Vec<f64> = self.along.iter().map(|v| v - self.across).collect();
        let unit = |j| if self.map.lives(j) { self.map.unit(j) } else { 0.0 };
        self.spectral(&excess, self.across, 2 * self.exponent, unit)
    }

    /// The inverse of C (d x d), exactly symmetric, in the units of x: entries beyond the range of `f64` are 0 or
    /// infinite.
    ///
    /// # Errors
    /// [`Error::Singular`] where a variance of C is 0, [`Error::Memory`].
    pub fn precision(&self) -> Result<DMatrix<f64>> {
        let d = self.map.d();
        let singular = |why: String| Error::Singular { what: "the covariance of the model", detail: why };
        if let Some(j) = (0..d).find(|&j| !self.map.lives(j)) {
            return Err(singular(format!("column {j} of X is constant, leave it out")));
        }
        let no_noise = |_| {
            let found = format!("its noise variance is {:?}", self.noise());
            if self.along.iter().any(|&variance| variance > 0.0) {
                singular(format!("{found}, which fewer components than the rank of the data would raise"))
            } else {
                singular(format!("{found}, as that of every component"))
            }
        };
        let across = self.across_dimensions(d).map_err(no_noise)?;
        let outside = if across > 0 { 1.0 / self.across } else { 0.0 };
        let excess: Vec<f64> = self.along.iter().map(|v| 1.0 / v - outside).collect();
        self.spectral(&excess, outside, -2 * self.exponent, |j| 1.0 / self.map.unit(j))
    }

    /// D (U diag(excess) U' + rest I) D 2^exponent, one triangle mirrored.
    fn spectral(&self, excess: &[f64], rest: f64, exponent: i32, unit: impl Fn(usize) -> f64) -> Result<DMatrix<f64>> {
        let (d, k) = (self.map.d(), self.map.k());
        memory::check_matrices::<f64>(1, (d, d + 2 * k), "the d x d matrix of the model")?;
        let u = DMatrix::from_fn(d, k, |j, c| self.map.entry(c, j));
        let weighted = DMatrix::from_fn(d, k, |j, c| self.map.entry(c, j) * excess[c]);
        let mut out = product_transposed(&weighted, &u);
        for j in 0..d {
            for i in j..d {
                let value = (out[(i, j)] + if i == j { rest } else { 0.0 }) * unit(i) * unit(j);
                let value = power::scale(value, exponent);
                (out[(i, j)], out[(j, i)]) = (value, value);
            }
        }
        Ok(out)
    }
}
