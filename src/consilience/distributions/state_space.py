"""Linear Gaussian state spaces: hidden vectors that follow each other linearly, seen through a matrix, all with noise.

Matrices in, a distribution of whole series of observed vectors out; hidden vectors are integrated out by the Kalman
filter (Kalman 1960), one observation at a time, so that covariances need not be positive definite and observations may
be missing (Durbin and Koopman 2012, section 6.4).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from consilience.distributions.constraints import matrix_with_gaps, positive_semidefinite, real_matrix, real_vector
from consilience.distributions.distribution import Continuous, parameter, static
from consilience.distributions.initial_states import initial_moments
from consilience.distributions.mathematics import maximum, sqrt
from consilience.distributions.parameters import as_parameter, length, named_arguments
from consilience.distributions.random_variable import RandomVariable
from consilience.distributions.recursion import along
from consilience.distributions.shapes import broadcast, same_shape, spread, steps_from
from consilience.distributions.states import RANKS, following, times
from consilience.errors import ParameterError, ShapeError
from consilience.ir import Dim, Node, Shape, constant, constant_value, is_leaf, topological
from consilience.ops import Item
from consilience.ops.elementwise import cast
from consilience.ops.factorisations import Eigh
from consilience.ops.index import At, IndexUpdate, SliceIndex, getitem
from consilience.ops.linalg import diagonal, matmul, matrix_transpose
from consilience.ops.random import draw, fold_in
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, full, reshape
from consilience.ops.state_space import KalmanFilter
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix

ARGUMENTS = ("a0", "P0", "T", "Z", "H", "Q", "steps", "R", "c", "d", "initial", "varying")
VARYING = ("T", "Z", "H", "Q", "R", "c", "d")


def _as_given(title: str, name: str, given: Any) -> Any:
    del title, name
    return given


class LinearGaussianStateSpace(Continuous):
    """Series y_t = d + Z a_t + e_t, a_(t+1) = c + T a_t + R h_t, with e_t ~ N(0, H), h_t ~ N(0, Q), a_0 ~ N(a0, P0).

    Missing observations are NaN in `observed`: the filter passes over them, exactly, and they become no variables of
    the model. A panel of series is a batch: data of shape (series, times, p).

    Parameters
    ----------
    a0
        Mean of the first state, shape (..., n); 0 where it is not given.
    P0
        Its covariance, shape (..., n, n); only needed for states whose `initial` is "known".
    T
        Transition of the states, shape (..., n, n).
    Z
        What is seen of a state, shape (..., p, n).
    H
        Covariance of the observations, shape (..., p, p), positive semidefinite. The filter is fastest where it is
        seen to be diagonal: p is 1, a constant, or `pt.diag(variances)`.
    Q
        Covariance of the states' noise, shape (..., r, r), positive semidefinite.
    steps
        Length of the series less one; may follow from shape, dims or data.
    R
        Selection: which states the noise enters, shape (..., n, r); by default the identity.
    c
        Intercept of the states, shape (..., n), by default 0.
    d
        Intercept of the observations, shape (..., p), by default 0.
    initial
        What is known of the first state: "known" (by a0 and P0, the default), "stationary" (the distribution that T, R,
        Q and c leave unchanged) or "diffuse" (nothing; exact, not a large variance). One word, or one for each of the n
        states.
    varying
        Names of the matrices that have an axis of time, of length steps + 1, before their own axes: "Z d", or a
        sequence. Those at time t lead from there to t + 1.
    diffuse
        Numbers of the diffuse states, as `initial` gives them; leave it out.

    Notes
    -----
    A value has the shape (..., steps + 1, p). Letters as in Durbin and Koopman, Time Series Analysis by State Space
    Methods (2012). With diffuse states the log density is that of the observations that are left once the states are
    determined, as in section 7.2.2 there; it can be compared among models with the same diffuse states. An observation
    that follows without error from those before it (H and P0 singular) adds nothing where it is what it must be, and
    makes the density 0 otherwise. Draws of diffuse states begin at their means.
    """

    a0 = parameter(real_vector, nan_check=False)
    P0 = parameter(positive_semidefinite, nan_check=False)
    T = parameter(real_matrix, nan_check=False)
    Z = parameter(real_matrix, nan_check=False)
    H = parameter(positive_semidefinite, nan_check=False)
    Q = parameter(positive_semidefinite, nan_check=False)
    c = parameter(real_vector, nan_check=False)
    d = parameter(real_vector, nan_check=False)
    steps: Dim = static(length)
    diffuse: tuple[int, ...] = static(_as_given, default=())
    varying: tuple[str, ...] = static(_as_given, default=())
    support = matrix_with_gaps
    takes_gaps = True

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model; see the class."""
        given = named_arguments(cls.title, ARGUMENTS, parameters, named)
        steps = steps_from(cls.title, given.pop("steps", None), shape, 1, -2)
        moving = given.pop("varying", None) or ()
        moving = set(moving.split() if isinstance(moving, str) else moving)
        if wrong := sorted(moving.difference(VARYING)):
            raise ParameterError(f"{cls.title}: `varying` names {', '.join(VARYING)}, got {wrong[0]!r}.")
        for name in "TZHQ":
            if given.get(name) is None:
                raise TypeError(f"{cls.title} needs `{name}`.")
        matrices = {
            name: as_parameter(cls.title, name, given.pop(name), "float64")
            for name in "TZHQRcd"
            if given.get(name) is not None
        }
        for name, matrix in matrices.items():
            least = (1 if name in "cd" else 2) + (name in moving)
            if matrix.ndim < least:
                raise ShapeError(
                    f"{cls.title}: {name} must have at least {least} axes, got shape {matrix.static_shape}."
                )
        n, p = matrices["T"].static_shape[-1], matrices["Z"].static_shape[-2]
        if (R := matrices.pop("R", None)) is not None:
            Q = matrices["Q"]
            if {"R", "Q"} & moving:
                R, Q = (x if name in moving else expand_dims(x, x.ndim - 2) for name, x in (("R", R), ("Q", Q)))
                moving.add("Q")
            matrices["Q"] = matmul(matmul(R, Q), matrix_transpose(R))
            moving.discard("R")
        matrices.setdefault("c", full((n,), 0.0))
        matrices.setdefault("d", full((p,), 0.0))
        first = initial_moments(cls.title, given.pop("initial", None), given.pop("a0", None), given.pop("P0", None),
                                matrices, moving)  # fmt: skip
        names = tuple(name for name in VARYING if name in moving)
        return super().dist(
            a0=first.mean, P0=first.covariance, **matrices, steps=steps, diffuse=first.diffuse, varying=names,
            shape=shape, size=size, **given,
        )  # fmt: skip

    def event_ranks(self) -> tuple[int, ...]:
        return tuple(rank + (name in self.varying) for name, rank in RANKS.items())

    def event_shape(self) -> Shape:
        (n,), (p,) = self.a0.static_shape[-1:], self.Z.static_shape[-2:-1]
        wanted = {"P0": (n, n), "T": (n, n), "Z": (p, n), "H": (p, p), "Q": (n, n), "c": (n,), "d": (p,)}
        for name, matrix in wanted.items():
            own = self.by_name()[name].static_shape
            matrix = (self.steps + 1, *matrix) if name in self.varying else matrix
            if len(own) < len(matrix) or not same_shape(own[-len(matrix) :], matrix):
                raise ShapeError(
                    f"{self.title}: for {n} states in a0 and {p} rows of Z, {name} must have the shape (..., "
                    f"{', '.join(map(str, matrix))}), got {own}."
                )
        return (self.steps + 1, p)

    # ---- density

    def timed(self, name: str) -> Node:
        """A matrix with an axis of time, of length 1 where all times share it."""
        own = self.by_name()[name]
        return own if name in self.varying else expand_dims(own, own.ndim - RANKS[name])

    def logp(self, value: Node) -> Node:
        return Node(Item(0), self.filtering(value))

    def filtering(self, value: Node, with_steps: bool = False) -> Node:
        """The filter of a series: a node of `KalmanFilter`.

        Parameters
        ----------
        value : TensorVariable
            Observations, shape (..., steps + 1, p).
        with_steps : bool, default False
            Whether intercepts of the states have an axis of time in any case: derivatives by them are what smoothed
            states are made of.
        """
        batch = value.static_shape[:-2]
        T, Z, Q, c = map(self.timed, "TZQc")
        residual = cast(value, "float64") - self.timed("d")
        moving = {name for name in "TZQc" if name in self.varying}
        start, variance, free = self.a0, self.P0, list(self.diffuse)
        n = self.a0.static_shape[-1]
        columns = variable_columns(self.T) if "T" not in moving else None
        h = diagonal_entries(self.H)
        if h is not None:
            h = h if "H" in self.varying else expand_dims(h, h.ndim - 1)
            moving |= {"h"} if "H" in self.varying else set()
        else:  # correlated errors are states
            T, Z, Q, c, start, variance = self._with_errors(T, Z, Q, c)
            moving |= {"Q"} if "H" in self.varying else set()
            h = full((1, self.Z.static_shape[-2]), 0.0)
        if with_steps and "c" not in moving:
            c = broadcast_to(c, (*c.static_shape[:-2], self.steps + 1, c.static_shape[-1]))
            moving.add("c")
        whole = (residual, Z, h, T, Q, c, start, variance)
        ranks = (2, 3, 2, 3, 3, 2, 1, 2)
        operands = [spread(x, (*batch, *x.static_shape[x.ndim - r :])) for x, r in zip(whole, ranks, strict=True)]
        known: Node = full((start.static_shape[-1],), 0.0)
        if free:
            unknown = np.zeros(int(start.static_shape[-1]))
            unknown[free] = 1.0
            known = constant(unknown)
        if columns is not None and isinstance(n, int) and len(columns) == n:
            columns = None
        return Node(
            KalmanFilter("".join(name for name in "ZhTQc" if name in moving), bool(free), columns), *operands, known
        )

    def _with_errors(self, T: Node, Z: Node, Q: Node, c: Node) -> tuple[Node, ...]:
        """The space whose states are followed by the errors of the observations."""
        p = self.Z.static_shape[-2]
        H = self.H
        later = self.timed("H")
        if "H" in self.varying:  # the error of the next time enters with the noise of this one
            later = concatenate([later[..., 1:, :, :], later[..., :1, :, :]], -3)
            H = H[..., 0, :, :]
        unit = spread(constant(np.eye(int(p))), (*Z.static_shape[:-2], p, p))
        start = concatenate([self.a0, spread(full((p,), 0.0), (*self.a0.static_shape[:-1], p))], -1)
        return (
            _blocks(T, full((*(1,) * (T.ndim - 2), p, p), 0.0)),
            concatenate([Z, unit], -1),
            _blocks(Q, later),
            concatenate([c, spread(full((p,), 0.0), (*c.static_shape[:-1], p))], -1),
            start,
            _blocks(self.P0, H),
        )

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        moving = {name: later.by_name()[name] for name in later.varying}
        future = {
            name: getitem(x, (Ellipsis, slice(past.static_shape[-2], None), *(slice(None),) * RANKS[name]))
            for name, x in moving.items()
        }
        return following(self, past, periods, future)

    # ---- draws and moments

    def _path(self, start: Node, noise: Node | None, centred: bool = False) -> Node:
        """States of all times, shape (..., T, n), from noise of all steps; without intercepts if `centred`."""
        batch, (n,) = start.static_shape[:-1], start.static_shape[-1:]
        series = {"c": self.c[..., :-1, :]} if "c" in self.varying and not centred else {}
        if "T" in self.varying:
            T = self.T[..., :-1, :, :]
            series["T"] = reshape(T, (*T.static_shape[:-2], n * n))
        if noise is not None:
            series["noise"] = noise

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            named = dict(zip(series, heads, strict=True))
            T = reshape(named["T"], (*named["T"].static_shape[:-1], n, n)) if "T" in named else self.T
            moved = times(T, states[0])
            moved = moved if centred else moved + named.get("c", self.c)
            moved = spread(moved + named["noise"] if "noise" in named else moved, (*batch, n))
            return [moved], [moved]

        _, (later,) = along(step, [start], list(series.values()), self.steps, behind=1, within=1)
        return concatenate([expand_dims(start, start.ndim - 1), later], -2)

    def draw(self, key: Node, shape: Shape) -> Node:
        states, errors = self.drawn_parts(key, shape)
        return self.seen(states) + errors

    def drawn_parts(self, key: Node, shape: Shape, centred: bool = False) -> tuple[Node, Node]:
        """Draws of the states, shape (..., T, n), and of the errors of a series; around 0 if `centred`."""
        batch = shape[:-2]
        (n,) = self.a0.static_shape[-1:]
        first = times(root(self.P0), draw("random_normal", fold_in(key, 0), (*batch, n)))
        first = first if centred else first + self.a0
        normals = draw("random_normal", fold_in(key, 1), (*batch, self.steps, n))
        states = self._path(spread(first, (*batch, n)), times(root(self._steps_of("Q")), normals), centred)
        return states, times(root(self.timed("H")), draw("random_normal", fold_in(key, 2), shape))

    def _steps_of(self, name: str) -> Node:
        """A matrix of all steps, without that of the last time."""
        own = self.timed(name)
        return own[..., :-1, :, :] if name in self.varying else own

    def seen(self, states: Node) -> Node:
        """d + Z a_t of all times, shape (..., T, p)."""
        return times(self.timed("Z"), states) + self.timed("d")

    def mean(self) -> Node:
        batch, (n,) = broadcast(self.batch_shapes(), self.title), self.a0.static_shape[-1:]
        return self.seen(self._path(spread(self.a0, (*batch, n)), None))

    def variance(self) -> Node:
        batch, (n,) = broadcast(self.batch_shapes(), self.title), self.a0.static_shape[-1:]
        start = spread(self.P0, (*batch, n, n))
        series = [reshape(x, (*x.static_shape[:-2], n * n)) for x in (self._steps_of("T"), self._steps_of("Q"))]
        series = [spread(x, (*x.static_shape[:-2], self.steps, n * n)) for x in series]

        def step(states: list[Node], heads: list[Node]) -> tuple[list[Node], list[Node]]:
            T, Q = (reshape(x, (*x.static_shape[:-1], n, n)) for x in heads)
            moved = spread(matmul(matmul(T, states[0]), matrix_transpose(T)) + Q, (*batch, n, n))
            return [moved], [moved]

        _, (later,) = along(step, [start], series, self.steps, behind=1, within=2)
        all_times = concatenate([expand_dims(start, start.ndim - 2), later], -3)
        Z = self.timed("Z")
        return diagonal(matmul(matmul(Z, all_times), matrix_transpose(Z)) + self.timed("H"))


def root(covariance: Node) -> Node:
    """A matrix S with S S' a covariance, which need not be positive definite."""
    found = Node(Eigh(), covariance)
    scales = sqrt(maximum(Node(Item(0), found), 0.0))
    return Node(Item(1), found) * expand_dims(scales, scales.ndim - 1)


def _blocks(first: Node, second: Node) -> Node:
    """Two square matrices along the diagonal of one, with the longer of their batch shapes."""
    lead = broadcast([first.static_shape[:-2], second.static_shape[:-2]], "LinearGaussianStateSpace")
    return Node(BlockDiagonal(), *(spread(x, (*lead, *x.static_shape[-2:])) for x in (first, second)))


def is_fixed(node: Node) -> bool:
    """Whether an expression depends on nothing that can vary."""
    return not any(is_leaf(n) or isinstance(n.op, RandomVariable) for n in topological([node]))


def diagonal_entries(H: Node) -> Node | None:
    """The diagonal of a covariance that is seen to be diagonal, else None."""
    if H.static_shape[-1] == 1:
        return H[..., 0]
    if isinstance(H.op, DiagonalMatrix):
        return H.inputs[0]
    known = constant_value(H)
    if known is not None and not np.any(known * (1 - np.eye(known.shape[-1]))):
        return constant(np.diagonal(known, axis1=-2, axis2=-1).copy())
    return None


def variable_columns(T: Node) -> tuple[int, ...] | None:
    """Columns of a matrix that can vary, as far as it is written by parts; None where all may."""
    n = T.static_shape[-1]
    if is_fixed(T):
        return ()
    if not isinstance(n, int):
        return None
    if isinstance(T.op, BlockDiagonal):
        found: list[int] = []
        start = 0
        for block in T.inputs:
            width = block.static_shape[-1]
            assert isinstance(width, int)
            own = variable_columns(block)
            found += [start + k for k in (range(width) if own is None else own)]
            start += width
        return tuple(found)
    if isinstance(T.op, IndexUpdate):
        before, last = variable_columns(T.inputs[0]), T.op.specification[-1]
        if before is None or len(T.op.specification) != T.ndim:
            return None
        if isinstance(last, At):
            return tuple(sorted({*before, last.position % n}))
        if isinstance(last, SliceIndex) and all(b is None or isinstance(b, int) for b in (last.start, last.stop)):
            return tuple(sorted({*before, *range(n)[slice(last.start, last.stop, last.step)]}))
    return None
