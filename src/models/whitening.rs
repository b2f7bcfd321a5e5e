//! Whitening: linear maps W with W Cov W' = I, and their inverses on the subspace that the data fill.
//!
//! Kessy, Lewin, Strimmer (2018), "Optimal whitening and decorrelation", The American Statistician 72(4).

use super::n_components::Components;
use super::pca::{Pca, PcaOptions};
use crate::error::{Error, Result};
use crate::linalg::{Qr, inverse_of_upper, product_transposed};
use crate::matrix::MatrixView;
use crate::memory;
use crate::power::{exponent, scale, scale_all};
use crate::simd::Lane;
use crate::threads::Team;
use nalgebra::DMatrix;

/// Which of the maps, all equal up to a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Lambda^(-1/2) U': scores along the principal axes, each with variance 1.
    Pca,
    /// U Lambda^(-1/2) U': of all, the closest to the data.
    Zca,
    /// Theta^(-1/2) G' V^(-1/2), with P = G Theta G' the correlation and V the variances.
    PcaCor,
    /// G Theta^(-1/2) G' V^(-1/2): of all, the most correlated with the data.
    ZcaCor,
    /// L' with L L' = Cov^-1, L lower triangular.
    Cholesky,
}

impl Method {
    /// Each of them.
    pub const ALL: [Self; 5] = [Self::Pca, Self::Zca, Self::PcaCor, Self::ZcaCor, Self::Cholesky];

    /// The name in the Python interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pca => "pca",
            Self::Zca => "zca",
            Self::PcaCor => "pca-cor",
            Self::ZcaCor => "zca-cor",
            Self::Cholesky => "cholesky",
        }
    }

    /// The method of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether the columns are divided by their standard deviations first.
    fn standardises(self) -> bool {
        matches!(self, Self::PcaCor | Self::ZcaCor)
    }

    /// Whether the map is d x d, however few rows there are and components are kept.
    fn is_square(self) -> bool {
        matches!(self, Self::Zca | Self::ZcaCor)
    }
}

/// What to compute.
#[derive(Clone, Copy, Debug)]
pub struct WhiteningOptions {
    /// Which map.
    pub method: Method,
    /// How many principal directions are kept; all for the Cholesky factor.
    pub components: Components,
    /// Added to every eigenvalue.
    pub eps: f64,
    /// Subtract the column means.
    pub center: bool,
    /// Variances divide by the sum of the weights minus this.
    pub ddof: u32,
}

/// A fitted map `y = W (x - mean)`, and `x = D y + mean` back.
#[derive(Clone, Debug)]
pub struct Whitening {
    /// W', d x k.
    pub matrix: DMatrix<f64>,
    /// D', k x d.
    pub inverse: DMatrix<f64>,
    /// Column means; 0 without centring.
    pub mean: Vec<f64>,
    /// Eigenvalues of the covariance, of the correlation for the methods that standardise; eps is not in them.
    pub explained_variance: Vec<f64>,
    /// Directions above the rounding of the largest; of those computed, where not all were.
    pub rank: usize,
}

impl Whitening {
    /// Fits n x d data, rows weighted by frequencies where given.
    ///
    /// The principal axes come from [`Pca`], small ones measured again on the data. A dead direction (sigma_j <= p
    /// eps_T sigma_1) has lambda_j = 0 exactly and gets 1/sqrt(lambda_j + eps): 0 for eps = 0.
    ///
    /// # Errors
    /// [`Error::Value`] for options that do not fit each other or the data: a number of components or, without eps, a
    /// rank below d for the Cholesky factor; and for X in a unit whose inverse the numbers have no room for; else those
    /// of [`Pca::fit`].
    pub fn fit<T: Lane>(
        x: MatrixView<T>,
        weights: Option<&[f64]>,
        options: &WhiteningOptions,
        team: &Team,
    ) -> Result<Self> {
        let method = options.method;
        let all = options.components == Components::All;
        if method == Method::Cholesky && !all {
            let found = "a number with method='cholesky'";
            return Err(Error::value("n_components", found, "None: the Cholesky factor keeps every direction"));
        }
        if method.is_square() {
            let d = x.cols();
            memory::check_matrices::<f64>(2, (d, d), "the d x d whitening matrix, with its inverse,")?;
        }
        let asked = PcaOptions {
            components: options.components,
            center: options.center,
            scale: method.standardises(),
            ddof: options.ddof,
            ..PcaOptions::default()
        };
        let pca = Pca::fit(x, weights, &asked, team)?;
        team.check()?;
        let axes = Axes::new(&pca, options.eps, all);
        let (mut matrix, mut inverse) = match method {
            Method::Pca | Method::PcaCor => axes.rotated()?,
            Method::Zca | Method::ZcaCor => axes.symmetric(),
            Method::Cholesky => axes.triangular(pca.rank)?,
        };
        for (j, &scale) in pca.scale.iter().flatten().enumerate() {
            matrix.row_mut(j).scale_mut(reciprocal(scale));
            inverse.column_mut(j).scale_mut(scale);
        }
        if matrix.iter().chain(inverse.iter()).any(|entry| entry.abs() > T::MAX) {
            return Err(beyond_range::<T>());
        }
        Ok(Self { matrix, inverse, mean: pca.mean, explained_variance: pca.explained_variance, rank: pca.rank })
    }
}

/// Matrices of the size of the stacked one that are there at once on the way to the Cholesky factor: itself, the one in
/// reverse, R and its inverse, and both of them turned back.
const TRIANGULAR: usize = 6;

/// `C + eps I = U diag(roots)^2 U' + rest^2 (I - U U')` of a covariance or correlation C (d x d).
struct Axes<'a> {
    vectors: &'a DMatrix<f64>,
    roots: Vec<f64>,
    rest: f64,
}

impl<'a> Axes<'a> {
    /// `all`: directions without a component have eigenvalue 0; otherwise they have been left out and get nothing.
    fn new(pca: &'a Pca, eps: f64, all: bool) -> Self {
        // hypot: sqrt(lambda + eps), also where lambda leaves the range of numbers; sqrt(lambda) to the bit where eps
        // is 0.
        let roots = pca.deviations.iter().map(|s| s.hypot(eps.sqrt())).collect();
        Self { vectors: &pca.components, roots, rest: if all { eps.sqrt() } else { 0.0 } }
    }

    /// Whether U is square, so that nothing is left for `rest`.
    fn complete(&self) -> bool {
        self.vectors.is_square()
    }

    /// `(U diag(1/roots), diag(roots) U')`
    fn rotated(&self) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        memory::check_matrices::<f64>(2, self.vectors.shape(), "the whitening matrix, with its inverse,")?;
        let mut inverse = self.vectors.transpose();
        for (mut line, root) in inverse.row_iter_mut().zip(&self.roots) {
            line *= *root;
        }
        Ok((self.weighted(reciprocal), inverse))
    }

    /// `((C + eps I)^(-1/2), (C + eps I)^(1/2))`, both exactly symmetric.
    fn symmetric(&self) -> (DMatrix<f64>, DMatrix<f64>) {
        (self.function(reciprocal), self.function(|root| root))
    }

    /// `(W', W'^-1)` for W = M^-1 with `C + eps I = M M'`, M upper triangular with a positive diagonal.
    ///
    /// C + eps I = B'B for the rows `diag(roots) U'` and `rest (I - U U')`; with the columns of B in reverse, B = Q R
    /// gives M as R' in reverse. Nothing is squared, so W is as good as the axes.
    fn triangular(&self, rank: usize) -> Result<(DMatrix<f64>, DMatrix<f64>)> {
        let d = self.vectors.nrows();
        if self.rest == 0.0 && rank < d {
            return Err(singular(&format!("of rank {rank} in {d} features")));
        }
        let unit = exponent(self.roots.first().copied().unwrap_or(0.0).max(self.rest));
        let lines = self.vectors.ncols();
        let extra = if self.complete() { 0 } else { d };
        memory::check_matrices::<f64>(TRIANGULAR, (lines + extra, d), "the Cholesky factor, with its inverse,")?;
        let mut stacked = DMatrix::zeros(lines + extra, d);
        stacked.rows_mut(0, lines).copy_from(&self.rotated()?.1);
        if extra > 0 {
            let across = DMatrix::identity(d, d) - product_transposed(self.vectors, self.vectors);
            stacked.rows_mut(lines, d).copy_from(&(across * self.rest));
        }
        scale_all(stacked.as_mut_slice(), -unit);
        let reversed = DMatrix::from_fn(lines + extra, d, |i, j| stacked[(i, d - 1 - j)]);
        let mut r = Qr::of(reversed.as_slice(), lines + extra, d)?.r();
        for (j, mut line) in r.row_iter_mut().enumerate() {
            if line[j] < 0.0 {
                line.neg_mut();
            }
        }
        // Each column of R is right to d eps of its length: a diagonal entry below that may as well be 0.
        let rounding = d as f64 * f64::EPSILON;
        if r.column_iter().enumerate().any(|(j, column)| column[j] <= rounding * column.norm()) {
            return Err(singular(&format!("whose rank is below {d}, the number of features, but for rounding")));
        }
        let inverse = inverse_of_upper(&r);
        let flipped = |a: &DMatrix<f64>, unit| DMatrix::from_fn(d, d, |i, j| scale(a[(d - 1 - i, d - 1 - j)], unit));
        Ok((flipped(&inverse, -unit), flipped(&r, unit)))
    }

    /// U diag(f(roots))
    fn weighted(&self, f: impl Fn(f64) -> f64) -> DMatrix<f64> {
        let mut out = self.vectors.clone();
        for (mut column, &root) in out.column_iter_mut().zip(&self.roots) {
            column *= f(root);
        }
        out
    }

    /// `U diag(f(roots)) U' + f(rest) (I - U U')`, one triangle mirrored.
    fn function(&self, f: impl Fn(f64) -> f64) -> DMatrix<f64> {
        let rest = if self.complete() { 0.0 } else { f(self.rest) };
        let mut out = product_transposed(&self.weighted(|root| f(root) - rest), self.vectors);
        out.fill_upper_triangle_with_lower_triangle();
        for j in 0..out.ncols() {
            out[(j, j)] += rest;
        }
        out
    }
}

/// 1/x, and 0 for a direction that is dead.
fn reciprocal(x: f64) -> f64 {
    if x > 0.0 { 1.0 / x } else { 0.0 }
}

/// The refusal of the Cholesky factor of data that have no full rank, as `how` says.
fn singular(how: &str) -> Error {
    let wanted = "'pca' or 'zca', or eps larger: the factor needs full rank";
    Error::value("method", format!("'cholesky' for data {how}"), wanted)
}

/// The refusal of rows whose whitening map the element type cannot hold.
pub(super) fn beyond_range<T: Lane>() -> Error {
    let (rows, wanted) = if T::DOUBLE { ("float64", "") } else { ("float32", ", or float64") };
    let found = format!("{rows} rows in a unit in which the whitening map leaves the range of {rows}");
    Error::value("X", found, format!("in another unit{wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::power;

    const METHODS: [Method; 5] = [Method::Pca, Method::Zca, Method::PcaCor, Method::ZcaCor, Method::Cholesky];

    fn options(method: Method, eps: f64) -> WhiteningOptions {
        WhiteningOptions { method, components: Components::All, eps, center: true, ddof: 0 }
    }

    fn fit(data: &[f64], d: usize, options: &WhiteningOptions) -> Result<Whitening> {
        Whitening::fit(MatrixView::new(data, data.len() / d, d).unwrap(), None, options, &Team::solo())
    }

    /// Four corners of a parallelogram: mean (1, 2), and the covariance below with divisor n.
    const CORNERS: [f64; 8] = [4.0, 4.0, 0.0, 2.0, 2.0, 2.0, -2.0, 0.0];

    fn covariance() -> DMatrix<f64> {
        DMatrix::from_row_slice(2, 2, &[5.0, 3.0, 3.0, 2.0])
    }

    #[test]
    fn every_method_whitens_and_comes_back() {
        let identity = DMatrix::<f64>::identity(2, 2);
        for method in METHODS {
            let found = fit(&CORNERS, 2, &options(method, 0.0)).unwrap();
            assert_eq!(found.mean, [1.0, 2.0]);
            let w = found.matrix.transpose();
            assert!((&w * covariance() * w.transpose() - &identity).amax() < 1e-13, "{method:?}");
            assert!((&found.matrix * &found.inverse - &identity).amax() < 1e-13, "{method:?}");
        }
    }

    #[test]
    fn the_factor_is_triangular_with_a_positive_diagonal() {
        let w = fit(&CORNERS, 2, &options(Method::Cholesky, 0.0)).unwrap().matrix.transpose();
        // Cov = M M', M = (sqrt(1/2), 3/sqrt 2; 0, sqrt 2); W = M^-1
        let h = 0.5f64.sqrt();
        let right = DMatrix::from_row_slice(2, 2, &[1.0 / h, -3.0 / (2.0 * h), 0.0, h]);
        assert!((w - right).amax() < 1e-13);
    }

    #[test]
    fn smoothing_is_the_formula_also_where_there_are_fewer_rows_than_columns() {
        let eps = 0.5;
        let data = [1.0, 0.0, 0.0, -1.0, 0.0, 0.0]; // covariance diag(1, 0, 0)
        let right = [1.0 / 1.5f64.sqrt(), 1.0 / 0.5f64.sqrt(), 1.0 / 0.5f64.sqrt()];
        for method in [Method::Zca, Method::Cholesky] {
            let found = fit(&data, 3, &options(method, eps)).unwrap();
            for j in 0..3 {
                assert!((found.matrix[(j, j)] - right[j]).abs() < 1e-15);
                assert!((found.inverse[(j, j)] * right[j] - 1.0).abs() < 1e-15);
            }
            assert!((found.matrix.sum() - right.iter().sum::<f64>()).abs() < 1e-14, "{method:?}");
        }
    }

    #[test]
    fn a_dead_direction_is_left_out_or_refused() {
        let data = [1.0, 1.0, -1.0, -1.0, 3.0, 3.0];
        for method in [Method::Pca, Method::Zca, Method::PcaCor, Method::ZcaCor] {
            let found = fit(&data, 2, &options(method, 0.0)).unwrap();
            assert_eq!(found.rank, 1);
            assert!(found.matrix.amax() < 2.0, "{method:?}");
            let along = DMatrix::from_row_slice(1, 2, &[1.0, 1.0]);
            assert!((&along * &found.matrix * &found.inverse - &along).amax() < 1e-14, "{method:?}");
        }
        let refusal = fit(&data, 2, &options(Method::Cholesky, 0.0)).unwrap_err().to_string();
        assert!(refusal.contains("'cholesky' for data of rank 1 in 2 features"), "{refusal}");
    }

    #[test]
    fn units_change_no_bit() {
        for method in METHODS {
            let small: Vec<f64> = CORNERS.iter().map(|x| x * power(-700)).collect();
            let (one, other) = (fit(&CORNERS, 2, &options(method, 0.0)), fit(&small, 2, &options(method, 0.0)));
            assert_eq!(one.unwrap().matrix, other.unwrap().matrix * power(-700), "{method:?}");
        }
    }

    #[test]
    fn directions_are_left_out_except_by_the_factor() {
        let asked = WhiteningOptions { components: Components::Count(1), ..options(Method::Pca, 0.0) };
        assert_eq!(fit(&CORNERS, 2, &asked).unwrap().matrix.shape(), (2, 1));
        let zca = fit(&CORNERS, 2, &WhiteningOptions { method: Method::Zca, eps: 0.1, ..asked }).unwrap();
        assert!((&zca.matrix * &zca.inverse).trace() - 1.0 < 1e-14);
        assert!(zca.matrix.determinant().abs() < 1e-14);
        let refusal =
            fit(&CORNERS, 2, &WhiteningOptions { method: Method::Cholesky, ..asked }).unwrap_err().to_string();
        assert!(refusal.contains("n_components must be None"), "{refusal}");
    }
}
