"""Whatever is passed anywhere: an ordinary exception or a result, never a panic, never a word on stderr.

PyO3/pyo3#3918, #2783; jblindsay/whitebox-tools#445: a panic of a Rust library passes `except Exception`
and prints a backtrace.
"""

import warnings

import numpy as np
import prinax
import pytest
from prinax import (
    PCA,
    SPCA,
    FrozenTransform,
    IncrementalPCA,
    InternalError,
    KernelPCA,
    KernelSPCA,
    Moments,
    Whitener,
    hsic_test,
)

R = np.random.default_rng
GOOD = R(0).standard_normal((9, 4))
CLASSES = np.arange(9) % 3
NUMBERS = [0, -1, 1, 2, 5, 2**31, 2**63, 2**70, -(2**70), 1.0, 0.5, np.nan, np.inf, True, None]
NUMBERS += ["2", b"", [1], 1j, object()]
ARRAYS = [
    None,
    "x",
    [],
    [[]],
    [[1, 2], [3]],
    np.float64(1),
    np.ones(3),
    np.ones((1, 1)),
    np.ones((2, 2, 2)),
    np.zeros((2, 0)),
    np.zeros((0, 2)),
    np.full((3, 3), np.nan),
    np.full((3, 3), 1e308),
    np.full((3, 3), 5e-324),
    np.array([[1e308, -1e308], [-1e308, 1e308]]),
    np.array([[1e-308, -5e-324], [-5e-324, 1e308]]),
    np.array([["a"]]),
    np.array([[None]]),
    np.ones((2, 2), complex),
    np.zeros((3, 2), "M8[s]"),
    np.broadcast_to(1.0, (5, 4)),
    R(0).standard_normal((4, 3))[::-1, ::-1],
    np.eye(9, 4, dtype="f4"),
]
METHODS = ["transform", "inverse_transform", "reconstruct", "residuals", "squared_residuals"]
METHODS += ["reconstruction_error", "score", "score_samples"]
WHITENINGS = ["pca", "zca", "pca-cor", "zca-cor", "cholesky"]
SOLVERS = ["auto", "covariance_eigh", "gram", "lanczos", "full", "randomized"]


def setting(estimator, name):
    return lambda value: estimator(**{name: value}).fit_transform(GOOD, CLASSES)


def spoiled(name):
    """Every method of a model whose fitted attribute was overwritten."""

    def call(value):
        model = PCA(2, whiten=True, scale=True).fit(GOOD)
        setattr(model, name, value)
        for method in METHODS:
            never_panics(
                getattr(model, method), GOOD[:, : model.n_components_] if "inverse" in method else GOOD
            )
        never_panics(lambda _: model.get_covariance(), None)
        never_panics(lambda _: model.get_precision(), None)
        never_panics(lambda _: model.freeze()(GOOD), None)

    return call


def spoiled_whitener(name):
    def call(value):
        model = Whitener("pca", 2).fit(GOOD)
        setattr(model, name, value)
        never_panics(model.transform, GOOD)
        never_panics(model.inverse_transform, GOOD[:, :2])
        never_panics(lambda _: model.freeze()(GOOD), None)

    return call


def frozen():
    return PCA(2, scale=True).fit(GOOD).freeze()


def spoiled_supervised_model(name, value):
    model = KernelSPCA().fit(GOOD, CLASSES)
    setattr(model, name, value)
    never_panics(model.transform, GOOD)


def never_panics(call, value):
    """Runs the call; an ordinary exception is fine. A panic would not be caught here and fail the test."""
    try:
        with warnings.catch_warnings(action="ignore"):
            call(value)
    except InternalError as error:
        pytest.fail(f"{value!r}: {error}")
    except Exception:
        pass
    finally:
        prinax.set_num_threads(None)


KERNEL_METHODS = ["transform", "inverse_transform", "squared_residuals"]


def spoiled_kernel_model(name):
    """Every method of a kernel model whose fitted attribute was overwritten."""

    def call(value):
        for kernel in ("rbf", "linear", "precomputed"):
            X = GOOD @ GOOD.T if kernel == "precomputed" else GOOD
            model = KernelPCA(2, kernel=kernel, fit_inverse_transform=kernel != "precomputed").fit(X)
            setattr(model, name, value)
            for method in KERNEL_METHODS:
                never_panics(getattr(model, method), GOOD[:, :2] if "inverse" in method else X)

    return call


NUMBER_CALLS = {
    **{
        f"{estimator.__name__}({name}=)": setting(estimator, name)
        for estimator in (PCA, IncrementalPCA, Whitener, SPCA, KernelSPCA)
        for name in estimator().get_params()
    },
    **{
        f"KernelPCA({name}=)": lambda v, name=name: KernelPCA(
            **{"kernel": "rbf", "n_components": 2, "fit_inverse_transform": True, name: v}
        ).fit_transform(GOOD)
        for name in KernelPCA().get_params()
    },
    **{
        f"kernel_matrix({name}=)": lambda v, name=name: prinax.kernel_matrix(
            GOOD, **{"kernel": "poly", name: v}
        )
        for name in ("kernel", "gamma", "degree", "coef0")
    },
    **{
        f"hsic_test({name}=)": lambda v, name=name: prinax.hsic_test(
            GOOD, GOOD, **{"n_permutations": 3, name: v}
        )
        for name in ("random_state", "method", "estimator", "kernel_x", "gamma_y")
    },
    "covariance(ddof=)": lambda v: prinax.covariance(GOOD, ddof=v),
    "covariance(center=)": lambda v: prinax.covariance(GOOD, center=v),
    "covariance(sample_weight=)": lambda v: prinax.covariance(GOOD, sample_weight=v),
    "gram(center=)": lambda v: prinax.gram(GOOD, center=v),
    "eigh(k=)": lambda v: prinax.eigh(np.eye(4), v),
    "Moments": Moments,
    "Moments.forget": lambda v: Moments(4).forget(v),
    "Moments.covariance": lambda v: Moments(4).covariance(v),
    "Moments.merge": lambda v: Moments(4).merge(v),
    "Moments.from_bytes": Moments.from_bytes,
    "n_components_for(ratio=)": lambda v: PCA().fit(GOOD).n_components_for(ratio=v),
    "n_components_for(min_eigenvalue=)": lambda v: PCA().fit(GOOD).n_components_for(min_eigenvalue=v),
    "from_moments": PCA.from_moments,
    "from_covariance(n_samples=)": lambda v: PCA.from_covariance(np.eye(4), np.zeros(4), v),
    "set_num_threads": prinax.set_num_threads,
    "IncrementalPCA.merge": lambda v: IncrementalPCA().fit(GOOD).merge(v),
    "FrozenTransform(matrix=)": lambda v: FrozenTransform(v, np.zeros(4)),
    "FrozenTransform(mean=)": lambda v: FrozenTransform(np.eye(2), v),
    "FrozenTransform(scale=)": lambda v: FrozenTransform(np.eye(2), np.zeros(2), v),
    "FrozenTransform.from_bytes": FrozenTransform.from_bytes,
    "FrozenTransform.load": FrozenTransform.load,
    "FrozenTransform.save": lambda v: frozen().save(None if isinstance(v, int) else v),
}
ARRAY_CALLS = {
    **{
        f"kernel_matrix, {kernel}": lambda v, kernel=kernel: (
            prinax.kernel_matrix(v, kernel=kernel, gamma="scale"),
            prinax.kernel_matrix(GOOD[:, :2], v, kernel=kernel),
        )
        for kernel in ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "delta")
    },
    "kernel_matrix, median": lambda v: prinax.kernel_matrix(v, gamma="median"),
    "center_kernel": prinax.center_kernel,
    "center_kernel(K_train=)": lambda v: prinax.center_kernel(np.ones((2, 2)), v),
    **{
        f"KernelPCA, {kernel}, {solver}, {k}": lambda v, kernel=kernel, solver=solver, k=k: KernelPCA(
            k, kernel=kernel, eigen_solver=solver, fit_inverse_transform=kernel != "precomputed"
        ).fit_transform(v)
        for kernel in ("linear", "rbf", "poly", "cosine", "precomputed")
        for solver in ("dense", "lanczos", "randomized")
        for k in (None, 1, 0.5)
    },
    **{
        f"KernelPCA.{name}": lambda v, name=name: getattr(
            KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(GOOD), name
        )(v)
        for name in KERNEL_METHODS
    },
    **{
        f"kernel model with another {name}": spoiled_kernel_model(name)
        for name in ("eigenvectors_", "eigenvalues_", "X_fit_", "X_transformed_fit_", "dual_coef_")
    },
    "covariance": prinax.covariance,
    "gram": prinax.gram,
    "eigh": prinax.eigh,
    "center_rows": prinax.center_rows,
    "Moments.update": lambda v: Moments(2).update(v),
    "from_covariance(covariance=)": lambda v: PCA.from_covariance(v, np.zeros(2), 5),
    "from_covariance(mean=)": lambda v: PCA.from_covariance(np.eye(2), v, 5),
    "fit(sample_weight=)": lambda v: PCA().fit(GOOD, sample_weight=v),
    **{
        f"{function.__name__}, {kernel}, {side}": lambda v, f=function, k=kernel, s=side: f(
            *((v, GOOD) if s == "x" else (GOOD, v)), **{f"kernel_{s}": k}
        )
        for function in (prinax.hsic, prinax.cka, hsic_test)
        for kernel in ("rbf", "linear", "delta", "precomputed", float)
        for side in "xy"
    },
    **{
        f"{estimator.__name__}, {kernel}": lambda v, e=estimator, k=kernel: e(target_kernel=k).fit(GOOD, v)
        for estimator in (SPCA, KernelSPCA)
        for kernel in ("auto", "delta", "linear", "rbf", "identity", "precomputed", float)
    },
    "SPCA(X)": lambda v: SPCA().fit_transform(v, np.arange(len(v)) % 2),
    "KernelSPCA(X)": lambda v: KernelSPCA().fit_transform(v, np.arange(len(v)) % 2),
    "KernelSPCA, precomputed": lambda v: KernelSPCA(kernel="precomputed").fit(v, np.arange(len(v)) % 2),
    "KernelSPCA.transform": lambda v: KernelSPCA().fit(GOOD, CLASSES).transform(v),
    **{
        f"KernelSPCA with another {name}": lambda v, name=name: spoiled_supervised_model(name, v)
        for name in ("dual_coef_", "X_fit_", "_means", "_settled", "n_samples_")
    },
    "frozen(x)": lambda v: frozen()(v),
    "frozen(x, out=)": lambda v: frozen()(GOOD, out=v),
    "IncrementalPCA.fit": IncrementalPCA().fit,
    "IncrementalPCA.partial_fit": lambda v: IncrementalPCA().partial_fit(GOOD).partial_fit(v),
    "IncrementalPCA.partial_fit, then a read": lambda v: IncrementalPCA().partial_fit(v).components_,
    "IncrementalPCA.transform": lambda v: IncrementalPCA(2).fit(GOOD).transform(v),
    "Whitener.fit(sample_weight=)": lambda v: Whitener().fit(GOOD, sample_weight=v),
    "Whitener.inverse_transform": lambda v: Whitener().fit(GOOD).inverse_transform(v),
    **{
        f"Whitener, {method}, {center}": lambda v, m=method, c=center: Whitener(m, center=c).fit_transform(v)
        for method in WHITENINGS
        for center in (True, False)
    },
    **{name: lambda v, name=name: getattr(PCA(2).fit(GOOD), name)(v) for name in METHODS},
    **{
        f"fit_transform, {solver}, {k}": lambda v, s=solver, k=k: PCA(k, svd_solver=s).fit_transform(v)
        for solver in SOLVERS
        for k in (None, 1, 0.5, "mle")
    },
    **{
        f"model with another {name}": spoiled(name)
        for name in ("components_", "mean_", "scale_", "explained_variance_", "noise_variance_")
    },
    **{
        f"whitener with another {name}": spoiled_whitener(name)
        for name in ("whitening_matrix_", "dewhitening_matrix_", "mean_", "explained_variance_")
    },
}


@pytest.mark.parametrize("call", NUMBER_CALLS.values(), ids=NUMBER_CALLS.keys())
def test_odd_numbers_never_panic(call, capfd):
    for value in NUMBERS + ARRAYS:
        never_panics(call, value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("call", ARRAY_CALLS.values(), ids=ARRAY_CALLS.keys())
def test_odd_arrays_never_panic(call, capfd):
    for value in ARRAYS:
        never_panics(call, value)
    assert capfd.readouterr().err == ""


def test_damaged_bytes_never_panic(capfd):
    moments = Moments(4)
    moments.update(GOOD)
    readers = [
        (moments.to_bytes(), lambda data: Moments.from_bytes(data).covariance()),
        (frozen().to_bytes(), lambda data: FrozenTransform.from_bytes(data)(GOOD)),
    ]
    rng = R(1)
    for good, read in readers:
        for length in range(len(good)):
            never_panics(read, good[:length])
        for _ in range(200):
            bad = bytearray(good)
            for place in rng.integers(len(bad), size=rng.integers(1, 4)):
                bad[place] = rng.integers(256)
            never_panics(read, bytes(bad[: rng.integers(1, len(bad) + 1)]))
    assert capfd.readouterr().err == ""
