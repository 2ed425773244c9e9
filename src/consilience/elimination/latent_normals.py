"""Log densities that are those of signs of latent normals: sums of log Phi of what is linear in a variable.

Terms and a variable's value enter; the means of the latent normals, which are positive, leave. Source: Albert, Chib
(1993).
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.analysis.separability import Link, links
from consilience.elimination.polynomial import degrees
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ops import Elementwise
from consilience.ops.reduce import reduce
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient


def means_of_latent_normals(terms: Sequence[Node], value: Node) -> tuple[Node, tuple[Node, ...]] | None:
    """For each element of a value, which others do not meet, the mean of a normal with the variance 1 that is positive.

    Its probability of being positive is the density where one of the factors that come with it is 1 and all others
    are 0; they are free of the value. None where the density has other parts.

    >>> import consilience.tensor as pt
    >>> from consilience.elimination.latent_normals import means_of_latent_normals
    >>> x, b, y = pt.dvector("x"), pt.dscalar("b"), pt.dvector("y")
    >>> probability = pt.invprobit(2 * x + b)
    >>> term = y * pt.log(probability) + (1 - y) * pt.log(1 - probability)
    >>> mean, _ = means_of_latent_normals([term], x)
    >>> mean.eval({x: [0.5, 0.5], b: 1.0, y: [1.0, 0.0]}).round(3).tolist()
    [2.0, -2.0]
    """
    found = simplify(list(terms))
    if len(found) != 1 or found[0].ndim != value.ndim:
        return None
    cores = [n for n in topological(found) if n.op == Elementwise("log_ndtr") and value in set(topological([n]))]
    each = [tensor_input(core.dtype, core.static_shape) for core in cores]
    (written,) = substitute(found, dict(zip(cores, each, strict=True)))
    inner = [core.inputs[0] for core in cores]
    straight = {axis: Link(axis, None) for axis, length in enumerate(value.static_shape) if length != 1}
    if (
        not cores
        or value in set(topological([written]))
        or max(degrees([written], each)) > 1
        or max(degrees(inner, [value])) > 1
        or any(links(mean, value) != straight for mean in inner)
        or any(links(written, one) != straight for one in each)
    ):
        return None
    factors = simplify(gradient(reduce("sum", written), each))
    return sum((factor * mean for factor, mean in zip(factors, inner, strict=True)), constant(0.0)), tuple(factors)
