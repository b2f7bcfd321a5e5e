"""Short, slow and independent versions of the formulas: what the library must return, from another road.

Everything is computed in `numpy.longdouble` (64 bits of mantissa on x86-64) from the exact input values,
without squaring the data: a one-sided Jacobi SVD finds small singular values to full relative accuracy.
"""

from typing import NamedTuple

import mpmath
import numpy as np
from scipy.stats import multivariate_normal

LONG = np.longdouble


class Reference(NamedTuple):
    """A principal component analysis, descending, in longdouble."""

    mean: np.ndarray
    scale: np.ndarray | None
    components: np.ndarray
    explained_variance: np.ndarray
    explained_variance_ratio: np.ndarray
    singular_values: np.ndarray
    total_variance: np.longdouble


def jacobi_svd(A):
    """(U, s, V') of A by one-sided Jacobi rotations of the columns, disjoint pairs at once (Hestenes 1958).

    Columns of U that belong to a zero singular value are zero.
    """
    A = np.asarray(A, LONG)
    if A.shape[0] < A.shape[1]:
        U, s, Vt = jacobi_svd(A.T)
        return Vt.T, s, U.T
    d = A.shape[1]
    columns, V = A.T.copy(), np.eye(d, dtype=LONG)
    players = list(range(d + d % 2))  # round-robin tournament: each round pairs every column once
    for _sweep in range(60):
        worst = LONG(0)
        for _round in range(len(players) - 1):
            half = len(players) // 2
            pairs = [
                (p, q) for p, q in zip(players[:half], players[half:][::-1], strict=True) if p < d and q < d
            ]
            players = [players[0], players[-1], *players[1:-1]]
            if pairs:
                worst = max(worst, _rotate(columns, V, *np.array(pairs).T))
        if worst <= 4 * np.finfo(LONG).eps:
            break
    else:
        raise AssertionError("Jacobi did not converge")
    s = np.sqrt((columns * columns).sum(1))
    order = np.argsort(-s, kind="stable")
    U = np.divide(columns, s[:, None], out=np.zeros_like(columns), where=s[:, None] > 0)
    return U[order].T, s[order], V[order]


def _rotate(columns, V, p, q):
    """Makes columns p and q orthogonal; the largest cosine between them before."""
    a, b = columns[p], columns[q]
    alpha, beta, gamma = (a * a).sum(1), (b * b).sum(1), (a * b).sum(1)
    norms = np.sqrt(alpha) * np.sqrt(beta)
    dust = len(columns) * np.finfo(LONG).eps * np.sqrt((columns * columns).sum(1).max())
    alive = np.sqrt(np.minimum(alpha, beta)) > dust
    cosine = np.divide(np.abs(gamma), norms, out=np.zeros_like(norms), where=alive)
    moving = cosine > np.finfo(LONG).eps
    p, q = p[moving], q[moving]
    zeta = (beta - alpha)[moving] / (2 * gamma[moving])
    t = np.where(zeta < 0, -1, 1) / (np.abs(zeta) + np.sqrt(1 + zeta * zeta))
    c = 1 / np.sqrt(1 + t * t)
    s = c * t
    for M in (columns, V):
        M[p], M[q] = c[:, None] * M[p] - s[:, None] * M[q], s[:, None] * M[p] + c[:, None] * M[q]
    return cosine.max(initial=LONG(0))


def signed(components):
    """Rows with their entry of largest magnitude positive; the first within sqrt(eps) of it decides."""
    components = np.array(components)
    magnitude = np.abs(components)
    close = np.sqrt(np.finfo(np.float64).eps)
    first = np.argmax(magnitude >= (1 - close) * magnitude.max(1, keepdims=True), axis=1)
    return components * np.sign(components[np.arange(len(components)), first])[:, None]


def weighted_mean(X, weights=None):
    """The mean of the rows, with frequencies as weights."""
    X = np.asarray(X, LONG)
    w = np.ones(len(X), LONG) if weights is None else np.asarray(weights, LONG)
    return (w[:, None] * X).sum(0) / w.sum()


def standard_deviations(X, ddof=1, weights=None):
    """Column standard deviations."""
    w = np.ones(len(X), LONG) if weights is None else np.asarray(weights, LONG)
    Xc = np.asarray(X, LONG) - weighted_mean(X, weights)
    return np.sqrt((w[:, None] * Xc * Xc).sum(0) / (w.sum() - ddof))


def covariance(X, ddof=1, center=True, weights=None):
    """`sum w (x - mu)(x - mu)' / (sum w - ddof)`."""
    X = np.asarray(X, LONG)
    w = np.ones(len(X), LONG) if weights is None else np.asarray(weights, LONG)
    Xc = X - weighted_mean(X, weights) if center else X
    return (w[:, None] * Xc).T @ Xc / (w.sum() - ddof)


def pca(X, ddof=1, center=True, scale=False, weights=None):
    """All min(n, d) principal components of the rows of X."""
    X = np.asarray(X, LONG)
    n, d = X.shape
    w = np.ones(n, LONG) if weights is None else np.asarray(weights, LONG)
    mean = weighted_mean(X, weights) if center else np.zeros(d, LONG)
    factor = None
    Xc = X - mean
    if scale:
        factor = standard_deviations(X, ddof, weights)
        present = X[w > 0]
        constant = np.ptp(present, axis=0) == 0
        Xc = np.where(constant, 0, Xc / np.where(constant, 1, factor))
    _, s, Vt = jacobi_svd(np.sqrt(w)[:, None] * Xc)
    variance = s * s / (w.sum() - ddof)
    total = variance.sum()
    ratio = variance / total if total > 0 else variance
    return Reference(mean, factor, signed(Vt), variance, ratio, s, total)


def noise_variance(reference, k, d):
    """Mean of the d - k discarded eigenvalues; those beyond min(n, d) are zero."""
    return reference.explained_variance[k:].sum() / (d - k) if k < d else LONG(0)


def log_likelihoods(X, mean, covariance):
    """Row by row log-density of the Gaussian with this mean and covariance."""
    return multivariate_normal(np.asarray(mean, float), np.asarray(covariance, float)).logpdf(X)


def model_covariance(components, variances, noise):
    """Probabilistic PCA (Tipping, Bishop 1999): `W (L - s^2 I) W' + s^2 I`."""
    C = np.asarray(components, LONG)
    return C.T @ ((np.asarray(variances, LONG) - noise)[:, None] * C) + noise * np.eye(C.shape[1])


def minka_log_evidence(spectrum, n, k, floor=1e-15):
    """Log-evidence of k dimensions by Laplace's method (Minka 2000, equation 30).

    Gaps between eigenvalues below `floor` times the first count as that much: a tie has no value.
    """
    with mpmath.workdps(40):
        lam = [mpmath.mpf(float(v)) for v in spectrum]
        d, least = len(lam), floor * mpmath.mpf(float(spectrum[0]))
        v = mpmath.fsum(lam[k:]) / (d - k)
        m = mpmath.mpf(d * k) - mpmath.mpf(k * (k + 1)) / 2
        prior = -k * mpmath.log(2) + mpmath.fsum(
            mpmath.loggamma(mpmath.mpf(d - i) / 2) - mpmath.mpf(d - i) / 2 * mpmath.log(mpmath.pi)
            for i in range(k)
        )
        fitted = lam[:k] + [v] * (d - k)
        hessian = mpmath.mpf(0)
        for i in range(k):
            for j in range(i + 1, d):
                gap = max(lam[i] - lam[j], least)
                inverse_gap = max(fitted[i] - fitted[j], least) / (fitted[i] * fitted[j])
                hessian += mpmath.log(gap * inverse_gap * n)
        return (
            prior
            - mpmath.mpf(n) / 2 * mpmath.fsum(map(mpmath.log, lam[:k]))
            - mpmath.mpf(n) * (d - k) / 2 * mpmath.log(v)
            + (m + k) / 2 * mpmath.log(2 * mpmath.pi)
            - hessian / 2
            - mpmath.mpf(k) / 2 * mpmath.log(n)
        )


def minka_dimension(spectrum, n, floor=1e-15):
    """The k in [1, d - 1] of largest evidence."""
    return max(range(1, len(spectrum)), key=lambda k: minka_log_evidence(spectrum, n, k, floor))


def project_onto(B, X, mean):
    """Projection of the rows onto mean + span of the columns of B: `B (B'B)^-1 B' (x - mean)`."""
    B, Xc = np.asarray(B, float), np.asarray(X, float) - np.asarray(mean, float)
    return Xc @ B @ np.linalg.solve(B.T @ B, B.T) + np.asarray(mean, float)


def deflated(X, components):
    """The rows less their parts along the components."""
    Xc = np.asarray(X, LONG) - weighted_mean(X)
    return Xc - Xc @ components.T @ components


def dual(X, k):
    """Dual PCA from the n x n side: `(V, sigma, scores, components)` of `Xc Xc' = V sigma^2 V'`."""
    Xc = np.asarray(X, float) - np.asarray(X, float).mean(0)
    values, vectors = np.linalg.eigh(Xc @ Xc.T)
    V, sigma = vectors[:, ::-1][:, :k], np.sqrt(values[::-1][:k])
    return V, sigma, V * sigma, (Xc.T @ V / sigma).T


def largest_sine(A, B):
    """Sine of the largest principal angle between the row spaces of A and B (both with orthonormal rows)."""
    A, B = np.asarray(A, LONG), np.asarray(B, LONG)
    rest = B - B @ A.T @ A
    return float(np.linalg.norm(np.asarray(rest, float), 2))


def centring(n):
    """H = I - 11'/n."""
    return np.eye(n) - np.ones((n, n)) / n


def kernel_formula(X, Y, kernel, gamma=1.0, degree=3, coef0=1.0):
    """Kernel values from the formulas, distances from explicit differences."""
    X, Y = np.asarray(X, float), np.asarray(Y, float)
    apart = X[:, None] - Y[None]
    products = X @ Y.T
    if kernel == "cosine":
        lengths = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(Y, axis=1)
        return np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return {
        "linear": lambda: products,
        "poly": lambda: (gamma * products + coef0) ** degree,
        "rbf": lambda: np.exp(-gamma * (apart**2).sum(-1)),
        "sigmoid": lambda: np.tanh(gamma * products + coef0),
        "laplacian": lambda: np.exp(-gamma * np.abs(apart).sum(-1)),
        "delta": lambda: (apart == 0).all(-1).astype(float),
    }[kernel]()
