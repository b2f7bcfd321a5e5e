"""scikit-learn's contract: its own checks of an estimator, on every estimator of prinax.

Runs on scikit-learn 1.7 and later; pandas and polars are used where they are installed.
"""

import warnings

import pytest
from prinax import PCA, SPCA, IncrementalPCA, KernelPCA, KernelSPCA, Whitener
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator

ESTIMATORS = [
    PCA(),
    PCA(n_components=2),
    PCA(n_components=2, whiten=True),
    PCA(n_components=2, svd_solver="full"),
    PCA(n_components=2, svd_solver="lanczos"),
    PCA(n_components=1, svd_solver="gram", scale=True),
    IncrementalPCA(),
    IncrementalPCA(n_components=2, whiten=True, forgetting_factor=0.9),
    Whitener(),
    Whitener("pca", n_components=2),
    Whitener("zca-cor", eps=0.1),
    Whitener("cholesky", eps=0.1),
    KernelPCA(),
    KernelPCA(n_components=2, kernel="rbf", gamma="median", fit_inverse_transform=True),
    KernelPCA(n_components=1, kernel="poly", eigen_solver="lanczos", remove_zero_eig=True),
    KernelPCA(kernel="precomputed"),
    SPCA(),
    SPCA(n_components=1, target_kernel="linear", center=False, solver="dual"),
    SPCA(n_components=2, target_kernel="identity"),
    SPCA(target_kernel="rbf", solver="direct"),
    KernelSPCA(),
    KernelSPCA(n_components=1, kernel="poly", target_kernel="linear"),
]

# Checks that set n_components=1.
WITH_ONE_COMPONENT = [
    "check_dont_overwrite_parameters",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
]
KEEPS_ALL = "the Cholesky factor keeps every direction, and says so"

# Checks that scikit-learn runs on its own estimators only.
EXTRA_CHECKS = [
    "check_dataframe_column_names_consistency",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
]


def expected_failures(estimator):
    if isinstance(estimator, KernelPCA):
        if estimator.kernel != "precomputed":
            return {}
        return {
            "check_estimators_dtypes": "a kernel matrix cut to integers is indefinite, and refused",
            "check_estimators_nan_inf": "hands transform rows in place of kernel values",
        }
    if isinstance(estimator, Whitener):
        return dict.fromkeys(WITH_ONE_COMPONENT, KEEPS_ALL) if estimator.method == "cholesky" else {}
    if getattr(estimator, "forgetting_factor", 1.0) < 1:
        return {"check_sample_weight_equivalence_on_dense_data": "a repeated row makes earlier ones older"}
    if estimator.n_components is None:
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "None keeps min(n_samples, n_features) components, and repeated rows are more samples"
            )
        }
    return {}


def every_check():
    with warnings.catch_warnings():
        # That our classes derive from none of scikit-learn's is the point, and not worth its warning.
        warnings.simplefilter("ignore")
        for estimator in ESTIMATORS:
            yield from estimator_checks_generator(
                estimator, expected_failed_checks=expected_failures(estimator), mark="xfail"
            )


def in_words(case):
    return getattr(case, "func", case).__name__ if callable(case) else repr(case)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(every_check()), ids=in_words)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXTRA_CHECKS)
@pytest.mark.parametrize("estimator", [*ESTIMATORS[:3], IncrementalPCA(), Whitener()], ids=repr)
def test_scikit_learn_checks_of_its_own(name, estimator):
    for library in ("pandas", "polars"):
        if library in name or (library == "pandas" and "dataframe" in name):
            pytest.importorskip(library)
    getattr(estimator_checks, name)(type(estimator).__name__, clone(estimator))
