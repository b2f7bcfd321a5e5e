//! The kernel matrix of a set with itself, computed above the diagonal in squares of strips, for every square by
//! itself: written on both sides of the diagonal, or stored by half.

use super::Tiles;
use super::center::{along, both_ways};
use crate::bands::Layout;
use crate::error::Result;
use crate::simd::pairs::{Group, strip};
use crate::simd::transpose::Transpose;
use crate::simd::{Aligned, Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Strips on each side of a square of work: large enough to write whole cache lines of many rows, and to last.
pub(super) const SQUARE: usize = 8;

/// Squares of work wanted along one side, so that small matrices are shared out too.
pub(super) const SQUARES: usize = 6;

/// Strips on each side of the squares that `n` rows are cut into.
fn side<T>(n: usize) -> usize {
    n.div_ceil(strip::<T>()).div_ceil(SQUARES).clamp(1, SQUARE)
}

/// How [`half`] stores the matrix of `n` rows: bands as high as the squares.
pub(super) fn layout<T>(n: usize) -> Layout {
    Layout::new(n, side::<T>(n) * strip::<T>())
}

/// The whole matrix: a square above the diagonal is written there and mirrored.
pub(super) fn whole<T: Lane>(tiles: &Tiles<T>, out: &mut [T], team: &Team) -> Result<()> {
    let n = tiles.rows().count();
    let mut board = Board::new(layout::<T>(n));
    out.chunks_exact_mut(n.max(1)).enumerate().for_each(|(i, row)| board.cut(i, 0, row));
    board.fill(tiles, |_| (), team)?;
    Ok(())
}

/// The half of the matrix that its [`layout`] stores; returns an entry as a pilot, and the sums of (K - pilot) along
/// the rows of the whole, taken while the entries are in the first cache.
pub(super) fn half(tiles: &Tiles<f64>, out: &mut [f64], team: &Team) -> Result<(f64, Vec<f64>)> {
    let layout = layout::<f64>(tiles.rows().count());
    let mut board = Board::new(layout);
    for (span, piece) in layout.split(out) {
        for (i, row) in (span.first..).zip(piece.chunks_exact_mut(span.width)) {
            board.cut(i, span.left, row);
        }
    }
    let pilot = run(Corner(tiles));
    let mut sums = vec![0.0; layout.dim()];
    for part in board.fill(tiles, |corner| Sums::of_square(corner, layout.height(), pilot), team)? {
        part.add_to(&mut sums);
    }
    Ok((pilot, sums))
}

/// The rows of a matrix cut where squares meet, so that every square owns its pieces and threads write without sharing.
struct Board<'a, T> {
    /// Squares along a side.
    squares: usize,
    /// Rows and columns of a square.
    height: usize,
    /// Pieces of rows, of the squares in reading order.
    pieces: Vec<Vec<&'a mut [T]>>,
}

impl<'a, T: Lane> Board<'a, T> {
    fn new(layout: Layout) -> Self {
        let squares = layout.dim().div_ceil(layout.height());
        Self { squares, height: layout.height(), pieces: (0..squares * squares).map(|_| Vec::new()).collect() }
    }

    /// Shares out row i, given from column `first` on, where a square begins.
    fn cut(&mut self, i: usize, first: usize, row: &'a mut [T]) {
        let start = i / self.height * self.squares + first / self.height;
        self.pieces[start..].iter_mut().zip(row.chunks_mut(self.height)).for_each(|(square, piece)| square.push(piece));
    }

    /// Computes every square, under the eyes of what `watch` makes for the square that begins with a row and a column.
    fn fill<W: Watch<T>>(
        mut self,
        tiles: &Tiles<T>,
        watch: impl Fn((usize, usize)) -> W,
        team: &Team,
    ) -> Result<Vec<W>> {
        let (squares, side) = (self.squares, self.height / strip::<T>());
        let mut jobs = Vec::with_capacity(squares * (squares + 1) / 2);
        for (a, b) in (0..squares).flat_map(|b| (0..=b).map(move |a| (a, b))) {
            let upper = std::mem::take(&mut self.pieces[a * squares + b]);
            let lower = std::mem::take(&mut self.pieces[b * squares + a]);
            let watch = watch((a * self.height, b * self.height));
            jobs.push(Square { tiles, corner: (a * side, b * side), side, upper, lower, watch });
        }
        let done = team.map(jobs, |job| {
            team.check()?;
            Ok(run(job))
        });
        done.into_iter().collect()
    }
}

/// Sees the blocks of a square on and above the diagonal while they are in the first cache.
trait Watch<T>: Send {
    /// A block whose first entry has that place in the square, lines of a strip's length, of which `height` lines and
    /// `width` columns count; `diagonal`: it is its own mirror image.
    fn see(&mut self, block: &[T], corner: (usize, usize), shape: (usize, usize), diagonal: bool);
}

impl<T> Watch<T> for () {
    #[inline(always)]
    fn see(&mut self, _: &[T], _: (usize, usize), _: (usize, usize), _: bool) {}
}

/// Sums of (k - pilot) over a square: of its rows, and of its columns, which are the rows of its mirror image.
struct Sums {
    pilot: f64,
    corner: (usize, usize),
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Sums {
    fn of_square(corner: (usize, usize), height: usize, pilot: f64) -> Self {
        Self { pilot, corner, rows: vec![0.0; height], columns: vec![0.0; height] }
    }

    fn add_to(self, sums: &mut [f64]) {
        for (first, part) in [(self.corner.0, self.rows), (self.corner.1, self.columns)] {
            sums[first..].iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
    }
}

impl Watch<f64> for Sums {
    #[inline(always)]
    fn see(&mut self, block: &[f64], corner: (usize, usize), (height, width): (usize, usize), diagonal: bool) {
        let rows = &mut self.rows[corner.0..][..height];
        let columns = &mut self.columns[corner.1..][..width];
        for (line, row) in block.chunks_exact(strip::<f64>()).zip(rows) {
            *row += if diagonal {
                along(&line[..width], self.pilot)
            } else {
                both_ways(&line[..width], self.pilot, columns)
            };
        }
    }
}

/// The first entry of the matrix.
struct Corner<'a, T>(&'a Tiles<T>);

impl<T: Lane> WithSimd for Corner<'_, T> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> T {
        let mut block = Aligned::zeros(strip::<T>() * strip::<T>());
        self.0.fill(simd, &Group { rows: 0..1, cols: 0..1, upper: true }, &mut block);
        block[0]
    }
}

/// One square of the symmetric matrix: pieces of rows above the diagonal, and of the mirrored square below (none on the
/// diagonal, and none where only one half is stored).
struct Square<'a, T, W> {
    tiles: &'a Tiles<T>,
    /// First strips in rows and columns.
    corner: (usize, usize),
    side: usize,
    upper: Vec<&'a mut [T]>,
    lower: Vec<&'a mut [T]>,
    watch: W,
}

impl<T: Lane, W: Watch<T>> WithSimd for Square<'_, T, W> {
    type Output = W;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> W {
        let Self { tiles, corner: (a0, b0), side, mut upper, mut lower, mut watch } = self;
        let (points, size) = (tiles.rows(), strip::<T>());
        let end = |first: usize| (first + side).min(points.strips());
        let together = points.group();
        let mut blocks = Aligned::zeros(together * together * size * size);
        let mut flipped = Aligned::zeros(size * size);
        let mirrored = a0 == b0 || !lower.is_empty();
        for group in Group::cover(a0..end(a0), b0..end(b0), true, together) {
            tiles.fill(simd, &group, &mut blocks);
            for ((a, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                let (height, width) = (points.rows_in(a), points.rows_in(b));
                let (down, across) = ((a - a0) * size, (b - b0) * size);
                watch.see(block, (down, across), (height, width), a == b);
                write(block, &mut upper[down..down + height], across, width);
                if a != b && mirrored {
                    Transpose { from: (block, size), to: (&mut flipped, size), size: (size, size) }.with_simd(simd);
                    let mirror = if a0 == b0 { &mut upper } else { &mut lower };
                    write(&flipped, &mut mirror[across..across + width], down, height);
                }
            }
        }
        watch
    }
}

/// The first `width` values of each line of a block, from `across` on in each row.
#[inline(always)]
fn write<T: Lane>(block: &[T], rows: &mut [&mut [T]], across: usize, width: usize) {
    for (row, line) in rows.iter_mut().zip(block.chunks_exact(strip::<T>())) {
        put_line(line, &mut row[across..across + width]);
    }
}

/// As much of the line of a block as there is room for.
#[inline(always)]
pub(super) fn put_line<T: Lane>(line: &[T], room: &mut [T]) {
    let size = strip::<T>();
    if room.len() == size {
        room[..size].copy_from_slice(&line[..size]); // of a length known to the compiler: a few stores, no call
    } else {
        room.copy_from_slice(&line[..room.len()]);
    }
}
