//! Symmetric matrices known only by their products with a block of vectors.

use super::product::inner_products;
use super::stream::Stream;
use super::upper::{self, multiply};
use crate::bands::Layout;
use crate::error::{Error, Result};
use crate::matrix::zeros;
use crate::simd::{Centered, Lane};
use crate::threads::Team;
use nalgebra::DMatrix;

/// Residuals relative to the largest eigenvalue stop falling at some ten rounding errors of a product.
const RESOLUTION_DOUBLE: f64 = 64.0 * f64::EPSILON;
/// The same where products are summed in `f32` inside a panel, whose errors partly cancel.
const RESOLUTION_SINGLE: f64 = 8.0 * f32::EPSILON as f64;
/// Elements of a dense matrix in a piece that are worth another thread: some 30 us of work.
const PIECE_ELEMENTS: usize = 1 << 16;
/// At most this many pieces; the number depends on the size alone.
const MOST_PIECES: usize = 16;
/// Vectors of a block of products. Small blocks need the fewest products: O(k / sqrt(eps)) for any block up to k (Chen,
/// Epperly, Meyer, Musco, Rao 2025); four share one read of the main memory at little more than the cost of one.
const BLOCK: usize = 4;
/// Rows of a band of a dense matrix of which one half is read.
const BAND: usize = 192;
/// Bands up to which the squares on the diagonal, read whole, are most of it.
const FEW_BANDS: usize = 2;

/// A symmetric matrix A, known by its products.
pub trait Operator: Sync {
    /// Number of rows and of columns.
    fn dim(&self) -> usize;

    /// Z = A Q. `q` and `z` hold the same number of vectors of length [`dim`](Self::dim), one after the other.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when the team is told to stop.
    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()>;

    /// Operations of the product with one vector.
    fn operations(&self) -> f64 {
        2.0 * (self.dim() as f64).powi(2)
    }

    /// Vectors of a block of products for few pairs.
    fn block(&self) -> usize {
        BLOCK
    }

    /// Smallest residual, relative to the largest eigenvalue, that the rounding of the products lets through.
    fn resolution(&self) -> f64 {
        RESOLUTION_DOUBLE
    }
}

/// A stored symmetric matrix, row by row (or column by column: it is the same), in whosever memory.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    entries: &'a [f64],
    dim: usize,
}

impl<'a> Dense<'a> {
    /// # Errors
    /// [`Error::Shape`] unless there are dim^2 entries.
    pub fn new(entries: &'a [f64], dim: usize) -> Result<Self> {
        let wanted = dim.saturating_mul(dim);
        if entries.len() == wanted {
            return Ok(Self { entries, dim });
        }
        Err(Error::Shape { what: "the matrix, counted in entries,", found: entries.len(), wanted })
    }

    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &'a [f64] {
        self.entries
    }
}

impl<'a> TryFrom<&'a DMatrix<f64>> for Dense<'a> {
    type Error = Error;

    fn try_from(a: &'a DMatrix<f64>) -> Result<Self> {
        if a.nrows() != a.ncols() {
            return Err(Error::Shape { what: "the second dimension of a", found: a.ncols(), wanted: a.nrows() });
        }
        Ok(Self { entries: a.as_slice(), dim: a.nrows() })
    }
}

impl Operator for Dense<'_> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        let dim = self.dim();
        debug_assert!(q.len() == z.len());
        let width = q.len().checked_div(dim).unwrap_or(0);
        if width == 0 {
            return Ok(());
        }
        if dim > FEW_BANDS * BAND {
            let layout = Layout::new(dim, BAND);
            return multiply(layout.of_whole(self.entries), layout, q, z, team);
        }
        // The columns are the rows: A is symmetric.
        let pieces = (dim * dim / PIECE_ELEMENTS).clamp(1, MOST_PIECES);
        let step = dim.div_ceil(pieces).next_multiple_of(3);
        let parts = team.map(self.entries.chunks(step * dim).collect(), |rows: &[f64]| {
            team.check()?;
            Ok(inner_products(rows, q, dim))
        });
        let mut start = 0;
        for part in parts {
            let part = part?;
            for (r, sums) in part.chunks_exact(width).enumerate() {
                sums.iter().enumerate().for_each(|(c, &sum)| z[c * dim + start + r] = sum);
            }
            start += part.len() / width;
        }
        Ok(())
    }

    fn block(&self) -> usize {
        upper::block(Layout::new(self.dim, BAND))
    }
}

/// Xc'Xc (d x d) of a centred matrix, never formed: two products a row, one read of the data.
#[derive(Clone, Copy, Debug)]
pub struct ScatterOf<'a, T: Lane> {
    data: Stream<'a, T>,
    dim: usize,
}

impl<'a, T: Lane> ScatterOf<'a, T> {
    /// Squares of the entries must neither overflow nor vanish: give the rows a power-of-two factor where they would.
    #[must_use]
    pub fn new(rows: &'a Centered<'a, T>) -> Self {
        Self { data: Stream::new(rows), dim: rows.cols() }
    }
}

impl<T: Lane> Operator for ScatterOf<'_, T> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        self.data.scatter_product(q, z, team)
    }

    fn operations(&self) -> f64 {
        self.data.operations()
    }

    fn resolution(&self) -> f64 {
        resolution::<T>()
    }
}

/// Xc Xc' (n x n), the dual side of [`ScatterOf`]: two reads of row-major data, one of column-major.
#[derive(Clone, Copy, Debug)]
pub struct GramOf<'a, T: Lane> {
    data: Stream<'a, T>,
    dim: usize,
}

impl<'a, T: Lane> GramOf<'a, T> {
    /// Squares of the entries must neither overflow nor vanish: give the rows a power-of-two factor where they would.
    #[must_use]
    pub fn new(rows: &'a Centered<'a, T>) -> Self {
        Self { data: Stream::new(rows), dim: rows.rows() }
    }
}

impl<T: Lane> Operator for GramOf<'_, T> {
    fn dim(&self) -> usize {
        self.dim
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        self.data.gram_product(q, z, team)
    }

    fn operations(&self) -> f64 {
        self.data.operations()
    }

    fn resolution(&self) -> f64 {
        resolution::<T>()
    }
}

/// H A H with H = I - 11'/n: a kernel matrix centred in feature space, without touching its n x n entries.
///
/// H is applied to the vectors before and after the product, so a constant in A meets vectors that sum to zero.
#[derive(Clone, Copy)]
pub struct CenteredKernel<'a>(pub &'a dyn Operator);

impl Operator for CenteredKernel<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn apply(&self, q: &[f64], z: &mut [f64], team: &Team) -> Result<()> {
        let dim = self.dim();
        let mut centred = q.to_vec();
        subtract_means(&mut centred, dim);
        self.0.apply(&centred, z, team)?;
        subtract_means(z, dim);
        Ok(())
    }

    fn operations(&self) -> f64 {
        self.0.operations()
    }

    fn block(&self) -> usize {
        self.0.block()
    }

    fn resolution(&self) -> f64 {
        self.0.resolution()
    }
}

/// Xc q: vectors of length d to vectors of length n, one after the other; one read of the data.
///
/// # Errors
/// [`Error::Interrupted`] when the team is told to stop.
pub fn times<T: Lane>(rows: &Centered<T>, q: &[f64], team: &Team) -> Result<Vec<f64>> {
    let count = q.len().checked_div(rows.cols()).unwrap_or(0);
    let mut z = zeros(count.saturating_mul(rows.rows()), "the product of X and its directions")?;
    Stream::new(rows).times(q, &mut z, team)?;
    Ok(z)
}

/// Xc'q: vectors of length n to vectors of length d, one after the other; one read of the data.
///
/// # Errors
/// [`Error::Interrupted`] when the team is told to stop.
pub fn transpose_times<T: Lane>(rows: &Centered<T>, q: &[f64], team: &Team) -> Result<Vec<f64>> {
    let count = q.len().checked_div(rows.rows()).unwrap_or(0);
    let mut z = zeros(count.saturating_mul(rows.cols()), "the product of X and its directions")?;
    Stream::new(rows).transpose_times(q, &mut z, team)?;
    Ok(z)
}

fn subtract_means(vectors: &mut [f64], len: usize) {
    for vector in vectors.chunks_exact_mut(len.max(1)) {
        let mean = sum(vector) / len as f64;
        for x in vector {
            *x -= mean;
        }
    }
}

/// The sum, kept in eight parts: one alone would wait for itself at every entry.
fn sum(x: &[f64]) -> f64 {
    let (eights, rest) = x.as_chunks::<8>();
    let mut parts = [0.0; 8];
    for eight in eights {
        parts.iter_mut().zip(eight).for_each(|(part, x)| *part += x);
    }
    parts.iter().chain(rest).sum()
}

fn resolution<T: Lane>() -> f64 {
    if T::DOUBLE { RESOLUTION_DOUBLE } else { RESOLUTION_SINGLE }
}
