//! Pivoted Cholesky: thin factors of positive semidefinite matrices that are known column by column.

use crate::error::Result;
use crate::matrix::room;
use crate::simd::run;
use crate::simd::skinny::{Lines, Updates};
use crate::threads::Team;
use nalgebra::DMatrix;

/// What a thin factor may leave out.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    /// Share of the trace.
    pub share: f64,
    /// A diagonal entry below this is rounding.
    pub rounding: f64,
}

/// G (n x m) with K - G G' positive semidefinite and its trace at most `allowed.share` of that of K, or no diagonal
/// entry above `allowed.rounding`; and the diagonal that is left (an entry well below zero: K was not semidefinite).
///
/// `diagonal`: that of K; `column(j, out)` writes column j. Each step takes the largest entry that is left. Time
/// O(n m^2) and m columns, memory n m: K itself is never there.
///
/// # Errors
/// Those of `column`, [`crate::Error::Memory`], [`crate::Error::Interrupted`].
///
/// Reference: Harbrecht, Peters, Schneider (2012), On the low-rank approximation by the pivoted Cholesky decomposition.
pub fn pivoted_cholesky(
    mut diagonal: Vec<f64>,
    mut column: impl FnMut(usize, &mut [f64]) -> Result<()>,
    allowed: LeftOut,
    team: &Team,
) -> Result<(DMatrix<f64>, Vec<f64>)> {
    let n = diagonal.len();
    let trace = |diagonal: &[f64]| diagonal.iter().map(|d| d.max(0.0)).sum::<f64>();
    let floor = allowed.share * trace(&diagonal);
    let mut factor: Vec<f64> = Vec::new();
    let mut next = vec![0.0; n];
    for m in 0..n {
        let Some((pivot, largest)) = largest(&diagonal) else { break };
        if largest <= allowed.rounding || trace(&diagonal) <= floor {
            break;
        }
        team.check()?;
        column(pivot, &mut next)?;
        // next -= G G[pivot, :]'
        let weights: Vec<f64> = (0..m).map(|c| -factor[c * n + pivot]).collect();
        run(Updates { lines: Lines::packed(&factor, n), weights: &weights, into: &mut next, stride: n });
        let root = largest.sqrt();
        for (i, (entry, left)) in next.iter_mut().zip(&mut diagonal).enumerate() {
            *entry = if i == pivot { root } else { *entry / root };
            *left = if i == pivot { 0.0 } else { *left - *entry * *entry };
        }
        if factor.capacity() < factor.len() + n {
            grow(&mut factor, n)?;
        }
        factor.extend_from_slice(&next);
    }
    let m = factor.len() / n.max(1);
    Ok((DMatrix::from_vec(n, m, factor), diagonal))
}

/// Room for twice as many columns of n entries.
fn grow(factor: &mut Vec<f64>, n: usize) -> Result<()> {
    let mut wider = room((2 * factor.len()).saturating_add(n), "the factor of the kernel matrix of y")?;
    wider.extend_from_slice(factor);
    *factor = wider;
    Ok(())
}

/// The first place of the largest value, and the value.
fn largest(values: &[f64]) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (i, &value) in values.iter().enumerate() {
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((i, value));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: LeftOut = LeftOut { share: 1e-14, rounding: 0.0 };

    fn of(k: &DMatrix<f64>, allowed: LeftOut) -> (DMatrix<f64>, Vec<f64>) {
        let column = |j: usize, out: &mut [f64]| {
            out.copy_from_slice(k.column(j).as_slice());
            Ok(())
        };
        pivoted_cholesky(k.diagonal().as_slice().to_vec(), column, allowed, &Team::solo()).unwrap()
    }

    #[test]
    fn a_factor_has_as_many_columns_as_the_rank() {
        let b = DMatrix::from_fn(30, 4, |i, j| ((i * 7 + j * j * 3 + i * j) % 23) as f64 - 11.0);
        let k = &b * b.transpose();
        let (g, left) = of(&k, EXACT);
        assert_eq!(g.ncols(), 4);
        assert!((&g * g.transpose() - &k).amax() <= 1e-13 * k.amax());
        assert!(left.iter().all(|d| d.abs() <= 1e-13 * k.amax()));
    }

    #[test]
    fn the_remainder_is_what_was_allowed() {
        let k = DMatrix::from_fn(40, 40, |i, j| (-((i as f64 - j as f64) / 8.0).powi(2)).exp());
        let (g, _) = of(&k, LeftOut { share: 1e-6, rounding: 0.0 });
        let rest = &k - &g * g.transpose();
        assert!(g.ncols() < 25);
        assert!(rest.trace() <= 1e-6 * k.trace() && rest.trace() > 0.0);
    }

    #[test]
    fn an_indefinite_matrix_shows_in_what_is_left() {
        let k = DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0]);
        assert_eq!(of(&k, EXACT).1, [0.0, -3.0]);
        assert_eq!(of(&DMatrix::zeros(3, 3), EXACT).0.ncols(), 0);
        assert_eq!(of(&DMatrix::zeros(0, 0), EXACT).0.shape(), (0, 0));
    }
}
