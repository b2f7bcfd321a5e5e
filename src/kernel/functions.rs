//! The kernels by name, with their parameters.

use super::tiles::check_room;
use super::{Extent, Gamma, Rate};
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView};
use crate::threads::Team;

/// A kernel k(x, y) of two rows. `G` is [`Gamma`] as asked for, or [`Rate`] once the data have settled it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel<G = Rate> {
    /// x'y; `centered`: (x - m)'(y - m) with m the mean of the reference rows.
    Linear {
        /// Whether the mean is subtracted first.
        centered: bool,
    },
    /// (gamma x'y + coef0)^degree
    Poly {
        /// gamma
        gamma: G,
        /// The power, positive.
        degree: f64,
        /// Added before the power is taken.
        coef0: f64,
    },
    /// exp(-gamma |x - y|^2)
    Rbf {
        /// gamma
        gamma: G,
    },
    /// tanh(gamma x'y + coef0)
    Sigmoid {
        /// gamma
        gamma: G,
        /// Added before the tangent is taken.
        coef0: f64,
    },
    /// x'y / (|x| |y|), 0 where a row is zero
    Cosine,
    /// exp(-gamma sum_j |x_j - y_j|)
    Laplacian {
        /// gamma
        gamma: G,
    },
    /// 1 where the rows are equal, else 0
    Delta,
}

impl Kernel<Gamma> {
    /// The kernel with gamma as a number, read off the rows of `x` where it depends on them.
    ///
    /// # Errors
    /// [`Error::Value`] for a parameter outside its range, [`Error::NotFinite`] and the like for `x` (called `what`).
    pub fn resolve<T: Element>(&self, x: MatrixView<T>, what: &'static str, team: &Team) -> Result<Kernel<Rate>> {
        self.resolve_within(x, &Extent::of(x, what)?, team)
    }

    /// [`resolve`](Self::resolve) where the extent of `x` is known.
    ///
    /// # Errors
    /// [`Error::Value`] for a parameter outside its range, [`Error::Memory`].
    pub fn resolve_within<T: Element>(&self, x: MatrixView<T>, extent: &Extent, team: &Team) -> Result<Kernel<Rate>> {
        if let Self::Rbf { gamma: Gamma::Median } | Self::Laplacian { gamma: Gamma::Median } = self {
            check_room::<f64>(&[x.rows()], x.cols())?;
        }
        Ok(match *self {
            Self::Linear { centered } => Kernel::Linear { centered },
            Self::Poly { gamma, degree, coef0 } => {
                let gamma = gamma.of_products(x, extent)?;
                if !(degree.is_finite() && degree > 0.0) {
                    return Err(Error::value("degree", degree, "a positive number"));
                }
                Kernel::Poly { gamma, degree, coef0: finite_coef0(coef0)? }
            }
            Self::Rbf { gamma } => Kernel::Rbf { gamma: gamma.of_squares(x, extent, team)? },
            Self::Sigmoid { gamma, coef0 } => {
                Kernel::Sigmoid { gamma: gamma.of_products(x, extent)?, coef0: finite_coef0(coef0)? }
            }
            Self::Cosine => Kernel::Cosine,
            Self::Laplacian { gamma } => Kernel::Laplacian { gamma: gamma.of_distances(x, extent, team)? },
            Self::Delta => Kernel::Delta,
        })
    }
}

impl Kernel<Rate> {
    /// The gamma of the kernels that have one, as a plain number (0 or infinite where the data are that far from 1).
    #[must_use]
    pub fn gamma(&self) -> Option<f64> {
        self.rate().map(Rate::value)
    }

    /// The gamma of the kernels that have one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Poly { gamma, .. }
            | Self::Rbf { gamma }
            | Self::Sigmoid { gamma, .. }
            | Self::Laplacian { gamma } => Some(*gamma),
            Self::Linear { .. } | Self::Cosine | Self::Delta => None,
        }
    }
}

fn finite_coef0(coef0: f64) -> Result<f64> {
    if coef0.is_finite() { Ok(coef0) } else { Err(Error::value("coef0", coef0, "a finite number")) }
}
