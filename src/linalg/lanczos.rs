//! The leading eigenpairs of a symmetric matrix known by its products: block Lanczos with thick restarts.

use super::eigh::Eigen;
use super::krylov::Krylov;
use super::operator::Operator;
use crate::error::{Error, Result};
use crate::threads::Team;
use nalgebra::DMatrix;

/// Vectors of a block from this many pairs on, where the larger block no longer costs products.
const WIDE_BLOCK: (usize, usize) = (32, 8);
/// Vectors of the basis before a restart: at least this many, and three for each pair.
const LEAST_CAPACITY: usize = 128;
/// Operations of a look at convergence, the projected eigenproblem, for each size^3.
const LOOK: f64 = 2.0;
/// Of the products that the last two looks foretell, this share is spent before the next: convergence quickens.
const FORETOLD: f64 = 0.5;
/// Products for each dimension after which the iteration is given up when no budget is set.
const PRODUCTS_PER_DIM: usize = 50;
/// Products that any matrix may take, whatever its dimension.
const LEAST_PRODUCTS: usize = 2000;
/// Restarts in a row that may pass without the largest residual becoming half of the least before: then what is missing
/// is rounding, of the residuals or of what they are estimated from, which no further product takes away.
const IDLE_RESTARTS: usize = 25;
/// Values closer than this many tolerances count as one multiple eigenvalue.
const TIE_TOLERANCES: f64 = 4.0;

/// How exact, how random, how long.
#[derive(Clone, Copy, Debug)]
pub struct LanczosOptions {
    /// Largest residual |A v - theta v| of every pair, relative to the largest |theta|. No smaller than what the
    /// rounding of the products lets through ([`Operator::resolution`]).
    pub tol: f64,
    /// Seed of the random start.
    pub seed: u64,
    /// Products with single vectors before the iteration gives up and returns `None`.
    pub max_products: Option<usize>,
}

/// The `k` largest eigenvalues (algebraically) of A with orthonormal eigenvectors, each with a verified residual.
///
/// Returns `None` when `max_products` products, 50 for each dimension, or a basis of the whole space do not suffice,
/// and when the residuals have stopped falling, so that the caller takes the direct road: by then it is the cheaper
/// one. Multiple eigenvalues are found with all their vectors; where A has rank below k, the last vectors are an
/// orthonormal completion with values of about 0. Same bits for any team.
///
/// Cost: 40 to 200 products for k = 10 unless the spectrum is flat, plus 8 dim m operations a product; memory 2 dim m,
/// m = max(3k + 4 width, 128) for blocks of `width` vectors: those of [`Operator::block`], 8 from k = 32 on.
///
/// # Errors
/// [`Error::Value`] when k exceeds the dimension, [`Error::NotFinite`] when a product is not finite,
/// [`Error::Interrupted`].
///
/// Reference: Wu and Simon (2000), "Thick-restart Lanczos method for large symmetric eigenvalue problems".
pub fn lanczos(operator: &dyn Operator, k: usize, options: &LanczosOptions, team: &Team) -> Result<Option<Eigen>> {
    let dim = operator.dim();
    if k > dim {
        return Err(Error::value("k", k, format!("at most the dimension {dim} of the matrix")));
    }
    if k == 0 {
        return Ok(Some(Eigen { values: Vec::new(), vectors: DMatrix::zeros(dim, 0) }));
    }
    let width = if k < WIDE_BLOCK.0 { operator.block() } else { WIDE_BLOCK.1 };
    let capacity = (3 * k + 4 * width).max(LEAST_CAPACITY).min(dim);
    let tol = options.tol.max(operator.resolution());
    let mut search = Search {
        space: Krylov::new(operator, width, capacity, options.seed)?,
        goal: Goal { k, tol },
        next_look: 0,
        seen: None,
        hold: 0,
        least: f64::INFINITY,
        idle: 0,
    };
    let most = options.max_products.unwrap_or(usize::MAX).min(PRODUCTS_PER_DIM * dim + LEAST_PRODUCTS);
    while search.space.products() + search.space.pending() <= most {
        search.space.expand(team)?;
        let last = search.space.products() + search.space.pending() > most;
        if let Some(found) = search.look(last, team)? {
            return Ok(Some(found));
        }
        // Where the basis spans the whole space, too, only the direct road can do better.
        if search.space.pending() == 0 || search.idle > IDLE_RESTARTS {
            break;
        }
    }
    Ok(None)
}

/// What is looked for.
struct Goal {
    k: usize,
    tol: f64,
}

/// The iteration and its state.
struct Search<'a> {
    space: Krylov<'a>,
    goal: Goal,
    /// Products after which convergence is looked at next.
    next_look: usize,
    /// Products at the last look, and the largest residual then, in units of the one allowed.
    seen: Option<(usize, f64)>,
    /// Products before which no answer counts, because hidden copies of a value are being looked for.
    hold: usize,
    /// The least that the largest residual was at a restart, relative to the largest |theta|.
    least: f64,
    /// Restarts since it last became half of what it had been, those on hold not counted.
    idle: usize,
}

impl Search<'_> {
    /// After an expansion, the `last` or not: the answer, when it is there; else a restart, when the basis is full.
    fn look(&mut self, last: bool, team: &Team) -> Result<Option<Eigen>> {
        let Goal { k, tol } = self.goal;
        let (size, full) = (self.space.size(), self.space.is_full());
        if size < k || (self.space.products() < self.next_look && !full && !last) {
            return Ok(None);
        }
        let ritz = self.space.ritz(if full { restart_size(k, self.space.capacity()) } else { k }, team)?;
        let largest = ritz.values.iter().fold(0.0, |max: f64, theta| max.max(theta.abs()));
        let allowed = tol * largest;
        let residual = |j: usize| self.space.residual(ritz.vectors.column(j).as_slice());
        let worst = (0..k).map(residual).fold(0.0, f64::max);
        self.next_look = self.space.products() + self.products_worth_a_look().max(self.foretold(worst / allowed));
        if worst <= allowed && self.space.products() >= self.hold && !self.looks_for_copies(&ritz.values, allowed) {
            let leading = Eigen { values: ritz.values[..k].to_vec(), vectors: ritz.vectors.columns(0, k).into_owned() };
            let (vectors, residuals) = self.space.true_residuals(&leading);
            if residuals.iter().all(|residual| *residual <= allowed) {
                let values = leading.values.iter().map(|&theta| self.space.in_operator_units(theta)).collect();
                return Ok(Some(Eigen { values, vectors }));
            }
        }
        if full && self.space.pending() > 0 {
            self.space.restart(&ritz);
            (self.next_look, self.seen) = (0, None);
            self.idle += usize::from(self.space.products() >= self.hold);
            if worst / largest <= 0.5 * self.least {
                (self.least, self.idle) = (worst / largest, 0);
            }
        }
        Ok(None)
    }

    /// So many products cost as much as a look: looking is never more than half of the work, nor are products spent
    /// beyond need.
    fn products_worth_a_look(&self) -> usize {
        let look = LOOK * (self.space.size() as f64).powi(3);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, and at most LOOK size^3 / 1
        let products = (look / self.space.operations_of_a_product().max(1.0)) as usize;
        products
    }

    /// Products after which a look is worth its while, from the fall of the largest residual (in units of the one
    /// allowed) between the last look and this one.
    fn foretold(&mut self, worst: f64) -> usize {
        let now = self.space.products();
        let Some((then, before)) = self.seen.replace((now, worst)) else { return 0 };
        let rate = (before / worst).ln() / (now - then) as f64;
        let missing = worst.ln() / rate;
        // Not finite, or negative, where the residual has not fallen.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates, and capped right here
        let products = (FORETOLD * missing) as usize;
        if rate > 0.0 { products.min(now) } else { 0 }
    }

    /// Whether copies of a multiple eigenvalue may be hidden; if so, the search for them begins.
    ///
    /// A random block of b vectors meets at most b dimensions of an eigenspace. So copies are missing only where b
    /// values or more are equal, and they matter only where these lie above the k-th value. Then the block is doubled
    /// by random vectors, and no answer counts until these would have shown a value above the k-th one:
    /// with gamma = (theta - theta_k) / theta_1 the error of a Ritz value after s steps is about
    /// 4 dim exp(-4 s sqrt(gamma)) of theta_1 (Kaniel and Paige; Saad 2011, theorem 6.4).
    fn looks_for_copies(&mut self, values: &[f64], allowed: f64) -> bool {
        let (k, width) = (self.goal.k, self.space.width());
        let (tie, last) = (TIE_TOLERANCES * allowed, values[k - 1]);
        let mut hidden = values[..k].windows(width).filter(|copies| {
            let (top, bottom) = (copies[0], copies[width - 1]);
            top - bottom <= tie && bottom > last + tie
        });
        let Some(nearest) = hidden.next_back().and_then(|copies| copies.last()) else {
            return false;
        };
        if self.space.pending() == 0 {
            return false; // the basis is the whole space: nothing can hide
        }
        let gamma = (nearest - last) / (allowed / self.goal.tol);
        let steps = 1.0 + (4.0 * self.space.dim() as f64 / gamma).ln() / (4.0 * gamma.sqrt());
        let so_far = self.space.products() / width;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // positive, and capped right here
        let steps = (steps.ceil() as usize).min(so_far).max(1);
        self.space.widen(restart_size(k, self.space.capacity()));
        self.hold = self.space.products() + steps * self.space.width();
        true
    }
}

/// Ritz vectors kept by a restart: all that are asked for and half of the room beyond them, whose convergence goes on.
fn restart_size(k: usize, capacity: usize) -> usize {
    k + (capacity - k.min(capacity)) / 2
}

#[cfg(test)]
mod tests {
    use super::super::Dense;
    use super::*;

    #[test]
    fn a_budget_that_suffices_is_enough() {
        // Whatever looks are left out on the way, the last product is followed by one.
        let a = DMatrix::from_fn(300, 300, |i, j| if i == j { 0.9f64.powf(i as f64) } else { 0.0 });
        let (operator, team) = (Dense::try_from(&a).unwrap(), Team::solo());
        let (k, tol) = (10, 1e-10);
        let block = operator.block();
        let mut space = Krylov::new(&operator, block, LEAST_CAPACITY, 0).unwrap();
        let mut sufficed = false;
        for products in (block..LEAST_CAPACITY).step_by(block) {
            space.expand(&team).unwrap();
            if products >= k {
                let ritz = space.ritz(k, &team).unwrap();
                sufficed = space.true_residuals(&ritz).1.iter().all(|residual| *residual <= tol * ritz.values[0]);
            }
            let options = LanczosOptions { tol, seed: 0, max_products: Some(products) };
            let found = lanczos(&operator, k, &options, &team).unwrap();
            assert_eq!(found.is_some(), sufficed, "{products} products");
        }
        assert!(sufficed);
    }

    #[test]
    fn many_copies_of_every_value_are_found() {
        let (team, tol) = (Team::solo(), 1e-12);
        for (dim, copies, k) in [(310, 10, 10), (330, 7, 10), (400, 10, 10), (400, 12, 13), (410, 5, 15), (350, 20, 15)]
        {
            let value = |i: usize| ((dim - 1 - i) / copies) as f64;
            let a = DMatrix::from_fn(dim, dim, |i, j| if i == j { value(i) } else { 0.0 });
            let options = LanczosOptions { tol, seed: 0, max_products: None };
            let found = lanczos(&Dense::try_from(&a).unwrap(), k, &options, &team).unwrap().unwrap();
            for (j, &theta) in found.values.iter().enumerate() {
                assert!((theta - value(j)).abs() <= tol * value(0), "{dim} {copies} {k}: {theta} {}", value(j));
            }
            let gram = found.vectors.transpose() * &found.vectors;
            let defect = (gram - DMatrix::identity(k, k)).amax();
            assert!(defect <= dim as f64 * f64::EPSILON, "{dim} {copies} {k}: {defect:e}");
        }
    }
}
