//! Tests of independence: exact on few points, uniform on independent data, and the gamma approximation by its formula.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use crate::support::dependence::{RBF, X, Y, biased, centred, column, kernels, matrix, near, related, rows};
use crate::support::numbers;
use prinax::hsic::{Estimator, Permutations, Sample, gamma_test, hsic, permutation_test};
use prinax::kernel::{Gamma, Kernel};
use prinax::{MatrixView, Team};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_permutation_test_is_exact_on_five_points() {
    // All 120 orders give the exact p; 20000 random ones come near it (standard deviation below 0.0036).
    let (x, y) = ([0.0, 1.0, 2.5, 4.0, 7.0], [1.0, 0.5, 3.0, 5.0, 4.0]);
    let kernel = Kernel::Rbf { gamma: Gamma::Number(0.1) };
    let k = matrix(&x, 1, &kernel);
    let mut orders = vec![vec![]];
    for i in 0..5 {
        orders = orders
            .into_iter()
            .flat_map(|o: Vec<usize>| {
                (0..=i).map(move |at| {
                    let mut o = o.clone();
                    o.insert(at, i);
                    o
                })
            })
            .collect();
    }
    let of = |order: &[usize]| {
        let y: Vec<f64> = order.iter().map(|&i| y[i]).collect();
        biased(&k, &matrix(&y, 1, &kernel))
    };
    let observed = of(&[0, 1, 2, 3, 4]);
    let exact = orders.iter().filter(|o| of(o) >= observed * (1.0 - 1e-12)).count() as f64 / 120.0;
    let counter = AtomicUsize::new(0);
    let permutations = Permutations { count: 20_000, seed: 3, progress: Some(&counter) };
    let (sx, sy) = (column(&x, kernel), column(&y, kernel));
    let test = permutation_test(&sx, &sy, Estimator::Biased, &permutations, &Team::solo()).unwrap();
    near(test.statistic, observed, 1e-12);
    assert!((test.pvalue - exact).abs() < 0.015, "{} for {exact}", test.pvalue);
    assert_eq!((test.null.len(), counter.load(Ordering::Relaxed)), (20_000, 20_000));
    // Every value of the null is that of some order.
    let all: Vec<f64> = orders.iter().map(|o| of(o)).collect();
    for value in &test.null[..100] {
        assert!(all.iter().any(|right| (value - right).abs() <= 1e-12 * observed));
    }
}

#[test]
fn permutations_of_every_kind_follow_their_statistic() {
    let team = Team::solo();
    let n = 30;
    let (x, y) = related(n, 3, 1);
    let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let dense = matrix(&x, 3, &Kernel::Rbf { gamma: Gamma::Number(0.5) });
    let data: Vec<f64> = dense.iter().copied().collect();
    let given = Sample::Precomputed(MatrixView::new(&data, n, n).unwrap());
    for estimator in [Estimator::Biased, Estimator::Unbiased] {
        for kernel in kernels().into_iter().filter(|k| *k != Kernel::Cosine) {
            let permutations = Permutations { count: 5, seed: 9, progress: None };
            let sy = column(&y, kernel);
            let test = permutation_test(&given, &sy, estimator, &permutations, &team).unwrap();
            let size = hsic(&given, &given, Estimator::Biased, &team).unwrap().sqrt()
                * hsic(&sy, &sy, Estimator::Biased, &team).unwrap().sqrt();
            let right = hsic(&given, &sy, estimator, &team).unwrap();
            assert!((test.statistic - right).abs() <= 1e-12 * size, "{kernel:?} {estimator:?}");
            let again = permutation_test(&given, &sy, estimator, &permutations, &team).unwrap();
            assert_eq!(test, again);
            // The same seed draws the same orders, whatever the data on the other side.
            let other = permutation_test(&rows(&single, 3, RBF), &sy, estimator, &permutations, &team).unwrap();
            assert_eq!(other.null.len(), 5);
        }
    }
}

#[test]
fn ties_count_as_reached() {
    // y constant within the classes of x: every order of two equal columns of ones and zeros gives few distinct values,
    // and relabelled orders tie exactly with the observed one.
    let x: Vec<f64> = (0..8).map(|i| f64::from(i % 2)).collect();
    let permutations = Permutations { count: 7000, seed: 5, progress: None };
    let kernel = Kernel::Rbf { gamma: Gamma::Number(0.3) };
    let side = column(&x, kernel);
    let test = permutation_test(&side, &side, Estimator::Biased, &permutations, &Team::solo()).unwrap();
    // 2 of the 70 splits of 8 into 4 + 4 reach the maximum: the observed one and its complement.
    assert!((test.pvalue - 2.0 / 70.0).abs() < 0.008, "{}", test.pvalue);
}

#[test]
fn p_values_of_independent_data_are_uniform() {
    let mut small = 0;
    let mut sum = 0.0;
    for trial in 0..200 {
        let (x, y) = (numbers(15, 1000 + trial), numbers(15, 900_000 + 7 * trial));
        let permutations = Permutations { count: 99, seed: trial, progress: None };
        let (x, y) = (column(&x, RBF), column(&y, RBF));
        let p = permutation_test(&x, &y, Estimator::Biased, &permutations, &Team::solo()).unwrap().pvalue;
        small += u32::from(p <= 0.1);
        sum += p;
    }
    // 20 expected, standard deviation 4.2; mean 0.505, standard deviation 0.02.
    assert!((4..=36).contains(&small) && (sum / 200.0 - 0.505).abs() < 0.08, "{small} {}", sum / 200.0);
}

#[test]
fn the_gamma_test_is_its_formula() {
    let (n, kernel) = (40, Kernel::Rbf { gamma: Gamma::Number(0.4) });
    let (x, y) = related(n, 3, 2);
    let (k, l) = (centred(&matrix(&x, 3, &kernel)), centred(&matrix(&y, 2, &kernel)));
    let m = n as f64;
    let mean = k.trace() * l.trace() / (m - 1.0).powi(3);
    let mut squares = k.component_mul(&l).map(|kl| (kl / 6.0).powi(2));
    squares.fill_diagonal(0.0);
    // 72 (m-4)(m-5) / (m (m-1)(m-2)(m-3)) times the mean of (kl / 6)^2, for the statistic divided by m^2.
    let variance =
        72.0 * (m - 4.0) * (m - 5.0) / (m * (m - 1.0) * (m - 2.0) * (m - 3.0)) * squares.sum() / (m * (m - 1.0));
    let variance = variance * (m / (m - 1.0)).powi(4);
    let test = gamma_test(&rows(&x, 3, kernel), &rows(&y, 2, kernel), &Team::solo()).unwrap();
    near(test.shape, mean * mean / variance, 1e-11);
    near(test.scale, variance / mean, 1e-11);
    near(test.statistic, (&k * &l).trace() / (m - 1.0).powi(2), 1e-12);
    // It agrees with permutations: dependent data, and the published ones.
    let permutations = Permutations { count: 2000, seed: 1, progress: None };
    let (x, y) = (column(&X, RBF), column(&Y, RBF));
    let exact = permutation_test(&x, &y, Estimator::Biased, &permutations, &Team::solo()).unwrap();
    let gamma = gamma_test(&x, &y, &Team::solo()).unwrap();
    assert!(exact.pvalue < 0.01 && gamma.pvalue < 0.01);
    let mean: f64 = exact.null.iter().sum::<f64>() / 2000.0;
    near(mean, gamma.shape * gamma.scale, 0.05);
}
