//! How far the iterative roads go: the residual they reach, and the products they may take.

use crate::error::{Error, Result};
use crate::matrix::Element;

/// Relative residuals of the iterative roads where none is asked for, by the type of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerances {
    double: f64,
    single: f64,
}

impl Tolerances {
    /// Singular values of the rows: a residual of r sigma_1^2 leaves sigma_j an error of r / 2 (sigma_1 / sigma_j)^2 of
    /// itself at most, so 1e-10 keeps the promised 1e-5 down to sigma_j = 2e-3 sigma_1 whatever the gaps. In single
    /// precision 8 roundings of the products.
    pub const ROWS: Self = Self { double: 1e-10, single: 1e-6 };

    /// Eigenvalues of a kernel matrix, as the dense road would find them: n eps of some thousand rows. In single
    /// precision the eps of the data, for products are in double.
    pub const KERNEL: Self = Self { double: 1e-12, single: 1e-7 };

    /// The residual for data of type T: `tol` where it is positive.
    pub(super) fn of<T: Element>(self, tol: f64) -> f64 {
        match (tol > 0.0, T::DOUBLE) {
            (true, _) => tol,
            (false, true) => self.double,
            (false, false) => self.single,
        }
    }
}

/// Products with single vectors in each of the rounds that `max_iter` counts, whatever block the iteration takes.
const PRODUCTS_A_ROUND: usize = 4;

/// The products that `rounds` allow.
pub(super) fn products(rounds: Option<usize>) -> Option<usize> {
    rounds.map(|rounds| rounds.saturating_mul(PRODUCTS_A_ROUND))
}

/// What an iteration over `dim` dimensions that has given up comes to: the direct road, unless the caller has allowed
/// fewer products than there are dimensions, from where on that road is the cheaper one anyway.
///
/// # Errors
/// [`Error::NoConvergence`].
pub(super) fn given_up(rounds: Option<usize>, dim: usize) -> Result<()> {
    match rounds {
        Some(rounds) if rounds.saturating_mul(PRODUCTS_A_ROUND) < dim => {
            let detail = format!("max_iter={rounds} iterations did not bring the residuals below tol");
            Err(Error::NoConvergence { what: "lanczos", detail })
        }
        _ => Ok(()),
    }
}
