"""How much arithmetic a function takes: a graph with known lengths enters, an estimate of operations leaves.

It decides, the same way on every machine, how much else may be done per evaluation; it is not a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from consilience.ir import Constant, Node, topological
from consilience.ir.types import TensorType
from consilience.ops import Elementwise
from consilience.ops.control import Cond
from consilience.ops.loop import UNBOUNDED, Scan
from consilience.ops.python_call import PythonCall
from consilience.ops.scalar import Column

# In units of an addition; what is not named here is a polynomial with a division.
WEIGHTS: Final = {
    1.0: """
        add mul sub neg abs sign square minimum maximum fmin fmax floor ceil trunc round copysign where heaviside
        eq neq lt le gt ge isnan isinf isfinite signbit logical_and logical_or logical_xor logical_not
        bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
    """,
    5.0: "true_div sqrt reciprocal floor_div mod fmod",
    80.0: """
        gamma gammaln betaln digamma trigamma zeta gammainc gammaincc betainc erfinv ndtri ndtri_exp log_ndtr owens_t
    """,
    300.0: """
        log_gammainc log_gammainc_slope_x log_gammainc_slope_a log_gammaincc log_gammaincc_slope_x log_gammaincc_slope_a
        log_betainc_odds log_betainc_odds_slope_w log_betainc_odds_slope_a log_betainc_odds_slope_b
        gammaincinv gammainccinv betaincinv betainccinv gammainc_slope betainc_slope_a betainc_slope_b
        poisson_quantile binomial_quantile negative_binomial_quantile beta_binomial_sum
        beta_binomial_sum_slope_a beta_binomial_sum_slope_b beta_binomial_quantile
    """,
}
WEIGHT: Final = Column("cost", {name: weight for weight, names in WEIGHTS.items() for name in names.split()})
USUAL: Final = 20.0
USUAL_STEPS: Final = 100  # of a loop that only its condition ends
STEP: Final = 20.0  # of a loop, beside what it computes
PYTHON: Final = 2e5  # a function in Python: some tenth of a millisecond


def operations(outputs: Iterable[Node], loops: bool = False) -> float:
    """Estimated floating-point operations of computing the outputs once; lengths must be integers.

    What depends on constants alone is not counted: it is computed when the function is compiled.

    `loops`: whether loops count with all their steps, and functions in Python; else they are free.
    """
    known: set[Node] = set()
    found = 0.0
    for node in topological(list(outputs)):
        if isinstance(node.op, Constant) or (node.inputs and known.issuperset(node.inputs)):
            known.add(node)
        else:
            found += _of(node, loops)
    return found


def _of(node: Node, loops: bool) -> float:
    match node.op:
        case Scan() as op if loops:
            steps = op.length if isinstance(op.length, int) and op.length < UNBOUNDED else USUAL_STEPS
            return steps * (STEP + operations(op.body.results, loops))
        case PythonCall() if loops:
            return PYTHON
        case Elementwise() as op:
            return per_element(op.function, len(node.inputs)) * _size(node)
        case Cond() as op:
            return max(operations(op.then.results, loops), operations(op.otherwise.results, loops))
        case _:
            return arithmetic(node)


def arithmetic(node: Node, unknown: float = 1.0) -> float:
    """Floating-point operations of an op that works on numbers in the whole, with a value for unknown lengths."""
    if not node.op.flops:
        return 0.0
    volume = node.op.volume(*node.inputs)
    return node.op.flops * (volume if isinstance(volume, int) else unknown)


def per_element(function: str, operands: int) -> float:
    """The cost of an element of a scalar function, in additions."""
    return WEIGHT.get(function, USUAL) * max(1, operands - 1)


def _size(node: Node) -> float:
    if not isinstance(node.type, TensorType):
        return 0.0
    return float(math.prod(n if isinstance(n, int) else 1 for n in node.static_shape))
