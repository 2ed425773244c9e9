"""Linear Gaussian state spaces: the log density of a series, and all its derivatives.

In: a series, in which NaN is a missing observation, and the matrices of its space. Leading axes are a batch, equal in
all operands. Matrices have an axis of time before their own, of length 1 where all times share one.
"""

from __future__ import annotations

from consilience.ir import Dim, Node, Op, TensorType, TupleType

BLOCK = 32  # steps of which one covariance is kept
OPERANDS = ("y", "Z", "h", "T", "Q", "c", "a1", "P1")


def kept(times: Dim, p: Dim, n: Dim, diffuse: bool) -> dict[str, Dim]:
    """What the filter keeps for derivatives: names of arrays, and their lengths."""
    m = (n + 7) // 8 * 8
    covariances = (times // BLOCK + 1) * n * m
    return {
        "kinds": times * p,
        "v": times * p,
        "f": times * p,
        "gains": times * p * m,
        "means": times * m,
        "places": times + 1,
        "kept": covariances,
        "kept_free": covariances if diffuse else 1,
        "end": n * m,
    }


class KalmanFilter(Op):
    """The log density of y, and what `KalmanSlopes` needs of the way to it.

    Inputs are y (times, p), Z (1 or times, p, n), the variances h of the observations (1 or times, p), T and Q (1 or
    times, n, n), the intercepts c (1 or times, n), mean a1 and covariance P1 of the first state, and a constant vector:
    1 for states of which nothing is known at first, else 0.

    `moving`: letters of the operands that have an axis of time: some of "ZhTQc".
    `diffuse`: whether nothing is known of some first states.
    `columns`: columns of T that can vary; None for all.
    """

    moving: str = ""
    diffuse: bool = False
    columns: tuple[int, ...] | None = None

    def result_type(self, *inputs: Node) -> TupleType:
        y, a1 = inputs[0], inputs[6]
        *batch, times, p = y.static_shape
        total: Dim = 0
        for length in kept(times, p, a1.static_shape[-1], self.diffuse).values():
            total = total + length
        return TupleType((TensorType("float64", tuple(batch)), TensorType("float64", (*batch, total))))


class KalmanSlopes(Op):
    """Derivatives of the log density by the first eight operands of `KalmanFilter`.

    Inputs are its nine operands and what it kept. A ninth result is what the diffuse part of the
    first state is multiplied by to give its smoothed mean.

    `columns`: columns of T by which derivatives are made, others are 0; None for all.
    `by_Z`: whether the derivative by Z is made; else it is 0.
    """

    moving: str = ""
    diffuse: bool = False
    columns: tuple[int, ...] | None = None
    by_Z: bool = True

    def result_type(self, *inputs: Node) -> TupleType:
        return TupleType((*(x.tensor_type for x in inputs[:8]), inputs[6].tensor_type))
