//! HSIC by its formulas, with H written out, and samples to compute it of.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::numbers;
use nalgebra::DMatrix;
use prinax::MatrixView;
use prinax::hsic::Sample;
use prinax::kernel::{Gamma, Kernel};
use prinax::simd::Lane;

/// x of a published sample of 50.
#[rustfmt::skip]
pub const X: [f64; 50] = [
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
/// y of that sample.
#[rustfmt::skip]
pub const Y: [f64; 50] = [
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
/// The default kernel.
pub const RBF: Kernel<Gamma> = Kernel::Rbf { gamma: Gamma::Median };
/// The one that sees linear dependence.
pub const LINEAR: Kernel<Gamma> = Kernel::Linear { centered: true };

/// One column.
pub fn column<T: Lane>(x: &[T], kernel: Kernel<Gamma>) -> Sample<'_, T> {
    rows(x, 1, kernel)
}

/// Rows of `d` columns.
pub fn rows<T: Lane>(x: &[T], d: usize, kernel: Kernel<Gamma>) -> Sample<'_, T> {
    Sample::Rows(MatrixView::new(x, x.len() / d, d).unwrap(), kernel)
}

/// Equal to a relative `tolerance`.
pub fn near(got: f64, right: f64, tolerance: f64) {
    assert!((got / right - 1.0).abs() <= tolerance, "{got} for {right}");
}

/// The kernel matrix by its formula.
pub fn matrix(x: &[f64], d: usize, kernel: &Kernel<Gamma>) -> DMatrix<f64> {
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

/// H K H
pub fn centred(k: &DMatrix<f64>) -> DMatrix<f64> {
    let n = k.nrows();
    let h = DMatrix::<f64>::identity(n, n) - DMatrix::from_element(n, n, 1.0 / n as f64);
    &h * k * &h
}

/// tr(K H L H) / (n - 1)^2
pub fn biased(k: &DMatrix<f64>, l: &DMatrix<f64>) -> f64 {
    let n = k.nrows() as f64;
    (centred(k) * centred(l)).trace() / ((n - 1.0) * (n - 1.0))
}

/// The estimator of Song and others (2012), equation 5.
pub fn unbiased(k: &DMatrix<f64>, l: &DMatrix<f64>) -> f64 {
    let n = k.nrows() as f64;
    let (mut k, mut l) = (k.clone(), l.clone());
    k.fill_diagonal(0.0);
    l.fill_diagonal(0.0);
    let product = &k * &l;
    (product.trace() + k.sum() * l.sum() / ((n - 1.0) * (n - 2.0)) - 2.0 / (n - 2.0) * product.sum()) / (n * (n - 3.0))
}

/// One kernel of every kind.
pub fn kernels() -> Vec<Kernel<Gamma>> {
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
pub fn related(n: usize, d: usize, e: usize) -> (Vec<f64>, Vec<f64>) {
    let whole = |x: f64| (2.0 * x).round();
    let x: Vec<f64> = numbers(n * d, 1).iter().map(|&x| if d < 3 { whole(x) } else { x }).collect();
    let noise = numbers(n * e, 2);
    let y = (0..n * e).map(|at| whole(x[at / e * d + at % e % d] + noise[at])).collect();
    (x, y)
}
