//! Second moments of rows: covariance and Gram matrices.
