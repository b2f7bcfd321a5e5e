//! The kernel matrix of a set of long rows with itself, where it is a function of their products: a Gram matrix whose
//! rows become kernel values while they are near.

use super::range::holds;
use super::recipe::{Meeting, Plan, plan};
use super::{Extent, Kernel, Units};
use crate::error::Result;
use crate::matrix::MatrixView;
use crate::memory;
use crate::power::power;
use crate::simd::mirror::mirror;
use crate::simd::panel::Panel;
use crate::simd::profile::{Profile, apply_to_line};
use crate::simd::syrk::upper_into;
use crate::simd::tiling::Shape;
use crate::simd::{Centered, Lane};
use crate::threads::Team;

/// Fewest columns: packed columns of shorter rows would not be worth their two passes over the matrix.
const LONG: usize = 129;

/// Numbers in `f64` a column beside the packed rows: origin and factor, in both types, and the share of a panel.
const A_COLUMN: usize = 5;

/// Largest exponent of a factor in f32: far enough from 127 for the differences and for the squares of what they leave.
const REACH: i32 = 100;

/// Fills the n x n buffer `out` and says so; leaves kernels that are no function of products, and short rows, to
/// others.
pub(super) fn whole<T: Lane>(
    x: MatrixView<T>,
    kernel: &Kernel,
    extent: &Extent,
    out: &mut [T],
    team: &Team,
) -> Result<bool> {
    let (n, d) = (x.rows(), x.cols());
    // Each row of the cosine has a factor of its own, which columns cannot carry.
    if n == 0 || d < LONG || matches!(kernel, Kernel::Cosine) || !holds::<T, T>(x, None, kernel, extent) {
        return Ok(false);
    }
    let shape = Shape::of::<T>(n);
    let column = Panel::<T>::values(n, shape) * size_of::<T>() + A_COLUMN * size_of::<f64>();
    memory::check_bytes((column as u128).saturating_mul(d as u128), "a packed copy of the rows")?;
    let Plan { meeting, profile, mut origin, factors, unit_diagonal, .. } =
        plan::<T, T>(x, None, kernel, extent, Units::Plain);
    if meeting != Meeting::Product || !within_reach::<T>(&factors) {
        return Ok(false);
    }
    origin.resize(d, 0.0);
    let rows = Centered::new(x, &origin, (!factors.is_empty()).then_some(&factors));
    let panels = Panel::of_columns(&rows, T::of(1.0), shape, team);
    let mut halves = vec![T::of(0.0); n];
    if matches!(profile, Profile::DecayOfProducts(_)) {
        for panel in &panels {
            panel.add_squares(&mut halves);
        }
        for half in &mut halves {
            *half = T::of(0.5) * *half;
        }
    }
    let finish = |i: usize, line: &mut [T]| {
        apply_to_line(&profile, line, halves[i], &halves[i..]);
        if unit_diagonal {
            line[0] = T::of(1.0);
        }
    };
    upper_into(&panels, shape, (n, &mut *out), finish, team)?;
    mirror(n, out, team);
    Ok(true)
}

/// Whether rows can be centred and scaled in their own type: neither a difference nor a factor leaves its range.
fn within_reach<T: Lane>(factors: &[f64]) -> bool {
    let reach = power(-REACH)..=power(REACH);
    T::DOUBLE || factors.iter().all(|f| *f == 0.0 || reach.contains(f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Rate;
    use crate::matrix::Element;

    fn rate(value: f64) -> Rate {
        Rate::new(value).unwrap()
    }

    fn filled<T: Lane>(n: usize, d: usize, offset: f64, kernel: &Kernel) -> Option<(Vec<T>, Vec<T>)> {
        let data: Vec<T> = (0..n * d).map(|at| T::of(offset + ((at * 7919 % 1013) as f64 / 1013.0 - 0.5))).collect();
        let x = MatrixView::new(&data, n, d).unwrap();
        let mut out = vec![T::of(f64::NAN); n * n];
        let extent = Extent::of(x, "X").unwrap();
        whole(x, kernel, &extent, &mut out, &Team::solo()).unwrap().then_some((data, out))
    }

    fn check<T: Lane>(kernel: &Kernel, offset: f64, right: impl Fn(f64, f64) -> f64) {
        for (n, d) in [(1, 130), (2, 129), (50, 200), (49, 385), (130, 131)] {
            let (data, out) = filled::<T>(n, d, offset, kernel).unwrap();
            for i in 0..n {
                for j in 0..n {
                    let pairs = || (0..d).map(|c| (data[i * d + c].into(), data[j * d + c].into()));
                    let product = pairs().map(|(x, y): (f64, f64)| x * y).sum();
                    let square = pairs().map(|(x, y): (f64, f64)| (x - y) * (x - y)).sum();
                    let right = right(product, square);
                    let found: f64 = out[i * n + j].into();
                    assert!((found - right).abs() <= 64.0 * T::EPSILON * right.abs().max(1.0), "{n} {d} {i} {j}");
                    assert!(out[i * n + j] == out[j * n + i]);
                }
            }
        }
    }

    #[test]
    fn every_kernel_of_products_is_that_of_the_formula() {
        let (gamma, slow) = (rate(0.01), rate(0.003));
        check::<f64>(&Kernel::Rbf { gamma }, 0.0, |_, square| (-0.01 * square).exp());
        check::<f32>(&Kernel::Rbf { gamma }, 0.0, |_, square| (-0.01 * square).exp());
        check::<f64>(&Kernel::Rbf { gamma }, 1e6, |_, square| (-0.01 * square).exp());
        check::<f64>(&Kernel::Linear { centered: false }, 0.0, |product, _| product);
        check::<f64>(&Kernel::Sigmoid { gamma: slow, coef0: 0.1 }, 0.0, |product, _| (0.003 * product + 0.1).tanh());
        let poly = Kernel::Poly { gamma: slow, degree: 3.0, coef0: 1.0 };
        check::<f64>(&poly, 0.0, |product, _| (0.003 * product + 1.0).powi(3));
        check::<f32>(&poly, 0.0, |product, _| (0.003 * product + 1.0).powi(3));
    }

    #[test]
    fn a_row_is_as_near_itself_as_can_be_and_a_copy_nearly() {
        let data: Vec<f64> = (0..400).map(|at| f64::from(at % 200).sin()).collect();
        let x = MatrixView::new(&data, 2, 200).unwrap();
        let mut out = [0.0; 4];
        let kernel = Kernel::Rbf { gamma: rate(0.01) };
        assert!(whole(x, &kernel, &Extent::of(x, "X").unwrap(), &mut out, &Team::solo()).unwrap());
        assert_eq!((out[0], out[3]), (1.0, 1.0));
        assert!(out[1] <= 1.0 && 1.0 - out[1] <= 16.0 * f64::EPSILON);
    }

    #[test]
    fn single_precision_at_the_ends_of_its_range_keeps_to_the_formula() {
        for unit in [1e-44f32, 1e-42, 1e-30, 1e30, 3e38] {
            // Entries of -1, 0 and 1 in that unit; gamma undoes it, so that distances are small whole numbers.
            let (n, d) = (4, 130);
            let sign = |at: usize| (at * at % 7 % 3) as f64 - 1.0;
            let data: Vec<f32> = (0..n * d).map(|at| f32::of(sign(at)) * unit).collect();
            let unit = f64::from(unit);
            let x = MatrixView::new(&data, n, d).unwrap();
            let kernel = Kernel::Rbf { gamma: rate(0.01 / unit / unit) };
            let found = crate::kernel::kernel_matrix(x, None, &kernel, &Team::solo()).unwrap();
            for (at, found) in found.into_iter().enumerate() {
                let gap = |c: usize| sign(at / n * d + c) - sign(at % n * d + c);
                let right = (-0.01 * (0..d).map(|c| gap(c) * gap(c)).sum::<f64>()).exp();
                assert!(
                    (f64::from(found) - right).abs() <= 64.0 * f64::from(f32::EPSILON),
                    "{unit} {at}: {found} {right}"
                );
            }
        }
    }

    #[test]
    fn other_kernels_and_short_rows_are_left_alone() {
        let gamma = rate(0.01);
        assert!(filled::<f64>(5, 128, 0.0, &Kernel::Rbf { gamma }).is_none());
        assert!(filled::<f64>(5, 200, 0.0, &Kernel::Laplacian { gamma }).is_none());
        assert!(filled::<f64>(5, 200, 0.0, &Kernel::Cosine).is_none());
        // Far apart for their gamma: products would lose what differences keep.
        assert!(filled::<f64>(5, 200, 0.0, &Kernel::Rbf { gamma: rate(10.0) }).is_none());
    }
}
