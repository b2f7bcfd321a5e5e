"""scikit-learn's contract: parameters, representation, fitted state, and its tools with our estimators.

Runs on scikit-learn 1.7 and later; pandas and polars are used where they are installed.
"""

import inspect
import pickle

import numpy as np
import prinax
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from prinax import PCA, SPCA, IncrementalPCA, KernelPCA, KernelSPCA, Whitener
from sklearn import decomposition
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 5)) * [5, 4, 3, 2, 1] + 3


@pytest.fixture
def pca(X):
    return PCA(n_components=3).fit(X)


@pytest.fixture
def frame(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=list("abcde"), index=range(100, 160))


# --- parameters and representation --------------------------------------------------------------------------


def test_the_first_parameters_are_those_of_scikit_learn():
    theirs = decomposition.PCA().get_params()
    ours = PCA().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert list(ours) == sorted(ours)


@pytest.mark.parametrize(
    "params",
    [{}, {"n_components": 2}, {"n_components": 0.5, "whiten": True}, {"svd_solver": "full", "tol": 1e-3}],
    ids=str,
)
def test_repr_is_that_of_scikit_learn(params):
    assert repr(PCA(**params)) == repr(decomposition.PCA(**params))


def test_html_representation_follows_scikit_learns_setting(pca):
    with sklearn.config_context(display="diagram"):
        bundle = pca._repr_mimebundle_()
    assert bundle["text/plain"] == repr(pca)
    assert "PCA" in bundle["text/html"]
    with sklearn.config_context(display="text"):
        assert pca._repr_mimebundle_() == {"text/plain": repr(pca)}


def test_set_params_sets_all_or_nothing():
    pca = PCA(n_components=2)
    with pytest.raises(
        ValueError, match=r"Invalid parameter 'componentz' for estimator PCA\(n_components=2\)"
    ):
        pca.set_params(whiten=True, componentz=3)
    with pytest.raises(ValueError, match="'svd_solver' is no estimator"):
        pca.set_params(svd_solver__tol=1)
    assert pca.get_params() == PCA(n_components=2).get_params()
    assert pca.set_params(whiten=True) is pca
    assert pca.whiten


def test_a_subclass_may_add_parameters(X):
    class Named(PCA):
        def __init__(self, n_components=None, *, label="none", ddof=1):
            super().__init__(n_components, ddof=ddof)
            self.label = label

    named = clone(Named(2, label="mine"))
    assert named.get_params() == {"n_components": 2, "label": "mine", "ddof": 1}
    assert repr(named) == "Named(label='mine', n_components=2)"
    assert named.fit(X).get_feature_names_out().tolist() == ["named0", "named1"]


def test_a_subclass_may_have_defaults_that_do_not_pass(X):
    class Unset(PCA):
        def __init__(self, n_components=-1, *, ddof=1):
            super().__init__(n_components, ddof=ddof)

    assert Unset(2).fit(X).n_components_ == 2
    with pytest.raises(ValueError, match="n_components"):
        Unset().fit(X)


# --- fitted state -------------------------------------------------------------------------------------------


def test_a_failed_fit_changes_nothing(pca, X):
    before = dict(vars(pca))
    bad = X.copy()
    bad[3, 2] = np.nan
    for wrong in (bad, X[:1], X[0], "text"):
        with pytest.raises((ValueError, TypeError)):
            pca.fit(wrong)
    with pytest.raises(ValueError, match="sample_weight"):
        pca.fit(X, sample_weight=np.zeros(len(X)))
    assert vars(pca).keys() == before.keys()
    assert all(vars(pca)[name] is value for name, value in before.items())


def test_reading_a_model_changes_nothing(pca, X):
    before = pickle.dumps(pca)
    for method in ("transform", "score", "score_samples", "reconstruct", "residuals", "squared_residuals"):
        getattr(pca, method)(X)
        getattr(pca, method)(X.tolist())
    pca.inverse_transform(pca.transform(X))
    pca.get_covariance(), pca.get_precision(), pca.n_components_for(ratio=0.5), repr(pca)
    assert pickle.dumps(pca) == before


def test_a_second_fit_forgets_the_names_of_the_first(frame):
    pca = PCA(n_components=2).fit(frame)
    assert pca.feature_names_in_.tolist() == list("abcde")
    pca.fit(frame.to_numpy())
    assert not hasattr(pca, "feature_names_in_")


@pytest.mark.parametrize(
    ("model", "fits"),
    [
        (PCA(2), [{"scale": True}, {"n_components": 0}, {"svd_solver": "gram"}]),
        (IncrementalPCA(2), [{"whiten": True}, {"whiten": False}]),
        (Whitener(), [{"method": "pca"}, {"method": "zca"}]),
        (
            KernelPCA(2),
            [
                {"fit_inverse_transform": True},
                {"fit_inverse_transform": False, "kernel": "rbf"},
                {"kernel": "precomputed"},
            ],
        ),
        (KernelSPCA(2), [{"kernel": "rbf"}, {"kernel": "precomputed"}]),
        (SPCA(2), [{"solver": "dual"}, {"solver": "direct"}]),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
def test_a_second_fit_leaves_what_a_first_one_leaves(model, fits, frame, X):
    square = X[:12] @ X[:12].T
    y = np.arange(12) % 3
    model.fit(frame.iloc[:12], y)
    for parameters in fits:
        data = square if parameters.get("kernel") == "precomputed" else X[:12]
        again, first = model.set_params(**parameters).fit(data, y), clone(model).fit(data, y)
        assert vars(again).keys() == vars(first).keys()


def test_a_fit_keeps_what_a_subclass_has_put_down_before(X):
    class Named(PCA):
        def fit(self, X, y=None):
            self.name_ = "mine"
            return super().fit(X)

    assert Named().fit(X).fit(X).name_ == "mine"


def test_an_edited_model_of_a_stream_goes_with_the_next_batch(X):
    model = IncrementalPCA(2).partial_fit(X)
    model.components_ = np.zeros((2, X.shape[1]))
    assert "components_" not in vars(model.partial_fit(X))
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1)


def test_edited_components_are_honoured(pca, X):
    pca.components_ = pca.components_[[2, 0]]
    expected = (X - X.mean(axis=0)) @ pca.components_.T
    assert_allclose(pca.transform(X), expected, rtol=1e-12, atol=1e-12)
    pca.components_ = pca.components_.tolist()
    assert_allclose(pca.transform(X), expected, rtol=1e-12, atol=1e-12)
    pca.whiten = True
    with pytest.raises(ValueError, match="explained_variance_ must be 1-D of length 2"):
        pca.transform(X)
    pca.explained_variance_ = pca.explained_variance_[::-2]
    assert_allclose(pca.transform(X), expected / np.sqrt(pca.explained_variance_), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["components_", "mean_", "scale_"])
def test_a_deleted_attribute_is_missed(name, X):
    model = PCA(2, scale=True).fit(X)
    delattr(model, name)
    with pytest.raises(AttributeError, match=name if name != "components_" else "not fitted"):
        model.transform(X)


def test_fit_transform_gives_the_bits_of_fit_then_transform(nasty):
    for whiten in (False, True):
        model = PCA(whiten=whiten)
        Z = model.fit_transform(nasty)
        assert_array_equal(Z, model.transform(nasty))
        assert_array_equal(Z, PCA(whiten=whiten).fit(nasty).transform(nasty.copy(order="K")))
        assert np.isfinite(Z).all()
        V = model.components_
        assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


@pytest.mark.parametrize(
    "method", ["transform", "inverse_transform", "score", "get_covariance", "get_feature_names_out"]
)
def test_not_fitted_is_also_the_error_of_scikit_learn(method, X):
    from sklearn.exceptions import NotFittedError

    call = getattr(PCA(), method)
    with pytest.raises(prinax.NotFittedError, match="This PCA instance is not fitted yet") as caught:
        call() if method.startswith("get") else call(X)
    assert isinstance(caught.value, (NotFittedError, ValueError, AttributeError))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), again.args) == (type(caught.value), caught.value.args)


# --- scikit-learn's tools -----------------------------------------------------------------------------------


def test_pipeline_grid_search_and_columns(X, rng):
    y = X[:, 0] > X[:, 0].mean()
    from sklearn.linear_model import LogisticRegression

    pipe = make_pipeline(StandardScaler(), PCA(), LogisticRegression())
    search = GridSearchCV(pipe, {"pca__n_components": [1, 2, 0.9], "pca__whiten": [True, False]}, cv=3)
    assert search.fit(X, y).score(X, y) > 0.5
    union = FeatureUnion([("two", PCA(2)), ("one", PCA(1))])
    assert union.fit_transform(X).shape == (60, 3)
    columns = ColumnTransformer([("pca", PCA(n_components=1), [0, 1, 2])], remainder="passthrough")
    assert columns.fit_transform(X).shape == (60, 3)
    assert columns.get_feature_names_out().tolist() == ["pca__pca0", "remainder__x3", "remainder__x4"]


def test_score_drives_a_grid_search(X):
    search = GridSearchCV(PCA(), {"n_components": [1, 3]}, cv=3).fit(X)
    assert set(search.cv_results_["param_n_components"]) == {1, 3}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_weights_are_routed(X, rng):
    w = rng.integers(0, 3, len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(PCA(n_components=2).set_fit_request(sample_weight=True))
        pipe = clone(pipe).fit(X, sample_weight=w)
        assert_array_equal(pipe[0].components_, PCA(n_components=2).fit(X, sample_weight=w).components_)
        assert make_pipeline(PCA(n_components=2)).fit(X)[0].n_samples_ == len(X)


def public_estimators():
    public = [getattr(prinax, name) for name in prinax.__all__]
    return [found for found in public if isinstance(found, type) and hasattr(found, "set_fit_request")]


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda found: found.__name__)
def test_requests_are_for_what_fit_takes(estimator, X, labels):
    takes_weights = "sample_weight" in inspect.signature(estimator.fit).parameters
    with sklearn.config_context(enable_metadata_routing=True):
        asked = estimator().get_metadata_routing().fit.requests
        assert asked == ({"sample_weight": None} if takes_weights else {})
        if takes_weights:
            estimator().set_fit_request(sample_weight=True)
        else:
            with pytest.raises(TypeError, match=f"^{estimator.__name__}.fit takes no sample_weight"):
                estimator().set_fit_request(sample_weight=True)
            weighted = PCA(2).set_fit_request(sample_weight=True)
            pipe = make_pipeline(weighted, estimator(n_components=1))
            assert pipe.fit_transform(X, labels, sample_weight=np.ones(len(X))).shape == (60, 1)
