//! `f32` and `f64` seen through pulp: the operations the hot loops need, under one name each.

use super::exp::ExpTable;
use crate::matrix::Element;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use pulp::Simd;
use std::ops::{Add, Mul, Sub};
use std::slice::from_mut;

/// An element type together with its vectors.
pub trait Lane: Element + ExpTable + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// A full vector of this type.
    type V<S: Simd>: Pod + Send + Sync;

    /// The numbers of the lanes of the widest vector.
    const PLACES: [Self; 16];

    /// Every lane `x`.
    fn splat<S: Simd>(simd: S, x: Self) -> Self::V<S>;
    /// a b + c, fused where the instruction set can.
    fn fma<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S>;
    /// a + b
    fn vadd<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// a - b
    fn vsub<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// a b
    fn vmul<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// a / b
    fn vdiv<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// |a|
    fn vabs<S: Simd>(simd: S, a: Self::V<S>) -> Self::V<S>;
    /// The smaller of a and b, neither of them NaN.
    fn vmin<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// The larger of a and b, neither of them NaN.
    fn vmax<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>) -> Self::V<S>;
    /// Lane by lane: `yes` where a < b, else `no` (also where one of them is NaN).
    fn if_less<S: Simd>(simd: S, a: Self::V<S>, b: Self::V<S>, yes: Self::V<S>, no: Self::V<S>) -> Self::V<S>;
    /// The bits of each lane moved up by the width of the mantissa: its low bits become the exponent field.
    fn low_bits_to_exponent<S: Simd>(a: Self::V<S>) -> Self::V<S>;
    /// Sum of the lanes.
    fn sum<S: Simd>(simd: S, a: Self::V<S>) -> Self;
    /// The vectors of four rows by columns: lane `4 g + r` of vector `c` is row `r` of column `4 g + c`. For vectors of
    /// 256 bits; others may come in another order.
    fn quads<S: Simd>(simd: S, rows: [Self::V<S>; 4]) -> [Self::V<S>; 4];
    /// The full vectors of a slice, and what is left.
    fn vectors<S: Simd>(x: &[Self]) -> (&[Self::V<S>], &[Self]);
    /// The full vectors of a slice, and what is left, to write.
    fn vectors_mut<S: Simd>(x: &mut [Self]) -> (&mut [Self::V<S>], &mut [Self]);
    /// Fewer elements than a vector holds, padded with zeros.
    fn partial<S: Simd>(simd: S, x: &[Self]) -> Self::V<S>;
    /// Writes the first lanes to fewer elements than a vector holds.
    fn put<S: Simd>(simd: S, x: &mut [Self], v: Self::V<S>);
    /// total += x, widened to `f64`; `total` holds as many elements as `x`.
    fn flush<S: Simd>(simd: S, x: &[Self::V<S>], total: &mut [f64]);

    /// The last elements of x as a vector: as many as it has lanes, or all with zeros after them.
    ///
    /// Loading them whole, some for the second time, is several times faster than loading [`partial`](Self::partial)
    /// vectors.
    #[inline(always)]
    fn last<S: Simd>(simd: S, x: &[Self]) -> Self::V<S> {
        let lanes = Self::lanes::<S>();
        if x.len() < lanes { Self::partial(simd, x) } else { Self::vectors::<S>(&x[x.len() - lanes..]).0[0] }
    }

    /// [`last`](Self::last) with 0 for the elements that full vectors from the start have covered: the factor that
    /// makes a product of ends count the rest alone.
    #[inline(always)]
    fn rest<S: Simd>(simd: S, x: &[Self]) -> Self::V<S> {
        let lanes = Self::lanes::<S>();
        if x.len() < lanes {
            return Self::partial(simd, x);
        }
        let covered = Self::splat(simd, Self::of((lanes - x.len() % lanes) as f64));
        let places = Self::vectors::<S>(&Self::PLACES).0[0];
        Self::if_less(simd, places, covered, Self::splat(simd, Self::zeroed()), Self::last(simd, x))
    }

    /// Elements in a vector.
    #[inline(always)]
    #[must_use]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::V<S>>() / size_of::<Self>()
    }
}

macro_rules! lane {
    ($t:ty, $bits:ty, $v:ident, $splat:ident, $fma:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $abs:ident,
     $min:ident, $max:ident, $less:ident, $select:ident, $sum:ident, $quads:ident, $as:ident, $as_mut:ident, $load:ident,
     $store:ident, $flush:ident) => {
        impl Lane for $t {
            type V<S: Simd> = S::$v;

            const PLACES: [Self; 16] = [0., 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12., 13., 14., 15.];

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$v {
                simd.$splat(x)
            }
            #[inline(always)]
            fn fma<S: Simd>(simd: S, a: S::$v, b: S::$v, c: S::$v) -> S::$v {
                simd.$fma(a, b, c)
            }
            #[inline(always)]
            fn vadd<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn vsub<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$sub(a, b)
            }
            #[inline(always)]
            fn vmul<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn vdiv<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$div(a, b)
            }
            #[inline(always)]
            fn vabs<S: Simd>(simd: S, a: S::$v) -> S::$v {
                simd.$abs(a)
            }
            #[inline(always)]
            fn vmin<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$min(a, b)
            }
            #[inline(always)]
            fn vmax<S: Simd>(simd: S, a: S::$v, b: S::$v) -> S::$v {
                simd.$max(a, b)
            }
            #[inline(always)]
            fn if_less<S: Simd>(simd: S, a: S::$v, b: S::$v, yes: S::$v, no: S::$v) -> S::$v {
                simd.$select(simd.$less(a, b), yes, no)
            }
            #[inline(always)]
            fn low_bits_to_exponent<S: Simd>(mut a: S::$v) -> S::$v {
                for bits in cast_slice_mut::<_, $bits>(from_mut(&mut a)) {
                    *bits <<= <$t>::MANTISSA_DIGITS - 1;
                }
                a
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$v) -> Self {
                simd.$sum(a)
            }
            #[inline(always)]
            fn quads<S: Simd>(simd: S, rows: [S::$v; 4]) -> [S::$v; 4] {
                simd.$quads(rows)
            }
            #[inline(always)]
            fn vectors<S: Simd>(x: &[Self]) -> (&[S::$v], &[Self]) {
                S::$as(x)
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(x: &mut [Self]) -> (&mut [S::$v], &mut [Self]) {
                S::$as_mut(x)
            }
            #[inline(always)]
            fn partial<S: Simd>(simd: S, x: &[Self]) -> S::$v {
                simd.$load(x)
            }
            #[inline(always)]
            fn put<S: Simd>(simd: S, x: &mut [Self], v: S::$v) {
                simd.$store(x, v);
            }
            #[inline(always)]
            fn flush<S: Simd>(simd: S, x: &[S::$v], total: &mut [f64]) {
                $flush(simd, x, total);
            }
        }
    };
}

lane!(
    f32,
    u32,
    f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    sub_f32s,
    mul_f32s,
    div_f32s,
    abs_f32s,
    min_f32s,
    max_f32s,
    less_than_f32s,
    select_f32s,
    reduce_sum_f32s,
    deinterleave_shfl_f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s,
    flush_f32
);
lane!(
    f64,
    u64,
    f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    sub_f64s,
    mul_f64s,
    div_f64s,
    abs_f64s,
    min_f64s,
    max_f64s,
    less_than_f64s,
    select_f64s,
    reduce_sum_f64s,
    deinterleave_shfl_f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s,
    flush_f64
);

#[inline(always)]
fn flush_f32<S: Simd>(_: S, x: &[S::f32s], total: &mut [f64]) {
    for (t, &x) in total.iter_mut().zip(cast_slice::<_, f32>(x)) {
        *t += f64::from(x);
    }
}

#[inline(always)]
fn flush_f64<S: Simd>(simd: S, x: &[S::f64s], total: &mut [f64]) {
    for (t, &x) in S::as_mut_simd_f64s(total).0.iter_mut().zip(x) {
        *t = simd.add_f64s(*t, x);
    }
}
