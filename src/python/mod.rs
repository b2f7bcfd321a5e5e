//! The only room that knows PyO3 and NumPy. An adapter is a signature and one call.

mod arrays;
mod errors;
mod jobs;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::errors::InternalError;
    #[pymodule_export]
    use super::jobs::{get_num_threads, set_num_threads, simd_level};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &super::Bound<'_, super::PyModule>) {
        super::errors::remember_panics();
    }
}
