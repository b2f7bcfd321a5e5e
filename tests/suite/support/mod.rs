//! What the numerical tests share: double-double arithmetic and reproducible data.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod dependence;
pub mod moments;
pub mod symmetric;

use prinax::simd::Lane;
use prinax::threads::{Team, run};
use std::thread::sleep;
use std::time::Duration;

/// `work` by a team whose caller has asked it to stop before it began.
pub fn stopped<R: Send>(work: impl FnOnce(&Team) -> R + Send) -> R {
    let late = |team: &Team| {
        sleep(Duration::from_millis(60)); // the team looks every 50
        work(team)
    };
    run(1, || true, late)
}

/// An unevaluated sum of two numbers: about 32 digits.
#[derive(Clone, Copy)]
pub struct Double(pub f64, pub f64);

impl Double {
    /// The sum, rounded to about 32 digits.
    pub fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let rest = (self.0 - (sum - part)) + (other.0 - part) + self.1 + other.1;
        Self(sum + rest, rest - ((sum + rest) - sum))
    }

    /// The product, rounded to about 32 digits.
    pub fn times(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -product) + (self.0 * other.1 + self.1 * other.0);
        Self(product + rest, rest - ((product + rest) - product))
    }
}

/// Uniform in (-1, 1), reproducible (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2f64.powi(52) - 1.0
    }

    /// Correlated columns of different size about `offset`.
    pub fn matrix<T: Lane>(&mut self, rows: usize, cols: usize, offset: f64) -> Vec<T> {
        let mut data = Vec::with_capacity(rows * cols);
        for _ in 0..rows {
            let common = self.next();
            data.extend((0..cols).map(|j| T::of(offset + (0.5 * common + self.next()) * (1.0 + (j % 5) as f64))));
        }
        data
    }
}

/// Numbers in (-1, 1), reproducible (Knuth's linear congruence).
pub fn numbers(len: usize, mut seed: u64) -> Vec<f64> {
    (0..len)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / 2f64.powi(52) - 1.0
        })
        .collect()
}
