//! Which road leads to the components: a pure function of the shape, with its constants in one place.

use super::n_components::Components;
use crate::linalg::leading_pays;

/// How the components are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// The cheapest of the next three, by the shape.
    Auto,
    /// d x d moments, then their eigenproblem; small directions measured again on the data.
    Covariance,
    /// n x n inner products: dual PCA, for n < d.
    Gram,
    /// Leading components to a verified residual, from products with the data alone.
    Lanczos,
    /// Singular values without squaring: QR, then the SVD of R.
    Full,
    /// Rayleigh-Ritz over a randomised block Krylov space, without an error bound.
    Randomized,
}

impl Solver {
    /// The name in the Python interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Covariance => "covariance_eigh",
            Self::Gram => "gram",
            Self::Lanczos => "lanczos",
            Self::Full => "full",
            Self::Randomized => "randomized",
        }
    }

    /// The solver of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Auto, Self::Covariance, Self::Gram, Self::Lanczos, Self::Full, Self::Randomized];
        all.into_iter().find(|solver| solver.name() == name)
    }
}

/// Products with the data that k components take, over k^(3/2): the iteration slows down as the values crowd together.
/// Measured on spectra that decay by 0.9 a component: 64 for k = 10, 300 for k = 25, 450 to 630 for k = 50.
const PRODUCTS: f64 = 2.0;
/// What an operation of such a product costs against one of the direct roads, which read the data once.
const SLOWER: f64 = 2.5;
/// Reads of wide data that a product takes.
const WIDE_READS: f64 = 2.0;
/// Operations of the eigenproblem of the direct roads, over the cube of its size, in units of theirs.
const EIGENPROBLEM: f64 = 2.0;

/// What `Auto` takes for n x d data.
#[must_use]
pub(super) fn choose(n: usize, d: usize, components: Components) -> Solver {
    let direct = if n >= d { Solver::Covariance } else { Solver::Gram };
    match components.known(n.min(d)) {
        Some(k) if leading_pays(k, n.min(d)) && iteration_pays(n, d, k) => Solver::Lanczos,
        _ => direct,
    }
}

/// Whether products with the data cost less than inner products of its short side and their eigenproblem.
fn iteration_pays(n: usize, d: usize, k: usize) -> bool {
    let (long, short) = (n.max(d) as f64, n.min(d) as f64);
    let reads = if n >= d { 1.0 } else { WIDE_READS };
    let products = PRODUCTS * (k as f64).powf(1.5);
    4.0 * long * short * products * SLOWER * reads < long * short.powi(2) + EIGENPROBLEM * short.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_regime_has_its_road() {
        let few = Components::Count(10);
        assert_eq!(choose(100_000, 100, few), Solver::Covariance);
        assert_eq!(choose(5_000, 400, few), Solver::Covariance);
        assert_eq!(choose(5_000, 784, few), Solver::Lanczos);
        assert_eq!(choose(5_000, 1_000, Components::Count(50)), Solver::Covariance);
        assert_eq!(choose(10_000, 2_000, few), Solver::Lanczos);
        assert_eq!(choose(10_000, 2_000, Components::Ratio(0.9)), Solver::Covariance);
        assert_eq!(choose(500, 10_000, few), Solver::Gram);
        assert_eq!(choose(1_000, 10_000, few), Solver::Gram);
        assert_eq!(choose(2_000, 50_000, few), Solver::Lanczos);
        assert_eq!(choose(2_000, 50_000, Components::All), Solver::Gram);
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(Solver::from_name("gram"), Some(Solver::Gram));
        assert_eq!(Solver::from_name("arpack"), None);
    }
}
