//! A few new rows against many reference rows, read where they lie: for one row, packing the reference and looking for
//! its extent would cost several times the kernel itself.

use super::Kernel;
use crate::matrix::MatrixView;
use crate::power;
use crate::simd::pairs::{Absolute, Form, Product, Square, strip};
use crate::simd::profile::{Decay, Power, Profile, Sigmoid};
use crate::simd::{Aligned, Lane, run};
use pulp::{Simd, WithSimd};
use std::array::from_fn;
use std::f64::consts::LOG2_E;
use std::marker::PhantomData;

/// New rows up to which packing the reference rows does not pay.
const FEW: usize = 4;

/// Exponents of gamma whose power of two (and the square of its root) is a normal number with room on both sides.
const MODERATE: [i32; 2] = [100, 400];

/// Writes the kernel matrix and says so, where this road is the shorter one and no sum leaves the range of numbers:
/// otherwise (NaN and infinities in the data included) the general road decides.
pub(super) fn few_rows<T: Lane>(x: MatrixView<T>, y: MatrixView<T>, kernel: &Kernel, out: &mut [T]) -> bool {
    let plain = x.has_contiguous_rows()
        && y.has_contiguous_rows()
        && (1..=FEW).contains(&x.rows())
        && y.rows() > FEW
        && x.cols() > 0;
    let Some((exponent, gamma)) = kernel.gamma().filter(|g| *g > 0.0 && g.is_finite()).map(split) else { return false };
    if !plain || exponent.abs() > MODERATE[usize::from(T::DOUBLE)] {
        return false;
    }
    match *kernel {
        // gamma = g 4^h: distances in units of 2^-h neither overflow nor vanish where the kernel is not 0 or 1.
        Kernel::Rbf { .. } => {
            let (half, odd) = (exponent.div_euclid(2), exponent.rem_euclid(2));
            let profile = Profile::Decay(Decay(T::of(power::scale(gamma, odd) * LOG2_E)));
            all::<Square, T>(x, y, (power::power(half), power::power(half)), &profile, out)
        }
        Kernel::Laplacian { .. } => {
            let profile = Profile::Decay(Decay(T::of(gamma * LOG2_E)));
            all::<Absolute, T>(x, y, (power::power(exponent), power::power(exponent)), &profile, out)
        }
        Kernel::Poly { degree, coef0, .. } if degree.fract() == 0.0 && degree < 64.0 => {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole and small
            let power = Power { factor: T::of(gamma), shift: T::of(coef0), degree: degree as u32 };
            all::<Product, T>(x, y, (power::power(exponent), 1.0), &Profile::Power(power), out)
        }
        Kernel::Sigmoid { coef0, .. } => {
            let profile = Profile::Sigmoid(Sigmoid { factor: T::of(gamma), shift: T::of(coef0) });
            all::<Product, T>(x, y, (power::power(exponent), 1.0), &profile, out)
        }
        _ => false,
    }
}

/// gamma = g 2^e with 1/2 <= g < 1.
fn split(gamma: f64) -> (i32, f64) {
    let exponent = power::exponent(gamma);
    (exponent, power::scale(gamma, -exponent))
}

/// The kernel of sums over coordinates of x and y, each times its factor; `false` where a sum is not finite.
fn all<F: Form, T: Lane>(
    x: MatrixView<T>,
    y: MatrixView<T>,
    (x_factor, y_factor): (f64, f64),
    profile: &Profile<T>,
    out: &mut [T],
) -> bool {
    let mut rows = Vec::with_capacity(x.rows() * x.cols());
    x.each_row(|row| rows.extend(row.iter().map(|&x| T::of(x.into() * x_factor))));
    let sound = |x: &T| (*x).into() == 0.0 || (T::MIN_POSITIVE..=T::MAX).contains(&(*x).into().abs());
    if !rows.iter().all(sound) {
        return false; // a digit may be lost in a subnormal number
    }
    run(Few { x: &rows, y, factor: T::of(y_factor), out, form: PhantomData::<F> });
    if !out.iter().all(|sum| (*sum).into().is_finite()) {
        return false;
    }
    let mut padded = Aligned::zeros(y.rows().next_multiple_of(strip::<T>()));
    for line in out.chunks_exact_mut(y.rows()) {
        padded[..line.len()].copy_from_slice(line);
        run(Apply { profile, values: &mut padded });
        line.copy_from_slice(&padded[..line.len()]);
    }
    true
}

/// Sums of every row of `x` (packed) with every row of `y`.
struct Few<'a, T, F> {
    x: &'a [T],
    y: MatrixView<'a, T>,
    factor: T,
    out: &'a mut [T],
    form: PhantomData<F>,
}

impl<T: Lane, F: Form> WithSimd for Few<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, y, factor, out, .. } = self;
        let (m, d) = (y.rows(), y.cols());
        let row = |j: usize| y.row(j).unwrap_or_default();
        let factor = T::splat(simd, factor);
        for (x, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(m)) {
            let mut j = 0;
            while j + TOGETHER <= m {
                sums::<F, T, S, TOGETHER>(simd, x, from_fn(|r| row(j + r)), factor, &mut out[j..]);
                j += TOGETHER;
            }
            while j < m {
                sums::<F, T, S, 1>(simd, x, [row(j)], factor, &mut out[j..]);
                j += 1;
            }
        }
    }
}

/// Reference rows met at a time, each with a sum of its own: enough to hide the latency of an addition.
const TOGETHER: usize = 4;

/// The sums over the coordinates of x and of each row of y times `factor`.
#[inline(always)]
fn sums<F: Form, T: Lane, S: Simd, const R: usize>(simd: S, x: &[T], y: [&[T]; R], factor: T::V<S>, out: &mut [T]) {
    let (x, x_tail) = T::vectors::<S>(x);
    let lines = y.map(|y| &T::vectors::<S>(y).0[..x.len()]);
    let mut sums = [T::splat(simd, T::zeroed()); R];
    for (i, &x) in x.iter().enumerate() {
        for r in 0..R {
            sums[r] = F::add::<T, S>(simd, x, T::vmul(simd, lines[r][i], factor), sums[r]);
        }
    }
    if !x_tail.is_empty() {
        let x = T::partial(simd, x_tail);
        for r in 0..R {
            let y = T::partial(simd, T::vectors::<S>(y[r]).1);
            sums[r] = F::add::<T, S>(simd, x, T::vmul(simd, y, factor), sums[r]);
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = T::sum(simd, sum);
    }
}

/// A profile over values of any number of strips.
struct Apply<'a, T> {
    profile: &'a Profile<T>,
    values: &'a mut [T],
}

impl<T: Lane> WithSimd for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.profile.apply(simd, self.values, (&[], &[]));
    }
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
            let view = MatrixView::new(&y, 9, d).unwrap();
            for level in Level::available() {
                let mut out = vec![0.0; 18];
                let few = Few { x: &x, y: view, factor: 2.0, out: &mut out, form: PhantomData::<Square> };
                run_at(level, few).unwrap();
                for (at, got) in out.iter().enumerate() {
                    let (x, y) = (&x[at / 9 * d..][..d], &y[at % 9 * d..][..d]);
                    let right: f64 = x.iter().zip(y).map(|(x, y)| (x - 2.0 * y) * (x - 2.0 * y)).sum();
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
