//! The variance beyond the directions computed: from the total where that tells it, else measured on the rows.

use super::pca::PcaOptions;
use super::roads::tolerance;
use crate::error::Result;
use crate::linalg::{Singular, remainder, remainder_floor, stepped};
use crate::simd::{Centered, Lane};
use crate::threads::Team;

/// Sum of the squares beyond the pairs, measured on the rows where the total cannot tell it (less than sqrt(eps) of the
/// total, so that the difference has lost half of its digits); 0 where nothing can be left, for n centred rows span
/// n - 1 directions, and beyond a dead one all are dead; and where all of it is no more than one dead direction may
/// have (by the rule of [`crate::linalg::rank`]) or than rounding leaves.
///
/// Directions with a residual of r sigma_1^2 may be tilted by r sigma_1^2 / sigma_k^2, and leave the square of that
/// times sigma_k^2 behind, each. Where that could be what is measured, it is measured again after a step that leaves no
/// tilt towards dead directions.
pub(super) fn measured_rest<T: Lane>(
    rows: &Centered<T>,
    pairs: &Singular,
    total: f64,
    options: &PcaOptions,
    team: &Team,
) -> Result<Option<f64>> {
    let shape = (rows.rows(), rows.cols());
    let (first, last) = match rest_of::<T>(pairs, total, shape, options) {
        Rest::Told(rest) => return Ok(rest),
        Rest::OnRows { first, last } => (first, last),
    };
    let k = pairs.values.len();
    let floor = dead::<T>(shape, first).powi(2) + remainder_floor(shape.0, &pairs.vectors, total, first);
    let residual = tolerance::<T>(options).max(PANEL_ROUNDINGS * T::EPSILON);
    let tilted = k as f64 * (residual * first * first / last).powi(2);
    let mut rest = remainder(rows, &pairs.vectors, team)?;
    if rest > floor && rest <= tilted + floor {
        rest = remainder(rows, &stepped(rows, &pairs.vectors, team)?, team)?;
    }
    Ok(Some(if rest > floor { rest } else { 0.0 }))
}

/// What the pairs alone say of the sum of the squares beyond them, by the rules of [`measured_rest`].
pub(super) enum Rest {
    /// All there is to say without the rows; nothing where the total tells it.
    Told(Option<f64>),
    /// It is to be measured on the rows: the largest and the smallest of the singular values.
    OnRows { first: f64, last: f64 },
}

/// [`Rest`] for pairs of n x d rows.
pub(super) fn rest_of<T: Lane>(pairs: &Singular, total: f64, (n, d): (usize, usize), options: &PcaOptions) -> Rest {
    if spanned(pairs, n, options) {
        return Rest::Told(Some(0.0));
    }
    let kept: f64 = pairs.values.iter().map(|sigma| sigma * sigma).sum();
    match (pairs.values.first(), pairs.values.last()) {
        (Some(&first), Some(&last)) if total - kept <= T::EPSILON.sqrt() * total => {
            if last <= dead::<T>((n, d), first) { Rest::Told(Some(0.0)) } else { Rest::OnRows { first, last } }
        }
        _ => Rest::Told(None),
    }
}

/// The largest singular value of a dead direction of n x d rows, beside the largest of all.
fn dead<T: Lane>((n, d): (usize, usize), first: f64) -> f64 {
    n.min(d) as f64 * T::EPSILON * first
}

/// Whether the pairs are as many as `rows` rows can need: their differences from their mean sum to 0.
pub(super) fn spanned(pairs: &Singular, rows: usize, options: &PcaOptions) -> bool {
    options.center && pairs.values.len() + 1 >= rows
}

/// Roundings of a sum inside one panel, which is taken in the type of the data: half an eps for each of 512 rows.
const PANEL_ROUNDINGS: f64 = 256.0;
