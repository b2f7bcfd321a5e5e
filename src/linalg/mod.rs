//! Eigenproblems and factorisations.
