//! A kernel matrix stored by half against the whole one.

#![allow(clippy::unwrap_used)]

use crate::support::numbers;
use prinax::bands::UpperBands;
use prinax::kernel::{Kernel, KernelMeans, Rate, half_layout, kernel_half, kernel_matrix_wide};
use prinax::linalg::{Dense, Operator};
use prinax::simd::Lane;
use prinax::threads::run;
use prinax::{Error, MatrixView, Team};

/// Small, more than one square, several bands of several pieces.
const SIZES: [usize; 5] = [1, 23, 150, 333, 1300];

fn check<T: Lane>(n: usize, team: &Team) {
    let d = 3;
    let x: Vec<T> = numbers(n * d, 5).into_iter().map(T::of).collect();
    let x = MatrixView::new(&x, n, d).unwrap();
    let kernel = Kernel::Rbf { gamma: Rate::new(0.7).unwrap() };
    let mut whole = vec![0.0; n * n];
    kernel_matrix_wide(x, &kernel, &mut whole, team).unwrap();
    let mut entries = vec![0.0; half_layout(n).len()];
    let means = kernel_half(x, &kernel, &mut entries, team).unwrap();
    let half = UpperBands::new(&entries, half_layout(n)).unwrap();
    let mut unfolded = vec![0.0; n * n];
    half.unfold(&mut unfolded);
    assert_eq!(unfolded, whole, "{n} rows");

    let right = KernelMeans::of(MatrixView::new(&whole, n, n).unwrap(), "K", team).unwrap();
    let close = |a: f64, b: f64| (a - b).abs() <= 4.0 * f64::EPSILON;
    assert!(close(means.grand(), right.grand()));
    assert!(means.columns().iter().zip(right.columns()).all(|(a, b)| close(*a, b)));

    let q = numbers(2 * n, 9);
    let (mut z, mut wanted) = (vec![0.0; 2 * n], vec![0.0; 2 * n]);
    half.apply(&q, &mut z, team).unwrap();
    Dense::new(&whole, n).unwrap().apply(&q, &mut wanted, team).unwrap();
    let rounding = n as f64 * f64::EPSILON;
    assert!(z.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= rounding), "{n} rows");
}

#[test]
fn half_is_the_whole() {
    for n in SIZES {
        check::<f64>(n, &Team::solo());
        check::<f32>(n, &Team::solo());
    }
}

#[test]
fn threads_do_not_show() {
    let n = 1300;
    let x = numbers(n * 2, 3);
    let x = MatrixView::new(&x, n, 2).unwrap();
    let result = |threads| {
        run(
            threads,
            || false,
            |team| {
                let mut entries = vec![0.0; half_layout(n).len()];
                let kernel = Kernel::Laplacian { gamma: Rate::new(1.5).unwrap() };
                let means = kernel_half(x, &kernel, &mut entries, team).unwrap();
                let half = UpperBands::new(&entries, half_layout(n)).unwrap();
                let (q, mut z) = (numbers(4 * n, 1), vec![0.0; 4 * n]);
                half.apply(&q, &mut z, team).unwrap();
                (means, z)
            },
        )
    };
    assert_eq!(result(1), result(2));
}

#[test]
fn values_beyond_the_range_are_found() {
    let n = 30;
    let mut x = vec![1.0; n];
    x[n - 1] = 1e200;
    let x = MatrixView::new(&x, n, 1).unwrap();
    let square = Kernel::Poly { gamma: Rate::new(1.0).unwrap(), degree: 2.0, coef0: 0.0 };
    let error = kernel_half(x, &square, &mut vec![0.0; half_layout(n).len()], &Team::solo()).unwrap_err();
    assert_eq!(error, Error::NotFinite { what: "the kernel matrix", nan: false });
}
