//! Centred rows with what a linear map makes of them.

use crate::simd::affine::products;

/// Some rows with their scores and their images in the span of the components, in standardised units.
pub(super) struct Block {
    pub(super) rows: usize,
    d: usize,
    k: usize,
    pub(super) lines: Vec<f64>,
    scores: Vec<f64>,
    pub(super) fitted: Vec<f64>,
}

impl Block {
    /// Of centred lines of d, the components (k x d) and their transpose.
    pub(super) fn new(lines: Vec<f64>, d: usize, w: &[f64], back: &[f64]) -> Self {
        let (rows, k) = (lines.len().checked_div(d).unwrap_or(0), w.len().checked_div(d).unwrap_or(0));
        let (mut scores, mut fitted) = (vec![0.0; rows * k], vec![0.0; rows * d]);
        if k > 0 {
            products(&lines, w, d, &mut scores);
            products(&scores, back, k, &mut fitted);
        }
        Self { rows, d, k, lines, scores, fitted }
    }

    /// Row `i`, centred.
    pub(super) fn line(&self, i: usize) -> &[f64] {
        &self.lines[i * self.d..][..self.d]
    }

    /// Scores of row `i`.
    pub(super) fn scores(&self, i: usize) -> &[f64] {
        &self.scores[i * self.k..][..self.k]
    }

    /// Image of row `i`.
    pub(super) fn fitted_line(&self, i: usize) -> &[f64] {
        &self.fitted[i * self.d..][..self.d]
    }
}
