//! A few new rows against many reference rows, read where they lie: for one row, packing the reference and looking for
//! its extent would cost several times the kernel itself.

use super::Kernel;
use crate::matrix::MatrixView;
use crate::power;
use crate::simd::pairs::{Absolute, Form, Product, Square};
use crate::simd::profile::{Decay, Power, Profile, Sigmoid, apply_to_line};
use crate::simd::{Lane, run_along, totals};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::f64::consts::LOG2_E;
use std::marker::PhantomData;
use std::slice::from_mut;

/// New rows up to which packing the reference rows does not pay.
const FEW: usize = 4;

/// Exponents of gamma, of `f32` and `f64`, for which a square or product that leaves the normal numbers at their lower
/// end is, times gamma, nothing beside 1; at the upper end the sum is seen to be infinite.
const MODERATE: [i32; 2] = [64, 400];

/// Writes the kernel matrix and says so, where this road is the shorter one and no sum leaves the range of numbers:
/// otherwise (NaN and infinities in the data included) the general road decides.
pub(super) fn few_rows<T: Lane>(x: MatrixView<T>, y: MatrixView<T>, kernel: &Kernel, out: &mut [T]) -> bool {
    if !(1..=FEW).contains(&x.rows()) || y.rows() <= FEW || x.cols() == 0 {
        return false;
    }
    let Some(y) = y.as_slice().map(|data| (data, y.cols())) else { return false };
    let Some(gamma) = kernel.gamma().filter(|g| *g > 0.0 && g.is_finite()) else { return false };
    let exponent = power::exponent(gamma);
    if exponent.abs() > MODERATE[usize::from(T::DOUBLE)] {
        return false;
    }
    // Products are taken with gamma's power of two, so that they have the size of what becomes of them.
    let (factor, rest) = (power::power(exponent), T::of(power::scale(gamma, -exponent)));
    let decay = Profile::Decay(Decay(T::of(gamma * LOG2_E)));
    match *kernel {
        Kernel::Rbf { .. } => all::<Square, T>(x, y, 1.0, &decay, out),
        Kernel::Laplacian { .. } => all::<Absolute, T>(x, y, 1.0, &decay, out),
        Kernel::Poly { degree, coef0, .. } if degree.fract() == 0.0 && degree < 64.0 => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and small
            let power = Power { factor: rest, shift: T::of(coef0), degree: degree as u32 };
            all::<Product, T>(x, y, factor, &Profile::Power(power), out)
        }
        Kernel::Sigmoid { coef0, .. } => {
            let profile = Profile::Sigmoid(Sigmoid { factor: rest, shift: T::of(coef0) });
            all::<Product, T>(x, y, factor, &profile, out)
        }
        _ => false,
    }
}

/// The kernel of sums over coordinates of x, times a power of two, and y (rows of `d`); `false` where a sum is not
/// finite.
fn all<F: Form, T: Lane>(
    rows: MatrixView<T>,
    (y, d): (&[T], usize),
    factor: f64,
    profile: &Profile<T>,
    out: &mut [T],
) -> bool {
    let mut x = Vec::with_capacity(rows.rows() * d);
    rows.each_row(|row| x.extend(row.iter().map(|&x| T::of(x.into() * factor))));
    let sound = |x: &T| (*x).into() == 0.0 || (T::MIN_POSITIVE..=T::MAX).contains(&(*x).into().abs());
    if !x.iter().all(sound) {
        return false; // a digit may be lost in a subnormal number
    }
    run_along::<T, _>(d, Few { x: &x, y, d, out, form: PhantomData::<F> });
    // Without a way out: the compiler takes several at a time.
    if !out.iter().fold(true, |all, &sum| all & sum.into().is_finite()) {
        return false;
    }
    for line in out.chunks_exact_mut(y.len() / d) {
        apply_to_line(profile, line, T::of(0.0), &[]);
    }
    true
}

/// Sums of every row of `x` with every row of `y`, both of `d` coordinates.
struct Few<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    d: usize,
    out: &'a mut [T],
    form: PhantomData<F>,
}

impl<T: Lane, F: Form> WithSimd for Few<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, y, d, out, .. } = self;
        for (x, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(y.len() / d)) {
            let (groups, rest) = out.as_chunks_mut::<TOGETHER>();
            let (y, y_rest) = y.split_at(groups.len() * TOGETHER * d);
            for (y, out) in y.chunks_exact(TOGETHER * d).zip(groups) {
                sums::<F, T, S, TOGETHER>(simd, x, from_fn(|r| &y[r * d..][..d]), out);
            }
            for (y, out) in y_rest.chunks_exact(d).zip(rest) {
                sums::<F, T, S, 1>(simd, x, [y], from_mut(out));
            }
        }
    }
}

/// Reference rows met at a time, each with a sum of its own: enough to hide the latency of an addition.
const TOGETHER: usize = 4;

/// The sums over the coordinates of x and of each row of y.
#[inline(always)]
fn sums<F: Form, T: Lane, S: Simd, const R: usize>(simd: S, x: &[T], y: [&[T]; R], out: &mut [T]) {
    let (x, x_tail) = T::vectors::<S>(x);
    let lines = y.map(|y| &T::vectors::<S>(y).0[..x.len()]);
    let mut sums = [[T::splat(simd, T::zeroed()); 1]; R];
    for (i, &x) in x.iter().enumerate() {
        for r in 0..R {
            sums[r][0] = F::add::<T, S>(simd, x, lines[r][i], sums[r][0]);
        }
    }
    if !x_tail.is_empty() {
        let x = T::partial(simd, x_tail);
        for r in 0..R {
            let y = T::partial(simd, T::vectors::<S>(y[r]).1);
            sums[r][0] = F::add::<T, S>(simd, x, y, sums[r][0]);
        }
    }
    out.copy_from_slice(totals(simd, sums).as_flattened());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Rate;
    use crate::simd::{Level, run_at};

    #[test]
    fn sums_are_right_at_every_level() {
        for d in [1, 3, 8, 37, 70] {
            let x: Vec<f64> = (0..2 * d).map(|i| (i * 5 % 7) as f64).collect();
            let y: Vec<f64> = (0..9 * d).map(|i| (i * 3 % 11) as f64).collect();
            for level in Level::available() {
                let mut out = vec![0.0; 18];
                let few = Few { x: &x, y: &y, d, out: &mut out, form: PhantomData::<Square> };
                run_at(level, few).unwrap();
                for (at, got) in out.iter().enumerate() {
                    let (x, y) = (&x[at / 9 * d..][..d], &y[at % 9 * d..][..d]);
                    let right: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
                    assert_eq!(*got, right, "{level:?} {d} {at}");
                }
            }
        }
    }

    #[test]
    fn what_leaves_the_range_is_left_to_the_general_road() {
        let y = [0.0, 1.0, 2.0, 3.0, 1e300];
        let y = MatrixView::new(&y, 5, 1).unwrap();
        let kernel = Kernel::Rbf { gamma: Rate::new(1.0).unwrap() };
        let mut out = [0.0; 5];
        for x in [1.0, f64::NAN, f64::INFINITY] {
            assert!(!few_rows(MatrixView::new(&[x], 1, 1).unwrap(), y, &kernel, &mut out));
        }
        let y = y.rows_in(0..4);
        assert!(!few_rows(y, y, &kernel, &mut [0.0; 16])); // no fewer than the reference
        assert!(few_rows(
            y.rows_in(0..1),
            MatrixView::new(&[0.0, 1.0, 2.0, 3.0, 4.0], 5, 1).unwrap(),
            &kernel,
            &mut out
        ));
        assert_eq!(out[0], 1.0);
        assert!((out[2] - (-4f64).exp()).abs() < 1e-16);
    }
}
