//! A small generator with the same numbers on every platform: splitmix64, and only exact operations on its output.
//!
//! Steele, Lea, Flood (2014), "Fast splittable pseudorandom number generators".

/// A stream of random numbers that depends on its seed alone.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed`; neighbouring seeds give unrelated streams.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Self { state: seed };
        random.state = random.bits();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        splitmix(&mut self.state)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (0.5 * f64::EPSILON)
    }

    /// Fills `out` with independent numbers, uniform in [-1, 1): as good as normal ones for a random start, and no
    /// logarithm or cosine that differs between platforms.
    pub fn fill_symmetric(&mut self, out: &mut [f64]) {
        for x in out {
            *x = 2.0 * self.uniform() - 1.0;
        }
    }
}

/// One step of splitmix64: moves the state on, and mixes 64 random bits from it.
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_its_published_numbers() {
        // The reference implementation started at state 1234567.
        let mut random = Random { state: 1_234_567 };
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn uniform_numbers_have_their_mean_and_range() {
        let mut random = Random::new(3);
        let draws: Vec<f64> = (0..10_000).map(|_| random.uniform()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((draws.iter().sum::<f64>() / 1e4 - 0.5).abs() < 0.02);
    }
}
