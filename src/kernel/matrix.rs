//! The kernel matrix, and its diagonal alone.

use super::few::few_rows;
use super::{Extent, Kernel, Tiles, Units};
use crate::error::{Error, Result};
use crate::matrix::{Element, MatrixView, zeros};
use crate::simd::pairs::{Group, strip};
use crate::simd::{Aligned, Lane, run};
use crate::threads::Team;
use pulp::{Simd, WithSimd};

/// Strips on each side of a square of work: large enough to write whole cache lines of many rows, and to last.
const SQUARE: usize = 8;

/// Squares of work wanted along one side, so that small matrices are shared out too.
const SQUARES: usize = 6;

/// The kernel matrix k(x_i, y_j), row-major n x m; `y` = `None` means `x` itself: exactly symmetric, with the exact
/// diagonal where it is known. A centred linear kernel is taken about the mean of `y` (of `x`, alone).
///
/// `x`: n x d, `y`: m x d. Time O(n m d), half of it for one set; memory: the result and a packed copy of the data.
///
/// # Errors
/// [`Error::NotFinite`], [`Error::Shape`] when the numbers of columns differ, [`Error::Memory`], [`Error::Value`] when a
/// fractional power meets a negative number, [`Error::Interrupted`].
pub fn kernel_matrix<T: Lane>(
    x: MatrixView<T>,
    y: Option<MatrixView<T>>,
    kernel: &Kernel,
    team: &Team,
) -> Result<Vec<T>> {
    let len = x.rows().saturating_mul(y.map_or(x.rows(), |y| y.rows()));
    let mut out = zeros(len, "the kernel matrix")?;
    kernel_matrix_into(x, y, kernel, &mut out, team)?;
    Ok(out)
}

/// [`kernel_matrix`] into a buffer of n m values.
///
/// # Errors
/// As [`kernel_matrix`], and [`Error::Shape`] for a buffer of another length.
pub fn kernel_matrix_into<T: Lane>(
    x: MatrixView<T>,
    y: Option<MatrixView<T>>,
    kernel: &Kernel,
    out: &mut [T],
    team: &Team,
) -> Result<()> {
    let wanted = x.rows().saturating_mul(y.map_or(x.rows(), |y| y.rows()));
    if out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    if let Some(y) = y {
        if y.cols() != x.cols() {
            return Err(Error::Shape { what: "Y, counted in columns,", found: y.cols(), wanted: x.cols() });
        }
        if few_rows(x, y, kernel, out) {
            return Ok(());
        }
        let extent = Extent::of(x, "X")?;
        let extent = Extent::of(y, "Y")?.with(&extent);
        cross(&Tiles::cross(x, y, kernel, &extent), out, team)?;
    } else {
        let extent = Extent::of(x, "X")?;
        square(&Tiles::square(x, kernel, &extent, Units::Plain), out, team)?;
    }
    check_power(kernel, out)
}

/// The kernel matrix of `x` with itself in `f64`, whatever its own type, into a buffer of n^2 values.
///
/// # Errors
/// As [`kernel_matrix`], and [`Error::Shape`] for a buffer of another length.
pub fn kernel_matrix_wide<T: Element>(x: MatrixView<T>, kernel: &Kernel, out: &mut [f64], team: &Team) -> Result<()> {
    let wanted = x.rows().saturating_mul(x.rows());
    if out.len() != wanted {
        return Err(Error::Shape { what: "out", found: out.len(), wanted });
    }
    let extent = Extent::of(x, "X")?;
    square(&Tiles::square(x, kernel, &extent, Units::Plain), out, team)?;
    check_power(kernel, out)
}

/// A fractional power of a negative number is not a number: said, not returned.
fn check_power<T: Lane>(kernel: &Kernel, out: &[T]) -> Result<()> {
    let Kernel::Poly { degree, .. } = kernel else { return Ok(()) };
    if degree.fract() != 0.0 && out.iter().any(|x| (*x).into().is_nan()) {
        return Err(Error::value("degree", degree, "a whole number where gamma <x, y> + coef0 is negative"));
    }
    Ok(())
}

/// k(x_i, x_i) for every row of `x`, without the rest of the matrix. A centred linear kernel is taken about `mean`.
///
/// # Errors
/// [`Error::NotFinite`] and [`Error::TooFew`], as for the matrix.
pub fn kernel_diagonal<T: Lane>(x: MatrixView<T>, kernel: &Kernel, mean: &[f64]) -> Result<Vec<f64>> {
    let extent = Extent::of(x, "X")?;
    let origin = if matches!(kernel, Kernel::Linear { centered: true }) { mean } else { &[] };
    let unit = extent.size_exponent();
    let mut diagonal = Vec::with_capacity(x.rows());
    x.each_row(|row| {
        let centred = row.iter().enumerate().map(|(j, &x)| x.into() - origin.get(j).unwrap_or(&0.0));
        diagonal.push(match *kernel {
            Kernel::Rbf { .. } | Kernel::Laplacian { .. } | Kernel::Delta => 1.0,
            Kernel::Cosine => f64::from(u8::from(row.iter().any(|&x| x.into() != 0.0))),
            Kernel::Linear { .. } => centred.map(|x| x * x).sum(),
            Kernel::Poly { gamma, degree, coef0 } => (gamma.of_square(centred, unit) + coef0).powf(degree),
            Kernel::Sigmoid { gamma, coef0 } => (gamma.of_square(centred, unit) + coef0).tanh(),
        });
    });
    Ok(diagonal)
}

/// The matrix of a set with itself, in squares of strips: a square above the diagonal is written there and mirrored.
fn square<T: Lane>(tiles: &Tiles<T>, out: &mut [T], team: &Team) -> Result<()> {
    let (n, strips) = (tiles.rows().count(), tiles.rows().strips());
    if n == 0 {
        return Ok(());
    }
    let side = strips.div_ceil(SQUARES).min(SQUARE);
    let squares = strips.div_ceil(side);
    let height = side * strip::<T>();
    // Each row is cut where squares meet, so that every square owns its pieces and threads write without sharing.
    let mut pieces: Vec<Vec<&mut [T]>> = (0..squares * squares).map(|_| Vec::new()).collect();
    for (i, row) in out.chunks_exact_mut(n).enumerate() {
        let line = &mut pieces[i / height * squares..][..squares];
        line.iter_mut().zip(row.chunks_mut(height)).for_each(|(square, piece)| square.push(piece));
    }
    let mut jobs = Vec::with_capacity(squares * (squares + 1) / 2);
    for (a, b) in (0..squares).flat_map(|b| (0..=b).map(move |a| (a, b))) {
        let upper = std::mem::take(&mut pieces[a * squares + b]);
        let lower = std::mem::take(&mut pieces[b * squares + a]);
        jobs.push(Square { tiles, corner: (a * side, b * side), side, upper, lower });
    }
    let done = team.map(jobs, |job| {
        team.check()?;
        run(job);
        Ok(())
    });
    done.into_iter().collect()
}

/// The matrix of two sets, in bands of rows.
fn cross<T: Lane>(tiles: &Tiles<T>, out: &mut [T], team: &Team) -> Result<()> {
    let (m, strips) = (tiles.cols().count(), tiles.rows().strips());
    let side = strips.div_ceil(2 * SQUARES).clamp(1, SQUARE);
    let bands = out.chunks_mut((side * strip::<T>() * m).max(1)).enumerate();
    let jobs = bands.map(|(band, out)| Band { tiles, first: band * side, side, out }).collect();
    let done = team.map(jobs, |job| {
        team.check()?;
        run(job);
        Ok(())
    });
    done.into_iter().collect()
}

/// One square of the symmetric matrix: pieces of rows above the diagonal, and of the mirrored square below (none on it).
struct Square<'a, T> {
    tiles: &'a Tiles<T>,
    /// First strips in rows and columns.
    corner: (usize, usize),
    side: usize,
    upper: Vec<&'a mut [T]>,
    lower: Vec<&'a mut [T]>,
}

impl<T: Lane> WithSimd for Square<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tiles, corner: (a0, b0), side, mut upper, mut lower } = self;
        let (points, size) = (tiles.rows(), strip::<T>());
        let end = |first: usize| (first + side).min(points.strips());
        let together = points.group();
        let mut blocks = Aligned::zeros(together * together * size * size);
        let mut flipped = Aligned::zeros(size * size);
        for group in Group::cover(a0..end(a0), b0..end(b0), true, together) {
            tiles.fill(simd, &group, &mut blocks);
            for ((a, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                let (height, width) = (points.rows_in(a), points.rows_in(b));
                let (down, across) = ((a - a0) * size, (b - b0) * size);
                write(block, &mut upper[down..down + height], across, width);
                if a != b {
                    transpose(block, size, &mut flipped);
                    let mirror = if a0 == b0 { &mut upper } else { &mut lower };
                    write(&flipped, &mut mirror[across..across + width], down, height);
                }
            }
        }
    }
}

/// The first `width` values of each line of a block, from `across` on in each row.
#[inline(always)]
fn write<T: Lane>(block: &[T], rows: &mut [&mut [T]], across: usize, width: usize) {
    for (row, line) in rows.iter_mut().zip(block.chunks_exact(strip::<T>())) {
        row[across..across + width].copy_from_slice(&line[..width]);
    }
}

/// A band of rows against all columns.
struct Band<'a, T> {
    tiles: &'a Tiles<T>,
    first: usize,
    side: usize,
    out: &'a mut [T],
}

impl<T: Lane> WithSimd for Band<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tiles, first, side, out } = self;
        let (rows, cols, size) = (tiles.rows(), tiles.cols(), strip::<T>());
        let m = cols.count();
        let together = rows.group();
        let mut blocks = Aligned::zeros(together * together * size * size);
        let end = (first + side).min(rows.strips());
        for group in Group::cover(first..end, 0..cols.strips(), false, together) {
            tiles.fill(simd, &group, &mut blocks);
            for ((a, b), block) in group.blocks().zip(blocks.chunks_exact(size * size)) {
                let (height, width) = (rows.rows_in(a), cols.rows_in(b));
                let lines = out.chunks_exact_mut(m).skip((a - first) * size).take(height);
                for (row, line) in lines.zip(block.chunks_exact(size)) {
                    row[b * size..][..width].copy_from_slice(&line[..width]);
                }
            }
        }
    }
}

/// Transposes a square of values in pieces of 4 x 4, which the compiler turns into shuffles.
#[inline(always)]
fn transpose<T: Copy>(block: &[T], size: usize, out: &mut [T]) {
    for (i, lines) in block.chunks_exact(4 * size).enumerate() {
        let (l0, lines) = lines.split_at(size);
        let (l1, lines) = lines.split_at(size);
        let (l2, l3) = lines.split_at(size);
        let quads = l0.as_chunks::<4>().0.iter().zip(l1.as_chunks::<4>().0);
        let quads = quads.zip(l2.as_chunks::<4>().0).zip(l3.as_chunks::<4>().0);
        for ((((l0, l1), l2), l3), out) in quads.zip(out.chunks_exact_mut(4 * size)) {
            for j in 0..4 {
                out[j * size + 4 * i..][..4].copy_from_slice(&[l0[j], l1[j], l2[j], l3[j]]);
            }
        }
    }
}
