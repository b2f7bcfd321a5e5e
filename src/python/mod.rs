//! The only room that knows PyO3 and NumPy. An adapter is a signature, views of its arguments (`arrays`), one call of
//! the core (`jobs`: without the GIL, in the pool, with an ear for Ctrl-C) and its results as arrays; errors become
//! exceptions in `errors`. One file a family of functions, two (`plain`, `plain_kernel`) for the short way of a few
//! plain rows, and `fitted`, which swaps in the attributes of a model.

// PyO3 hands every argument over by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod covariance;
mod errors;
mod fitted;
mod frozen;
mod gaussian;
mod hsic;
mod jobs;
mod kernel;
mod kernel_pca;
mod linalg;
mod pca;
mod plain;
mod plain_kernel;
mod projection;
mod spca;
mod whitening;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::covariance::{Moments, center_rows, covariance, gram};
    #[pymodule_export]
    use super::errors::InternalError;
    #[pymodule_export]
    use super::fitted::set_fitted;
    #[pymodule_export]
    use super::frozen::FrozenTransform;
    #[pymodule_export]
    use super::gaussian::{model_covariance, model_precision, score, score_samples};
    #[pymodule_export]
    use super::hsic::{cka, hsic, hsic_gamma_test, hsic_permutation_test};
    #[pymodule_export]
    use super::jobs::{get_num_threads, set_num_threads, simd_level};
    #[pymodule_export]
    use super::kernel::{center_kernel, kernel_matrix};
    #[pymodule_export]
    use super::kernel_pca::{fit_kernel_pca, kernel_project, kernel_squared_residuals, learn_preimage, pre_image};
    #[pymodule_export]
    use super::linalg::eigh;
    #[pymodule_export]
    use super::pca::{components_for, fit_pca, pca_from_covariance, pca_from_moments};
    #[pymodule_export]
    use super::plain::{project_fast, transform_fast};
    #[pymodule_export]
    use super::plain_kernel::kernel_transform_fast;
    #[pymodule_export]
    use super::projection::{back_project, project, reconstruct, reconstruction_error, residuals, squared_residuals};
    #[pymodule_export]
    use super::spca::{fit_kernel_spca, fit_spca, kernel_spca_scores};
    #[pymodule_export]
    use super::whitening::fit_whitener;
    use numpy::{PyArray1, PyArrayMethods};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) {
        super::errors::remember_panics();
        // What the numpy crate imports from NumPy when it is first needed, it needs now: a finalizer may make the first
        // call, when nothing can be imported any more.
        let _ = PyArray1::<f64>::zeros(module.py(), 0, false).try_readonly();
    }
}
