//! Which road leads to the components: a pure function of the shape, with its constants in one place.

use super::n_components::Components;
use crate::linalg::leading_pays;

/// How the components are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// The cheapest of the others.
    Auto,
    /// d x d moments, then their eigenproblem; small directions measured again on the data.
    Covariance,
    /// n x n inner products: dual PCA, for n < d.
    Gram,
    /// Leading components to a verified residual, from products with the data alone.
    Lanczos,
    /// Singular values without squaring: QR, then the SVD of R.
    Full,
    /// Randomised subspace iteration, without an error bound.
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

/// Products with the data pay while the rows are fewer than this many times the columns: beyond, forming the d x d
/// moments once costs less than the passes over the data.
const TALL: usize = 20;
/// Below this many rows the n x n problem is cheaper than passes over wide data.
const DIRECT_ROWS: usize = 600;

/// What `Auto` takes for n x d data.
#[must_use]
pub(super) fn choose(n: usize, d: usize, components: Components) -> Solver {
    let leading = components.known(n.min(d)).is_some_and(|k| leading_pays(k, n.min(d)));
    if n >= d {
        if leading && n < TALL * d { Solver::Lanczos } else { Solver::Covariance }
    } else if leading && n > DIRECT_ROWS {
        Solver::Lanczos
    } else {
        Solver::Gram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_regime_has_its_road() {
        let few = Components::Count(10);
        assert_eq!(choose(100_000, 100, few), Solver::Covariance);
        assert_eq!(choose(10_000, 2_000, few), Solver::Lanczos);
        assert_eq!(choose(10_000, 2_000, Components::Ratio(0.9)), Solver::Covariance);
        assert_eq!(choose(500, 10_000, few), Solver::Gram);
        assert_eq!(choose(2_000, 50_000, few), Solver::Lanczos);
        assert_eq!(choose(2_000, 50_000, Components::All), Solver::Gram);
    }

    #[test]
    fn names_go_both_ways() {
        assert_eq!(Solver::from_name("gram"), Some(Solver::Gram));
        assert_eq!(Solver::from_name("arpack"), None);
    }
}
