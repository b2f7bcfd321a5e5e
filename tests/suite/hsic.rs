//! HSIC and CKA against their formulas with H written out, and against published numbers.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use crate::support::dependence::{LINEAR, RBF, X, Y, biased, column, kernels, matrix, near, related, rows, unbiased};
use nalgebra::DMatrix;
use prinax::hsic::{Estimator, Permutations, Sample, cka, gamma_test, hsic, permutation_test};
use prinax::kernel::{Gamma, Kernel};
use prinax::power::power;
use prinax::threads::run;
use prinax::{Error, MatrixView, Team};

#[rustfmt::skip]
const A: [f64; 12] = [
    0.001_230_153_357_482_574_2, 0.298_745_537_508_469_9, -0.274_137_855_362_217_6, -0.890_591_838_757_274_2, -0.454_670_785_171_722_55,
    -0.991_646_554_996_462_4, 0.060_143_602_597_438_485, 1.340_215_245_554_533_5, -0.492_206_518_551_329_63, -0.620_474_899_819_940_4,
    0.489_842_050_185_198_2, 0.356_887_008_160_060_75,
];
#[rustfmt::skip]
const B: [f64; 12] = [
    -1.738_266_398_496_882, -1.336_642_793_181_132_4, -1.361_106_708_564_987, -0.351_617_131_278_409_77, -2.312_581_579_696_703_3,
    -0.188_897_196_084_607_78, -0.957_229_228_096_346, 0.893_600_184_929_978_8, 0.956_847_237_579_234, 1.392_258_229_139_086_6,
    0.767_470_113_094_707_8, -0.053_029_778_757_267_734,
];

#[test]
fn every_mixture_of_kernels_is_its_formula() {
    let team = Team::solo();
    for (n, d, e) in [(4, 1, 1), (5, 2, 1), (24, 3, 2), (60, 1, 2), (100, 70, 1), (30, 40, 35), (75, 130, 3)] {
        let (x, y) = related(n, d, e);
        for (kx, ky) in kernels().iter().flat_map(|kx| kernels().into_iter().map(move |ky| (*kx, ky))) {
            let (k, l) = (matrix(&x, d, &kx), matrix(&y, e, &ky));
            if k.iter().chain(l.iter()).any(|x| x.is_nan()) {
                continue; // cosine of a zero row, which the formula does not know
            }
            let (sx, sy) = (rows(&x, d, kx), rows(&y, e, ky));
            let (k_data, l_data): (Vec<f64>, Vec<f64>) = (k.iter().copied().collect(), l.iter().copied().collect());
            let (px, py) = (
                Sample::Precomputed(MatrixView::new(&k_data, n, n).unwrap()),
                Sample::Precomputed(MatrixView::new(&l_data, n, n).unwrap()),
            );
            for (estimator, right, own_x, own_y) in [
                (Estimator::Biased, biased(&k, &l), biased(&k, &k), biased(&l, &l)),
                (Estimator::Unbiased, unbiased(&k, &l), unbiased(&k, &k), unbiased(&l, &l)),
            ] {
                let size = biased(&k, &k).sqrt() * biased(&l, &l).sqrt();
                for (sx, sy) in [(&sx, &sy), (&px, &py), (&sx, &py)] {
                    let got = hsic(sx, sy, estimator, &team).unwrap();
                    assert!(
                        (got - right).abs() <= 1e-11 * size,
                        "{n} {d} {e} {kx:?} {ky:?} {estimator:?}: {got} {right}"
                    );
                    let got = cka(sx, sy, estimator, &team).unwrap();
                    if own_x > 1e-9 * size && own_y > 1e-9 * size {
                        let right = right / (own_x * own_y).sqrt();
                        let slack = 1e-10 * (size / own_x.min(own_y)).max(1.0).powi(2);
                        assert!(
                            (got - right).abs() <= slack,
                            "cka {n} {d} {e} {kx:?} {ky:?} {estimator:?}: {got} {right}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_published_numbers() {
    // Gaussian kernels, each with its own median: raw, normalised and unbiased values computed elsewhere with H K H L.
    let team = Team::solo();
    let (x, y) = (column(&X, RBF), column(&Y, RBF));
    near(hsic(&x, &y, Estimator::Biased, &team).unwrap(), 0.030_989_861_382, 1e-10);
    near(hsic(&x, &y, Estimator::Unbiased, &team).unwrap(), 0.026_154_076_544, 1e-10);
    near(cka(&x, &y, Estimator::Biased, &team).unwrap(), 0.401_722_524, 1e-8);
    near(cka(&x, &y, Estimator::Unbiased, &team).unwrap(), 0.360_422_519, 1e-8);
    // Swapped arguments.
    near(hsic(&y, &x, Estimator::Biased, &team).unwrap(), 0.030_989_861_382, 1e-10);
    // A four-index sum over distinct indices.
    let (a, b) = (rows(&A, 2, LINEAR), rows(&B, 2, LINEAR));
    near(hsic(&a, &b, Estimator::Unbiased, &team).unwrap(), -0.374_108_100_7, 1e-9);
    near(unbiased(&matrix(&A, 2, &LINEAR), &matrix(&B, 2, &LINEAR)), -0.374_108_100_7, 1e-9);
}

#[test]
fn dtype_offset_and_scale_do_not_show() {
    let team = Team::solo();
    let value = |x: &Sample<f64>, y: &Sample<f64>| hsic(x, y, Estimator::Biased, &team).unwrap();
    let plain = value(&column(&X, RBF), &column(&Y, RBF));
    let map = |x: &[f64], f: fn(f64) -> f64| x.iter().map(|&x| f(x)).collect::<Vec<f64>>();
    for f in [|x: f64| x * 1e200, |x: f64| x * 1e-200, |x: f64| x * 1e-3, |x: f64| x * 100.0] {
        near(value(&column(&map(&X, f), RBF), &column(&map(&Y, f), RBF)), plain, 1e-13);
        near(value(&column(&X, RBF), &column(&map(&Y, f), RBF)), plain, 1e-13);
        let scaled = map(&Y, f);
        near(
            cka(&column(&X, LINEAR), &column(&scaled, LINEAR), Estimator::Biased, &team).unwrap(),
            cka(&column(&X, LINEAR), &column(&Y, LINEAR), Estimator::Biased, &team).unwrap(),
            1e-12,
        );
    }
    // The offset rounds the data themselves to 1.5e-8.
    near(value(&column(&map(&X, |x| x + 1e8), RBF), &column(&map(&Y, |y| y - 1e8), RBF)), plain, 1e-7);
    let (x, y): (Vec<f32>, Vec<f32>) = (X.iter().map(|&x| x as f32).collect(), Y.iter().map(|&y| y as f32).collect());
    near(hsic(&column(&x, RBF), &column(&y, RBF), Estimator::Biased, &team).unwrap(), plain, 1e-6);
    // On the rounded numbers: the same sums in f64.
    let (x, y): (Vec<f64>, Vec<f64>) = (x.iter().map(|&x| x.into()).collect(), y.iter().map(|&y| y.into()).collect());
    let single = X.map(|x| x as f32);
    let mixed = hsic(&column(&single, RBF), &column(&y, RBF), Estimator::Biased, &team).unwrap();
    near(mixed, value(&column(&x, RBF), &column(&y, RBF)), 1e-14);
}

#[test]
fn powers_and_matrices_of_any_size_are_the_linear_kernel_of_powers() {
    // (c x x')^p = c^p x^p x'^p for positive x, and tanh t = t for small t.
    let team = Team::solo();
    let x: Vec<f64> = X.iter().map(|x| 1.0 + x.abs() / 50.0).collect();
    let y = column(&Y, LINEAR);
    let number = |gamma, degree| Kernel::Poly { gamma: Gamma::Number(gamma), degree, coef0: 0.0 };
    for (kernel, degree, exponents) in [
        (number(3.0, 2.0), 2.0, [150, -150, 450, -450]),
        (number(1e300, 2.5), 2.5, [0, -150, 450, 900]),
        (number(1.0, 200.0), 200.0, [0, 10, -10, 900]),
        (Kernel::Sigmoid { gamma: Gamma::Number(1.0), coef0: 0.0 }, 1.0, [-60, -300, -450, -900]),
    ] {
        let powers: Vec<f64> = x.iter().map(|x| x.powf(degree)).collect();
        let powers = column(&powers, LINEAR);
        for exponent in exponents {
            let scaled: Vec<f64> = x.iter().map(|x| x * power(exponent)).collect();
            let scaled = column(&scaled, kernel);
            for estimator in [Estimator::Biased, Estimator::Unbiased] {
                let right = cka(&powers, &y, estimator, &team).unwrap();
                near(cka(&scaled, &y, estimator, &team).unwrap(), right, 1e-10);
            }
            let (got, right) = (gamma_test(&scaled, &y, &team).unwrap(), gamma_test(&powers, &y, &team).unwrap());
            near(got.pvalue, right.pvalue, 1e-9);
            near(got.shape, right.shape, 1e-9);
        }
    }
    // The value itself, where a number can hold it.
    let squares: Vec<f64> = x.iter().map(|x| 3.0 * x * x).collect();
    let right = hsic(&column(&squares, LINEAR), &y, Estimator::Biased, &team).unwrap();
    let scaled: Vec<f64> = x.iter().map(|x| x * power(80)).collect();
    near(hsic(&column(&scaled, number(3.0, 2.0)), &y, Estimator::Biased, &team).unwrap(), right * power(320), 1e-12);
    let beyond: Vec<f64> = x.iter().map(|x| x * power(400)).collect();
    let error = hsic(&column(&beyond, number(3.0, 2.0)), &y, Estimator::Biased, &team).unwrap_err();
    assert!(error.to_string().contains("beyond the range of float64"), "{error}");
}

#[test]
fn nearly_flat_kernels_keep_their_digits() {
    // gamma |x - y|^2 = g s with whole s and g = 2^-40: K = 1 - g s to first order, so HSIC = g^2 tr(H S H T) / (n-1)^2,
    // with an error of g s for the second order and eps / g for the rounding of K.
    let (n, g) = (50, 2f64.powi(-20));
    let x: Vec<f64> = (0..n).map(|i| f64::from(i * i % 11)).collect();
    let y: Vec<f64> = (0..n).map(|i| f64::from(i * i % 11 + i % 3)).collect();
    let squares = |x: &[f64]| DMatrix::from_fn(x.len(), x.len(), |i, j| (x[i] - x[j]).powi(2));
    let kernel = Kernel::Rbf { gamma: Gamma::Number(g) };
    let got = hsic(&column(&x, kernel), &column(&y, kernel), Estimator::Biased, &Team::solo()).unwrap();
    near(got, g * g * biased(&squares(&x), &squares(&y)), 200.0 * g);
    let tiny = Kernel::Rbf { gamma: Gamma::Number(g * g) };
    let got = hsic(&column(&x, tiny), &column(&y, tiny), Estimator::Biased, &Team::solo()).unwrap();
    near(got, g.powi(4) * biased(&squares(&x), &squares(&y)), 1e-4);
}

#[test]
fn a_constant_side_gives_zero() {
    let team = Team::solo();
    let constant = [0.1; 50];
    let ones = vec![0.1; 2500];
    let given = Sample::Precomputed(MatrixView::new(&ones, 50, 50).unwrap());
    for kernel in kernels().into_iter().chain([RBF, Kernel::Laplacian { gamma: Gamma::Median }]) {
        for side in [column(&constant, kernel), given] {
            for estimator in [Estimator::Biased, Estimator::Unbiased] {
                let got = hsic(&side, &column(&Y, RBF), estimator, &team).unwrap();
                assert!(got.abs() < 1e-17, "{kernel:?} {estimator:?} {got}");
                if estimator == Estimator::Biased {
                    assert_eq!(cka(&side, &column(&Y, RBF), estimator, &team).unwrap(), 0.0, "{kernel:?}");
                }
            }
        }
        let test = gamma_test(&column(&constant, kernel), &column(&Y, RBF), &team).unwrap();
        assert_eq!(test.pvalue, 1.0);
    }
}

#[test]
fn threads_do_not_show() {
    let (x, y) = related(700, 3, 2);
    for kernel in [LINEAR, RBF, Kernel::Delta] {
        let (x, y) = (rows(&x, 3, RBF), rows(&y, 2, kernel));
        let all = |team: &Team| {
            let permutations = Permutations { count: 20, seed: 1, progress: None };
            (
                hsic(&x, &y, Estimator::Biased, team).unwrap(),
                cka(&x, &y, Estimator::Unbiased, team).unwrap(),
                gamma_test(&x, &y, team).unwrap(),
                permutation_test(&x, &y, Estimator::Biased, &permutations, team).unwrap(),
            )
        };
        let alone = all(&Team::solo());
        for threads in [2, 3] {
            assert_eq!(alone, run(threads, || false, all));
        }
    }
}

#[test]
fn wrong_inputs_are_named() {
    let team = Team::solo();
    let short = [1.0, 2.0, 3.0];
    let value = |x: &Sample<f64>, y: &Sample<f64>, estimator| hsic(x, y, estimator, &team).unwrap_err();
    let error = value(&column(&X, RBF), &column(&short, RBF), Estimator::Biased);
    assert_eq!(error, Error::Shape { what: "Y", found: 3, wanted: 50 });
    let error = value(&column(&short, RBF), &column(&short, RBF), Estimator::Unbiased);
    assert_eq!(error, Error::TooFew { what: "X", found: 3, wanted: 4 });
    assert!(matches!(gamma_test(&column(&short, RBF), &column(&short, RBF), &team), Err(Error::TooFew { .. })));
    let bad = [1.0, f64::NAN, 3.0];
    let error = value(&column(&short, RBF), &column(&bad, RBF), Estimator::Biased);
    assert_eq!(error, Error::NotFinite { what: "Y", nan: true });
    let none = Permutations { count: 0, seed: 0, progress: None };
    assert!(permutation_test(&column(&X, RBF), &column(&Y, RBF), Estimator::Biased, &none, &team).is_err());

    let lopsided = [2.0, 1.0, 0.0, 0.5, 2.0, 0.0, 0.0, 0.0, 2.0];
    let given = Sample::Precomputed(MatrixView::new(&lopsided, 3, 3).unwrap());
    let error = value(&given, &column(&short, RBF), Estimator::Biased).to_string();
    assert!(error.contains("symmetric") && error.contains("entry (1, 0) = 0.5 and entry (0, 1) = 1"), "{error}");
    let oblong = Sample::Precomputed(MatrixView::new(&X[..12], 3, 4).unwrap());
    assert!(value(&oblong, &column(&short, RBF), Estimator::Biased).to_string().contains("square"));
    let poly = Kernel::Poly { gamma: Gamma::Number(1e300), degree: 3.0, coef0: 1.0 };
    assert!(matches!(value(&column(&X, poly), &column(&Y, RBF), Estimator::Biased), Error::Value { .. }));
    // The root of a negative number is none: no test passes it for evidence.
    let root = Kernel::Poly { gamma: Gamma::Number(1.0), degree: 0.5, coef0: 0.0 };
    let (x, y) = (column(&X, root), column(&Y, RBF));
    let few = Permutations { count: 9, seed: 0, progress: None };
    assert!(matches!(permutation_test(&x, &y, Estimator::Biased, &few, &team), Err(Error::Value { .. })));
    assert!(matches!(gamma_test(&x, &y, &team), Err(Error::Value { .. })));
}
