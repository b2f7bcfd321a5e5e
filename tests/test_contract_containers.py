"""scikit-learn's contract: tables in and out, names, copies, pickles.

Runs on scikit-learn 1.7 and later; pandas and polars are used where they are installed.
"""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from prinax import PCA, IncrementalPCA


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


# --- containers and names -----------------------------------------------------------------------------------


def test_set_output_pandas_keeps_the_index(frame):
    pca = PCA(n_components=2).set_output(transform="pandas")
    for Z in (pca.fit_transform(frame), pca.transform(frame)):
        assert Z.columns.tolist() == ["pca0", "pca1"]
        assert Z.index.equals(frame.index)
    assert type(pca.set_output(transform="default").transform(frame)) is np.ndarray


def test_set_output_polars(X):
    polars = pytest.importorskip("polars")
    pca = PCA(n_components=2).set_output(transform="polars")
    Z = pca.fit_transform(polars.DataFrame(X, schema=list("abcde")))
    assert isinstance(Z, polars.DataFrame)
    assert Z.columns == ["pca0", "pca1"]


def test_set_output_refuses_what_it_does_not_know(pca, X):
    with pytest.raises(ValueError, match=r"output config must be in .* got 'arrow'"):
        pca.set_output(transform="arrow")
    assert pca.set_output(transform=None) is pca
    assert type(pca.transform(X)) is np.ndarray


@pytest.mark.parametrize(
    "names", [5, "abcde", b"abcde", {"a", "b"}, iter("abcde")], ids=lambda v: type(v).__name__
)
def test_input_features_are_a_list(names, pca, frame):
    for model in (pca, PCA(n_components=2).fit(frame)):
        with pytest.raises(TypeError, match=r"^input_features must be a list of 5 names, got ."):
            model.get_feature_names_out(names)


def test_input_features_are_of_one_dimension(pca, frame):
    for model in (pca, PCA(n_components=2).fit(frame)):
        for names, shape in (([list("abcde")], r"\(1, 5\)"), ([[name] for name in "abcde"], r"\(5, 1\)")):
            with pytest.raises(
                ValueError, match=f"^input_features must be 1-D of length 5, got shape {shape}"
            ):
                model.get_feature_names_out(names)


@pytest.mark.parametrize("names", [["a", "b", None, "d", "e"], [1, 2, 3, 4, 5], list("abdce")], ids=repr)
def test_input_features_are_compared_where_there_are_names(names, pca, frame):
    assert len(pca.get_feature_names_out(names)) == 3  # as in scikit-learn only their number is looked at
    named = PCA(n_components=2).fit(frame)
    assert len(named.get_feature_names_out(frame.columns)) == 2
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_: got"):
        named.get_feature_names_out(names)
    with pytest.raises(ValueError, match=r"input_features should have length .* \(5\), got 4"):
        pca.get_feature_names_out(names[1:])


def test_names_are_checked_where_both_sides_have_them(frame):
    pca = PCA(n_components=2).fit(frame)
    with pytest.raises(ValueError, match="must be in the same order"):
        pca.transform(frame[list("bacde")])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- z\n.*now missing:\n- e\n"):
        pca.transform(frame.rename(columns={"e": "z"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        pca.transform(frame.to_numpy())
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="X has feature names, but PCA was fitted without"):
        PCA(n_components=2).fit(frame.to_numpy()).transform(frame)


def test_warnings_point_to_the_line_of_the_caller_however_deep_the_call(frame):
    model = IncrementalPCA(n_components=2, batch_size=50).fit(frame)
    calls = [
        lambda: model.transform(frame.to_numpy()),
        lambda: model.partial_fit(frame.to_numpy()),
        lambda: IncrementalPCA(n_components=2).fit([frame, frame.to_numpy()]),
    ]
    for call in calls:
        with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
            call()
        assert (caught[0].filename, caught[0].lineno) == (__file__, call.__code__.co_firstlineno)


@pytest.mark.parametrize("name", [{}, {"__name__": "prinax_service.rows"}], ids=["none", "like ours"])
def test_warnings_point_to_any_caller(frame, name):
    code = compile("\n\ncall(X)", "caller.py", "exec")
    with pytest.warns(UserWarning, match="X does not have valid feature names") as caught:
        exec(code, {"call": PCA(2).fit(frame).transform, "X": frame.to_numpy(), **name})
    assert (caught[0].filename, caught[0].lineno) == ("caller.py", 3)


# --- copies and files ---------------------------------------------------------------------------------------


def through_joblib(pca, folder):
    joblib = pytest.importorskip("joblib")
    joblib.dump(pca, folder / "pca.joblib")
    return joblib.load(folder / "pca.joblib", mmap_mode="r")


COPIES = {
    "pickle": lambda pca, _: pickle.loads(pickle.dumps(pca)),
    "oldest protocol": lambda pca, _: pickle.loads(pickle.dumps(pca, protocol=0)),
    "deepcopy": lambda pca, _: copy.deepcopy(pca),
    "copy": lambda pca, _: copy.copy(pca),
    "joblib, memory-mapped": through_joblib,
}


@pytest.mark.parametrize("way", COPIES)
def test_copies_transform_alike(way, pca, X, tmp_path):
    twin = COPIES[way](pca, tmp_path)
    assert vars(twin).keys() == vars(pca).keys()
    assert_array_equal(twin.transform(X), pca.transform(X))


def test_states_that_cannot_be_read_say_so(pca):
    state = pca.__getstate__()
    with pytest.raises(ValueError, match=r"saved by prinax 99\.0\.0, which prinax .* cannot read: upgrade"):
        PCA.__new__(PCA).__setstate__({**state, "_prinax_version": "99.0.0"})
    with pytest.raises(ValueError, match="this is no saved PCA"):
        PCA.__new__(PCA).__setstate__({"components_": 1})
    del state["ddof"]
    older = PCA.__new__(PCA)
    older.__setstate__(state)
    assert older.ddof == 1
