//! What the rows of a cosine are multiplied by.

use super::range::largest;
use crate::matrix::{Element, MatrixView};
use crate::power;

/// Binary digits below the smallest normal number: subnormal rows raised by so many have a length whose inverse is a
/// number.
pub(super) const RAISE: i32 = 52;

/// 1 / |2^raise x_i|, 0 for a zero row, and for one too short to have an inverse; each row in its own unit.
pub(super) fn inverse_lengths<U: Element>(x: MatrixView<U>, raise: i32) -> Vec<f64> {
    let mut lengths = Vec::with_capacity(x.rows());
    x.each_row(|row| {
        let largest = largest(row);
        let unit = if largest > 0.0 { -power::exponent(largest) } else { 0 };
        let down = power::power(unit.clamp(-1000, 1000));
        let square: f64 = row.iter().map(|&x| (x.into() * down) * (x.into() * down)).sum();
        let inverse = if square > 0.0 { down * power::power(-raise) / square.sqrt() } else { 0.0 };
        lengths.push(if inverse.is_finite() { inverse } else { 0.0 });
    });
    lengths
}
