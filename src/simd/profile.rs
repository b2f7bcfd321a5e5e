//! From sums over coordinates to kernel values, in the block where they lie.

use super::pairs::strip;
use super::{Lane, exp2_nonpositive, tanh};
use bytemuck::cast_slice_mut;
use pulp::Simd;

/// Vectors worked on together; every strip holds a multiple of it.
const TOGETHER: usize = 3;

/// What becomes of a sum s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile<T> {
    /// c s
    Scale(Scale<T>),
    /// 2^(-c s), for s >= 0
    Decay(Decay<T>),
    /// 2^(2 c (s - h_x - h_y)), at most 1: the same of squared distances made of products and half squares
    DecayOfProducts(Decay<T>),
    /// (c s + shift)^degree
    Power(Power<T>),
    /// (c s + shift)^degree, NaN where a negative number meets a fraction
    RealPower(RealPower<T>),
    /// tanh(c s + shift)
    Sigmoid(Sigmoid<T>),
    /// 1 where s = 0, else 0
    Equal(Equal),
}

/// c s
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale<T>(pub T);

/// 2^(-c s)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay<T>(pub T);

/// (c s + shift)^degree
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power<T> {
    /// c
    pub factor: T,
    /// Added before the power is taken.
    pub shift: T,
    /// The power.
    pub degree: u32,
}

/// (c s + shift)^degree
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealPower<T> {
    /// c
    pub factor: T,
    /// Added before the power is taken.
    pub shift: T,
    /// The power.
    pub degree: f64,
}

/// tanh(c s + shift)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid<T> {
    /// c
    pub factor: T,
    /// Added before the tangent is taken.
    pub shift: T,
}

/// 1 where s = 0, else 0
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equal;

impl<T: Lane> Profile<T> {
    /// Applies the profile to the first `height` rows of a block. `halves`: half squares of the rows and of the columns
    /// of the block, used by [`Profile::DecayOfProducts`] alone.
    #[inline(always)]
    pub fn apply<S: Simd>(&self, simd: S, block: &mut [T], height: usize, halves: (&[T], &[T])) {
        let block = &mut block[..height * strip::<T>()];
        match self {
            Self::Scale(step) => each(simd, step, block),
            Self::Decay(step) => each(simd, step, block),
            Self::DecayOfProducts(decay) => decay_of_products(simd, *decay, block, halves),
            Self::Power(step) => each(simd, step, block),
            Self::RealPower(step) => each(simd, step, block),
            Self::Sigmoid(step) => each(simd, step, block),
            Self::Equal(step) => each(simd, step, block),
        }
    }
}

/// A function of single values, `TOGETHER` vectors at a time.
trait Step<T: Lane> {
    fn step<S: Simd>(&self, simd: S, s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER];
}

#[inline(always)]
fn each<T: Lane, S: Simd, P: Step<T>>(simd: S, step: &P, block: &mut [T]) {
    for v in T::vectors_mut::<S>(block).0.as_chunks_mut::<TOGETHER>().0 {
        *v = step.step::<S>(simd, *v);
    }
}

#[inline(always)]
fn decay_of_products<T: Lane, S: Simd>(simd: S, decay: Decay<T>, block: &mut [T], (x, y): (&[T], &[T])) {
    let (zero, factor) = (T::splat(simd, T::of(0.0)), T::splat(simd, T::of(2.0) * decay.0));
    let y = T::vectors::<S>(y).0.as_chunks::<TOGETHER>().0;
    for (row, &x) in block.chunks_exact_mut(strip::<T>()).zip(x) {
        let x = T::splat(simd, x);
        for (v, y) in T::vectors_mut::<S>(row).0.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(y) {
            for (v, &y) in v.iter_mut().zip(y) {
                let apart = T::vsub(simd, *v, T::vadd(simd, x, y));
                *v = T::vmul(simd, factor, T::vmin(simd, apart, zero));
            }
            *v = exp2_nonpositive::<T, S, TOGETHER>(simd, *v);
        }
    }
}

impl<T: Lane> Step<T> for Scale<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        for s in &mut s {
            *s = T::vmul(simd, T::splat(simd, self.0), *s);
        }
        s
    }
}

impl<T: Lane> Step<T> for Decay<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        for s in &mut s {
            *s = T::vmul(simd, T::splat(simd, T::of(0.0) - self.0), *s);
        }
        exp2_nonpositive::<T, S, TOGETHER>(simd, s)
    }
}

impl<T: Lane> Step<T> for Power<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        for s in &mut s {
            let mut base = T::fma(simd, T::splat(simd, self.factor), *s, T::splat(simd, self.shift));
            let mut power = T::splat(simd, T::of(1.0));
            let mut left = self.degree;
            while left > 0 {
                if left % 2 == 1 {
                    power = T::vmul(simd, power, base);
                }
                base = T::vmul(simd, base, base);
                left /= 2;
            }
            *s = power;
        }
        s
    }
}

impl<T: Lane> Step<T> for RealPower<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, _: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        let (factor, shift): (f64, f64) = (self.factor.into(), self.shift.into());
        for s in cast_slice_mut::<_, T>(&mut s) {
            *s = T::of(factor.mul_add((*s).into(), shift).powf(self.degree));
        }
        s
    }
}

impl<T: Lane> Step<T> for Sigmoid<T> {
    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        for s in &mut s {
            *s = tanh::<T, S>(simd, T::fma(simd, T::splat(simd, self.factor), *s, T::splat(simd, self.shift)));
        }
        s
    }
}

impl<T: Lane> Step<T> for Equal {
    #[inline(always)]
    fn step<S: Simd>(&self, simd: S, mut s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER] {
        let (zero, one) = (T::splat(simd, T::of(0.0)), T::splat(simd, T::of(1.0)));
        for s in &mut s {
            *s = T::if_less(simd, zero, *s, zero, one);
        }
        s
    }
}
