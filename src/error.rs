//! Everything that can go wrong in the core: the data in the variants, the sentence in `Display`.

use std::fmt;

/// What every fallible function of the core returns.
pub type Result<T> = std::result::Result<T, Error>;

/// A refusal that the caller can act on. Each sentence names the argument, what was found and what is wanted.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A value outside its range: `what` must be `wanted`, got `found`.
    Value {
        /// The argument.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is wanted.
        wanted: String,
    },
    /// Two lengths that must be equal are not.
    Shape {
        /// The argument whose length is wrong.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        wanted: usize,
    },
    /// NaN or an infinity in the data.
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Whether a NaN is among the values (otherwise only infinities).
        nan: bool,
    },
    /// Too few rows for the computation asked for.
    TooFew {
        /// The argument.
        what: &'static str,
        /// Rows found.
        found: usize,
        /// Rows needed.
        wanted: usize,
    },
    /// More components asked for than the data has directions.
    Rank {
        /// The number asked for.
        asked: usize,
        /// The rank found.
        rank: usize,
    },
    /// An iteration that did not reach its tolerance.
    NoConvergence {
        /// The computation.
        what: &'static str,
        /// What was reached and what was wanted.
        detail: String,
    },
    /// A matrix to be inverted that is not positive definite.
    Singular {
        /// The matrix.
        what: &'static str,
        /// Why it is not, and what makes it so.
        detail: String,
    },
    /// A buffer that the machine cannot give.
    Memory {
        /// What the buffer is for.
        what: &'static str,
        /// Its size in bytes.
        bytes: u128,
    },
    /// The caller asked to stop (Ctrl-C).
    Interrupted,
}

impl Error {
    /// [`Error::Value`] from anything that can be shown.
    pub fn value(what: &'static str, found: impl fmt::Display, wanted: impl Into<String>) -> Self {
        Self::Value { what, found: found.to_string(), wanted: wanted.into() }
    }

    /// The error with another name for the argument that is not finite: who passes one on may know it as something
    /// else.
    #[must_use]
    pub fn renamed(self, from: &'static str, to: &'static str) -> Self {
        match self {
            Self::NotFinite { what, nan } if what == from => Self::NotFinite { what: to, nan },
            other => other,
        }
    }

    /// [`Error::Value`] for a name that is none of the `known` ones.
    #[must_use]
    pub fn unknown(what: &'static str, name: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|name| format!("'{name}'")).collect();
        Self::value(what, format!("'{name}'"), format!("one of {}", known.join(", ")))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { what, found, wanted } => write!(f, "{what} must be {wanted}, got {found}"),
            Self::Shape { what, found, wanted } => write!(f, "{what} has length {found}, but {wanted} is needed"),
            Self::NotFinite { what, nan: true } => {
                write!(f, "Input {what} contains NaN; every value must be finite (drop or impute the missing ones)")
            }
            Self::NotFinite { what, nan: false } => {
                write!(f, "Input {what} contains infinity; every value must be finite")
            }
            Self::TooFew { what, found, wanted } => {
                write!(f, "{what} has {found} sample(s), but a minimum of {wanted} is required")
            }
            Self::Rank { asked, rank } => {
                write!(f, "n_components={asked} is more than the rank {rank} of the data; ask for at most {rank}")
            }
            Self::NoConvergence { what, detail } => write!(f, "{what} did not converge: {detail}"),
            Self::Singular { what, detail } => write!(f, "{what} is not positive definite: {detail}"),
            Self::Memory { what, bytes } => {
                write!(f, "{what} needs {bytes} bytes ({:.1} GB), more than there is room for", *bytes as f64 / 1e9)
            }
            Self::Interrupted => write!(f, "stopped by the caller"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_the_argument_the_finding_and_the_wish() {
        let sentence = Error::value("ddof", 5, "less than the number of samples (4)").to_string();
        assert_eq!(sentence, "ddof must be less than the number of samples (4), got 5");
        let sentence = Error::Shape { what: "sample_weight", found: 3, wanted: 4 }.to_string();
        assert_eq!(sentence, "sample_weight has length 3, but 4 is needed");
        let sentence = Error::unknown("solver", "qr", &["auto", "dual"]).to_string();
        assert_eq!(sentence, "solver must be one of 'auto', 'dual', got 'qr'");
        let sentence = Error::Singular { what: "the covariance", detail: "column 2 is constant".into() }.to_string();
        assert_eq!(sentence, "the covariance is not positive definite: column 2 is constant");
    }
}
