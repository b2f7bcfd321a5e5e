//! Standard deviations of scores, also where their squares have left the normal numbers, and scores divided by them.

use crate::simd::Lane;

/// Whether the root `s` of a fitted variance stands in for the variance `v`: where that has left the normal numbers. A
/// `v` that a user has set to 0 stands, for its root says that the fitted one was in their range.
pub(super) fn stands_in(v: f64, s: f64) -> bool {
    let in_range = 2.0 * f64::MIN_POSITIVE..=0.5 * f64::MAX; // by more than rounding
    !v.is_normal() && !in_range.contains(&(s * s))
}

/// The standard deviation of a variance `v` whose fitted root is `s`.
pub(super) fn root(v: f64, s: f64) -> f64 {
    if stands_in(v, s) { s } else { v.max(0.0).sqrt() }
}

/// Divides each line of scores by the deviations; a dead direction scores 0. Whether all were finite before.
pub(super) fn whiten<T: Lane>(scores: &mut [T], deviations: &[f64]) -> bool {
    let mut finite = true;
    for line in scores.chunks_exact_mut(deviations.len().max(1)) {
        for (z, &deviation) in line.iter_mut().zip(deviations) {
            let score: f64 = (*z).into();
            finite &= score.is_finite();
            *z = if deviation > 0.0 { T::of(score / deviation) } else { T::zeroed() };
        }
    }
    finite
}
