//! What a few pairs of rows tell of all: where the median of the distances most likely lies, and in which unit.

use super::Extent;
use crate::matrix::{Element, MatrixView};
use crate::power;

/// Pairs sampled for the first guess, a multiple of the number of rows between these.
const SAMPLE: (usize, usize) = (1 << 10, 1 << 14);

/// Half the width of the guess, in standard deviations of a sampled rank: it misses about once in a thousand.
const SIGMAS: f64 = 3.5;

/// Distances so many powers of two below the widest column have squares that are normal numbers in its unit, with all
/// their digits.
const NEAR: i32 = 480;

/// Digits of an `f64`: a difference of two numbers is no smaller than the smaller one's last.
const DIGITS: i32 = 53;

/// Rows i and j of the sample: of a few fixed distances in the order of the data, so that every row comes equally
/// often.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let rounds = rounds(n);
    (0..rounds * n).map(move |s| (s % n, (s + stride(s / n, n)) % n))
}

fn rounds(n: usize) -> usize {
    (4 * n).clamp(SAMPLE.0, SAMPLE.1).div_ceil(n)
}

/// The differences of two rows.
fn differences<T: Element>(x: MatrixView<T>, i: usize, j: usize, each: &mut dyn FnMut(usize, f64)) {
    let rows = (x.row(i), x.row(j));
    for k in 0..x.cols() {
        let gap = match rows {
            (Some(a), Some(b)) => a[k].into() - b[k].into(),
            _ => x.at(i, k) - x.at(j, k),
        };
        each(k, gap);
    }
}

/// A range that most likely holds the median of the distances whose coordinates are multiplied by `factors`.
pub(super) fn bracket<T: Element>(x: MatrixView<T>, factors: &[f64], l1: bool) -> (f64, f64) {
    let n = x.rows();
    if n * (n - 1) / 2 <= rounds(n) * n {
        return (0.0, f64::INFINITY);
    }
    let distance = |(i, j)| {
        let mut sum = 0.0;
        differences(x, i, j, &mut |k, gap| {
            let apart = (gap * factors[k]).abs();
            sum += if l1 { apart } else { apart * apart };
        });
        sum
    };
    let mut sample: Vec<f64> = pairs(n).map(distance).collect();
    let size = sample.len();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive and small
    let margin = (SIGMAS * 0.5 * (size as f64).sqrt()) as usize + 1;
    let mut at = |rank: usize| *sample.select_nth_unstable_by(rank, f64::total_cmp).1;
    let (low, high) = (at(size / 2 - margin.min(size / 2)), at((size / 2 + margin).min(size - 1)));
    (low, high)
}

/// The unit of squared distances whose median is wanted: that of the widest column, unless the squares of most would be
/// no normal numbers in it. Then it is that of the middle one in a sample, and far rows are infinitely far.
pub(super) fn unit_of_squares<T: Element>(x: MatrixView<T>, extent: &Extent) -> i32 {
    let spread = extent.spread_exponent();
    let mut smallest = f64::INFINITY;
    x.each_row(|row| {
        for &x in row {
            let x = x.into().abs();
            smallest = if x > 0.0 && x < smallest { x } else { smallest };
        }
    });
    if !smallest.is_finite() || power::exponent(smallest) - DIGITS > spread - NEAR {
        return spread;
    }
    let largest = |(i, j)| {
        let mut largest = 0.0f64;
        differences(x, i, j, &mut |_, gap| largest = largest.max(gap.abs()));
        largest
    };
    let mut sample: Vec<f64> = pairs(x.rows()).map(largest).filter(|gap| *gap > 0.0).collect();
    if sample.is_empty() {
        return spread;
    }
    let middle = sample.len() / 2;
    let typical = power::unit(*sample.select_nth_unstable_by(middle, f64::total_cmp).1);
    if typical > spread - NEAR { spread } else { typical.max(extent.least_unit()) }
}

/// The `round`-th distance between sampled rows, from 1 to n - 1: multiples of the golden ratio fall between all
/// earlier ones, and no period of the data follows them.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a fraction of n
fn stride(round: usize, n: usize) -> usize {
    let fraction = (0.618_033_988_749_895 * (round + 1) as f64).fract();
    1 + (fraction * (n - 1) as f64) as usize
}
