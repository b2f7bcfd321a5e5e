//! The largest magnitude of many numbers, and the unit of a matrix: the power of two that brings it near 1.

use crate::error::{Error, Result};
use crate::power;
use crate::simd::run;
use pulp::{Simd, WithSimd};

/// The [`power::unit`] of the largest entry: that of `2^-e a` lies between 1/2 and 1.
///
/// # Errors
/// [`Error::NotFinite`].
pub(super) fn unit_of(entries: &[f64]) -> Result<i32> {
    Ok(power::unit(largest(entries, "a")?))
}

/// The largest magnitude of the entries of what is called `what` in errors, 0 of none. Maxima are kept apart in lanes:
/// one alone would wait for itself at every entry.
///
/// # Errors
/// [`Error::NotFinite`].
pub(super) fn largest(entries: &[f64], what: &'static str) -> Result<f64> {
    let (largest, finite) = run(Largest(entries));
    if finite { Ok(largest) } else { Err(Error::NotFinite { what, nan: entries.iter().any(|x| x.is_nan()) }) }
}

/// The largest magnitude, and whether every value is finite.
struct Largest<'a>(&'a [f64]);

impl WithSimd for Largest<'_> {
    type Output = (f64, bool);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (f64, bool) {
        let (vectors, tail) = S::as_simd_f64s(self.0);
        let zero = simd.splat_f64s(0.0);
        let mut largest = [zero; 4];
        // x * 0 is NaN exactly where x is not finite.
        let mut zeros = [zero; 4];
        let (fours, rest) = vectors.as_chunks::<4>();
        for four in fours {
            for q in 0..4 {
                largest[q] = simd.max_f64s(simd.abs_f64s(four[q]), largest[q]);
                zeros[q] = simd.mul_add_e_f64s(four[q], zero, zeros[q]);
            }
        }
        for x in rest {
            largest[0] = simd.max_f64s(simd.abs_f64s(*x), largest[0]);
            zeros[0] = simd.mul_add_e_f64s(*x, zero, zeros[0]);
        }
        let (mut most, mut sum) = (0.0f64, 0.0);
        for q in 0..4 {
            most = most.max(simd.reduce_max_f64s(largest[q]));
            sum += simd.reduce_sum_f64s(zeros[q]);
        }
        for x in tail {
            most = most.max(x.abs());
            sum += x * 0.0;
        }
        (most, sum == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::noise;
    use super::*;
    use crate::simd::{Level, run_at};

    #[test]
    fn the_largest_and_the_bad_are_found_at_every_level() {
        for n in [0, 1, 3, 8, 33, 100] {
            let x = noise(n, n);
            let wanted = x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
            for level in Level::available() {
                assert_eq!(run_at(level, Largest(&x)), Some((wanted, true)));
                for i in 0..n {
                    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                        let mut x = x.clone();
                        x[i] = bad;
                        assert!(run_at(level, Largest(&x)).is_some_and(|(_, finite)| !finite));
                    }
                }
            }
        }
    }

    #[test]
    fn units_at_both_ends() {
        let unit = |x: f64| unit_of(&[x]).unwrap();
        assert_eq!([unit(0.0), unit(0.75), unit(-1.0), unit(5e-324), unit(f64::MAX)], [0, 0, 1, -1000, 1000]);
    }
}
