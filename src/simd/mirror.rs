//! The lower triangle of a symmetric matrix from its upper one.

use super::Lane;
use super::transpose::transpose;
use crate::threads::Team;

/// Side of the squares on the diagonal that one thread mirrors: a few of them stay in the second cache.
const SQUARE: usize = 128;

/// Rows that a piece of work fills beside the diagonal.
const LINES: usize = 32;

/// Copies the upper triangle of a row-major dim x dim matrix to the lower one.
///
/// By halves: what lies left of the second half's square is the transpose of what lies right of the first half's. So no
/// two threads meet in a row that one of them writes.
pub fn mirror<T: Lane>(dim: usize, matrix: &mut [T], team: &Team) {
    let mut squares = vec![(0, matrix)];
    while squares.iter().any(|(_, rows)| rows.len() > SQUARE * dim) {
        squares = squares.into_iter().flat_map(|(first, rows)| halved(dim, (first, rows), team)).collect();
    }
    team.map(squares, |(first, rows): (usize, &mut [T])| {
        for i in 0..rows.len() / dim.max(1) {
            for j in 0..i {
                rows[i * dim + first + j] = rows[j * dim + first + i];
            }
        }
    });
}

/// Rows `first`, `first + 1`, ... cut into two halves, of which the second knows its columns before itself.
fn halved<'a, T: Lane>(dim: usize, (first, rows): (usize, &'a mut [T]), team: &Team) -> [(usize, &'a mut [T]); 2] {
    let half = (rows.len() / dim / 2).next_multiple_of(LINES);
    let (upper, lower) = rows.split_at_mut((half * dim).min(rows.len()));
    let middle = first + half;
    let pieces = lower.chunks_mut(LINES * dim).enumerate().collect();
    let from = &*upper;
    team.map(pieces, |(at, lines): (usize, &mut [T])| {
        let count = lines.len() / dim;
        transpose((&from[middle + at * LINES..], dim), (&mut lines[first..], dim), (half, count));
    });
    [(first, upper), (middle, lower)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_its_mirror_image() {
        for dim in [0, 1, 2, 31, 128, 129, 160, 257, 300, 515] {
            let upper = |i: usize, j: usize| (i * dim + j) as f64;
            let mut matrix: Vec<f64> =
                (0..dim * dim).map(|at| if at % dim >= at / dim { at as f64 } else { -1.0 }).collect();
            mirror(dim, &mut matrix, &Team::solo());
            let right = |at: usize| upper((at / dim).min(at % dim), (at / dim).max(at % dim));
            assert!(matrix.iter().enumerate().all(|(at, &x)| x == right(at)), "{dim}");
        }
    }
}
