"""The metric of a Gaussian nearest to the target, from draws and gradients of several chains together.

Draws X and gradients G enter, (draw, coordinate); a scale with a few directions leaves. The Fisher divergence
is least for the geometric mean of the draws' covariance and the inverse of the gradients' (Seyboldt, Carlson &
Carpenter 2026, arXiv:2603.18845); directions in which it hardly differs from the diagonal are left out. Which
draws are used is decided elsewhere.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from consilience.inference.metric import (
    LARGEST_EIGENVALUE,
    LARGEST_VARIANCE,
    SMALLEST_EIGENVALUE,
    SMALLEST_VARIANCE,
    Scales,
)
from consilience.inference.whitening import Whitener
from consilience.record import replace

Matrix = NDArray[np.float64]
Form = Literal["auto", "diag", "lowrank", "dense"]

REGULARISATION = 1e-5  # gamma: weight of the identity beside the sums of squares
CUTOFF = 2.0  # directions with a variance between 1 / CUTOFF and CUTOFF are left out
FEWEST_DRAWS = 4
FEWEST_DIRECTIONS = 8  # that an "auto" metric may have, however cheap the gradient
DRAWS_PER_COORDINATE = 1.5  # from which on a spectrum is that of the target rather than that of chance
AFFORDABLE = 3.0  # operations of a product with the directions, in units of those of a gradient: with fewer draws
OVERHEAD = 20.0  # operations of a leapfrog step per coordinate, beside the gradient and the directions
PACE = 0.25  # time of an operation of the directions' products, in units of a gradient's operation
MANY = 400  # coordinates, beyond which directions are learnt from so many draws: their cost grows with the square
LARGE = 1 << 22  # numbers in few draws of many coordinates, whose products lose their least eigenvalues to rounding
WIDTH = 64  # coordinates, at least, that are taken together
RESOLUTION = 1e-14  # least ratio of two singular values that means anything
SQUARE_RESOLUTION = 1e-10  # of two eigenvalues, down to which a product with its transpose keeps the lesser one


def estimate(
    draws: Matrix,
    gradients: Matrix,
    form: Form = "auto",
    operations: float | None = None,
    whitener: Whitener | None = None,
) -> Scales | None:
    """The metric, or None where the draws do not determine one.

    `draws`, `gradients`: float64 (draw, coordinate), of all chains; they need not be finite. `form`: "diag": no
    directions; "dense": all of them; else those beyond the cutoff. `operations`: of a gradient: "auto" keeps as many
    directions as pay; None: a gradient costs more than they do. `whitener`: what gives the coordinates to estimate it
    in; None: those of the density.

    Variances and eigenvalues stay within the bounds of `metric`, beyond which momenta lose their mass to rounding.
    """
    if whitener is not None:
        found = estimate(whitener.seen(draws), whitener.slopes(gradients), form, operations)
        return None if found is None else replace(found, whitener=whitener)
    count, dimension = draws.shape
    if count < FEWEST_DRAWS:
        return None
    alone = form == "diag" or (form == "auto" and min(count, MANY) * dimension > LARGE and dimension > MANY)
    width = max(WIDTH, LARGE // count) if alone else dimension
    variances = []
    with np.errstate(all="ignore"):  # what overflows is noticed below
        for block in (slice(begin, begin + width) for begin in range(0, dimension, width)):
            centred = draws[:, block] - draws[:, block].mean(axis=0)
            slopes = gradients[:, block] - gradients[:, block].mean(axis=0)
            variances.append(lengths(centred) / lengths(slopes))
        variance = np.concatenate(variances)
        # a coordinate that has not moved, or has no slope, has taught nothing yet
        known = np.isfinite(variance) & (variance > 0)
        if not known.any():
            return None
        variance = np.where(known, variance, 1.0)
        scale = np.sqrt(np.clip(variance, SMALLEST_VARIANCE, LARGEST_VARIANCE))
        plain = Scales(scale, np.zeros((0, dimension)), np.zeros(0))
        if alone:
            return plain
        if form != "dense" and dimension > MANY and count > MANY:
            every = -(-count // MANY)
            centred, slopes = centred[::every].copy(), slopes[::every].copy()
        unit = np.sqrt(variance)
        centred /= unit  # in place, here and below: with many coordinates each copy counts
        slopes *= unit
        centred[:, ~known] = 0.0
        slopes[:, ~known] = 0.0
        try:
            vectors, eigenvalues = geometric_mean(centred, slopes)
        except (np.linalg.LinAlgError, ValueError):  # not finite, or not positive
            return plain
    eigenvalues = np.clip(eigenvalues, SMALLEST_EIGENVALUE, LARGEST_EIGENVALUE)
    effect = np.abs(np.log(eigenvalues))
    keep = np.ones(len(effect), bool) if form == "dense" else effect > np.log(CUTOFF)
    order = np.argsort(-effect, kind="stable")
    most = None
    if form == "auto" and operations is not None:
        enough = len(centred) >= DRAWS_PER_COORDINATE * dimension
        most = paying(np.log(eigenvalues[order]), dimension, operations) if enough else 0
        most = max(most, FEWEST_DIRECTIONS, int(AFFORDABLE * operations / (4.0 * dimension)))
    chosen = [j for j in order if keep[j]][:most]
    return Scales(scale, np.ascontiguousarray(vectors[:, chosen].T), eigenvalues[chosen])


def paying(logs: NDArray[np.float64], dimension: int, operations: float) -> int:
    """Number of directions with which a trajectory costs least.

    Leapfrog steps of a trajectory grow as the root of the condition number that is left, and every direction adds its
    two products to each step.

    `logs`: of the eigenvalues, by falling effect.
    """
    beyond = np.append(logs, 0.0)[::-1]  # what is left to the diagonal, where so many are left out from the end
    high, low = np.maximum.accumulate(beyond)[::-1], np.minimum.accumulate(beyond)[::-1]
    counts = np.arange(len(beyond))
    step = operations + OVERHEAD * dimension + PACE * 4.0 * dimension * counts
    return int(np.argmin(np.log(step) + 0.5 * (high - low)))


def lengths(columns: Matrix) -> NDArray[np.float64]:
    """Euclidean norm of each column."""
    return np.asarray(np.sqrt(np.einsum("nd,nd->d", columns, columns)))


def geometric_mean(draws: Matrix, gradients: Matrix) -> tuple[Matrix, NDArray[np.float64]]:
    """Eigenvectors (coordinate, direction) and eigenvalues of C # S^-1, C and S the covariances of scaled draws and
    gradients, regularised; outside the span of both it is the identity.

    With A = R R' and R' B R = V w V', the geometric mean A # B^-1 is W W' with W = R V w^(-1/4): never negative.
    Its eigenvectors are those of W W', or the left singular vectors of W, which costs thrice as much, where the
    eigenvalues differ so much that the product would lose the least ones.
    Raises LinAlgError if the numbers do not allow it.
    """
    count, dimension = draws.shape
    basis = None
    if dimension > 2 * count:
        basis, _ = np.linalg.qr(np.concatenate([draws, gradients]).T)
        draws, gradients = draws @ basis, gradients @ basis
    # Memory that is touched for the first time costs more than a product: what has served is written over.
    of_draws, of_gradients = regularised(draws), regularised(gradients)
    lower = np.linalg.cholesky(of_draws)
    half = np.matmul(lower.T, of_gradients, out=of_draws)
    weights, vectors = np.linalg.eigh(np.matmul(half, lower, out=of_gradients))
    if not weights[0] > 0:
        raise np.linalg.LinAlgError("the covariances are not positive definite in double precision")
    vectors *= weights**-0.25
    root = np.matmul(lower, vectors, out=of_draws)
    eigenvalues, left = np.linalg.eigh(np.matmul(root, root.T, out=of_gradients))
    if not eigenvalues[0] > SQUARE_RESOLUTION * eigenvalues[-1]:
        left, singular, _ = np.linalg.svd(root)
        if not singular[-1] > RESOLUTION * singular[0]:
            raise np.linalg.LinAlgError("the smallest eigenvalues are lost beside the largest in double precision")
        eigenvalues = singular**2
    return (left if basis is None else basis @ left), eigenvalues


def regularised(points: Matrix) -> Matrix:
    """Sums of products over the regularisation, plus the identity."""
    sums = points.T @ points
    sums /= REGULARISATION
    sums.flat[:: len(sums) + 1] += 1.0
    return sums
