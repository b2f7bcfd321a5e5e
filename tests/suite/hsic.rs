//! HSIC, CKA and the tests of independence against their formulas with H written out, and against published numbers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation)]

use nalgebra::DMatrix;
use prinax::hsic::{Estimator, Permutations, Sample, cka, gamma_test, hsic, permutation_test};
use prinax::kernel::{Gamma, Kernel};
use prinax::simd::Lane;
use prinax::threads::in_pool;
use prinax::{Error, MatrixView, Team};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[rustfmt::skip]
const X: [f64; 50] = [
    0.125_730_221_093_393_3, -0.132_104_863_291_301_9, 0.640_422_650_443_282_1, 0.104_900_117_153_039_71, -0.535_669_373_161_111,
    0.361_595_054_909_484_74, 1.304_000_045_130_137_2, 0.947_080_963_129_242_2, -0.703_735_235_806_992_6, -1.265_421_471_046_052_5,
    -0.623_274_462_537_352_2, 0.041_325_979_347_243_6, -2.325_030_774_638_834_3, -0.218_791_663_932_545_73, -1.245_910_947_253_065_2,
    -0.732_267_354_703_451_6, -0.544_258_982_857_309_9, -0.316_300_156_369_154_54, 0.411_630_536_374_132_8, 1.042_513_369_442_677_6,
    -0.128_534_662_944_034_26, 1.366_463_470_549_685_9, -0.665_194_673_486_613_5, 0.351_510_070_093_019_7, 0.903_470_181_651_808_6,
    0.094_012_297_760_874_57, -0.743_499_249_353_808_4, -0.921_725_376_258_419_4, -0.457_725_825_667_339_16, 0.220_195_123_470_049_4,
    -1.009_618_183_538_736, -0.209_175_574_871_713_07, -0.159_225_009_914_477_72, 0.540_845_584_685_807_7, 0.214_659_122_506_340_9,
    0.355_372_709_039_921_4, -0.653_828_609_418_339_4, -0.129_613_633_692_769_46, 0.783_975_470_061_329_5, 1.493_431_145_220_760_7,
    -1.259_065_532_104_120_2, 1.513_923_774_739_062_6, 1.345_875_423_782_304_5, 0.781_311_400_700_427_5, 0.264_455_630_329_303_5,
    -0.313_922_814_536_427_8, 1.458_020_683_536_958_7, 1.960_258_316_449_964_7, 1.801_634_869_866_125, 1.315_103_764_734_37,
];
#[rustfmt::skip]
const Y: [f64; 50] = [
    0.188_600_184_528_586_57, 0.428_260_766_655_792_7, 0.575_359_709_292_491_8, -0.640_574_581_223_459, 0.739_619_610_679_376_4,
    0.353_938_269_916_998_95, 1.431_939_500_019_257_4, 1.187_521_402_819_989_6, 0.677_529_480_209_361_3, 1.748_357_747_712_118_4,
    0.402_682_176_309_123_6, 0.275_064_329_875_232_27, 5.037_541_059_516_824, -0.033_585_181_790_154_36, 1.311_234_432_145_040_9,
    0.835_638_585_081_704_3, 0.316_078_894_161_703_04, -0.046_182_586_563_392_69, -0.221_514_532_702_764_75, 0.958_238_005_157_289_5,
    0.020_592_249_837_308_247, 1.729_420_963_697_007, 1.089_515_860_834_066, 0.626_921_487_029_696_7, -0.539_322_870_349_032_3,
    -0.935_668_310_853_557_1, 0.465_405_087_762_095_6, 0.638_482_463_450_548_2, 0.316_334_430_232_152_9, 0.157_146_857_911_272_1,
    2.078_248_254_057_580_6, -0.512_255_960_223_229_1, -0.163_449_899_781_233_5, 1.313_899_750_220_298_3, 0.369_430_036_976_115_7,
    0.457_821_448_518_503_5, 0.170_488_664_650_188_03, -0.807_237_891_388_782_9, 0.698_349_909_769_253, 2.284_843_629_426_166_7,
    0.971_569_987_010_344_4, 1.950_351_864_829_890_8, 1.775_358_816_477_584_2, 0.138_071_693_334_075_26, 0.020_801_796_486_760_61,
    0.146_289_047_221_199_62, 2.143_617_432_149_323_3, 3.589_466_838_054_092_6, 3.542_762_240_210_440_6, 2.175_081_389_159_677_4,
];
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

const RBF: Kernel<Gamma> = Kernel::Rbf { gamma: Gamma::Median };
const LINEAR: Kernel<Gamma> = Kernel::Linear { centered: true };

fn column<T: Lane>(x: &[T], kernel: Kernel<Gamma>) -> Sample<'_, T> {
    rows(x, 1, kernel)
}

fn rows<T: Lane>(x: &[T], d: usize, kernel: Kernel<Gamma>) -> Sample<'_, T> {
    Sample::Rows(MatrixView::new(x, x.len() / d, d).unwrap(), kernel)
}

fn numbers(len: usize, mut seed: u64) -> Vec<f64> {
    (0..len)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / 2f64.powi(52) - 1.0
        })
        .collect()
}

fn near(got: f64, right: f64, tolerance: f64) {
    assert!((got / right - 1.0).abs() <= tolerance, "{got} for {right}");
}

/// The kernel matrix by its formula.
fn matrix(x: &[f64], d: usize, kernel: &Kernel<Gamma>) -> DMatrix<f64> {
    let n = x.len() / d;
    let row = |i: usize| &x[i * d..][..d];
    let number = |gamma: &Gamma| match gamma {
        Gamma::Number(gamma) => *gamma,
        _ => panic!("the formula needs a number"),
    };
    let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(x, y)| x * y).sum::<f64>();
    let l1 = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(x, y)| (x - y).abs()).sum::<f64>();
    let l2 = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
    DMatrix::from_fn(n, n, |i, j| match kernel {
        Kernel::Linear { .. } => dot(i, j),
        Kernel::Poly { gamma, degree, coef0 } => (number(gamma) * dot(i, j) + coef0).powf(*degree),
        Kernel::Rbf { gamma } => (-number(gamma) * l2(i, j)).exp(),
        Kernel::Sigmoid { gamma, coef0 } => (number(gamma) * dot(i, j) + coef0).tanh(),
        Kernel::Cosine => dot(i, j) / (dot(i, i) * dot(j, j)).sqrt(),
        Kernel::Laplacian { gamma } => (-number(gamma) * l1(i, j)).exp(),
        Kernel::Delta => f64::from(u8::from(row(i) == row(j))),
    })
}

fn centred(k: &DMatrix<f64>) -> DMatrix<f64> {
    let n = k.nrows();
    let h = DMatrix::<f64>::identity(n, n) - DMatrix::from_element(n, n, 1.0 / n as f64);
    &h * k * &h
}

fn biased(k: &DMatrix<f64>, l: &DMatrix<f64>) -> f64 {
    let n = k.nrows() as f64;
    (centred(k) * centred(l)).trace() / ((n - 1.0) * (n - 1.0))
}

fn unbiased(k: &DMatrix<f64>, l: &DMatrix<f64>) -> f64 {
    let n = k.nrows() as f64;
    let (mut k, mut l) = (k.clone(), l.clone());
    k.fill_diagonal(0.0);
    l.fill_diagonal(0.0);
    let product = &k * &l;
    (product.trace() + k.sum() * l.sum() / ((n - 1.0) * (n - 2.0)) - 2.0 / (n - 2.0) * product.sum()) / (n * (n - 3.0))
}

fn kernels() -> Vec<Kernel<Gamma>> {
    let gamma = Gamma::Number(0.7);
    vec![
        LINEAR,
        Kernel::Poly { gamma, degree: 2.0, coef0: 1.0 },
        Kernel::Rbf { gamma },
        Kernel::Sigmoid { gamma, coef0: 0.1 },
        Kernel::Cosine,
        Kernel::Laplacian { gamma },
        Kernel::Delta,
    ]
}

/// Two related samples of n rows; some coordinates whole, so that rows repeat and delta kernels have classes.
fn related(n: usize, d: usize, e: usize) -> (Vec<f64>, Vec<f64>) {
    let whole = |x: f64| (2.0 * x).round();
    let x: Vec<f64> = numbers(n * d, 1).iter().map(|&x| if d < 3 { whole(x) } else { x }).collect();
    let noise = numbers(n * e, 2);
    let y = (0..n * e).map(|at| whole(x[at / e * d + at % e % d] + noise[at])).collect();
    (x, y)
}

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
    let stop = AtomicBool::new(false);
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
            assert_eq!(alone, in_pool(threads, || (), || all(&Team::new(threads, &stop))));
        }
    }
}

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
}
