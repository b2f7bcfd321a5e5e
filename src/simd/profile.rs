//! From sums over coordinates to kernel values, in the block where they lie.

use super::{Lane, exp2_nonpositive, run, tanh};
use bytemuck::cast_slice_mut;
use pulp::{Simd, WithSimd};

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
    /// Applies the profile to the rows of a block. `halves`: half squares of its rows and of its columns, used by
    /// [`Profile::DecayOfProducts`] alone.
    #[inline(always)]
    pub fn apply<S: Simd>(&self, simd: S, block: &mut [T], halves: (&[T], &[T])) {
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

/// Applies a profile to a line that begins anywhere; `half`: the half square of its row.
pub fn apply_to_line<T: Lane>(profile: &Profile<T>, line: &mut [T], half: T, halves: &[T]) {
    run(Line { profile, values: line, half, halves });
}

struct Line<'a, T> {
    profile: &'a Profile<T>,
    values: &'a mut [T],
    half: T,
    halves: &'a [T],
}

impl<T: Lane> WithSimd for Line<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.profile.apply(simd, self.values, (&[self.half], self.halves));
    }
}

/// A function of single values, `TOGETHER` vectors at a time.
trait Step<T: Lane> {
    fn step<S: Simd>(&self, simd: S, s: [T::V<S>; TOGETHER]) -> [T::V<S>; TOGETHER];
}

#[inline(always)]
fn each<T: Lane, S: Simd, P: Step<T>>(simd: S, step: &P, block: &mut [T]) {
    let (vectors, tail) = T::vectors_mut::<S>(block);
    let (full, rest) = vectors.as_chunks_mut::<TOGETHER>();
    for v in full {
        *v = step.step::<S>(simd, *v);
    }
    // Blocks of strips leave no rest.
    if rest.len() + tail.len() > 0 {
        let mut last = [T::splat(simd, T::of(0.0)); TOGETHER];
        last[..rest.len()].copy_from_slice(rest);
        last[rest.len()] = T::partial(simd, tail);
        last = step.step::<S>(simd, last);
        rest.copy_from_slice(&last[..rest.len()]);
        T::put(simd, tail, last[rest.len()]);
    }
}

#[inline(always)]
fn decay_of_products<T: Lane, S: Simd>(simd: S, decay: Decay<T>, block: &mut [T], (x, y): (&[T], &[T])) {
    let (y_vectors, y_tail) = T::vectors::<S>(y);
    for (row, &x) in block.chunks_exact_mut(y.len().max(1)).zip(x) {
        let (vectors, tail) = T::vectors_mut::<S>(row);
        let half = T::splat(simd, x);
        // Half the squared distance: |x - y|^2 / 2, at least 0.
        for (v, &y) in vectors.iter_mut().zip(y_vectors) {
            *v = half_distance::<T, S>(simd, *v, half, y);
        }
        if !tail.is_empty() {
            let v = half_distance::<T, S>(simd, T::partial(simd, tail), half, T::partial(simd, y_tail));
            T::put(simd, tail, v);
        }
        each(simd, &Decay(T::of(2.0) * decay.0), row);
    }
}

/// h_x + h_y - s, at least 0.
#[inline(always)]
fn half_distance<T: Lane, S: Simd>(simd: S, s: T::V<S>, x: T::V<S>, y: T::V<S>) -> T::V<S> {
    T::vmax(simd, T::vsub(simd, T::vadd(simd, x, y), s), T::splat(simd, T::of(0.0)))
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
