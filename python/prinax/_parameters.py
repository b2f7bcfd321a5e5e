"""Constructor parameters: the rule for each, looked at in `fit`, and what fits the data's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _rules

if TYPE_CHECKING:
    from ._base import Estimator


def checked(estimator: Estimator, rules: dict[str, _rules.Rule]) -> dict[str, Any]:
    """The estimator's parameters as the core wants them, each seen by its rule, the defaults once for all."""
    kind = type(estimator)
    known = _PLANS.get(kind)
    if known is None or known[0] is not rules:
        known = _PLANS[kind] = rules, *_plan(kind, rules)
    _, plan, accepted = known
    values = accepted.copy()
    for name, rule, default in plan:
        if (value := getattr(estimator, name)) is not default:
            values[name] = rule(name, value)
    return values


# Every parameter's name, rule and default.
Plan = list[tuple[str, _rules.Rule, Any]]

# Of each class of estimators the rules it was last checked by, the plan they give, and what they make of the
# defaults.
_PLANS: dict[type[Estimator], tuple[dict[str, _rules.Rule], Plan, dict[str, Any]]] = {}


def _plan(kind: type[Estimator], rules: dict[str, _rules.Rule]) -> tuple[Plan, dict[str, Any]]:
    defaults, plan, accepted = kind._defaults(), [], {}
    for name, rule in rules.items():
        default = defaults.get(name, ...)
        try:
            accepted[name] = rule(name, default)
        except (TypeError, ValueError):
            # No default, or (in a subclass) none that passes: the rule sees every value.
            default = object()
        plan.append((name, rule, default))
    return plan, accepted


# --- the rule for each parameter ----------------------------------------------------------------------------

PCA: dict[str, _rules.Rule] = {
    "n_components": _rules.components(0, "mle"),
    "copy": _rules.flag,
    "whiten": _rules.flag,
    "svd_solver": _rules.one_of(
        "auto", "covariance_eigh", "gram", "lanczos", "full", "randomized", arpack="lanczos"
    ),
    "tol": _rules.non_negative,
    "iterated_power": _rules.whole(0, "auto"),
    "n_oversamples": _rules.whole(1),
    "power_iteration_normalizer": _rules.one_of("auto", "QR", "LU", "none"),
    "random_state": _rules.random_state,
    "center": _rules.flag,
    "scale": _rules.flag,
    "ddof": _rules.ddof,
}

WHITENER: dict[str, _rules.Rule] = {
    "method": _rules.one_of("pca", "zca", "pca-cor", "zca-cor", "cholesky"),
    "n_components": _rules.components(0, "mle"),
    "eps": _rules.non_negative,
    "center": _rules.flag,
    "ddof": _rules.ddof,
}

INCREMENTAL_PCA: dict[str, _rules.Rule] = {
    "n_components": _rules.components(0),
    "whiten": _rules.flag,
    "copy": _rules.flag,
    "batch_size": _rules.count_or_none,
    "forgetting_factor": _rules.share,
}

KERNEL_PCA: dict[str, _rules.Rule] = {
    "n_components": _rules.components(1),
    "kernel_params": _rules.keywords,
    "alpha": _rules.non_negative,
    "fit_inverse_transform": _rules.flag,
    "eigen_solver": _rules.one_of("auto", "dense", "lanczos", "randomized", arpack="lanczos"),
    "tol": _rules.non_negative,
    "max_iter": _rules.count_or_none,
    "iterated_power": _rules.whole(0, "auto"),
    "remove_zero_eig": _rules.flag,
    "random_state": _rules.random_state,
    "copy_X": _rules.flag,
    "n_jobs": _rules.jobs,
}

SPCA: dict[str, _rules.Rule] = {
    "n_components": _rules.count_or_none,
    "center": _rules.flag,
    "solver": _rules.one_of("auto", "direct", "dual"),
}

KERNEL_SPCA: dict[str, _rules.Rule] = {"n_components": SPCA["n_components"], "center": _rules.flag}

# --- what fits the data -------------------------------------------------------------------------------------

# The solvers that need no rows.
ROWLESS_SOLVERS = ("auto", "covariance_eigh", "lanczos")


def components_fit(k: int | float | str | None, n: int, d: int) -> None:
    """Refuses a number of components, or a rule for one, that this many samples and features cannot have."""
    if k == "mle":
        if n < d:
            raise ValueError(
                "n_components='mle' is only supported if n_samples >= n_features, got "
                f"n_samples={n} and n_features={d}"
            )
        if d < 2:
            raise ValueError(
                "n_components='mle' picks from 1 to n_features - 1 components, but X has 1 feature"
            )
    elif isinstance(k, int) and k > min(n, d):
        raise ValueError(
            f"n_components={k} must be between 0 and min(n_samples, n_features)={min(n, d)}: "
            f"X has {n} sample(s) and {d} feature(s)"
        )


def components_fit_samples(k: int | float | str | None, n: int) -> None:
    """Refuses a number of components that this many samples cannot have."""
    if isinstance(k, int) and k > n:
        raise ValueError(f"n_components={k} must be at most the number of samples: X has {n}")


def components_fit_columns(k: int | float | str | None, d: int) -> None:
    """Refuses a number of components that no number of rows with this many features can have."""
    if isinstance(k, int) and k > d:
        raise ValueError(f"n_components={k} must be at most n_features={d}")


def rowless_solver(solver: str, by: str) -> None:
    """Refuses a solver that works on the rows of X where there are none."""
    if solver not in ROWLESS_SOLVERS:
        raise ValueError(
            f"svd_solver={solver!r} works on the rows of X, which {by} does not have: use "
            + ", ".join(map(repr, ROWLESS_SOLVERS))
        )
