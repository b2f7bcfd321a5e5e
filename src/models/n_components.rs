//! How many components: all, a number, a share of the variance, or Minka's evidence.

use crate::error::{Error, Result};
use crate::linalg::components_reaching;

/// The request for a number of components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Components {
    /// min(n, d).
    All,
    /// Exactly this many; 0 is the isotropic model.
    Count(usize),
    /// The smallest number whose cumulative share of the variance is at least this.
    Ratio(f64),
    /// The number with the largest evidence (Minka 2000), from 1 to d - 1.
    Mle,
}

impl Components {
    /// Refuses what min(n, d) = `p` components cannot serve.
    ///
    /// # Errors
    /// [`Error::Value`] naming `n_components`.
    pub fn check(self, n: usize, d: usize) -> Result<()> {
        let p = n.min(d);
        match self {
            Self::Count(k) if k > p => {
                Err(Error::value("n_components", k, format!("between 0 and min(n_samples, n_features)={p}")))
            }
            Self::Ratio(t) if !(t > 0.0 && t < 1.0) => {
                Err(Error::value("n_components", t, "an integer, or a share of the variance strictly between 0 and 1"))
            }
            Self::Mle if n < d => {
                let found = format!("'mle' with n_samples={n} < n_features={d}");
                Err(Error::value("n_components", found, "a number or a share: 'mle' needs n_samples >= n_features"))
            }
            Self::Mle if d == 1 => {
                let found = "'mle' with a single feature";
                Err(Error::value(
                    "n_components",
                    found,
                    "a number: the evidence compares 1 to n_features - 1 components",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a share of `total` that all the variances there can be do not reach.
    ///
    /// # Errors
    /// [`Error::Value`] naming `n_components`.
    pub fn check_share(self, variances: &[f64], total: f64) -> Result<()> {
        match self {
            Self::Ratio(ratio) if components_reaching(ratio, variances, total).is_none() => {
                let reached = variances.iter().sum::<f64>() / total;
                let p = variances.len();
                let wanted = format!("at most {reached}, the share of min(n_samples, n_features)={p} components");
                Err(Error::value("n_components", ratio, wanted))
            }
            _ => Ok(()),
        }
    }

    /// The number asked for where the data need not be seen.
    #[must_use]
    pub fn known(self, p: usize) -> Option<usize> {
        match self {
            Self::All => Some(p),
            Self::Count(k) => Some(k),
            Self::Ratio(_) | Self::Mle => None,
        }
    }

    /// The number, given all variances in descending order, their total and the number of samples.
    ///
    /// # Errors
    /// [`Error::Value`] when no variance is positive and Minka's evidence is undefined.
    pub fn choose(self, variances: &[f64], total: f64, samples: f64) -> Result<usize> {
        match self {
            Self::All => Ok(variances.len()),
            Self::Count(k) => Ok(k),
            Self::Ratio(ratio) => Ok(components_reaching(ratio, variances, total).unwrap_or(variances.len())),
            Self::Mle => minka(variances, samples),
        }
    }
}

/// The smallest number of components whose `shares` of the variance reach `ratio` of the whole: of 1, or of their own
/// sum where the model has no noise, so that rounding of the total hides none of it.
///
/// # Errors
/// [`Error::Value`] naming `ratio` where all of them together do not reach it.
pub fn components_for_share(ratio: f64, shares: &[f64], noise: f64) -> Result<usize> {
    let kept = 0.0 + shares.iter().sum::<f64>(); // the sum of none is -0
    let whole = if noise == 0.0 { kept } else { 1.0 };
    components_reaching(ratio, shares, whole)
        .ok_or_else(|| Error::value("ratio", ratio, format!("at most {kept}, the share of the components kept")))
}

/// The number of components with at least the variance `least`.
#[must_use]
pub fn components_above(least: f64, variances: &[f64]) -> usize {
    variances.iter().filter(|&&v| v >= least).count()
}

/// Gaps below this share of the largest eigenvalue are taken as this share: the evidence has their logarithms, and an
/// exact tie must give what the tie with rounding noise gives. Noise below it is none.
const EVIDENCE_FLOOR: f64 = 4.0 * f64::EPSILON;

/// The dimension with the largest Laplace evidence, in O(d^2).
///
/// Thomas P. Minka (2000), "Automatic choice of dimensionality for PCA", equations 76 to 81. Scale-free: only ratios of
/// eigenvalues enter.
///
/// As the noise goes to 0 beside k living directions, the evidence of k grows like -(n - k)(d - k) / 2 times its
/// logarithm, and that of fewer stays finite: data without noise have the dimension that they lie in. So have n = d
/// rows, whose mean takes one of theirs.
fn minka(variances: &[f64], samples: f64) -> Result<usize> {
    let largest = variances.first().copied().unwrap_or(0.0);
    if largest <= 0.0 {
        let found = "'mle' on data without variance";
        return Err(Error::value("n_components", found, "a number: the evidence is undefined without variance"));
    }
    let values: Vec<f64> = variances.iter().map(|v| v / largest).collect();
    let mut best = (1, f64::NEG_INFINITY);
    let mut evidence = Evidence::default();
    for k in 1..values.len() {
        let rest = &values[k..];
        if rest.iter().all(|&value| value == 0.0) {
            return Ok(k);
        }
        if values[k - 1] < EVIDENCE_FLOOR {
            break; // rounding of dead directions, which has no evidence
        }
        evidence.include(&values, k - 1);
        let log_evidence = evidence.log(&values, k, samples);
        if log_evidence > best.1 {
            best = (k, log_evidence);
        }
    }
    Ok(best.0)
}

/// The sums over kept eigenvalues (divided by the largest) in log p(D | k), grown one eigenvalue at a time.
#[derive(Default)]
struct Evidence {
    /// log p(U) = sum_i log Gamma((d-i+1)/2) - (d-i+1)/2 log pi - log 2
    prior: f64,
    /// sum_i log lambda_i
    logs: f64,
    /// sum over kept i and all j > i of log (lambda_i - lambda_j)
    gaps: f64,
    /// sum over kept i < j of log (1/lambda_j - 1/lambda_i)
    inverse_gaps: f64,
}

impl Evidence {
    /// Counts eigenvalue `i` among the kept, after all before it.
    fn include(&mut self, values: &[f64], i: usize) {
        let (value, left) = (values[i], values.len() - i);
        let gap = |a: f64, b: f64| (a - b).max(EVIDENCE_FLOOR);
        self.prior += log_gamma_half(left) - left as f64 * 0.5 * std::f64::consts::PI.ln() - std::f64::consts::LN_2;
        self.logs += value.ln();
        self.gaps += values[i + 1..].iter().map(|&v| gap(value, v).ln()).sum::<f64>();
        self.inverse_gaps += values[..i].iter().map(|&v| (gap(v, value) / (v * value)).ln()).sum::<f64>();
    }

    /// log p(D | k) up to terms that do not depend on k, the first `k` being included.
    fn log(&self, values: &[f64], k: usize, samples: f64) -> f64 {
        let (kept, rest) = values.split_at(k);
        let (dropped, log_samples) = (rest.len() as f64, samples.ln());
        let noise = (rest.iter().sum::<f64>() / dropped).max(EVIDENCE_FLOOR);
        let fit = -0.5 * samples * (self.logs + dropped * noise.ln());
        let free = (k * values.len() - k * (k + 1) / 2) as f64;
        let volume = 0.5 * (free + k as f64) * std::f64::consts::TAU.ln();
        // log |A_Z| = sum_{i <= k} sum_{j > i} log (lambda_i - lambda_j)(1/l_j - 1/l_i) n, with l_j the noise beyond k
        let to_noise = |&v: &f64| ((v - noise).max(EVIDENCE_FLOOR) / (v * noise)).ln();
        let curvature =
            self.gaps + self.inverse_gaps + dropped * kept.iter().map(to_noise).sum::<f64>() + free * log_samples;
        self.prior + fit + volume - 0.5 * curvature - 0.5 * k as f64 * log_samples
    }
}

/// log Gamma(m / 2) for a positive integer m, by the recurrence from Gamma(1) = 1 and Gamma(1/2) = sqrt(pi).
fn log_gamma_half(m: usize) -> f64 {
    let start = if m.is_multiple_of(2) { 0.0 } else { 0.5 * std::f64::consts::PI.ln() };
    let first = if m.is_multiple_of(2) { 2 } else { 1 };
    start + (first..m).step_by(2).map(|i| (i as f64 / 2.0).ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_integer_gammas_by_hand() {
        let right =
            [(1, std::f64::consts::PI.sqrt()), (2, 1.0), (3, std::f64::consts::PI.sqrt() / 2.0), (6, 2.0), (8, 6.0)];
        for (m, gamma) in right {
            assert!((log_gamma_half(m) - f64::ln(gamma)).abs() < 1e-14, "{m}");
        }
    }

    #[test]
    fn three_spikes_are_found_in_every_unit() {
        for unit in [1.0, 1e-14, 1e-20, 1e200] {
            let variances = [100.0, 64.0, 25.0, 1.01, 1.0, 0.99].map(|v| v * unit);
            assert_eq!(Components::Mle.choose(&variances, 0.0, 500.0), Ok(3));
        }
    }

    #[test]
    fn exact_ties_give_what_near_ties_give() {
        assert_eq!(Components::Mle.choose(&[2.0 / 7.0; 4], 0.0, 8.0), Ok(3));
        assert_eq!(Components::Mle.choose(&[18.0 / 7.0, 18.0 / 7.0, 2.0 / 7.0, 2.0 / 7.0], 0.0, 8.0), Ok(3));
        assert!(Components::Mle.choose(&[0.0; 4], 0.0, 8.0).is_err());
    }

    #[test]
    fn without_noise_the_dimension_is_the_rank() {
        assert_eq!(Components::Mle.choose(&[9.0, 4.0, 0.0, 0.0], 0.0, 50.0), Ok(2));
        assert_eq!(
            Components::Mle.choose(&[9.0, 0.1, 0.1, 0.0], 0.0, 4.0),
            Ok(3),
            "n = d: the mean has taken a direction"
        );
        assert_eq!(Components::Mle.choose(&[9.0, 0.0], 0.0, 5.0), Ok(1));
        assert_eq!(Components::Mle.choose(&[1.0, 1e-18, 0.0, 0.0], 0.0, 50.0), Ok(2), "however little lives");
        assert_eq!(Components::Mle.choose(&[1.0, 1e-17, 3e-18], 0.0, 50.0), Ok(1), "rounding is no direction");
    }

    #[test]
    fn shares_and_variances_choose_by_hand() {
        let shares = [0.5, 0.25, 0.125];
        assert_eq!([0.5, 0.6, 0.875].map(|ratio| components_for_share(ratio, &shares, 0.1)), [Ok(1), Ok(2), Ok(3)]);
        let sentence = components_for_share(0.9, &shares, 0.1).unwrap_err().to_string();
        assert_eq!(sentence, "ratio must be at most 0.875, the share of the components kept, got 0.9");
        assert_eq!(components_for_share(1.0, &shares, 0.0), Ok(3));
        assert_eq!(components_for_share(0.9, &[0.0, 0.0], 0.0), Ok(1));
        assert!(components_for_share(0.9, &[], 0.1).unwrap_err().to_string().contains("at most 0, "));
        assert_eq!([0.0, 1.0, 2.0, 5.0].map(|least| components_above(least, &[4.0, 2.0, 1.0])), [3, 3, 2, 0]);
    }

    #[test]
    fn requests_beyond_the_data_are_refused_with_both_numbers() {
        let sentence = Components::Count(5).check(10, 4).unwrap_err().to_string();
        assert_eq!(sentence, "n_components must be between 0 and min(n_samples, n_features)=4, got 5");
        assert!(Components::Ratio(1.0).check(10, 4).is_err());
        assert!(Components::Mle.check(3, 4).is_err() && Components::Mle.check(4, 1).is_err());
    }
}
