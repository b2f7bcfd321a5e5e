"""Constructor parameters: what each accepts, and the sentence for what it does not."""

import functools
import random
import re

import numpy as np
import prinax
import pytest
from prinax import PCA, KernelPCA, _parameters, _rules
from sklearn import decomposition
from sklearn.base import clone

X = np.random.default_rng(0).standard_normal((12, 4)) * [4, 3, 2, 1]

SHARE = "a share of the variance between 0 and 1"

BAD_PARAMETERS = [
    ("n_components", True, TypeError, [SHARE, "True"]),
    ("n_components", np.True_, TypeError, [SHARE, "True"]),
    ("n_components", [2], TypeError, [SHARE, "[2] (list)"]),
    ("n_components", 1j, TypeError, [SHARE, "1j"]),
    ("n_components", -1, ValueError, ["at least 0", "-1"]),
    (
        "n_components",
        5,
        ValueError,
        ["n_components=5", "min(n_samples, n_features)=4", "12 sample", "4 feature"],
    ),
    ("n_components", 1.0, ValueError, ["1.0", "n_components=None for all", "n_components=1"]),
    ("n_components", np.float32(1), ValueError, ["n_components=None for all"]),
    ("n_components", 2.0, ValueError, ["2.0", "write n_components=2"]),
    ("n_components", 0.0, ValueError, [SHARE, "0.0"]),
    ("n_components", -0.5, ValueError, [SHARE, "-0.5"]),
    ("n_components", float("nan"), ValueError, [SHARE, "nan"]),
    ("n_components", float("inf"), ValueError, [SHARE, "inf"]),
    ("n_components", "2", ValueError, ["'mle'", "'2'"]),
    ("copy", "yes", TypeError, ["True or False", "'yes'"]),
    ("whiten", 1, TypeError, ["True or False", "1"]),
    ("center", None, TypeError, ["True or False", "None"]),
    ("scale", 0.5, TypeError, ["True or False", "0.5"]),
    ("svd_solver", "svd", ValueError, ["'covariance_eigh'", "'arpack'", "'svd'"]),
    ("svd_solver", None, TypeError, ["'auto'", "None"]),
    ("tol", -1e-3, ValueError, ["at least 0", "-0.001"]),
    ("tol", float("nan"), ValueError, ["at least 0", "nan"]),
    ("tol", float("inf"), ValueError, ["finite", "inf"]),
    ("tol", "tiny", TypeError, ["at least 0", "'tiny'"]),
    ("tol", True, TypeError, ["at least 0", "True"]),
    ("iterated_power", -1, ValueError, ["'auto'", "at least 0", "-1"]),
    ("iterated_power", "many", ValueError, ["'auto'", "'many'"]),
    ("iterated_power", 2.0, TypeError, ["'auto'", "2.0"]),
    ("n_oversamples", 0, ValueError, ["at least 1", "0"]),
    ("n_oversamples", "auto", TypeError, ["at least 1", "'auto'"]),
    ("power_iteration_normalizer", "qr", ValueError, ["'QR'", "'qr'"]),
    ("random_state", -1, ValueError, ["2**64", "-1"]),
    ("random_state", 1.5, TypeError, ["RandomState", "1.5"]),
    ("random_state", random, TypeError, ["RandomState", "module"]),
    ("random_state", random.Random(0), TypeError, ["RandomState", "Random object"]),
    ("random_state", "seed", TypeError, ["Generator", "'seed'"]),
    ("ddof", -1, ValueError, ["at least 0", "-1"]),
    ("ddof", 0.5, TypeError, ["at least 0", "0.5"]),
    ("ddof", 12, ValueError, ["12 sample(s)", "minimum of 13", "ddof=12"]),
]


@pytest.mark.parametrize(("name", "value", "error", "parts"), BAD_PARAMETERS, ids=lambda v: f"{v!r:.20}")
def test_refusals_name_the_parameter_the_finding_and_the_wish(name, value, error, parts):
    pattern = "(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in [name, *parts])
    model = PCA(**{name: value})
    with pytest.raises(error, match=pattern) as caught:
        model.fit(X)
    assert type(caught.value) is error
    assert "components_" not in vars(model)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (None, 4),
        (0, 0),
        (2, 2),
        (np.int8(3), 3),
        (np.uint64(1), 1),
        (0.01, 1),
        (np.float32(0.9), None),
        (4, 4),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "solver", ["auto", "covariance_eigh", "gram", "full", "lanczos", "randomized", "arpack"]
)
def test_numbers_of_components(value, kept, solver):
    model = PCA(n_components=value, svd_solver=solver).fit(X)
    assert model.components_.shape == (model.n_components_, 4)
    assert type(model.n_components_) is int
    if kept is None:
        ratios = PCA().fit(X).explained_variance_ratio_.cumsum()
        kept = int((ratios < float(str(value))).sum()) + 1
    assert model.n_components_ == kept
    assert model.n_components == value or value is None


def test_a_float32_share_means_what_it_prints():
    assert _rules.components(0)("n_components", np.float32(0.9)) == 0.9


@pytest.mark.parametrize(("n", "d"), [(3, 4), (9, 1)])
def test_mle_says_why_it_cannot(n, d):
    with pytest.raises(ValueError, match=re.escape("n_components='mle'")):
        PCA(n_components="mle").fit(X[:n, :d] if n < d else X[:n, :1])


def test_too_few_samples():
    with pytest.raises(
        ValueError, match=re.escape("1 sample(s) while a minimum of 2 is required by PCA with ddof=1")
    ):
        PCA().fit(X[:1])
    assert PCA(ddof=0).fit(X[:1]).explained_variance_.tolist() == [0.0]


# --- random_state -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_is_drawn_from_only_by_solvers_that_start_from_it(make):
    """Steps that share one with a PCA go on where they would with scikit-learn's."""
    models = [PCA(2, svd_solver=name) for name in ("auto", "covariance_eigh", "gram", "full")]
    models += [KernelPCA(2, eigen_solver=name) for name in ("auto", "dense")]
    started = [PCA(2, svd_solver=name) for name in ("lanczos", "arpack", "randomized")]
    started += [KernelPCA(2, eigen_solver=name) for name in ("lanczos", "arpack", "randomized")]
    for model in models + started:
        state, untouched = make(5), make(5)
        model.set_params(random_state=state).fit(X)
        assert (state.normal() == untouched.normal()) == (model in models), model


@pytest.mark.parametrize(
    "value", [7, np.int64(7), np.random.RandomState(3), np.random.default_rng(3), np.random]
)
def test_random_states_become_seeds(value):
    seed = _rules.seed(_rules.random_state("random_state", value))
    assert type(seed) is int
    assert 0 <= seed < 2**64


def test_no_random_state_is_the_same_seed_every_time():
    assert _rules.seed(None) == _rules.seed(None)


def test_a_generator_advances_and_a_failed_fit_leaves_it_alone():
    rng = np.random.RandomState(0)
    model = PCA(n_components=9, svd_solver="randomized", random_state=rng)
    before = rng.get_state()[2]
    with pytest.raises(ValueError, match="n_components=9"):
        model.fit(X)
    assert rng.get_state()[2] == before
    model.set_params(n_components=2).fit(X)
    assert rng.get_state()[2] != before


# --- the other functions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: prinax.covariance(X, ddof=-1), ValueError, ["ddof", "-1"]),
        (lambda: prinax.covariance(X, center=1), TypeError, ["center", "1"]),
        (lambda: prinax.covariance(X, ddof=12), ValueError, ["12 sample(s)", "ddof=12"]),
        (lambda: prinax.gram([1.0, 2.0]), ValueError, ["X", "Reshape"]),
        (lambda: prinax.gram(X, center="no"), TypeError, ["center", "'no'"]),
        (lambda: prinax.center_rows("text"), TypeError, ["X", "2D"]),
        (lambda: prinax.eigh(X), ValueError, ["A", "square", "(12, 4)"]),
        (lambda: prinax.eigh(np.eye(3), k=4), ValueError, ["k", "3", "4"]),
        (lambda: prinax.eigh(np.eye(3), k=0), ValueError, ["k", "at least 1", "0"]),
        (lambda: prinax.eigh([[1.0, 2.0], [0.0, 1.0]]), ValueError, ["A", "symmetric"]),
        (lambda: prinax.eigh([[np.nan, 2.0], [2.0, 1.0]]), ValueError, ["A", "NaN"]),
        (lambda: prinax.Moments(0), ValueError, ["n_features", "0"]),
        (lambda: prinax.Moments(3).update(X), ValueError, ["4 features", "expecting 3"]),
        (lambda: prinax.Moments(3).merge(X), TypeError, ["other", "ndarray"]),
        (lambda: prinax.Moments(3).merge(prinax.Moments(4)), ValueError, ["other", "4", "3"]),
        (lambda: prinax.Moments(3).forget(0), ValueError, ["factor", "above 0"]),
        (lambda: prinax.Moments.from_bytes("text"), TypeError, ["data", "str"]),
        (lambda: prinax.Moments.from_bytes(b"text"), ValueError, []),
        (lambda: prinax.set_num_threads(0), ValueError, ["n must", "at least 1", "0"]),
        (lambda: prinax.set_num_threads(1.5), TypeError, ["n must", "1.5"]),
        (lambda: prinax.set_num_threads(10**6), ValueError, ["n must", "at most", "1000000"]),
        (lambda: PCA(2).fit(X).n_components_for(), ValueError, ["exactly one", "ratio", "min_eigenvalue"]),
        (lambda: PCA(2).fit(X).n_components_for(0.5, 1.0), ValueError, ["exactly one"]),
        (lambda: PCA(2).fit(X).n_components_for(1.5), ValueError, ["ratio", "at most 1", "1.5"]),
        (lambda: PCA(1).fit(X).n_components_for(0.999), ValueError, ["ratio", "0.999"]),
        (lambda: PCA(2).fit(X).n_components_for(min_eigenvalue="x"), TypeError, ["min_eigenvalue", "'x'"]),
        (lambda: PCA.from_covariance(X, X[0], 9), ValueError, ["covariance", "square"]),
        (lambda: PCA.from_covariance(np.eye(3), [1.0], 9), ValueError, ["mean", "length 3", "(1,)"]),
        (lambda: PCA.from_covariance(np.eye(3), np.zeros(3), 1), ValueError, ["1 sample(s)", "ddof=1"]),
        (lambda: PCA.from_covariance(np.eye(3), np.zeros(3), 2.5), TypeError, ["n_samples", "2.5"]),
        (
            lambda: PCA.from_covariance(np.eye(3), np.zeros(3), 9, svd_solver="full"),
            ValueError,
            ["'full'", "rows"],
        ),
        (lambda: PCA.from_moments(prinax.Moments(3)), ValueError, ["moments", "ddof=1", "0"]),
        (lambda: prinax.Moments(3).covariance(), ValueError, ["moments", "ddof=1", "0"]),
        (lambda: PCA.from_moments(X), TypeError, ["moments", "ndarray"]),
    ],
)
def test_other_refusals(call, error, parts):
    with pytest.raises(error, match="(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts)):
        call()


@pytest.mark.parametrize("value", [2.0, True, "mle", -1, [2]])
@pytest.mark.parametrize(
    ("model", "least"), [(prinax.KernelPCA, 1), (prinax.IncrementalPCA, 0)], ids=["kernel", "incremental"]
)
def test_a_refusal_offers_nothing_that_is_refused_too(model, least, value):
    with pytest.raises((TypeError, ValueError)) as caught:
        model(n_components=value).fit(X)
    offered = str(caught.value).partition(", got")[0]
    assert f"an integer of at least {least}, {SHARE} or None" in offered
    assert "mle" not in offered


def test_a_class_without_ddof_does_not_speak_of_it():
    for call in (
        lambda: prinax.IncrementalPCA().fit(X[:1]),
        lambda: prinax.IncrementalPCA().fit([X[:1]]),
        lambda: prinax.IncrementalPCA().fit(X, sample_weight=np.full(12, 0.01)),
    ):
        with pytest.raises(ValueError, match=r"minimum of 2|more than 1,") as caught:
            call()
        assert "ddof" not in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_weights_whose_sum_overflows_are_refused_by_name():
    with pytest.raises(ValueError, match="sample_weight"):
        PCA().fit(X, sample_weight=np.full(12, 1e308))


# --- integers that the core has no room for -----------------------------------------------------------------

WHOLE = {
    "n_oversamples": lambda v: PCA(n_oversamples=v).fit(X),
    "iterated_power": lambda v: PCA(iterated_power=v).fit(X),
    "n_components": lambda v: PCA(v).fit(X),
    "ddof": lambda v: PCA(ddof=v).fit(X, sample_weight=np.full(12, 1e40)),
    "n_samples": lambda v: PCA.from_covariance(np.eye(3), np.zeros(3), v),
    "n_features": prinax.Moments,
    "max_iter": lambda v: prinax.KernelPCA(max_iter=v).fit(X),
    "batch_size": lambda v: prinax.IncrementalPCA(batch_size=v).fit(X),
    "n_permutations": lambda v: prinax.hsic_test(X, X, n_permutations=v),
    "k": lambda v: prinax.eigh(np.eye(3), v),
    "n": prinax.set_num_threads,
}


@pytest.mark.parametrize(("name", "call"), WHOLE.items(), ids=WHOLE)
def test_whole_numbers_beyond_a_machine_word_are_refused(name, call):
    bits = 32 if name == "ddof" else 63
    for value, found in ((2**bits, str(2**bits)), (10**30, "1" + 30 * "0"), (10**5000, "of 16610 bits")):
        with pytest.raises(ValueError, match=rf"{name} must be an integer below 2\*\*{bits}, got .*{found}$"):
            call(value)


@pytest.mark.parametrize("call", [prinax.SPCA, prinax.KernelSPCA])
def test_more_components_than_a_machine_word_counts(call):
    with pytest.raises(ValueError, match=r"n_components must be an integer below 2\*\*63, got 1000"):
        call(10**30).fit(X, X[:, 0])


NUMBERS = {
    "tol": lambda v: PCA(tol=v).fit(X),
    "min_eigenvalue": lambda v: PCA().fit(X).n_components_for(min_eigenvalue=v),
    "eps": lambda v: prinax.Whitener(eps=v).fit(X),
    "alpha": lambda v: prinax.KernelPCA(alpha=v).fit(X),
    "gamma": lambda v: prinax.kernel_matrix(X, gamma=v),
    "target_gamma": lambda v: prinax.SPCA(target_kernel="rbf", target_gamma=v).fit(X, X[:, 0]),
    "gamma_y": lambda v: prinax.hsic(X, X, gamma_y=v),
    "degree": lambda v: prinax.kernel_matrix(X, degree=v),
    "coef0": lambda v: prinax.kernel_matrix(X, coef0=v),
    "factor": lambda v: prinax.Moments(3).forget(v),
    "random_state": lambda v: PCA(random_state=v).fit(X),
}


@pytest.mark.parametrize(("name", "call"), NUMBERS.items(), ids=NUMBERS)
def test_numbers_beyond_float64_are_refused(name, call):
    for value, found in ((10**400, "an integer of 1329 bits"), (10**5000, "an integer of 16610 bits")):
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got {found}$"):
            call(value)


def test_integers_up_to_the_bound_pass():
    assert _rules.whole(0)("n", np.uint64(2**63 - 1)) == 2**63 - 1
    assert _rules.ddof("ddof", 2**32 - 1) == 2**32 - 1
    assert _rules.non_negative("tol", 10**300) == 1e300


def test_a_class_is_checked_by_the_rules_at_hand():
    whole = _parameters.checked(PCA(), _parameters.PCA)
    refused = {"ddof": _rules.whole(2)}
    assert _parameters.checked(PCA(), {"tol": _rules.non_negative}) == {"tol": whole["tol"]}
    with pytest.raises(ValueError, match="ddof must be an integer of at least 2, got 1"):
        _parameters.checked(PCA(), refused)
    assert _parameters.checked(PCA(), _parameters.PCA) == whole


# --- constructors of subclasses -----------------------------------------------------------------------------


def decorated(init):
    @functools.wraps(init)
    def wrapper(*args, **kwargs):
        init(*args, **kwargs)

    return wrapper


def constructors(base):
    """Constructors that say in more than their code which parameters they have."""

    @decorated
    def wrapped(self, n_components=None, *, label="none"):
        base.__init__(self, n_components)
        self.label = label

    def extra(self, n_components=None, **ignored):
        base.__init__(self, n_components)

    return {
        "wrapped": wrapped,
        "wrapped twice": decorated(wrapped),
        "base wrapped": decorated(base.__init__),
        "partialmethod": functools.partialmethod(base.__init__, whiten=True),
        "kwargs": extra,
        "wrapped kwargs": decorated(extra),
    }


@pytest.mark.parametrize("case", constructors(PCA))
def test_parameters_of_a_subclass_are_those_that_scikit_learn_finds(case):
    ours, theirs = (
        type("Mine", (base,), {"__init__": constructors(base)[case]})(n_components=2)
        for base in (PCA, decomposition.PCA)
    )
    own = set(PCA().get_params()) - set(decomposition.PCA().get_params())  # ours has more than theirs
    assert [name for name in ours.get_params() if name not in own] == list(theirs.get_params())
    assert clone(ours).get_params() == ours.get_params()
    assert ours.get_params().get("whiten") == theirs.get_params().get("whiten")
    assert ours.fit(X).components_.shape == (2, 4)


@pytest.mark.parametrize("wrap", [lambda init: init, decorated], ids=["plain", "wrapped"])
def test_a_constructor_with_args_is_refused_as_in_scikit_learn(wrap):
    for base in (PCA, decomposition.PCA):

        @wrap
        def init(self, *args, label="none", base=base):
            base.__init__(self, *args)
            self.label = label

        model = type("Mine", (base,), {"__init__": init})(2)
        for call in (model.get_params, lambda model=model: clone(model), lambda model=model: repr(model)):
            with pytest.raises(RuntimeError, match=r"Mine.*\*args|signature"):
                call()
