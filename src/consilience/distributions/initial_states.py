"""The first state of a linear Gaussian state space: known, stationary, or not known at all, for each number.

In: what the user says of it, and the matrices. Out: a mean and a covariance, and which numbers are diffuse.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from consilience.distributions.shapes import broadcast, spread
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Node, constant
from consilience.ops.elementwise import as_tensor
from consilience.ops.linalg import matmul, matrix_transpose, solve
from consilience.ops.matrix_equations import solve_discrete
from consilience.ops.shape import expand_dims, full, squeeze
from consilience.record import Record

INITIAL = ("known", "stationary", "diffuse")


class FirstState(Record, eq=False):
    """Mean and covariance of the first state, and the numbers of which nothing is known."""

    mean: Node
    covariance: Node
    diffuse: tuple[int, ...]


def initial_moments(
    title: str, initial: Any, a0: Any, P0: Any, matrices: Mapping[str, Node], varying: Collection[str]
) -> FirstState:
    """The first state of a space with matrices T, Q (of all states) and c."""
    n = matrices["T"].static_shape[-1]
    kinds = _kinds(title, initial, n)
    places = {kind: [k for k, own in enumerate(kinds) if own == kind] for kind in INITIAL}
    mean = as_tensor(a0, "float64") if a0 is not None else full((n,), 0.0)
    if mean.ndim < 1:
        raise ShapeError(f"{title}: a0 is a vector of {n} numbers, got one number.")
    if kinds == ("known",):
        if P0 is None:
            raise TypeError(f"{title} needs `P0`, or `initial='stationary'` or `initial='diffuse'`.")
        return FirstState(mean, as_tensor(P0, "float64"), ())
    size = len(kinds)
    if places["known"] and P0 is None:
        raise TypeError(f"{title}: `initial` says that {len(places['known'])} states are known, so it needs `P0`.")
    covariance: Node = constant(np.zeros((size, size)))
    if places["known"]:
        known = np.isin(np.arange(size), places["known"]).astype(float)
        covariance = as_tensor(P0, "float64") * constant(np.outer(known, known))
    if own := places["stationary"]:
        if wrong := sorted({"T", "Q", "c"} & set(varying)):
            raise ParameterError(
                f"{title}: no distribution is stationary where `{wrong[0]}` varies in time; give a0 and P0, or "
                "`initial='diffuse'`."
            )
        chosen = constant(np.eye(size)[:, own])
        rows = matrix_transpose(chosen)
        T, Q = (matmul(matmul(rows, matrices[name]), chosen) for name in "TQ")
        covariance = covariance + matmul(matmul(chosen, solve_discrete(*_alike(T, Q))), rows)
        if a0 is None:
            c = matmul(rows, expand_dims(matrices["c"], matrices["c"].ndim))
            left = constant(np.eye(len(own))) - T
            mean = mean + squeeze(matmul(chosen, solve(*_alike(left, c))), -1)
    return FirstState(mean, covariance, tuple(places["diffuse"]))


def _alike(a: Node, b: Node) -> tuple[Node, Node]:
    """Two matrices with the same batch axes."""
    lead = broadcast([a.static_shape[:-2], b.static_shape[:-2]], "LinearGaussianStateSpace")
    return spread(a, (*lead, *a.static_shape[-2:])), spread(b, (*lead, *b.static_shape[-2:]))


def _kinds(title: str, initial: Any, n: Any) -> tuple[str, ...]:
    """What is known of each state; one word where all are known, however many there are."""
    words = [initial] if isinstance(initial, str) else ["known"] if initial is None else list(initial)
    if wrong := [w for w in words if w not in INITIAL]:
        raise ParameterError(f"{title}: `initial` takes 'known', 'stationary' and 'diffuse', got {wrong[0]!r}.")
    if set(words) == {"known"}:
        return ("known",)
    if not isinstance(n, int):
        raise ShapeError(f"{title}: `initial` of stationary or diffuse states needs a T of constant shape.")
    if len(words) == 1:
        return (words[0],) * n
    if len(words) != n:
        raise ParameterError(f"{title}: `initial` takes one word, or one for each of the {n} states, got {len(words)}.")
    return tuple(words)
