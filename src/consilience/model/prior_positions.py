"""Draws of the prior as positions on the unconstrained line, few of them, without compiling anything.

A model in, vectors out. Variables from which nothing can be drawn, such as flat ones, lie around a given position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference
from consilience.backends.shapes import Lengths, static_shape
from consilience.distributions.densities import realise
from consilience.distributions.random_variable import distribution_of
from consilience.errors import ConsilienceError
from consilience.ir import Input, Node, substitute, tensor_input, topological
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.layout import Layout, Stretch
from consilience.model.variables import ModelVariables
from consilience.ops import Elementwise
from consilience.ops.parameter_check import released

Floats = npt.NDArray[np.float64]
SCALES: Final = (1.0, 3.0, 10.0)  # of the normals that flat variables lie in, in turn
PURPOSE: Final = 4  # of the random numbers
# Standard draws, which NumPy makes many times faster than the reference backend, element by element.
STANDARD: Final[dict[str, Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[Any]]]] = {
    "random_normal": lambda generator, shape: generator.standard_normal(shape),
    "random_uniform": lambda generator, shape: generator.random(shape),
    "random_exponential": lambda generator, shape: generator.standard_exponential(shape),
}


def prior_positions(
    model: ModelVariables, layout: Layout, lengths: Lengths, centre: Floats, count: int, seed: int
) -> Floats:
    """Positions (draw, coordinate), at most `count`: draws that have no value, or no finite one, are left out.

    `centre`: position around which variables lie from which nothing can be drawn, float64 (dimension,).
    """
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), PURPOSE]))
    leaves: dict[Node, Stretch] = {}
    with without_sources():
        known: dict[Node, Node] = {v.node: v.data for v in model.observed}
        for stretch in layout.stretches:
            variable = stretch.variable
            if not distribution_of(variable.node).can_draw():
                leaf = tensor_input("float64", stretch.shape)
                own = leaf if variable.sampled is None else variable.sampled.backward(leaf)
                leaves[leaf] = stretch
                known[variable.node] = substitute([own], known)[0]
        free = [(s.variable.node, s.variable.sampled) for s in layout.stretches]
        written = [node if sampled is None else sampled.forward(node) for node, sampled in free]
        static, memo = specialise(released(realise(substitute(written, known))), lengths)
        shapes = {node: static_shape(node.static_shape, {}) for node in topological(static) if _kind(node)}
        standard = {node: tensor_input(node.dtype, shape) for node, shape in shapes.items()}
        static = substitute(static, standard)
    fixed = {memo[slot]: contexts.DEFAULT.get(slot) for slot in model.data_slots() if slot in memo}
    inputs = [node for node in topological(static) if isinstance(node.op, Input)]
    keys = [node for node in inputs if node.dtype == "key"]
    found = []
    for number in range(count):
        width = SCALES[number % len(SCALES)]
        noisy = centre + width * generator.standard_normal(len(centre))
        given = {memo[leaf]: noisy[s.slice].reshape(s.shape) for leaf, s in leaves.items() if leaf in memo}
        streams = generator.integers(2**63, size=len(keys))
        given |= {leaf: STANDARD[_kind(node)](generator, shapes[node]) for node, leaf in standard.items()}
        given |= {key: np.asarray(stream, "int64") for key, stream in zip(keys, streams, strict=True)}
        try:
            with np.errstate(all="ignore"):
                values = reference.evaluate(static, fixed | given)
        except ConsilienceError:  # as of a covariance that is singular to rounding: such a draw has no density
            continue
        position = np.empty(len(centre))
        for stretch, value in zip(layout.stretches, values, strict=True):
            position[stretch.slice] = np.broadcast_to(np.asarray(value, float), stretch.shape).ravel()
        if np.isfinite(position).all():
            found.append(position)
    return np.stack(found) if found else np.zeros((0, len(centre)))


def _kind(node: Node) -> str:
    """Which standard draw a node is; empty for none."""
    known = isinstance(node.op, Elementwise) and node.op.function in STANDARD and node.dtype == "float64"
    return node.op.function if known and isinstance(node.op, Elementwise) else ""
