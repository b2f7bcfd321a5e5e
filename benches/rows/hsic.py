"""HSIC with Gaussian kernels at the median distance, and its permutations, against NumPy and hyppo."""

from collections.abc import Callable
from functools import partial

import numpy as np
import prinax
from measure import OURS, Call, Row

COLUMNS = 5
SIZES = ((200, True), (1000, True), (5000, False))
PERMUTATIONS = 1000
GAMMA = 0.1  # of both kernels where the median is not what is timed
# Operations of a pair: two distances of five columns and two exponentials.
PER_PAIR = 2 * (2 * COLUMNS + 20)


def rows() -> list[Row]:
    made = [_row(f"HSIC n={n}, gamma known", statistic, n, 1, quick) for n, quick in SIZES]
    made += [_row(f"HSIC n={n}, gamma the median", with_median, n, 2, quick) for n, quick in SIZES]
    few = _row("HSIC, 20 permutations, n=1000", partial(permutations, 20), 1000, 1, True)
    return [*made, few, _row(f"HSIC, {PERMUTATIONS} permutations, n=1000", _all_permutations, 1000, 1, False)]


def _row(name: str, prepare: Callable, n: int, passes: int, quick: bool) -> Row:
    return Row(
        name=name,
        group="HSIC and supervised PCA",
        prepare=partial(prepare, n),
        flops=passes * n * n / 2 * PER_PAIR,
        quick=quick,
    )


def pair(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS))
    return X, X[:, ::-1] ** 2 + rng.standard_normal((n, COLUMNS))


def statistic(n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X, Y = pair(n)
    known = {"gamma_x": GAMMA, "gamma_y": GAMMA}
    calls: dict[str, Call] = {
        OURS: lambda: prinax.hsic(X, Y, **known),
        "NumPy, one side centred": lambda: numpy_hsic(gaussian(X), gaussian(Y)),
    }
    return calls | _hyppo(X, Y), partial(errors, exact(X, Y, GAMMA, GAMMA))


def with_median(n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X, Y = pair(n)

    def by_hand() -> float:
        return numpy_hsic(*(gaussian(A, median_gamma(A)) for A in (X, Y)))

    calls: dict[str, Call] = {OURS: lambda: prinax.hsic(X, Y), "NumPy, one side centred": by_hand}
    return calls, partial(errors, exact(X, Y, median_gamma(X), median_gamma(Y)))


def permutations(count: int, n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    X, Y = pair(n)
    known = {"gamma_x": GAMMA, "gamma_y": GAMMA}

    def by_hand() -> float:
        K, L = gaussian(X), gaussian(Y)
        centred = centre(K)
        rng = np.random.default_rng(0)
        null = []
        for _ in range(count):
            order = rng.permutation(n)
            null.append(np.vdot(centred, L[order][:, order]))
        return float(np.vdot(centred, L)) / (n - 1) ** 2

    calls: dict[str, Call] = {
        OURS: lambda: prinax.hsic_test(X, Y, n_permutations=count, **known).statistic,
        "NumPy, one side centred": by_hand,
    }
    return calls, partial(errors, exact(X, Y, GAMMA, GAMMA))


def _all_permutations(n: int) -> tuple[dict[str, Call], Callable[[object], dict[str, float]]]:
    return permutations(PERMUTATIONS, n)


def gaussian(X: np.ndarray, gamma: float = GAMMA) -> np.ndarray:
    K = squares(X)
    K *= -gamma
    return np.exp(K, out=K)


def squares(X: np.ndarray) -> np.ndarray:
    lengths = (X * X).sum(axis=1)
    D = X @ X.T
    D *= -2
    D += lengths
    D += lengths[:, None]
    return np.maximum(D, 0, out=D)


def median_gamma(X: np.ndarray) -> float:
    pairs = squares(X)[np.triu_indices(len(X), 1)]
    middle = len(pairs) // 2
    cuts = (middle, middle - 1) if len(pairs) % 2 == 0 else (middle,)
    return float(1 / (2 * np.mean(np.sqrt(np.partition(pairs, cuts)[list(cuts)])) ** 2))


def centre(K: np.ndarray) -> np.ndarray:
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def numpy_hsic(K: np.ndarray, L: np.ndarray) -> float:
    """trace(K H L H) / (n - 1)**2 with one side centred and no product of matrices."""
    return float(np.vdot(centre(K), L)) / (len(K) - 1) ** 2


def exact(X: np.ndarray, Y: np.ndarray, gamma_x: float, gamma_y: float) -> float:
    """From differences in float64, both sides centred."""

    def kernel(A: np.ndarray, gamma: float) -> np.ndarray:
        D = np.zeros((len(A), len(A)))
        for column in A.T:
            D += np.subtract.outer(column, column) ** 2
        return centre(np.exp(-gamma * D))

    return float(np.vdot(kernel(X, gamma_x), kernel(Y, gamma_y))) / (len(X) - 1) ** 2


def _hyppo(X: np.ndarray, Y: np.ndarray) -> dict[str, Call]:
    try:
        from hyppo.independence import Hsic
    except ImportError:
        return {}
    # It compiles itself on the first call.
    test = Hsic(bias=True, gamma=GAMMA)
    test.statistic(X[:10], Y[:10])
    # Its statistic is the root of the normalised value, so it never counts as accurate: its time is shown.
    return {"hyppo": lambda: float(test.statistic(X, Y))}


def errors(right: float, found: object) -> dict[str, float]:
    return {"value": abs(float(found) - right) / right}
