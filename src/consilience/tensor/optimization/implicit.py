"""Derivatives of a root by everything else in its equations, by the implicit function theorem.

Equations of a vector and their other operands in; cotangents of the operands out. How the root was found is not read.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import FLOATS, Node
from consilience.ir.lengths import substitute
from consilience.ops.linalg import matrix_transpose
from consilience.ops.shape import expand_dims
from consilience.tensor.differentiation import jacobian
from consilience.tensor.optimization.iteration import both, either, eq, finite, identity, negated, solved, where
from consilience.transforms import gradient as calculus


def cotangents(
    equations: Node,
    variables: Node,
    operands: Sequence[Node],
    solution: Node,
    success: Node,
    seed: Node,
    fixed: Node | None = None,
) -> list[Node | None]:
    """Cotangents of the operands, from `seed`, that of the solution; None where the equations do not depend on one.

    `equations`: tensor of the shape of `variables`, a vector or a scalar; zero at the solution. `fixed`: which
    variables do not move, being at bounds; their equations need not hold.

    They are NaN where the search had no success, and where the Jacobian is singular.
    """
    slope, values = substitute(
        [jacobian(equations, variables, disconnected_inputs="ignore"), equations], {variables: solution}
    )
    if not variables.ndim:
        regular = both(finite(slope), negated(eq(slope, 0.0)))
        weights = seed / slope
    else:
        system = matrix_transpose(slope)
        if fixed is not None:
            system = where(either(expand_dims(fixed, 1), expand_dims(fixed, 0)), identity(solution), system)
            seed = where(fixed, 0.0, seed)
        weights, regular = solved(system, seed)
    # A factor, so that cotangents are linear in the seed and pushforwards are NaN too.
    weights = weights * where(both(success, regular), 1.0, float("nan")).astype(seed.dtype)
    if fixed is not None:
        weights = where(both(success, fixed), 0.0, weights)
    floats = [o for o in operands if o.dtype in FLOATS]
    wanted = [o for o, there in zip(floats, calculus.connected([equations], floats), strict=True) if there]
    if not wanted:
        return [None] * len(operands)
    found = dict(zip(wanted, calculus.pullback([values], wanted, [-weights]), strict=True))
    return [found.get(o) for o in operands]
