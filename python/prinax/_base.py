"""What every estimator shares: scikit-learn's contract, kept without importing scikit-learn.

scikit-learn, pandas and polars are used only when the caller has loaded them, or asks for their output.
"""

from __future__ import annotations

from sys import modules
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _core, _validation
from ._core import __version__

if TYPE_CHECKING:
    from typing import Self

    from ._validation import Array

# Under this name a pickle carries the version that wrote it.
VERSION_KEY = "_prinax_version"

# The flag in a code object that says that the function takes *args (CO_VARARGS in Python's inspect).
TAKES_ARGS = 0x04


class NotFittedError(ValueError, AttributeError):
    """Raised when a model is used before `fit`; scikit-learn's error too, once scikit-learn is loaded."""


class Estimator:
    """Parameters, representation, fitted state, pickling and metadata routing."""

    # Set by `fit`: the attribute whose presence says that the model is fitted.
    _fitted_mark: ClassVar[str] = "components_"
    # Attributes that one fit leaves and the next may lack.
    _sometimes: ClassVar[tuple[str, ...]] = ("feature_names_in_",)
    # What a meta-estimator may pass on to `fit`, beside X and y: what its signature takes.
    _routed: ClassVar[tuple[str, ...]] = ()

    # --- parameters -----------------------------------------------------------------------------------------

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The constructor's parameters and their defaults, sorted by name; `...` where there is none."""
        init: Any = cls.__init__
        if type(init) is not FunctionType or init.__dict__ or init.__code__.co_flags & TAKES_ARGS:
            return _inspected(init, cls.__name__)
        code = init.__code__
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        positional = init.__defaults__ or ()
        defaults = dict(zip(names[code.co_argcount - 1 - len(positional) :], positional, strict=False))
        defaults.update(init.__kwdefaults__ or {})
        return {name: defaults.get(name, ...) for name in sorted(names)}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(cls._defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` is accepted for scikit-learn, no parameter is an estimator."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; all of them are known names, or none is set."""
        names = self._get_param_names()
        for name in params:
            if name in names:
                continue
            outer = name.partition("__")[0]
            hint = f" {outer!r} is no estimator, so it has no parameters." if outer in names else ""
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {names!r}.{hint}"
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    # --- representation -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if repr(getattr(self, name, default)) != repr(default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if sklearn_setting("display") == "diagram":
            from sklearn.utils import estimator_html_repr

            bundle["text/html"] = estimator_html_repr(self)
        return bundle

    # --- fitted state ---------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted_mark in self.__dict__

    def _check_fitted(self) -> None:
        if self._fitted_mark not in self.__dict__:
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. "
                "Call 'fit' with appropriate arguments before using this estimator."
            )

    def _set_fitted(self, state: dict[str, Any]) -> Self:
        """Swaps the fitted attributes in at once; what an earlier fit left and this one lacks goes away."""
        _core.set_fitted(self.__dict__, state, self._sometimes)
        return self

    # --- pickling -------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {**self._snapshot(), VERSION_KEY: __version__}

    def _snapshot(self) -> dict[str, Any]:
        """The attributes that a copy has."""
        return self.__dict__

    def __setstate__(self, state: Any) -> None:
        name = type(self).__name__
        if not isinstance(state, dict) or not isinstance(state.get(VERSION_KEY), str):
            raise ValueError(
                f"this is no saved {name}: the state does not name the prinax version that wrote it"
            )
        state = dict(state)
        version = state.pop(VERSION_KEY)
        if _major(version) > _major(__version__):
            raise ValueError(
                f"this {name} was saved by prinax {version}, which prinax {__version__} cannot read: "
                "upgrade prinax"
            )
        # A parameter that came after `version` takes its default.
        self.__dict__.update({key: value for key, value in self._defaults().items() if value is not ...})
        self.__dict__.update(state)

    # --- metadata routing -----------------------------------------------------------------------------------

    def set_fit_request(self, *, sample_weight: bool | str | None) -> Self:
        """Ask a scikit-learn meta-estimator to pass `sample_weight` on to `fit` (True), or not (False).

        Needs scikit-learn with `enable_metadata_routing=True`; a string is the name under which the weights
        come.
        """
        if not self._routed:
            raise TypeError(f"{type(self).__name__}.fit takes no sample_weight")
        request = self.get_metadata_routing()
        request.fit.add_request(param="sample_weight", alias=sample_weight)
        self._metadata_request = request
        return self

    def get_metadata_routing(self) -> Any:
        """The requests made by `set_fit_request`, as scikit-learn's own object."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if (made := getattr(self, "_metadata_request", None)) is not None:
            return get_routing_for_object(made)
        request = MetadataRequest(owner=type(self).__name__)
        for name in self._routed:
            request.fit.add_request(param=name, alias=None)
        return request


class Transformer(Estimator):
    """An estimator with `transform`: output containers, names of features in and out, tags."""

    n_features_in_: int

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` and `fit_transform` return.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            A NumPy array, a pandas frame (with the index of a pandas input) or a polars frame; None changes
            nothing.

        Returns
        -------
        self
        """
        if transform is not None:
            _check_container(transform)
            # scikit-learn's `clone` copies the attribute of this name.
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the output columns: the class name in lower case and a number, "pca0", "pca1", ...

        Parameters
        ----------
        input_features : array-like of str or None
            Only checked: must equal `feature_names_in_` where that exists, and have `n_features_in_` entries.

        Returns
        -------
        ndarray of str objects
        """
        self._check_fitted()
        if input_features is not None:
            _validation.same_input_names(
                input_features, getattr(self, "feature_names_in_", None), self.n_features_in_
            )
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{j}" for j in range(self._n_features_out)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(getattr(self, self._fitted_mark))

    def _read(self, X: Any) -> Array:
        """New data for a fitted model: fitted, same names, same width."""
        self._check_fitted()
        by = type(self).__name__
        _validation.same_names(_validation.column_names(X), getattr(self, "feature_names_in_", None), by)
        A = _validation.matrix(X, by)
        _validation.same_width(A, self.n_features_in_, by)
        return A

    def _wrap(self, Z: Array, X: Any) -> Any:
        """`Z`, the transform of `X`, in the container that this estimator, else scikit-learn, is set to."""
        chosen = self.__dict__.get("_sklearn_output_config")
        container = (chosen and chosen.get("transform")) or sklearn_setting("transform_output")
        if container is None or container == "default":
            return Z
        _check_container(container)
        names = list(self.get_feature_names_out())
        if container == "polars":
            import polars

            return polars.DataFrame(Z, schema=names, orient="row")
        import pandas

        index = X.index if isinstance(X, (pandas.DataFrame, pandas.Series)) else None
        return pandas.DataFrame(Z, index=index, columns=names, copy=False)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64", "float32"]),
            input_tags=InputTags(),
        )


def _inspected(init: Any, by: str) -> dict[str, Any]:
    """`Estimator._defaults` of a constructor that is more than a function: decorated, or a partialmethod.

    What a decorator leaves in `__dict__`, such as `__wrapped__`, says whose parameters they are.
    """
    from inspect import Parameter, signature  # slow to import, and seldom needed

    parameters = list(signature(init).parameters.values())
    if any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
        raise RuntimeError(
            f"{by}.__init__ takes *args, but an estimator names its parameters, else get_params and clone "
            f"would lose them: write each one in the signature, which is {signature(init)}"
        )
    named = {p.name: p.default for p in parameters[1:] if p.kind is not Parameter.VAR_KEYWORD}
    return {name: ... if named[name] is Parameter.empty else named[name] for name in sorted(named)}


# --- scikit-learn, when it is there -------------------------------------------------------------------------


def sklearn_setting(name: str) -> Any:
    """A setting of scikit-learn's configuration; None while it is not loaded."""
    sklearn = modules.get("sklearn")
    if sklearn is None:
        return None
    try:
        get_config = sklearn.get_config
    except AttributeError:
        return None  # half imported, it has no settings yet
    return get_config().get(name)


_both_errors: type[NotFittedError] | None = None


def not_fitted(sentence: str) -> NotFittedError:
    """Our error, and scikit-learn's too once scikit-learn is loaded: its tools catch their own class."""
    global _both_errors
    theirs = getattr(modules.get("sklearn.exceptions"), "NotFittedError", None)
    if theirs is None:
        return NotFittedError(sentence)
    if _both_errors is None:
        # The class cannot be found by name, so a pickled error is made anew where it is loaded.
        body = {"__module__": __name__, "__reduce__": lambda error: (not_fitted, error.args)}
        _both_errors = type("NotFittedError", (NotFittedError, theirs), body)
    return _both_errors(sentence)


def _check_container(container: Any) -> None:
    if container not in ("default", "pandas", "polars"):
        raise ValueError(f"output config must be in ['default', 'pandas', 'polars'], got {container!r}")


def _major(version: str) -> int:
    digits = version.partition(".")[0]
    return int(digits) if digits.isdigit() else 0
