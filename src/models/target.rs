//! What supervised PCA maximises dependence on: a kernel of the target as a thin factor, K_y = D D' with D n x m.
//!
//! Only H D is ever used, so a kernel may be shifted first: with the first sample as the reference,
//! k_ij - k_i0 - k_0j + k_00 is the matrix of phi_i - phi_0, and H removes the shift.

use super::factor::Factor;
use crate::covariance::Classes;
use crate::error::{Error, Result};
use crate::kernel::{Extent, Gamma, Kernel, kernel_diagonal, kernel_matrix_into};
use crate::linalg::{LeftOut, Random, check_symmetric, negative_share, pivoted_cholesky, product, transposed_product};
use crate::matrix::{Element, MatrixView, room};
use crate::memory;
use crate::power::{power, unit};
use crate::threads::Team;
use nalgebra::DMatrix;

/// A target of n samples and the kernel that compares them.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a, U> {
    /// 1 where two rows are equal, else 0: labels, as codes or numbers.
    Classes(MatrixView<'a, U>),
    /// y'y
    Linear(MatrixView<'a, U>),
    /// Any other kernel of the rows.
    Kernel(MatrixView<'a, U>, Kernel<Gamma>),
    /// The n x n kernel matrix itself.
    Precomputed(MatrixView<'a, U>),
}

/// Share of the trace of a kernel that its thin factor may leave out: eigenvalues move by that share of the sum of all.
const LEFT_OUT: f64 = 1e-12;
/// Rounding of a kernel value, in units of eps: the factor of a smooth kernel ends where rounding begins.
const ROUNDING: f64 = 16.0;
/// Seed of the vector on which a given kernel is compared with its factor.
const PROBE: u64 = 1;
/// What a copy of the target is called.
const COPY: &str = "a copy of y in float64";

impl Factor {
    /// The factor of a target. Classes O(n), linear O(n m), others n kernel columns at most: O(n m (m + d)) for rank m.
    ///
    /// # Errors
    /// [`Error::Value`] for a constant target, a matrix that is not square, symmetric or positive semidefinite;
    /// [`Error::NotFinite`] naming y, [`Error::Interrupted`].
    pub fn of<U: Element>(target: &Target<U>, team: &Team) -> Result<Self> {
        match *target {
            Target::Classes(y) => classes(y),
            Target::Linear(y) => linear(y),
            Target::Kernel(y, kernel) => of_kernel(y, &kernel, team),
            Target::Precomputed(k) => of_matrix(k, team),
        }
    }
}

fn classes<U: Element>(y: MatrixView<U>) -> Result<Factor> {
    y.check_finite("y")?;
    let classes = Classes::of_rows(y);
    if classes.sizes().len() < 2 {
        return Err(Error::value("y", "a single class", "labels of at least 2 classes"));
    }
    Ok(Factor::Classes(classes))
}

fn linear<U: Element>(y: MatrixView<U>) -> Result<Factor> {
    let extent = Extent::of(y, "y")?;
    let unit = extent.spread_exponent();
    let (mean, factors) = (extent.mean(), extent.factors(unit));
    memory::check_matrices::<f64>(1, (y.rows(), y.cols()), COPY)?;
    // A constant column has the factor 0, and is 0 exactly.
    Factor::columns(DMatrix::from_fn(y.rows(), y.cols(), |i, j| (y.at(i, j) - mean[j]) * factors[j]), unit)
}

/// Kernel values are computed in `f64` whatever the target: single precision would never look like a low rank.
fn of_kernel<U: Element>(y: MatrixView<U>, kernel: &Kernel<Gamma>, team: &Team) -> Result<Factor> {
    let (n, d) = (y.rows(), y.cols());
    let mut wide = room::<f64>(n.saturating_mul(d), COPY)?;
    y.each_row(|row| wide.extend(row.iter().map(|&y| -> f64 { y.into() })));
    let y = MatrixView::new(&wide, n, d)?;
    let kernel = kernel.resolve(y, "y", team)?;
    let diagonal = kernel_diagonal(y, &kernel)?;
    let column =
        |j: usize, out: &mut [f64]| kernel_matrix_into(y.rows_in(j..j + 1), Some(y), &kernel, out, &team.alone());
    let (columns, _) = shifted::<f64>(&diagonal, column, team)?;
    Factor::columns(columns, 0)
}

/// In the power of 4 next to the largest entry, whose root is the unit of the columns: no square over- or underflows.
fn of_matrix<U: Element>(k: MatrixView<U>, team: &Team) -> Result<Factor> {
    let half = unit(check_symmetric(k, "y")?).div_euclid(2);
    let (n, down) = (k.rows(), power(-2 * half));
    let value = |i: usize, j: usize| k.at(i, j) * down;
    let diagonal: Vec<f64> = (0..n).map(|i| value(i, i)).collect();
    let column = |j: usize, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(i, out)| *out = value(i, j));
        Ok(())
    };
    let (columns, negative) = shifted::<U>(&diagonal, column, team)?;
    // (K - D D') v for a random v, centred before and after: H K H itself, whatever K was shifted by.
    let mut probe = DMatrix::zeros(n, 1);
    Random::new(PROBE).fill_symmetric(probe.as_mut_slice());
    centre(&mut probe);
    let mut rest = DMatrix::from_fn(n, 1, |i, _| (0..n).map(|j| value(i, j) * probe[j]).sum());
    rest -= product(&columns, &transposed_product(&columns, &probe));
    centre(&mut rest);
    if rest.norm() > negative * n as f64 {
        return Err(indefinite());
    }
    Factor::columns(columns, half)
}

fn centre(column: &mut DMatrix<f64>) {
    let mean = column.mean();
    column.add_scalar_mut(-mean);
}

fn indefinite() -> Error {
    Error::value("y", "a kernel matrix with a large negative eigenvalue", "positive semidefinite (after centring)")
}

/// The thin factor of the kernel, whose values round as `U` does, about its first sample, and how negative an entry of
/// its diagonal may be.
fn shifted<U: Element>(
    diagonal: &[f64],
    column: impl Fn(usize, &mut [f64]) -> Result<()>,
    team: &Team,
) -> Result<(DMatrix<f64>, f64)> {
    let n = diagonal.len();
    let mut first = vec![0.0; n];
    column(0, &mut first)?;
    let origin = first.first().copied().unwrap_or(0.0);
    let moved: Vec<f64> = diagonal.iter().zip(&first).map(|(k, k0)| (k - k0) - (k0 - origin)).collect();
    let scale = moved.iter().fold(0.0f64, |most, d| most.max(d.abs()));
    let largest = diagonal.iter().fold(0.0f64, |most, d| most.max(d.abs()));
    let rounding = ROUNDING * U::EPSILON * largest;
    let share = LEFT_OUT.max(ROUNDING * U::EPSILON);
    let about = |j: usize, out: &mut [f64]| {
        column(j, out)?;
        let shift = first[j] - origin;
        out.iter_mut().zip(&first).for_each(|(k, k0)| *k = (*k - k0) - shift);
        Ok(())
    };
    let (factor, left) = pivoted_cholesky(moved, about, LeftOut { share, rounding }, team)?;
    let negative = negative_share::<U>() * scale + rounding;
    if left.iter().any(|&d| d < -negative) {
        return Err(indefinite());
    }
    Ok((factor, negative))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(target: &Target<f64>) -> Result<Factor> {
        Factor::of(target, &Team::solo())
    }

    /// H D D'H
    fn centred(factor: &Factor) -> DMatrix<f64> {
        let n = factor.samples();
        let identity = DMatrix::identity(n, n);
        let d = factor.centred_transpose_times(&identity).transpose();
        &d * d.transpose() * power(2 * factor.exponent())
    }

    fn right(n: usize, k: impl Fn(usize, usize) -> f64) -> DMatrix<f64> {
        let h = DMatrix::identity(n, n) - DMatrix::from_element(n, n, 1.0 / n as f64);
        &h * DMatrix::from_fn(n, n, k) * &h
    }

    #[test]
    fn every_factor_multiplies_back_to_its_kernel() {
        let y: Vec<f64> = (0..24).map(|i| f64::from((i * i * 7) % 5)).collect();
        let view = MatrixView::new(&y, 12, 2).unwrap();
        let row = |i: usize| (y[2 * i], y[2 * i + 1]);
        let equal = |i: usize, j: usize| f64::from(u8::from(row(i) == row(j)));
        let dot = |i: usize, j: usize| row(i).0 * row(j).0 + row(i).1 * row(j).1;
        let square = |i: usize, j: usize| (row(i).0 - row(j).0).powi(2) + (row(i).1 - row(j).1).powi(2);
        let rbf = |i: usize, j: usize| (-0.1 * square(i, j)).exp();
        let matrix: Vec<f64> = (0..144).map(|at| rbf(at / 12, at % 12) + 7.0).collect();
        let given = MatrixView::new(&matrix, 12, 12).unwrap();
        let kernel = Kernel::Rbf { gamma: Gamma::Number(0.1) };
        let cases = [
            (Target::Classes(view), right(12, equal)),
            (Target::Linear(view), right(12, dot)),
            (Target::Kernel(view, kernel), right(12, rbf)),
            (Target::Precomputed(given), right(12, rbf)),
        ];
        for (target, right) in cases {
            let factor = factor(&target).unwrap();
            assert!((centred(&factor) - &right).amax() <= 1e-10 * right.amax(), "{target:?}");
            let w = DMatrix::from_fn(factor.centred_transpose_times(&right).nrows(), 2, |i, j| (i + 2 * j) as f64);
            let identity = DMatrix::identity(12, 12);
            let d = factor.centred_transpose_times(&identity).transpose();
            assert!((factor.centred_times(&w) - d * w).amax() < 1e-13);
        }
    }

    #[test]
    fn targets_without_a_direction_are_refused() {
        let refused = |target: &Target<f64>| factor(target).unwrap_err().to_string();
        let ones = [1.0; 9];
        let (column, square) = (MatrixView::new(&ones, 9, 1).unwrap(), MatrixView::new(&ones, 3, 3).unwrap());
        assert!(refused(&Target::Classes(column)).contains("a single class"));
        assert!(refused(&Target::Linear(column)).contains("the same for every sample"));
        assert!(refused(&Target::Kernel(column, Kernel::Rbf { gamma: Gamma::Median })).contains("the same"));
        assert!(refused(&Target::Precomputed(square)).contains("the same"));
        assert!(refused(&Target::Precomputed(column)).contains("square"));
    }

    #[test]
    fn an_indefinite_kernel_is_refused_wherever_it_hides() {
        let refused = |k: &[f64], n: usize| {
            factor(&Target::Precomputed(MatrixView::new(k, n, n).unwrap())).unwrap_err().to_string()
        };
        assert!(refused(&[0.0, 1.0, 1.0, 0.0], 2).contains("positive semidefinite"));
        // About the first sample the diagonal is 0, 0, 0, 0 and one entry beside it is not.
        let mut k = [0.0; 16];
        (k[7], k[13]) = (1.0, 1.0);
        assert!(refused(&k, 4).contains("positive semidefinite"));
    }

    #[test]
    fn a_matrix_of_any_unit_has_the_factor_of_every_other() {
        // (i - j)^2 about its means is -2 (i - 1.5)(j - 1.5).
        let k: Vec<f64> = (0..16).map(|at| 4.0 - 0.5 * f64::from((at / 4 - at % 4) * (at / 4 - at % 4))).collect();
        for e in [-1000, -700, -3, 0, 1, 700, 1000, 1020] {
            let moved: Vec<f64> = k.iter().map(|k| k * power(e)).collect();
            let got = factor(&Target::Precomputed(MatrixView::new(&moved, 4, 4).unwrap())).unwrap();
            let Factor::Columns { columns, exponent } = got else { panic!() };
            let right = DMatrix::from_fn(4, 4, |i, j| (i as f64 - 1.5) * (j as f64 - 1.5));
            let found = &columns * columns.transpose() * power(2 * exponent - e);
            assert!((found - right).amax() < 1e-13, "{e}");
        }
    }

    #[test]
    fn units_and_offsets_cost_nothing() {
        let y = [1.0, 2.0, 4.0, 3.0];
        for (unit, offset) in [(1e200, 0.0), (1e-200, 0.0), (1.0, 2f64.powi(40))] {
            let moved: Vec<f64> = y.iter().map(|y| (y + offset) * unit).collect();
            let got = factor(&Target::Linear(MatrixView::new(&moved, 4, 1).unwrap())).unwrap();
            let Factor::Columns { columns, exponent } = got else { panic!() };
            for (x, right) in columns.iter().zip([-1.5, -0.5, 1.5, 0.5]) {
                assert!((x * power(exponent) / unit - right).abs() < 1e-14);
            }
        }
    }
}
