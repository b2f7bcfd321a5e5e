//! The Hilbert-Schmidt independence criterion: how far two sets of observations of the same n samples are from
//! independent, as their kernels see it.
//!
//! biased: tr(K H L H) / (n - 1)^2 with H = I - 11'/n, never formed. unbiased (Song et al. 2012), with K~, L~ the
//! kernels with zero diagonals: [tr K~L~ + 1'K~1 1'L~1 / ((n-1)(n-2)) - 2/(n-2) 1'K~L~1] / (n (n-3)).
//!
//! Everything follows from sums over pairs, taken in one pass over blocks of both kernels, in O(n d) memory for both
//! samples packed. A constant is subtracted from each kernel first: both forms remove constants, and without it kernels
//! near 1 lose every digit. Data of any dtype are summed in `f64`, in units of a power of two: offset and scale do not
//! show.

mod centering;
mod features;
mod gamma;
mod incomplete_gamma;
mod permutation;
mod shuffle;
mod source;
mod statistic;

pub use gamma::{GammaTest, gamma_test};
pub use permutation::{PermutationTest, Permutations, permutation_test};
pub use source::Sample;
pub use statistic::{Estimator, cka, hsic};
