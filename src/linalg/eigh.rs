//! Eigenvalues and eigenvectors of a symmetric matrix: the direct road.

use super::bisection::largest_values;
use super::divide_conquer::divide_and_conquer;
use super::inverse_iteration::vectors_of;
use super::operator::{Dense, Operator};
use super::order::descending;
use super::ql::implicit_ql;
use super::tridiagonal::Tridiagonal;
use super::unit::unit_of;
use crate::error::{Error, Result};
use crate::memory;
use crate::power;
use crate::threads::Team;
use nalgebra::DMatrix;

/// Up to this order an explicit Q and QL on its rows win; above it, divide and conquer with Q applied in blocks
/// (measured).
const EXPLICIT: usize = 48;

/// Above this order and up to one pair in so many of the dimensions, each pair for itself costs less than all of them.
const FEW: (usize, usize) = (32, 6);

/// Eigenpairs of a symmetric d x d matrix, the largest first.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The k eigenvalues, descending.
    pub values: Vec<f64>,
    /// d x k: column j is the unit eigenvector of `values[j]`. Signs are as they come.
    pub vectors: DMatrix<f64>,
}

/// All eigenpairs of a symmetric matrix, of which only the lower triangle counts.
///
/// `A V = V diag(values)`, `V'V = I`, each to a few `d eps |A|` (d eps) whatever the scale of A. About `9 d^3`
/// operations, 4 d^2 numbers of scratch.
///
/// Reduction to tridiagonal form, then implicit QL (d <= 48) or divide and conquer (Golub and Van Loan 2013, chapter
/// 8).
///
/// # Errors
/// [`Error::Shape`] when `a` is not square, [`Error::NotFinite`], [`Error::NoConvergence`], [`Error::Interrupted`].
pub fn eigh(a: &DMatrix<f64>, team: &Team) -> Result<Eigen> {
    eigh_leading(a, a.nrows(), team)
}

/// The `k` largest eigenvalues (algebraically) with their eigenvectors; see [`eigh`].
///
/// `4/3 d^3 + O(d^2 k)` operations for few pairs, found one by one: bisection and inverse iteration, checked. For more,
/// divide and conquer, all but its last step in full.
///
/// # Errors
/// Those of [`eigh`]; [`Error::Value`] when k > d.
pub fn eigh_leading(a: &DMatrix<f64>, k: usize, team: &Team) -> Result<Eigen> {
    direct(a.try_into()?, k, team)
}

/// [`eigh_leading`] of a matrix in whosever memory.
pub(super) fn direct(a: Dense, k: usize, team: &Team) -> Result<Eigen> {
    let d = a.dim();
    if k > d {
        return Err(Error::value("k", k, format!("at most the order {d} of the matrix")));
    }
    let few = d > FEW.0 && k * FEW.1 <= d;
    // The reflectors and the eigenvectors asked for; those of the tridiagonal matrix, and as much for merging its
    // halves.
    let whole = if few { 1 } else { 3 };
    memory::check_matrices::<f64>(1, (d, whole * d + k), "the eigenproblem")?;
    let unit = unit_of(a.entries())?;
    let mut reduced = Tridiagonal::of(a, power::power(-unit), team)?;
    team.check()?;
    let few = if few { by_inverse_iteration(&reduced, k, team)? } else { None };
    let mut eigen = match few {
        Some(found) => found,
        None if d <= EXPLICIT => by_ql(&mut reduced, k)?,
        None => by_divide_and_conquer(&mut reduced, k, team)?,
    };
    for value in &mut eigen.values {
        *value = power::scale(*value, unit);
    }
    Ok(eigen)
}

/// All eigenvalues of a symmetric matrix, descending, without vectors: `4/3 d^3` operations. See [`eigh`].
///
/// # Errors
/// Those of [`eigh`].
pub fn eigenvalues(a: &DMatrix<f64>, team: &Team) -> Result<Vec<f64>> {
    let a = Dense::try_from(a)?;
    let unit = unit_of(a.entries())?;
    let Tridiagonal { mut diagonal, mut off_diagonal, .. } = Tridiagonal::of(a, power::power(-unit), team)?;
    team.check()?;
    implicit_ql(&mut diagonal, &mut off_diagonal, &mut [], 0)?;
    diagonal.sort_by(|x, y| y.total_cmp(x));
    Ok(diagonal.into_iter().map(|value| power::scale(value, unit)).collect())
}

fn by_ql(reduced: &mut Tridiagonal, k: usize) -> Result<Eigen> {
    let Tridiagonal { diagonal, off_diagonal, reflectors } = reduced;
    let mut rows = reflectors.transposed_q();
    implicit_ql(diagonal, off_diagonal, &mut rows, reflectors.stride)?;
    Ok(gather(diagonal, &rows, reflectors.stride, k))
}

/// `None` where a vector does not come out as exact as it should.
fn by_inverse_iteration(reduced: &Tridiagonal, k: usize, team: &Team) -> Result<Option<Eigen>> {
    let Tridiagonal { diagonal, off_diagonal, reflectors } = reduced;
    let values = largest_values(diagonal, off_diagonal, k, team);
    team.check()?;
    let Some(mut vectors) = vectors_of(diagonal, off_diagonal, &values) else { return Ok(None) };
    reflectors.apply(&mut vectors, team)?;
    Ok(Some(Eigen { values, vectors: DMatrix::from_vec(diagonal.len(), k, vectors) }))
}

fn by_divide_and_conquer(reduced: &mut Tridiagonal, k: usize, team: &Team) -> Result<Eigen> {
    let Tridiagonal { diagonal, off_diagonal, reflectors } = reduced;
    let vectors = divide_and_conquer(diagonal, off_diagonal, k, team)?;
    let mut eigen = gather(diagonal, &vectors, diagonal.len(), k);
    drop(vectors);
    reflectors.apply(eigen.vectors.as_mut_slice(), team)?;
    Ok(eigen)
}

/// The k largest values, descending, and their vectors, which lie `stride` apart.
fn gather(values: &[f64], vectors: &[f64], stride: usize, k: usize) -> Eigen {
    let d = values.len();
    let order = &descending(values)[..k];
    let mut columns = Vec::with_capacity(d * k);
    for &j in order {
        columns.extend_from_slice(&vectors[j * stride..][..d]);
    }
    Eigen { values: order.iter().map(|&j| values[j]).collect(), vectors: DMatrix::from_vec(d, k, columns) }
}
