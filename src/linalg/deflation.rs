//! Deflation: the parts of `D + rho z z'` that are eigenpairs already.
//!
//! Where `rho |z_i|` is negligible, `(d_i, e_i)` is an eigenpair. Where two poles are so close that rotating one's z
//! away leaves a negligible off-diagonal entry, one of them is, after the rotation. What is kept has poles well apart
//! and no small z. Reference: Dongarra and Sorensen (1987); Gu and Eisenstat (1995).

/// A quantity below this many roundings of the norm is negligible; as in LAPACK's dlaed2.
const ROUNDINGS: f64 = 8.0;

/// Columns of length `order`, `stride` apart: the eigenvectors of the part of the matrix at hand.
pub(super) struct Basis<'a> {
    pub(super) data: &'a mut [f64],
    pub(super) stride: usize,
    pub(super) order: usize,
}

impl Basis<'_> {
    pub(super) fn column(&self, c: usize) -> &[f64] {
        &self.data[c * self.stride..][..self.order]
    }

    pub(super) fn column_mut(&mut self, c: usize) -> &mut [f64] {
        &mut self.data[c * self.stride..][..self.order]
    }

    /// Columns (a, b) become (c a + s b, c b - s a).
    fn rotate(&mut self, (a, b): (usize, usize), (c, s): (f64, f64)) {
        let span = |column: usize| column * self.stride..column * self.stride + self.order;
        if let Ok([a, b]) = self.data.get_disjoint_mut([span(a), span(b)]) {
            for (a, b) in a.iter_mut().zip(b) {
                (*a, *b) = (c * *a + s * *b, c * *b - s * *a);
            }
        }
    }
}

/// The rows where a column of the basis may be non-zero, in the order that keeps each half's columns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Support {
    /// The first half's rows.
    Top,
    /// All rows.
    Both,
    /// The second half's rows.
    Bottom,
}

/// The two solved halves `diag(d) + rho z z'`, sorted out.
#[derive(Default)]
pub(super) struct Deflation {
    /// z in the order of the columns; unit length before deflation.
    pub(super) z: Vec<f64>,
    /// Support of each column.
    pub(super) support: Vec<Support>,
    /// Columns that take part, their poles strictly increasing.
    pub(super) kept: Vec<usize>,
    /// Columns that are eigenvectors already.
    pub(super) deflated: Vec<usize>,
    ascending: Vec<usize>,
}

impl Deflation {
    /// Sorts out `diag(d) + coupling v v'`, where v joins the last row of the first `middle` columns' block to the
    /// first row of the rest (with the coupling's sign). Turns columns of `basis` and changes `d` where poles coincide.
    /// Returns rho > 0 of the unit z.
    pub(super) fn run(&mut self, d: &mut [f64], coupling: f64, middle: usize, basis: &mut Basis) -> f64 {
        self.start(d, coupling, middle, basis);
        // |v|^2 = 2
        let rho = 2.0 * coupling.abs();
        let negligible = ROUNDINGS * f64::EPSILON * d.iter().fold(rho, |norm, x| norm.max(x.abs()));
        for at in 0..d.len() {
            let c = self.ascending[at];
            if rho * self.z[c].abs() <= negligible {
                self.deflated.push(c);
                continue;
            }
            if let Some(&p) = self.kept.last()
                && self.merge_poles(d, (p, c), negligible, basis)
            {
                self.kept.pop();
                self.deflated.push(p);
            }
            self.kept.push(c);
        }
        rho
    }

    fn start(&mut self, d: &[f64], coupling: f64, middle: usize, basis: &Basis) {
        let half = 0.5f64.sqrt();
        let (top, bottom) = (half, half.copysign(coupling));
        let entry = |c| if c < middle { top * basis.column(c)[middle - 1] } else { bottom * basis.column(c)[middle] };
        self.z.clear();
        self.z.extend((0..d.len()).map(entry));
        self.support.clear();
        self.support.extend((0..d.len()).map(|c| if c < middle { Support::Top } else { Support::Bottom }));
        self.ascending.clear();
        self.ascending.extend(0..d.len());
        self.ascending.sort_by(|&i, &j| d[i].total_cmp(&d[j]));
        self.kept.clear();
        self.deflated.clear();
    }

    /// Rotates the z of column p into column c when that leaves a negligible entry between them: then p is an
    /// eigenvector.
    fn merge_poles(&mut self, d: &mut [f64], (p, c): (usize, usize), negligible: f64, basis: &mut Basis) -> bool {
        let length = self.z[c].hypot(self.z[p]);
        let (cos, sin) = (self.z[c] / length, -self.z[p] / length);
        let (d_p, d_c) = (d[p], d[c]);
        if ((d_c - d_p) * cos * sin).abs() > negligible {
            return false;
        }
        self.z[c] = length;
        basis.rotate((p, c), (cos, sin));
        d[p] = d_p * cos * cos + d_c * sin * sin;
        d[c] = d_p * sin * sin + d_c * cos * cos;
        if self.support[p] != self.support[c] {
            (self.support[p], self.support[c]) = (Support::Both, Support::Both);
        }
        true
    }
}
