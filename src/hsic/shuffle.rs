//! Permutations that depend on a seed and an index alone, so that threads may draw them in any order.

use crate::linalg::splitmix;

/// The permutation of 0..n that belongs to this seed and index (Fisher and Yates).
pub(super) fn shuffled(n: usize, seed: u64, index_in_test: u64) -> Vec<u32> {
    let mut random = Random::new(seed, index_in_test);
    let mut order: Vec<u32> = (0..index(n)).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i as u64 + 1));
    }
    order
}

/// Sample numbers are stored in 32 bits: more samples would need kernels of 2^67 bytes.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn index(n: usize) -> u32 {
    n as u32
}

/// xoshiro256++ (Blackman and Vigna 2019), its state spread from the seed by splitmix64.
struct Random([u64; 4]);

impl Random {
    fn new(seed: u64, stream: u64) -> Self {
        let mut state = seed;
        let mut mixed = splitmix(&mut state) ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        Self(std::array::from_fn(|_| splitmix(&mut mixed)))
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// A number below `bound`, each equally likely (Lemire 2019).
    #[allow(clippy::cast_possible_truncation)] // the high and the low half of a product
    fn below(&mut self, bound: u64) -> usize {
        let floor = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next()) * u128::from(bound);
            if product as u64 >= floor {
                return (product >> 64) as usize;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_gives_its_published_numbers() {
        // The reference implementation started at state 1, 2, 3, 4.
        let mut random = Random([1, 2, 3, 4]);
        assert_eq!([random.next(), random.next()], [41_943_041, 58_720_359]);
    }

    #[test]
    fn every_permutation_is_equally_likely() {
        let mut counts = std::collections::HashMap::new();
        for index in 0..24_000 {
            *counts.entry(shuffled(4, 1, index)).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // 1000 expected each, standard deviation 31: chi squared with 23 degrees of freedom is below 60 but once in
        // 10^5.
        let chi: f64 = counts.values().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 60.0, "{chi}");
        assert_ne!(shuffled(20, 1, 0), shuffled(20, 2, 0));
    }
}
