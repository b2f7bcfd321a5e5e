//! e^x, 2^y and tanh of whole vectors.
//!
//! e^x = 2^n e^r with n the nearest whole number to x / ln 2, taken by adding 1.5 * 2^mantissa: the sum holds n (and
//! the exponent bias) in its low bits, which one shift turns into 2^n. The polynomials are minimax in relative error.

use super::Lane;
use pulp::Simd;

/// The constants of one element type.
pub trait ExpTable: Sized + 'static {
    /// 1.5 * 2^(mantissa width) + exponent bias.
    const SHIFT: Self;
    /// Minus the exponent bias: at this exponent the field is 0 and so is the factor.
    const UNDER: Self;
    /// Below, e^x rounds to 0.
    const LOWEST: Self;
    /// Above, e^x overflows.
    const HIGHEST: Self;
    /// 1 / ln 2
    const LOG2_E: Self;
    /// ln 2 with so few bits that n times it is exact, and the rest of ln 2.
    const LN_2: (Self, Self);
    /// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, lowest power first.
    const EXP: &[Self];
    /// (2^f - 1) / f on |f| <= 1/2, lowest power first.
    const EXP2: &[Self];
    /// Below this magnitude tanh is a rational function: 1 - 2 / (e^2x + 1) would cancel.
    const TANH_SMALL: Self;
    /// (tanh x - x) / x^3 as a function of x^2, numerator and denominator (Cephes, Moshier 1989), lowest power first.
    const TANH: (&[Self], &[Self]);
}

impl ExpTable for f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0 + 1023.0;
    const UNDER: f64 = -1023.0;
    const LOWEST: f64 = -746.0;
    const HIGHEST: f64 = 710.0;
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN_2: (f64, f64) = (0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10);
    const EXP: &[f64] = &[
        0.500_000_000_000_001_1,
        0.166_666_666_666_664_13,
        0.041_666_666_666_530_267,
        0.008_333_333_333_494_333,
        0.001_388_888_894_359_769,
        0.000_198_412_695_067_796_64,
        2.480_149_313_619_725_4e-5,
        2.755_758_626_640_848_6e-6,
        2.763_023_391_495_863_6e-7,
        2.500_007_229_215_124_4e-8,
    ];
    const EXP2: &[f64] = &[
        0.693_147_180_559_945_7,
        0.240_226_506_959_100_97,
        0.055_504_108_664_790_39,
        0.009_618_129_107_607_003,
        0.001_333_355_815_343_996_6,
        0.000_154_035_304_415_721_3,
        1.525_272_738_519_386_8e-5,
        1.321_544_267_532_982_3e-6,
        1.018_064_765_923_421_4e-7,
        7.072_570_412_814_423e-9,
        4.078_071_929_588_337e-10,
    ];
    const TANH_SMALL: f64 = 0.625;
    const TANH: (&[f64], &[f64]) = (
        &[-1_614.687_684_417_084_5, -99.287_723_100_191_86, -0.964_399_179_425_052_2],
        &[4_844.063_053_251_255, 2_235.488_390_601_004_5, 112.811_678_491_632_93, 1.0],
    );
}

impl ExpTable for f32 {
    const SHIFT: f32 = 12_582_912.0 + 127.0;
    const UNDER: f32 = -127.0;
    const LOWEST: f32 = -104.0;
    const HIGHEST: f32 = 89.0;
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    const EXP: &[f32] = &[0.499_999_93, 0.166_665_2, 0.041_668_39, 0.008_368_71, 0.001_381_461_3];
    const EXP2: &[f32] = &[0.693_147_24, 0.240_226_53, 0.055_503_105, 0.009_617_693, 0.001_340_664_4, 0.000_155_946_78];
    const TANH_SMALL: f32 = 0.625;
    const TANH: (&[f32], &[f32]) =
        (&[-0.333_332_8, 0.133_314_42, -0.053_739_715, 0.020_639_09, -0.005_704_988_7], &[1.0]);
}

/// e^x: NaN and infinities as usual, gradual underflow; at most 1.1 units in the last place off in the normal range.
#[inline(always)]
pub fn exp<T: Lane, S: Simd>(simd: S, x: T::V<S>) -> T::V<S> {
    let (lowest, highest, shift) = (T::splat(simd, T::LOWEST), T::splat(simd, T::HIGHEST), T::splat(simd, T::SHIFT));
    // A comparison with NaN is false, so NaN stays.
    let x = T::if_less(simd, x, lowest, lowest, x);
    let x = T::if_less(simd, highest, x, highest, x);
    let n = T::vsub(simd, T::fma(simd, x, T::splat(simd, T::LOG2_E), shift), shift);
    let minus_n = T::vsub(simd, T::splat(simd, T::of(0.0)), n);
    let r = T::fma(simd, minus_n, T::splat(simd, T::LN_2.0), x);
    let r = T::fma(simd, minus_n, T::splat(simd, T::LN_2.1), r);
    let p = T::fma(simd, T::vmul(simd, r, r), polynomial::<T, S>(simd, r, T::EXP), r);
    let p = T::vadd(simd, p, T::splat(simd, T::of(1.0)));
    // 2^n in two factors reaches the subnormals and the top binade.
    let half = T::fma(simd, n, T::splat(simd, T::of(0.5)), shift);
    let rest = T::vadd(simd, T::vsub(simd, n, T::vsub(simd, half, shift)), shift);
    T::vmul(simd, T::vmul(simd, p, T::low_bits_to_exponent::<S>(half)), T::low_bits_to_exponent::<S>(rest))
}

/// 2^y for y <= 0, not NaN: 0 below the normal range, 1 at 0; at most 1.1 units in the last place off. `N` neighbours
/// at once hide each other's latency.
#[inline(always)]
pub fn exp2_nonpositive<T: Lane, S: Simd, const N: usize>(simd: S, mut y: [T::V<S>; N]) -> [T::V<S>; N] {
    let (shift, under) = (T::splat(simd, T::SHIFT), T::splat(simd, T::UNDER));
    for y in &mut y {
        let clamped = T::vmax(simd, *y, under);
        let n = T::vadd(simd, clamped, shift);
        let f = T::vsub(simd, clamped, T::vsub(simd, n, shift));
        let p = T::fma(simd, polynomial::<T, S>(simd, f, T::EXP2), f, T::splat(simd, T::of(1.0)));
        *y = T::vmul(simd, p, T::low_bits_to_exponent::<S>(n));
    }
    y
}

/// tanh x: odd, +-1 at the infinities, NaN stays; at most 2 units in the last place off.
#[inline(always)]
pub fn tanh<T: Lane, S: Simd>(simd: S, x: T::V<S>) -> T::V<S> {
    let (zero, one, two) = (T::splat(simd, T::of(0.0)), T::splat(simd, T::of(1.0)), T::splat(simd, T::of(2.0)));
    let size = T::vabs(simd, x);
    let square = T::vmul(simd, x, x);
    let ratio = T::vdiv(simd, polynomial::<T, S>(simd, square, T::TANH.0), polynomial::<T, S>(simd, square, T::TANH.1));
    let near = T::fma(simd, T::vmul(simd, x, square), ratio, x);
    let grown = T::vadd(simd, exp::<T, S>(simd, T::vadd(simd, size, size)), one);
    let far = T::vsub(simd, one, T::vdiv(simd, two, grown));
    let far = T::if_less(simd, x, zero, T::vsub(simd, zero, far), far);
    T::if_less(simd, size, T::splat(simd, T::TANH_SMALL), near, far)
}

/// Horner's rule: few registers, and neighbouring vectors overlap.
#[inline(always)]
fn polynomial<T: Lane, S: Simd>(simd: S, x: T::V<S>, coefficients: &[T]) -> T::V<S> {
    let mut sum = T::splat(simd, T::of(0.0));
    for (i, c) in coefficients.iter().rev().enumerate() {
        let c = T::splat(simd, *c);
        sum = if i == 0 { c } else { T::fma(simd, sum, x, c) };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, run_at};
    use pulp::WithSimd;

    #[derive(Clone, Copy, PartialEq)]
    enum Which {
        Exp,
        Exp2,
        Tanh,
    }

    struct Each<'a, T>(Which, &'a mut [T]);

    impl<T: Lane> WithSimd for Each<'_, T> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for x in self.1.chunks_mut(T::lanes::<S>()) {
                let v = T::partial(simd, x);
                let v = match self.0 {
                    Which::Exp => exp::<T, S>(simd, v),
                    Which::Exp2 => exp2_nonpositive::<T, S, 1>(simd, [v])[0],
                    Which::Tanh => tanh::<T, S>(simd, v),
                };
                T::put(simd, x, v);
            }
        }
    }

    fn at<T: Lane>(level: Level, which: Which, x: &[f64]) -> Vec<T> {
        let mut x: Vec<T> = x.iter().map(|&x| T::of(x)).collect();
        run_at(level, Each(which, &mut x)).unwrap();
        x
    }

    /// Largest distance from `truth` (a function of the rounded argument) in units in the last place.
    fn worst<T: Lane>(which: Which, x: &[f64], truth: impl Fn(f64) -> f64) -> f64 {
        let mut worst = 0.0f64;
        for level in Level::available() {
            for (x, got) in x.iter().zip(at::<T>(level, which, x)) {
                let right = truth(T::of(*x).into());
                let unit = (right.abs() * T::EPSILON).max(f64::MIN_POSITIVE * f64::EPSILON);
                worst = worst.max((got.into() - right).abs() / unit);
            }
        }
        worst
    }

    fn grid(low: f64, high: f64) -> Vec<f64> {
        (0..=20_000).map(|i| low + (high - low) * f64::from(i) / 20_000.0).collect()
    }

    // The standard library's f64 functions are within one unit of the truth themselves, and half a unit is the rounding
    // of a value just above a power of two: the bounds below allow for both.
    #[test]
    fn exp_is_right_to_the_last_place() {
        assert!(worst::<f64>(Which::Exp, &grid(-700.0, 700.0), f64::exp) <= 2.0);
        assert!(worst::<f64>(Which::Exp, &grid(-1.0, 1.0), f64::exp) <= 2.0);
        assert!(worst::<f32>(Which::Exp, &grid(-87.0, 88.0), f64::exp) <= 1.2);
        let subnormal = grid(-745.0, -709.0);
        for level in Level::available() {
            for (x, got) in subnormal.iter().zip(at::<f64>(level, Which::Exp, &subnormal)) {
                assert!((got - x.exp()).abs() <= 1e-323_f64.max(4e-16 * x.exp()));
            }
        }
    }

    #[test]
    fn two_to_the_y_is_right_to_the_last_place() {
        assert!(worst::<f64>(Which::Exp2, &grid(-1022.0, 0.0), f64::exp2) <= 2.0);
        assert!(worst::<f64>(Which::Exp2, &grid(-2.0, 0.0), f64::exp2) <= 2.0);
        assert!(worst::<f32>(Which::Exp2, &grid(-126.0, 0.0), f64::exp2) <= 1.2);
    }

    #[test]
    fn tanh_is_right_to_two_places() {
        for span in [1e-300, 0.7, 25.0, 800.0] {
            assert!(worst::<f64>(Which::Tanh, &grid(-span, span), f64::tanh) <= 3.0, "{span}");
        }
        for span in [1e-30, 0.7, 25.0] {
            assert!(worst::<f32>(Which::Tanh, &grid(-span, span), f64::tanh) <= 2.0, "{span}");
        }
    }

    #[test]
    fn the_edges_follow_the_usual_rules() {
        let edges = [0.0, f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 1e30, -1e30, 709.78, -745.2];
        for level in Level::available() {
            let e: Vec<f64> = at(level, Which::Exp, &edges);
            assert_eq!(e[..3], [1.0, 0.0, f64::INFINITY]);
            assert!(e[3].is_nan() && e[4] == f64::INFINITY && e[5] == 0.0 && e[6].is_finite() && e[7] == 0.0);
            let e: Vec<f32> = at(level, Which::Exp, &edges[..6]);
            assert!(e[0] == 1.0 && e[1] == 0.0 && e[2] == f32::INFINITY && e[3].is_nan() && e[4] == f32::INFINITY);
            let two: Vec<f64> = at(level, Which::Exp2, &[0.0, -1.0, -1023.0, -1e300, f64::NEG_INFINITY]);
            assert_eq!(two, [1.0, 0.5, 0.0, 0.0, 0.0]);
            let two: Vec<f32> = at(level, Which::Exp2, &[0.0, -1.0, -127.0, -1e30, f64::NEG_INFINITY]);
            assert_eq!(two, [1.0, 0.5, 0.0, 0.0, 0.0]);
            let t: Vec<f64> = at(level, Which::Tanh, &edges);
            assert_eq!(t[..3], [0.0, -1.0, 1.0]);
            assert!(t[3].is_nan());
        }
    }
}
