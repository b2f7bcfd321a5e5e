//! Inner products of centred rows against double-double arithmetic, and their promises: layouts, threads, units.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::needless_for_each)]

use crate::support::{Double, Random};
use nalgebra::DMatrix;
use prinax::covariance::gram;
use prinax::simd::{Centered, Lane};
use prinax::threads::run;
use prinax::{Error, MatrixView, Team};

/// Column means, near enough: the products are of the rows about these, whatever they are.
fn means<T: Lane>(x: MatrixView<T>) -> Vec<f64> {
    (0..x.cols()).map(|j| (0..x.rows()).map(|i| x.at(i, j)).sum::<f64>() / x.rows() as f64).collect()
}

fn reference<T: Lane>(x: MatrixView<T>, mean: &[f64], factor: Option<&[f64]>) -> DMatrix<f64> {
    let entry = |i: usize, j: usize| {
        Double(x.at(i, j), 0.0).plus(Double(-mean[j], 0.0)).times(Double(factor.map_or(1.0, |f| f[j]), 0.0))
    };
    DMatrix::from_fn(x.rows(), x.rows(), |a, b| {
        (0..x.cols()).fold(Double(0.0, 0.0), |sum, j| sum.plus(entry(a, j).times(entry(b, j)))).0
    })
}

fn of<T: Lane>(x: MatrixView<T>, mean: &[f64], factor: Option<&[f64]>) -> DMatrix<f64> {
    let scaled = gram(&Centered::new(x, mean, factor), &Team::solo()).unwrap();
    scaled.matrix * 2f64.powi(scaled.exponent)
}

/// Largest |G - R|_ij / sqrt(R_ii R_jj).
fn error(got: &DMatrix<f64>, right: &DMatrix<f64>) -> f64 {
    assert_eq!(got, &got.transpose());
    let scaled = |i: usize, j: usize| (got[(i, j)] - right[(i, j)]).abs() / (right[(i, i)] * right[(j, j)]).sqrt();
    let n = got.nrows();
    (0..n * n)
        .map(|at| (at / n, at % n))
        .filter(|&(i, j)| got[(i, j)] != right[(i, j)])
        .fold(0.0, |worst, (i, j)| f64::max(worst, scaled(i, j)))
}

#[test]
fn every_shape_and_offset_is_right() {
    for (rows, cols) in [(1, 1), (1, 5), (2, 3), (5, 1), (7, 200), (23, 97), (50, 1000), (49, 193), (130, 70)] {
        for offset in [0.0, 1e4, 1e8] {
            let data: Vec<f64> = Random(cols as u64).matrix(rows, cols, offset);
            let x = MatrixView::new(&data, rows, cols).unwrap();
            let mean = means(x);
            let factor: Vec<f64> = (0..cols).map(|j| 1.0 / (1.0 + (j % 3) as f64)).collect();
            for factor in [None, Some(&factor[..])] {
                let worst = error(&of(x, &mean, factor), &reference(x, &mean, factor));
                assert!(worst < 1e-14, "{rows} x {cols} + {offset}: {worst:e}");
            }
            let data: Vec<f32> = data.iter().map(|&x| x as f32).collect();
            let x = MatrixView::new(&data, rows, cols).unwrap();
            let mean = means(x);
            let worst = error(&of(x, &mean, None), &reference(x, &mean, None));
            // f32 adds up panels of 128 columns: rounding grows with the square root of that.
            assert!(worst < 11.0 * f64::from(f32::EPSILON), "f32 {rows} x {cols} + {offset}: {worst:e}");
        }
    }
}

#[test]
fn layouts_and_threads_give_the_same_bits() {
    for (rows, cols) in [(60, 5000), (300, 700)] {
        let data: Vec<f32> = Random(1).matrix(rows, cols, 3.0);
        let mut columns = vec![0.0; rows * cols];
        (0..rows * cols).for_each(|at| columns[at % cols * rows + at / cols] = data[at]);
        let x = MatrixView::new(&data, rows, cols).unwrap();
        let mean = means(x);
        let expected = gram(&Centered::new(x, &mean, None), &Team::solo()).unwrap();
        let columns = MatrixView::with_strides(&columns, (rows, cols), (1, rows)).unwrap();
        for threads in [1, 2, 5] {
            for x in [x, columns] {
                let work = |team: &Team| gram(&Centered::new(x, &mean, None), team).unwrap();
                assert_eq!(run(threads, || false, work), expected);
            }
        }
    }
}

#[test]
fn scaling_by_a_power_of_two_changes_no_bit() {
    let data: Vec<f64> = Random(2).matrix(20, 90, 2.0);
    let mean = means(MatrixView::new(&data, 20, 90).unwrap());
    let scaled = |power: i32| {
        let unit = 2f64.powi(power);
        let data: Vec<f64> = data.iter().map(|x| x * unit).collect();
        let mean: Vec<f64> = mean.iter().map(|m| m * unit).collect();
        gram(&Centered::new(MatrixView::new(&data, 20, 90).unwrap(), &mean, None), &Team::solo()).unwrap()
    };
    let (moderate, small) = (scaled(0), scaled(-900));
    for power in [-200, 200, 900] {
        let got = scaled(power);
        assert_eq!((got.matrix, got.exponent), (small.matrix.clone(), small.exponent + 2 * (power + 900)));
    }
    // Moderate data have no unit, and the same bits.
    assert_eq!(moderate.exponent, 0);
    assert_eq!(&small.matrix * 2f64.powi(small.exponent + 2 * 900), moderate.matrix);
}

#[test]
fn a_sample_that_misleads_about_the_unit_is_found_out() {
    for value in [1e-250, 1e250] {
        let mut data = vec![0.0; 40 * 3];
        (data[3], data[7]) = (value, -2.0 * value); // rows 1 and 2
        let scaled =
            gram(&Centered::new(MatrixView::new(&data, 40, 3).unwrap(), &[0.0; 3], None), &Team::solo()).unwrap();
        assert!((scaled.matrix[(2, 2)] / scaled.matrix[(1, 1)] - 4.0).abs() < 1e-14);
        assert!(scaled.matrix[(1, 1)] > 0.01 && scaled.exponent != 0);
    }
    let zeros = [0.0; 6];
    assert_eq!(of(MatrixView::new(&zeros, 3, 2).unwrap(), &[0.0; 2], None), DMatrix::zeros(3, 3));
}

#[test]
fn what_is_not_finite_is_refused() {
    for (bad, nan) in [(f64::NAN, true), (f64::INFINITY, false)] {
        let mut data: Vec<f64> = Random(3).matrix(30, 40, 0.0);
        data[17 * 40 + 39] = bad;
        let x = MatrixView::new(&data, 30, 40).unwrap();
        let found = gram(&Centered::new(x, &[0.0; 40], None), &Team::solo());
        assert_eq!(found, Err(Error::NotFinite { what: "X", nan }));
    }
}
