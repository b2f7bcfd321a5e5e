//! Numbers for the unit tests of this room.

use super::random::Random;

/// `n` numbers in [-1, 1), reproducible.
pub(super) fn noise(n: usize, seed: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; n];
    Random::new(seed as u64).fill_symmetric(&mut numbers);
    numbers
}

/// k increasing positive poles, some of them very close, and weights over twelve orders of magnitude.
pub(super) fn rank_one_problem(k: usize) -> (Vec<f64>, Vec<f64>) {
    let (gaps, sizes) = (noise(k, k), noise(k, k + 1));
    let mut pole = 1.0;
    let poles = gaps.iter().enumerate().map(|(i, gap)| {
        pole += (1.1 + gap) * if i % 5 == 4 { 1e-9 } else { 1.0 };
        pole
    });
    (poles.collect(), sizes.iter().map(|size| 10f64.powf(6.0 * size - 6.0)).collect())
}
