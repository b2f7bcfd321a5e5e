"""The package as its user meets it: what an import costs, what tab completion and help() show."""

import ast
import doctest
import importlib
import pydoc
import re
import subprocess
import sys
import warnings
from pathlib import Path

import prinax
import pytest
from prinax import PCA, SPCA, IncrementalPCA, KernelPCA, KernelSPCA, Whitener


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 5)) * [5, 4, 3, 2, 1] + 3


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_brings_nothing_beyond_numpy():
    code = "import sys, numpy; seen = set(sys.modules); import prinax; print(*(set(sys.modules) - seen))"
    assert {name.partition(".")[0] for name in run_python(code)} <= {"prinax", "__future__"}


def test_use_brings_nothing_either():
    code = (
        "import sys, numpy; X = numpy.eye(4); seen = set(sys.modules); from prinax import *;"
        "pca = PCA(2).fit(X.tolist()); pca.transform(X); repr(pca);"
        "print(*(set(sys.modules) - seen))"
    )
    assert {name.partition(".")[0] for name in run_python(code)} == {"prinax", "__future__"}


# --- names are loaded when they are first asked for ---------------------------------------------------------

LOADED = "print(*(name.partition('.')[2] for name in sys.modules if name.startswith('prinax.')))"


@pytest.mark.parametrize(
    ("use", "needed"),
    [
        ("import prinax", {"_core"}),
        (
            "from prinax import FrozenTransform",
            {"_core", "_files", "_frames", "_frozen", "_npz", "_validation"},
        ),
        ("from prinax import eigh", {"_core", "_frames", "_linalg", "_rules", "_validation"}),
    ],
)
def test_a_name_brings_only_the_modules_that_it_needs(use, needed):
    assert set(run_python(f"import sys; {use}; {LOADED}")) == needed


def test_no_model_brings_another_that_it_does_not_use():
    loaded = set(run_python(f"import sys, prinax; prinax.PCA; {LOADED}"))
    assert "_pca" in loaded
    assert loaded.isdisjoint({"_incremental_pca", "_kernel_pca", "_kernels", "_hsic", "_spca", "_whitening"})


def test_names_show_before_anything_is_loaded():
    assert run_python("import prinax; print(*dir(prinax))") == sorted(prinax.__all__)
    assert not run_python("from prinax import *; import prinax; print(*set(prinax.__all__) - set(globals()))")
    text = " ".join(run_python("import pydoc, prinax; print(pydoc.plain(pydoc.render_doc(prinax)))"))
    for call in (r" PCA\([ |]*n_components:", r" KernelSPCA\([ |]*n_components:", r" hsic_test\([ |]*X:"):
        assert re.search(call, text), call  # from Python 3.13 on each parameter may have its own line


def test_a_name_is_loaded_from_the_module_that_defines_it():
    for name in set(prinax.__all__) - {"InternalError", "__version__"}:
        value = prinax.__getattr__(name)
        assert value is getattr(prinax, name)
        assert value.__name__ == name
        assert value.__module__ == f"prinax.{prinax._MODULE_OF[name]}"


def test_type_checkers_see_the_names_that_are_loaded():
    """Their imports stand in a block that never runs, so nothing else notices one that is missing."""
    text = Path(prinax.__file__).read_text()
    (block,) = (
        node.body
        for node in ast.parse(text).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {line.module: [alias.name for alias in line.names] for line in block}
    assert all(line.level == 1 for line in block)
    assert seen == prinax._NAMES_IN
    assert {"InternalError", "__version__"}.union(*seen.values()) == set(prinax.__all__)


def test_threads_that_ask_first_at_once_get_the_same_class():
    code = """
import sys, threading, prinax
sys.setswitchinterval(1e-6)
start, found = threading.Barrier(8), []
def ask(name):
    start.wait()
    found.append((name, getattr(prinax, name)))
threads = [threading.Thread(target=ask, args=(name,)) for name in ["KernelSPCA", "PCA", "SPCA", "hsic"] * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), all(value is getattr(prinax, name) for name, value in found))
"""
    assert run_python(code) == ["8", "True"]


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match=r"module 'prinax' has no attribute 'PCAA'"):
        prinax.PCAA  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'PCAA' from 'prinax'"):
        from prinax import PCAA  # noqa: F401


def test_not_fitted_without_scikit_learn():
    code = (
        "import prinax\ntry: prinax.PCA().transform([[1.0]])\nexcept prinax.NotFittedError as e: "
        "print(type(e) is prinax.NotFittedError, isinstance(e, ValueError), isinstance(e, AttributeError))"
    )
    assert run_python(code) == ["True"] * 3


def test_tab_completion_shows_the_public_names():
    assert dir(prinax) == sorted(prinax.__all__)
    assert all(hasattr(prinax, name) for name in prinax.__all__)
    assert [name for name in dir(PCA) if not name.startswith("_")] == PUBLIC_METHODS


PUBLIC_METHODS = [
    "fit",
    "fit_transform",
    "freeze",
    "from_covariance",
    "from_moments",
    "get_covariance",
    "get_feature_names_out",
    "get_metadata_routing",
    "get_params",
    "get_precision",
    "inverse_transform",
    "n_components_for",
    "reconstruct",
    "reconstruction_error",
    "residuals",
    "score",
    "score_samples",
    "set_fit_request",
    "set_output",
    "set_params",
    "squared_residuals",
    "transform",
]


@pytest.mark.parametrize("module", sorted(set(prinax._MODULE_OF.values())))
def test_examples_in_the_documentation(module):
    done = doctest.testmod(importlib.import_module(f"prinax.{module}"))
    assert done.attempted > 0 or module in {"_base", "_threads"}
    assert done.failed == 0


@pytest.mark.parametrize(
    "model",
    [
        PCA(2),
        IncrementalPCA(2),
        Whitener(),
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
        SPCA(),
        KernelSPCA(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_documentation_names_every_parameter_and_attribute(model, X, labels):
    text = pydoc.plain(pydoc.render_doc(type(model)))
    public = [name for name in dir(model.fit(X, labels)) if not name.startswith("_")]
    fitted = [name for name in public if name.endswith("_")]
    for name in [*model.get_params(), *fitted, "feature_names_in_"]:
        assert re.search(rf"^ \|  {name} : ", text, re.MULTILINE), name


def test_help_on_a_frozen_transform_tells_what_each_attribute_and_method_gives():
    public = [name for name in dir(prinax.FrozenTransform) if not name.startswith("_")]
    assert {"matrix", "mean", "scale", "dtype", "n_features", "n_components", "to_bytes", "save"} <= set(
        public
    )
    for name in set(public) - {"read"}:
        assert getattr(prinax.FrozenTransform, name).__doc__, name
    for name, said in {"matrix": "(n_components, n_features)", "mean": "(n_features,), float64"}.items():
        assert said in getattr(prinax.FrozenTransform, name).__doc__


@pytest.mark.parametrize("name", [*PUBLIC_METHODS, "covariance", "gram", "center_rows", "eigh"])
def test_documentation_names_every_argument(name):
    call = getattr(PCA, name, None) or getattr(prinax, name)
    code = getattr(call, "__func__", call).__code__
    arguments = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}
    for argument in arguments:
        assert re.search(rf"\b{argument}\b", call.__doc__), argument


def test_no_warning_in_ordinary_use(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for solver in ("auto", "full", "gram"):
            PCA(n_components=2, svd_solver=solver).fit_transform(X)
