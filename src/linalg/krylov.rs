//! A growing orthonormal basis of a block Krylov space, with the images of its vectors and the matrix projected on it.

use super::eigh::{Eigen, eigh_leading};
use super::operator::Operator;
use super::orthogonal::{Lengths, append, append_random, length, project};
use super::product::{columns, multiply};
use super::random::Random;
use super::unit::largest;
use crate::error::Result;
use crate::matrix::room;
use crate::memory;
use crate::power::{power, scale, unit};
use crate::threads::Team;
use nalgebra::DMatrix;

/// What the user knows the vectors as.
const BASIS: &str = "the basis of the iteration";

/// `A V = V H + Q R E'`: V the basis, H = V'A V, Q the pending block of the next products, R what couples it to the
/// last block E of V. All of V stays orthonormal to rounding: of a product, its large projections are removed first,
/// those on the vectors that Q is coupled to, and then all that rounding has left of any.
pub(super) struct Krylov<'a> {
    operator: &'a dyn Operator,
    dim: usize,
    /// Vectors of a full block.
    width: usize,
    /// V and then Q, vectors one after the other.
    basis: Vec<f64>,
    /// A V in units of 2^exponent.
    images: Vec<f64>,
    /// H in that unit; the upper triangle of blocks counts.
    projected: DMatrix<f64>,
    /// Vectors of V.
    size: usize,
    /// Vectors of the last block of V.
    last: usize,
    /// The first vector of V that Q is coupled to: that of the last block, or of all after a restart.
    coupled: usize,
    /// R, pending x last, row-major, in that unit.
    coupling: Vec<f64>,
    exponent: Option<i32>,
    random: Random,
    products: usize,
}

impl<'a> Krylov<'a> {
    /// A random start of `width` vectors, with room for `capacity` vectors and the pending block.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn new(operator: &'a dyn Operator, width: usize, capacity: usize, seed: u64) -> Result<Self> {
        let dim = operator.dim();
        let width = width.min(dim);
        let mut random = Random::new(seed);
        let held = [(capacity + width).min(dim), capacity.min(dim)];
        // Both of them, and a block of products on its way into them.
        memory::check_matrices::<f64>(1, (held[0] + held[1] + width, dim), BASIS)?;
        let mut basis = room(held[0] * dim, BASIS)?;
        (0..width).for_each(|_| append_random(&mut basis, dim, &mut random));
        let images = room(held[1] * dim, BASIS)?;
        let projected = DMatrix::zeros(capacity, capacity);
        let (coupling, exponent) = (Vec::new(), None);
        Ok(Self {
            operator,
            dim,
            width,
            basis,
            images,
            projected,
            size: 0,
            last: 0,
            coupled: 0,
            coupling,
            exponent,
            random,
            products: 0,
        })
    }

    /// Rows and columns of the matrix.
    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    /// Vectors of a full block.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Vectors the basis has room for.
    pub(super) fn capacity(&self) -> usize {
        self.projected.nrows()
    }

    /// Whether the pending block has no room, or nothing is left to add.
    pub(super) fn is_full(&self) -> bool {
        self.pending() == 0 || self.size + self.pending() > self.capacity()
    }

    /// Vectors in the basis that have been multiplied.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Vectors that the next [`expand`](Self::expand) multiplies; 0 when the basis spans the whole space.
    pub(super) fn pending(&self) -> usize {
        self.basis.len() / self.dim.max(1) - self.size
    }

    /// Vectors multiplied so far.
    pub(super) fn products(&self) -> usize {
        self.products
    }

    /// Operations that one more product costs: with the matrix, and to make it orthogonal to the basis.
    pub(super) fn operations_of_a_product(&self) -> f64 {
        self.operator.operations() + 8.0 * self.dim as f64 * self.size as f64
    }

    /// Multiplies the pending block, projects the product and makes the next block of what is left.
    pub(super) fn expand(&mut self, team: &Team) -> Result<()> {
        let (dim, width) = (self.dim, self.pending());
        let mut block = vec![0.0; width * dim];
        self.operator.apply(&self.basis[self.size * dim..], &mut block, team)?;
        self.products += width;
        self.rescale(&mut block)?;
        self.images.extend_from_slice(&block);
        let before: Vec<f64> = block.chunks_exact(dim).map(length).collect();
        let large = project(&self.basis[self.coupled * dim..], &mut block, dim);
        let lengths = |(&whole, vector)| Lengths { whole, left: length(vector) };
        let before: Vec<Lengths> = before.iter().zip(block.chunks_exact(dim)).map(lengths).collect();
        let small = project(&self.basis, &mut block, dim);
        for (first, coefficients) in [(self.coupled, large), (0, small)] {
            for (i, row) in (first..).zip(coefficients.chunks_exact(width)) {
                row.iter().enumerate().for_each(|(c, &h)| self.projected[(i, self.size + c)] += h);
            }
        }
        self.coupled = self.size;
        self.size += width;
        self.last = width;
        let wanted = self.width.min(dim - self.size);
        self.coupling = append(&mut self.basis, &block, &before, (dim, wanted), &mut self.random);
        Ok(())
    }

    /// Brings a product into the unit, a power of two near the first product's largest entry.
    fn rescale(&mut self, block: &mut [f64]) -> Result<()> {
        let largest = largest(block, "A")?;
        if self.exponent.is_none() && largest > 0.0 {
            self.exponent = Some(unit(largest));
        }
        let inverse = power(-self.exponent.unwrap_or(0));
        for x in block {
            *x *= inverse;
        }
        Ok(())
    }

    /// The `k` largest Ritz pairs: eigenpairs of H, values in the unit, vectors in coordinates of the basis.
    pub(super) fn ritz(&self, k: usize, team: &Team) -> Result<Eigen> {
        let h = &self.projected;
        // Each entry above the diagonal is a sum over a new product; the mirror image below may come from older ones.
        let symmetric = DMatrix::from_fn(self.size, self.size, |i, j| h[(i.min(j), i.max(j))]);
        eigh_leading(&symmetric, k.min(self.size), team)
    }

    /// Estimated residual of a Ritz vector given by its coordinates: |R s| for its part s in the last block.
    pub(super) fn residual(&self, coordinates: &[f64]) -> f64 {
        let tail = &coordinates[self.size - self.last..];
        let row_product = |row: &[f64]| row.iter().zip(tail).map(|(r, s)| r * s).sum::<f64>();
        let squares = self.coupling.chunks_exact(self.last).map(|row| row_product(row).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// The true residuals |A v - theta v| of Ritz pairs, in the unit, from the products themselves.
    pub(super) fn true_residuals(&self, ritz: &Eigen) -> (DMatrix<f64>, Vec<f64>) {
        let vectors = self.vectors(ritz);
        let images = self.combine(&self.images, ritz);
        let mut residuals = Vec::with_capacity(ritz.values.len());
        for (j, &theta) in ritz.values.iter().enumerate() {
            residuals.push((images.column(j) - vectors.column(j) * theta).norm());
        }
        (vectors, residuals)
    }

    /// Ritz vectors in the coordinates of the operator.
    pub(super) fn vectors(&self, ritz: &Eigen) -> DMatrix<f64> {
        self.combine(&self.basis[..self.size * self.dim], ritz)
    }

    /// A value in the unit, as the operator has it.
    pub(super) fn in_operator_units(&self, value: f64) -> f64 {
        scale(value, self.exponent.unwrap_or(0))
    }

    /// Thick restart: the basis becomes the given Ritz vectors, and the pending block stays the next one.
    pub(super) fn restart(&mut self, ritz: &Eigen) {
        let (dim, kept) = (self.dim, ritz.values.len());
        let (vectors, images) = (self.vectors(ritz), self.combine(&self.images, ritz));
        let pending = self.size * dim;
        self.basis.copy_within(pending.., kept * dim);
        self.basis.truncate(self.basis.len() - pending + kept * dim);
        self.basis[..kept * dim].copy_from_slice(vectors.as_slice());
        self.images.clear();
        self.images.extend_from_slice(images.as_slice());
        self.size = kept;
        self.coupled = 0;
        self.projected.fill(0.0);
        for (j, &theta) in ritz.values.iter().enumerate() {
            self.projected[(j, j)] = theta;
        }
    }

    /// Doubles the block by random vectors, with room for it, and for four blocks beside the `kept` vectors of a
    /// restart.
    pub(super) fn widen(&mut self, kept: usize) {
        let spare = self.dim - self.basis.len() / self.dim;
        (0..self.width.min(spare)).for_each(|_| append_random(&mut self.basis, self.dim, &mut self.random));
        self.width = (2 * self.width).min(self.dim);
        let wanted = (kept + 4 * self.width).max(self.size + self.pending());
        let capacity = wanted.max(self.capacity()).min(self.dim);
        self.projected.resize_mut(capacity, capacity, 0.0);
    }

    /// Combinations of vectors with the coordinates of Ritz vectors.
    fn combine(&self, vectors: &[f64], ritz: &Eigen) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(self.dim, ritz.values.len());
        multiply(columns(vectors, self.dim), columns(ritz.vectors.as_slice(), self.size), out.as_mut_slice());
        out
    }
}
