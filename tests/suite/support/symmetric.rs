//! Symmetric matrices that have broken eigensolvers: nineteen families of any order.

use super::Random;
use nalgebra::DMatrix;

/// More kinds of numbers from the same source.
impl Random {
    /// Uniform in (0, 1).
    fn uniform(&mut self) -> f64 {
        0.5 + 0.5 * self.next()
    }

    /// Uniform in 0..n.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn normals(&mut self, rows: usize, cols: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, cols, |_, _| self.normal())
    }

    /// Q diag(values) Q' for a random orthogonal Q.
    fn turned(&mut self, values: &[f64]) -> DMatrix<f64> {
        let d = values.len();
        let q = self.normals(d, d).qr().q();
        let scaled = DMatrix::from_fn(d, d, |i, j| q[(i, j)] * values[j]);
        symmetric(&(scaled * q.transpose()))
    }

    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

pub fn symmetric(a: &DMatrix<f64>) -> DMatrix<f64> {
    (a + a.transpose()) * 0.5
}

pub fn centered(x: &DMatrix<f64>) -> DMatrix<f64> {
    let mut x = x.clone();
    for mut column in x.column_iter_mut() {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
    }
    x
}

pub fn diagonal(d: usize, value: impl Fn(usize) -> f64) -> DMatrix<f64> {
    DMatrix::from_fn(d, d, |i, j| if i == j { value(i) } else { 0.0 })
}

pub fn tridiagonal(d: usize, on: impl Fn(usize) -> f64, off: impl Fn(usize) -> f64) -> DMatrix<f64> {
    DMatrix::from_fn(d, d, |i, j| match i.abs_diff(j) {
        0 => on(i),
        1 => off(i.min(j)),
        _ => 0.0,
    })
}

pub fn gram(x: &DMatrix<f64>) -> DMatrix<f64> {
    x.transpose() * x
}

/// 1 where labels agree.
fn blocks(labels: &[usize]) -> DMatrix<f64> {
    DMatrix::from_fn(labels.len(), labels.len(), |i, j| f64::from(u8::from(labels[i] == labels[j])))
}

/// The j-th of `d` numbers spread evenly over lo..=hi.
fn spread(j: usize, d: usize, lo: f64, hi: f64) -> f64 {
    if d > 1 { lo + (hi - lo) * j as f64 / (d - 1) as f64 } else { lo }
}

/// W_d of Wilkinson: diagonal |i - (d-1)/2|, ones beside it; eigenvalues in pairs that agree to many digits.
pub fn wilkinson(d: usize) -> DMatrix<f64> {
    tridiagonal(d, |i| (i as f64 - (d as f64 - 1.0) / 2.0).abs(), |_| 1.0)
}

pub fn families(d: usize, random: &mut Random) -> Vec<(&'static str, DMatrix<f64>)> {
    let groups = 1 + random.below((d / 2).max(1));
    let mut labels: Vec<usize> = (0..d).map(|_| random.below(groups)).collect();
    let scattered = blocks(&labels);
    labels.sort_unstable();
    let hot: Vec<usize> = (0..5 * d).map(|_| random.below(d)).collect();
    let one_hot = DMatrix::from_fn(5 * d, d, |i, j| f64::from(u8::from(hot[i] == j)));
    let bits = DMatrix::from_fn(3 * d, d, |_, _| f64::from(u8::from(random.uniform() < 0.5)));
    let u = random.normals(d, 1);
    let graded: Vec<f64> = (0..d).map(|j| 10f64.powf(spread(j, d, 0.0, -12.0))).collect();
    let close: Vec<f64> = (0..d).map(|j| if j < d / 2 { 1.0 } else { 1.0 + 1e-14 * (j - d / 2) as f64 }).collect();
    let noise = symmetric(&random.normals(d, d));
    let mut thin = random.normals(d, (d / 3).max(1));
    thin.column_mut(0).fill(0.0);
    thin.row_mut(random.below(d)).fill(0.0);
    let half = centered(&random.normals(2 * d, d.div_ceil(2)));
    let twice = DMatrix::from_fn(2 * d, d, |i, j| half[(i, j % half.ncols())]);
    vec![
        ("0/1 blocks", scattered),
        ("0/1 blocks, sorted", blocks(&labels)),
        ("centred one-hot Gram", gram(&centered(&one_hot))),
        ("0/1 Gram", gram(&bits)),
        ("rank one", &u * u.transpose()),
        ("ones", DMatrix::from_element(d, d, 1.0)),
        ("zeros", DMatrix::zeros(d, d)),
        ("identity", DMatrix::identity(d, d)),
        ("graded diagonal", diagonal(d, |i| 10f64.powf(spread(i, d, -200.0, 200.0)))),
        ("graded, turned", random.turned(&graded)),
        ("cluster", random.turned(&close)),
        ("Wilkinson", wilkinson(d)),
        ("Hilbert", DMatrix::from_fn(d, d, |i, j| 1.0 / (i + j + 1) as f64)),
        ("second difference", tridiagonal(d, |_| 2.0, |_| -1.0)),
        ("tiny", &noise * 1e-200),
        ("huge", &noise * 1e200),
        ("corner", DMatrix::from_fn(d, d, |i, j| f64::from(u8::from(i != j && i + j + 1 == d && i.min(j) == 0)))),
        ("rank deficient with a zero row", &thin * thin.transpose()),
        ("repeated columns", gram(&twice)),
    ]
}
