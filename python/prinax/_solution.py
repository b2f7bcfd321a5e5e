"""The model that a stream of rows has led to, solved for when it is first read."""

from __future__ import annotations

import os
from _thread import RLock
from typing import TYPE_CHECKING, Any

from . import _core, _rules
from ._pca import fitted_state

if TYPE_CHECKING:
    from ._base import Estimator
    from ._covariance import Moments


class Solution:
    """The model of some moments, solved for on first read, by one thread.

    An object of its own, so that reading the model changes nothing in the estimator's own state.
    """

    __slots__ = ("_lock", "_model", "_moments", "_n_components")

    def __init__(self, moments: Moments, n_components: Any, model: dict[str, Any] | None = None) -> None:
        self._moments, self._n_components, self._model = moments, n_components, model
        self._lock = (os.getpid(), RLock())

    def model(self) -> dict[str, Any]:
        """The fitted attributes by name."""
        model = self._model
        if model is None:
            with self._lock_here():
                model = self._model or self._solve()
                # A signal handler that met this thread at work may have solved too, to the same bits.
                model = self._model = self._model or model
        return model

    def with_moments(self, moments: Moments) -> Solution:
        """The solution of a copy of the moments; solved, where that holds for as many rows."""
        model = self._model
        same = model is not None and model["n_samples_"] == moments.count
        return type(self)(moments, self._n_components, model if same else None)

    def _lock_here(self) -> Any:
        # A process forked while another thread was solving inherits a lock that nobody will open. A thread
        # that solves may enter again: the core lets signal handlers run, and they may read the model.
        if self._lock[0] != os.getpid():
            self._lock = (os.getpid(), RLock())
        return self._lock[1]

    def _solve(self) -> dict[str, Any]:
        # A copy: another thread may take in a batch meanwhile.
        moments, k = self._moments._state.copy(), self._n_components
        n, d = moments.count, moments.n_features
        # One row has no degree of freedom left, and no variance.
        ddof = 1 if n > 1 else 0
        if moments.weight <= ddof:
            raise ValueError(
                f"the weights of the rows seen so far sum to {moments.weight:g}, but must sum to more than "
                "1: they are frequencies"
            )
        k = min(k, n, d) if isinstance(k, int) else k
        seed = _rules.FIXED_SEED
        fit = _core.pca_from_moments(moments, k, "auto", 0.0, seed, True, False, ddof)
        return {**fitted_state(fit, n, d), "var_": moments.variances(0)}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._moments, self._n_components, self._model)


class Solved:
    """An attribute of the model that a stream of rows has led to so far.

    What a user has put in its place goes with the next batch.
    """

    def __set_name__(self, owner: type[Estimator], name: str) -> None:
        self._name = name
        owner._sometimes = (*owner._sometimes, name)

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        solution = estimator.__dict__.get("_solution")
        if solution is None:
            raise AttributeError(f"{owner.__name__} has no attribute {self._name!r} before it is fitted")
        return solution.model()[self._name]
