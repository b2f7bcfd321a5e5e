//! Divide and conquer for a symmetric tridiagonal matrix of norm near 1.
//!
//! Tearing one off-diagonal entry rho leaves two halves and a correction of rank one,
//!
//! ```text
//! T = diag(T_1, T_2) + |rho| v v',   v = (0 .. 0, 1, sign rho, 0 .. 0)
//! ```
//!
//! With both halves solved, `T_i = Q_i D_i Q_i'`, what is left is diagonal plus rank one (see [`super::secular`]),
//! whose eigenvectors U give `diag(Q_1, Q_2) U`. References: Cuppen (1981); Gu and Eisenstat (1995).

use super::deflation::Basis;
use super::merge::Merge;
use super::ql::{NEGLIGIBLE, implicit_ql};
use super::tridiagonal::padded;
use crate::error::Result;
use crate::simd::Aligned;
use crate::threads::Team;

/// From this order on, the work is cut into pieces for the team; below it the whole takes less than a few ms.
pub(super) const SHARED: usize = 256;

/// Up to this order QL is faster than another split (measured between 16 and 64).
const LEAF: usize = 48;

/// Eigenvectors of the tridiagonal (d, e) in the columns of an n x n column-major matrix, eigenvalues into `d` beside
/// them, in no order; `e` is used up. Only the columns that belong to the `wanted` largest values are computed in the
/// end: the others hold what the way there has left. About `4/3 n^3` operations, less with deflation.
///
/// # Errors
/// [`crate::Error::NoConvergence`] when a leaf or a root exceeds its budget; [`crate::Error::Interrupted`].
pub(super) fn divide_and_conquer(d: &mut [f64], e: &mut [f64], wanted: usize, team: &Team) -> Result<Aligned<f64>> {
    let n = d.len();
    let mut vectors = Aligned::zeros(n * n);
    let basis = Basis { data: &mut vectors, stride: n, order: n };
    solve(Node { d, e, basis }, wanted, team)?;
    Ok(vectors)
}

/// A diagonal block of T and the same block of the eigenvectors.
struct Node<'a> {
    d: &'a mut [f64],
    e: &'a mut [f64],
    basis: Basis<'a>,
}

/// What the steps of one branch write over, one after the other.
struct Scratch {
    leaf: Aligned<f64>,
    merge: Merge,
}

impl Scratch {
    fn new(n: usize) -> Self {
        let leaf = Aligned::zeros(LEAF * padded(LEAF));
        Self { leaf, merge: Merge::new(if n > LEAF { n } else { 0 }) }
    }
}

impl Node<'_> {
    /// Takes the middle off-diagonal entry out: the order of the leading block, and the entry.
    fn tear(&mut self) -> (usize, f64) {
        let middle = self.d.len() / 2;
        let entry = self.e[middle - 1];
        let coupling = if entry.abs() <= NEGLIGIBLE { 0.0 } else { entry };
        self.d[middle - 1] -= coupling.abs();
        self.d[middle] -= coupling.abs();
        (middle, coupling)
    }

    /// The leading block of order `middle`, and the rest.
    fn halves(&mut self, middle: usize) -> [Node<'_>; 2] {
        let Basis { data, stride, order } = &mut self.basis;
        let (stride, order) = (*stride, *order);
        let (d_top, d_bottom) = self.d.split_at_mut(middle);
        let (e_top, e_bottom) = self.e.split_at_mut(middle);
        let (top, bottom) = data.split_at_mut(middle * stride);
        let top = Basis { data: top, stride, order: middle };
        let bottom = Basis { data: &mut bottom[middle..], stride, order: order - middle };
        [Node { d: d_top, e: e_top, basis: top }, Node { d: d_bottom, e: e_bottom, basis: bottom }]
    }
}

/// The halves of a large block go to the team, each with its own scratch.
fn solve(mut node: Node, wanted: usize, team: &Team) -> Result<()> {
    let n = node.d.len();
    if n < SHARED {
        return solve_alone(node, wanted, &mut Scratch::new(n), team);
    }
    let (middle, coupling) = node.tear();
    let halves = team.map(node.halves(middle).into(), |half: Node| {
        let all = half.d.len();
        solve(half, all, team)
    });
    halves.into_iter().collect::<Result<()>>()?;
    Merge::new(n).run(node.d, coupling, middle, &mut node.basis, wanted, team)
}

fn solve_alone(mut node: Node, wanted: usize, scratch: &mut Scratch, team: &Team) -> Result<()> {
    if node.d.len() <= LEAF {
        return leaf(node, scratch);
    }
    let (middle, coupling) = node.tear();
    for half in node.halves(middle) {
        let all = half.d.len();
        solve_alone(half, all, scratch, team)?;
    }
    team.check()?;
    scratch.merge.run(node.d, coupling, middle, &mut node.basis, wanted, team)
}

/// QL from the identity.
fn leaf(mut node: Node, scratch: &mut Scratch) -> Result<()> {
    let n = node.d.len();
    let stride = padded(n);
    let vectors = &mut scratch.leaf[..n * stride];
    vectors.fill(0.0);
    for i in 0..n {
        vectors[i * stride + i] = 1.0;
    }
    implicit_ql(node.d, node.e, vectors, stride)?;
    for (c, vector) in vectors.chunks_exact(stride).enumerate() {
        node.basis.column_mut(c).copy_from_slice(&vector[..n]);
    }
    Ok(())
}
