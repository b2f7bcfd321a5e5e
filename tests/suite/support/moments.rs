//! Mean and scatter in double-double arithmetic, and how near to them the moments have to be.

#![allow(clippy::unwrap_used)]

use super::Double;
use prinax::covariance::{Moments, MomentsOptions};
use prinax::simd::Lane;
use prinax::{Error, MatrixView, Team};

/// Mean and scatter of row-major data in double-double.
pub fn reference<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
    let rows = data.len() / cols;
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..rows).map(weight).sum();
    let at = |i: usize, j: usize| -> f64 { data[i * cols + j].into() };
    let mut mean = vec![Double(0.0, 0.0); cols];
    for j in 0..cols {
        let sum = (0..rows).fold(Double(0.0, 0.0), |s, i| s.plus(Double(at(i, j), 0.0).times(Double(weight(i), 0.0))));
        let first = sum.0 / total;
        let rest = sum.plus(Double(-first, 0.0).times(Double(total, 0.0)));
        mean[j] = Double(first, 0.0).plus(Double(rest.0 / total, 0.0));
    }
    let centered: Vec<Double> = (0..rows * cols)
        .map(|at| Double(data[at].into(), 0.0).plus(Double(-mean[at % cols].0, -mean[at % cols].1)))
        .collect();
    let mut scatter = vec![0.0; cols * cols];
    for i in 0..cols {
        for j in 0..=i {
            let mut sum = Double(0.0, 0.0);
            for (r, row) in centered.chunks_exact(cols).enumerate() {
                sum = sum.plus(row[i].times(row[j]).times(Double(weight(r), 0.0)));
            }
            (scatter[i * cols + j], scatter[j * cols + i]) = (sum.0, sum.0);
        }
    }
    (mean.iter().map(|m| m.0).collect(), scatter)
}

/// The scatter in true units.
pub fn scatter(moments: &Moments) -> Vec<f64> {
    let scaled = moments.scatter();
    scaled.matrix.iter().map(|s| s * 2f64.powi(scaled.exponent)).collect()
}

/// Largest |S - R|_ij / sqrt(R_ii R_jj), and the largest error of a mean in its standard deviation.
pub fn errors(moments: &Moments, (mean, right): &(Vec<f64>, Vec<f64>)) -> (f64, f64) {
    let (got, cols) = (scatter(moments), mean.len());
    let mut worst = (0f64, 0f64);
    for i in 0..cols {
        let deviation = (right[i * cols + i] / moments.weight()).sqrt();
        // A unit in the last place of the mean itself is allowed.
        let off = (moments.mean()[i] - mean[i]).abs() - mean[i].abs() * f64::EPSILON;
        worst.1 = worst.1.max(if off <= 0.0 { 0.0 } else { off / deviation });
        for j in 0..cols {
            let scale = (right[i * cols + i] * right[j * cols + j]).sqrt();
            let error = (got[i * cols + j] - right[i * cols + j]).abs();
            worst.0 = worst.0.max(if error == 0.0 { 0.0 } else { error / scale });
            assert_eq!(got[i * cols + j].to_bits(), got[j * cols + i].to_bits());
        }
    }
    worst
}

/// The moments of rows of `cols` columns.
pub fn of<T: Lane>(data: &[T], cols: usize) -> Moments {
    weighted(data, cols, None)
}

/// The same, of weighted rows.
pub fn weighted<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> Moments {
    let x = MatrixView::new(data, data.len() / cols, cols).unwrap();
    Moments::of(x, &MomentsOptions { center: true, weights }, &Team::solo()).unwrap()
}

/// What is said of rows that are refused.
pub fn refusal<T: Lane>(data: &[T], cols: usize, weights: Option<&[f64]>) -> Error {
    let x = MatrixView::new(data, data.len() / cols, cols).unwrap();
    Moments::of(x, &MomentsOptions { center: true, weights }, &Team::solo()).unwrap_err()
}

/// Relative error allowed to the scatter, and to the mean in standard deviations.
const SINGLE: (f64, f64) = (4.0 * f32::EPSILON as f64, f32::EPSILON as f64);
const DOUBLE: (f64, f64) = (1e-14, 1e-15);

/// As exact as promised, at this `label`.
pub fn assert_right<T: Lane>(moments: &Moments, right: &(Vec<f64>, Vec<f64>), label: &str) {
    let (scatter, mean) = errors(moments, right);
    let allowed = if T::DOUBLE { DOUBLE } else { SINGLE };
    assert!(scatter <= allowed.0 && mean <= allowed.1, "{label}: scatter {scatter:e}, mean {mean:e}");
}
