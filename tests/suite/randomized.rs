//! Randomised block Krylov iteration: never worse than what it replaces, exact on small spaces, never out of range.

use crate::spectra::{defects, dense, five_spectra, with_spectrum};
use nalgebra::DMatrix;
use prinax::linalg::{
    LanczosOptions, Random, RandomizedOptions, ScatterOf, eigh, lanczos, product, randomized, transposed_product,
};
use prinax::matrix::MatrixView;
use prinax::simd::Centered;
use prinax::threads::Team;

/// Orthonormal columns with the span of `a` (Gram-Schmidt, twice).
fn orthonormal(a: &DMatrix<f64>) -> DMatrix<f64> {
    let mut q = a.clone();
    for j in 0..q.ncols() {
        for _ in 0..2 {
            let done = q.columns(0, j).into_owned();
            let column = q.columns(j, 1).into_owned();
            let rest = &column - product(&done, &transposed_product(&done, &column));
            q.set_column(j, &(rest.column(0) / rest.norm()));
        }
    }
    q
}

#[test]
fn randomized_beats_subspace_iteration_of_the_same_length() {
    for (name, values) in five_spectra(400) {
        let (a, _) = with_spectrum(&values, 4);
        for k in [1, 10, 60] {
            let options = RandomizedOptions { oversamples: 10, iterations: 4, seed: 1 };
            let found = randomized(&dense(&a), k, &options, &Team::solo()).unwrap();
            let mut q = DMatrix::zeros(400, k + 10);
            Random::new(5).fill_symmetric(q.as_mut_slice());
            for _ in 0..5 {
                q = orthonormal(&product(&a, &q));
            }
            let plain = eigh(&transposed_product(&q, &product(&a, &q)), &Team::solo()).unwrap().values;
            let error = |got: &[f64]| (0..k).map(|j| (got[j] - values[j]).abs()).fold(0.0, f64::max) / values[0];
            assert!(error(&found.values) <= error(&plain) + 1e-14, "{name} k={k}");
            assert!(found.values.iter().zip(&values).all(|(got, top)| *got <= top + 1e-14 * values[0]));
            assert!(defects(&a, &found).1 < 1e-13);
        }
    }
}

#[test]
fn randomized_is_exact_where_the_space_is_small_and_finite_where_powers_overflow() {
    for (d, k, oversamples) in [(1, 1, 10), (5, 2, 10), (60, 5, 0), (80, 80, 3)] {
        let values: Vec<f64> = (0..d).map(|j| 1e10 * 0.5f64.powi(j)).collect();
        let (a, _) = with_spectrum(&values, 4);
        let options = RandomizedOptions { oversamples, iterations: 40, seed: 0 };
        let found = randomized(&dense(&a), k, &options, &Team::solo()).unwrap();
        assert!((0..k).all(|j| (found.values[j] - values[j]).abs() <= 1e-13 * values[0]), "d={d} k={k}");
        let (residual, orthogonality) = defects(&a, &found);
        assert!(residual <= 1e-13 * values[0] && orthogonality < 1e-13);
    }
    let zero = DMatrix::zeros(300, 300);
    let options = RandomizedOptions { oversamples: 4, iterations: 7, seed: 0 };
    assert_eq!(randomized(&dense(&zero), 3, &options, &Team::solo()).unwrap().values, [0.0; 3]);
    assert!(randomized(&dense(&zero), 301, &options, &Team::solo()).is_err());
}

#[test]
fn randomized_finds_the_axis_of_white_noise() {
    // Ratio of the first two variances about 1.03: a flat spectrum, on which few power iterations see little.
    let (n, d) = (1000, 100);
    let mut random = Random::new(3);
    let x: Vec<f64> = (0..n * d).map(|_| (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0).collect();
    let mean = vec![0.0; d];
    let rows = Centered::new(MatrixView::new(&x, n, d).unwrap(), &mean, None);
    let right =
        lanczos(&ScatterOf::new(&rows), 1, &LanczosOptions { tol: 1e-12, seed: 0, max_products: None }, &Team::solo())
            .unwrap()
            .unwrap();
    for seed in 0..3 {
        let options = RandomizedOptions { oversamples: 10, iterations: 7, seed };
        let found = randomized(&ScatterOf::new(&rows), 1, &options, &Team::solo()).unwrap();
        let cosine = found.vectors.column(0).dot(&right.vectors.column(0)).abs();
        assert!(cosine > 0.999, "seed {seed}: {cosine}");
    }
}
