//! Symmetric matrices with known eigenpairs, and how far computed ones are off.

#![allow(clippy::expect_used)] // helpers outside `#[test]` stop at the first surprise

use nalgebra::DMatrix;
use prinax::linalg::{Dense, Eigen, Random, product, product_transposed, transposed_product};

/// d x d orthogonal matrix: a product of random reflections.
pub(crate) fn orthogonal(d: usize, seed: u64) -> DMatrix<f64> {
    let mut random = Random::new(seed);
    let mut q = DMatrix::identity(d, d);
    for _ in 0..3 {
        let mut v = DMatrix::zeros(d, 1);
        random.fill_symmetric(v.as_mut_slice());
        let square = v.norm_squared();
        let row = product_transposed(&product(&q, &v), &v);
        q -= row * (2.0 / square);
    }
    q
}

/// The symmetric matrix with these eigenvalues, and its eigenvectors as columns.
pub(crate) fn with_spectrum(values: &[f64], seed: u64) -> (DMatrix<f64>, DMatrix<f64>) {
    let q = orthogonal(values.len(), seed);
    let scaled = DMatrix::from_fn(values.len(), values.len(), |i, j| q[(i, j)] * values[j]);
    let a = product_transposed(&scaled, &q);
    let symmetric = DMatrix::from_fn(values.len(), values.len(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]));
    (symmetric, q)
}

/// A as an operator.
pub(crate) fn dense(a: &DMatrix<f64>) -> Dense<'_> {
    a.try_into().expect("a square matrix")
}

/// Largest residual |A v - theta v| and largest entry of |V'V - I|.
pub(crate) fn defects(a: &DMatrix<f64>, found: &Eigen) -> (f64, f64) {
    let k = found.values.len();
    let mut residual = product(a, &found.vectors);
    for j in 0..k {
        let theta = found.values[j];
        let v = found.vectors.column(j) * theta;
        let mut column = residual.column_mut(j);
        column -= v;
    }
    let worst = residual.column_iter().map(|c| c.norm()).fold(0.0, f64::max);
    let gram = transposed_product(&found.vectors, &found.vectors) - DMatrix::identity(k, k);
    (worst, if k == 0 { 0.0 } else { gram.amax() })
}

/// Five kinds of spectra of d values, descending.
pub(crate) fn five_spectra(d: usize) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = Random::new(9);
    let at = |f: &dyn Fn(f64) -> f64| (0..d).map(|j| f(j as f64)).collect::<Vec<f64>>();
    let mut bulk: Vec<f64> = (0..d).map(|_| 2.0 * random.uniform()).collect();
    bulk.iter_mut().zip([40.0, 30.0, 20.0, 10.0, 5.0]).for_each(|(x, spike)| *x += spike);
    bulk.sort_by(|x, y| y.total_cmp(x));
    vec![
        ("geometric", at(&|j| 100.0 * 0.8f64.powf(j) + 1e-3)),
        ("harmonic", at(&|j| 100.0 / (1.0 + j))),
        ("spikes over a bulk", bulk),
        ("flat", at(&|j| 2.0 - j / d as f64)),
        ("images", at(&|j| 60.0 * (-0.11 * j.powf(0.75)).exp() + 1e-4)),
    ]
}
