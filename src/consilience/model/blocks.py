"""The log density as a function of some variables given all others: only the terms in which they occur.

A model's terms and names of variables enter; compiled code leaves. Its inputs are the values of these variables and
the whole position, so that nothing is copied between evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from consilience.analysis.separability import gathered, links
from consilience.backends.registry import Bound, Executable
from consilience.backends.shapes import Lengths
from consilience.collection import collection_paused
from consilience.distributions.constraints import Whole
from consilience.distributions.densities import support_of
from consilience.elimination.addends import total
from consilience.errors import ModelError
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.layout import Layout, Stretch
from consilience.model.variables import FreeVariable
from consilience.ops import cast
from consilience.ops.reduce import softmax
from consilience.ops.shape import broadcast_to, concatenate, reshape
from consilience.record import Record
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient
from consilience.transforms.vectorize import vectorize

# "logp"; "gradient": with it; "table": probabilities of all values of every element, given all others; "normals": means
# of latent normals, and how much they rise with their element
Needs = Literal["logp", "gradient", "table", "normals"]
LARGEST_TABLE: Final = 1000  # values of one element


class Restricted(Record, eq=False):
    """A compiled log density of some variables given all others.

    `dimension`: number of their coordinates; entry, constants, workspace as of `ModelDensity`. The entry takes their
        values and the whole position; "table" gives f64[value, coordinate], "normals" f64[2, coordinate].
    `places`: of the coordinates in the position, int64.
    `bound`: what keeps the code alive.
    """

    dimension: int
    entry: int
    constants: int
    workspace: int
    places: npt.NDArray[np.int64]
    bound: Bound


def values_of(variable: FreeVariable) -> tuple[float, float]:
    """Least and greatest value of a discrete variable, infinite where there is none or it depends on others."""
    support = support_of(variable.node)
    if not isinstance(support, Whole):
        return -math.inf, math.inf
    from consilience.elimination.ranges import range_of  # few models need it

    try:
        least, greatest = range_of(variable)
    except ModelError:
        below = -math.inf if isinstance(support.lower, Node) else float(np.min(support.lower))
        return below, math.inf if isinstance(support.upper, Node) else float(np.max(support.upper))
    return float(least), float(greatest)


def is_separable(terms: Sequence[Node], variable: FreeVariable, value: Node) -> bool:
    """Whether the elements of a discrete variable are independent of each other given all others.

    It is so where every term of the density has an axis for each axis of the variable, along which one element of the
    term depends on one of the variable's.
    """
    needed = {axis for axis, length in enumerate(value.static_shape) if length != 1}
    for term in _acting(terms, [value]):
        found = links(term, value) or {}
        if not needed <= {link.axis for link in found.values()}:
            return False
    return True


def flat(nodes: Sequence[Node]) -> Node:
    """One vector of all elements."""
    parts = [reshape(node, (-1,)) for node in nodes]
    return parts[0] if len(parts) == 1 else concatenate(parts) if parts else constant(np.zeros(0))


def compile_block(
    compile_graph: Callable[..., Executable],
    terms: Sequence[Node],
    values: Sequence[Node],
    layout: Layout,
    names: Sequence[str],
    needs: Needs,
    lengths: Lengths,
    slots: Sequence[Node],
) -> Executable:
    """Code for the density of the variables `names` given the others.

    `terms`: all terms of the log density, as functions of `values`, one for each stretch of the layout. `slots`: leaves
    of data. Raises ModelError for a "table" of a variable whose elements are not independent, or that has no finite
    range, and for "normals" where there are none.
    """
    with without_sources(), collection_paused():
        own = [value for value, s in zip(values, layout.stretches, strict=True) if s.variable.name in names]
        stretches = [s for s in layout.stretches if s.variable.name in names]
        acting = _acting(terms, own)
        if needs == "table":
            outputs = [_table(acting, own[0], stretches[0].variable)]
        elif needs == "normals":
            outputs = [_normals(acting, own[0])]
        else:
            (logp,) = simplify([total(acting)])
            outputs = [logp, *(gradient(logp, own) if needs == "gradient" else ())]
        static, memo = specialise([*simplify(outputs), *values, *slots], lengths)
        position = tensor_input("float64", (layout.dimension,), "position")
        block = tensor_input("float64", (sum(s.size for s in stretches),), "block")
        replacements: dict[Node, Node] = {}
        start = 0
        for value, s in zip(values, layout.stretches, strict=True):
            if s.variable.name in names:
                replacements[memo[value]] = part_of(block, start, s)
                start += s.size
            else:
                replacements[memo[value]] = part_of(position, s.start, s)
        done = substitute(static[: len(outputs)], replacements)
        if needs == "gradient":
            done = [done[0], flat(done[1:])]
        return compile_graph([block, position], done, {}, [memo[slot] for slot in slots])


def part_of(vector: Node, start: int, stretch: Stretch) -> Node:
    """A variable's value in a vector of coordinates."""
    return vector[start] if stretch.shape == () else reshape(vector[start : start + stretch.size], stretch.shape)


def _acting(terms: Sequence[Node], values: Sequence[Node]) -> list[Node]:
    """The terms in which some of the values occur."""
    return [term for term in terms if not set(values).isdisjoint(topological([term]))]


def _normals(acting: Sequence[Node], value: Node) -> Node:
    """Means of the latent normals of one variable, and how much they rise with its elements, (2, element)."""
    from consilience.elimination.latent_normals import means_of_latent_normals  # few models have them

    found = means_of_latent_normals(acting, value)
    if found is None:
        raise ModelError("the density is not that of signs of latent normals.")
    here = broadcast_to(found[0], value.static_shape)
    (there,) = substitute([here], {value: value + 1.0})
    return flat([here, there - here])


def _table(acting: Sequence[Node], value: Node, variable: FreeVariable) -> Node:
    """Probabilities (value, element) of every value of every element, given all others."""
    from consilience.elimination.ranges import range_of  # few models need it

    least, greatest = range_of(variable)
    count = greatest - least + 1
    shape = value.static_shape
    each = reshape(constant(np.arange(least, greatest + 1, dtype=float)), (count, *(1 for _ in shape)))
    batched = vectorize(list(acting), {value: broadcast_to(each, (count, *shape))})
    found = [links(term, value) or {} for term in acting]
    parts = [gathered(term, own, value) for term, own in zip(batched, found, strict=True)]
    table = cast(parts[0], "float64")
    for part in parts[1:]:
        table = table + cast(part, "float64")
    return reshape(softmax(broadcast_to(table, (count, *shape)), 0), (-1,))


def restricted(bound: Bound, layout: Layout, names: Sequence[str]) -> Restricted:
    """The compiled density with its data."""
    places = [np.arange(s.start, s.start + s.size) for s in layout.stretches if s.variable.name in names]
    joined: npt.NDArray[Any] = np.concatenate(places) if places else np.zeros(0, np.int64)
    return Restricted(len(joined), bound.entry, bound.constants, bound.workspace, joined, bound)
