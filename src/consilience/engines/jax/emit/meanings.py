"""The table of meanings in JAX: one row per op class, and how a graph is computed by it.

A static graph and JAX's arrays in, JAX's arrays and a status out. What has no row is computed by its NumPy meaning,
which JAX calls, with the derivative of this package's own tables.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from consilience.backends import reference as reference  # enters the rows of NumPy
from consilience.backends.reference.meanings import MEANINGS as IN_NUMPY
from consilience.engines.emitter import linear_algebra as linear_algebra  # enters its rows
from consilience.engines.emitter import shapes as shapes  # enters its rows
from consilience.engines.emitter import sparse as sparse  # enters its rows
from consilience.engines.emitter.table import SHARED, Meanings
from consilience.engines.jax.emit.linear_map import with_pullback
from consilience.engines.jax.emit.namespace import XP, held
from consilience.errors import ExecutionError, MissingRuleError, Status
from consilience.ir import Node, Region, TensorType, TupleType, is_leaf, numpy_dtype, tensor_input, topological
from consilience.ir.side_tables import describe
from consilience.lower.views import static
from consilience.ops import Elementwise, Item
from consilience.transforms.gradient.table import PULLBACKS

MEANINGS: Final = Meanings(SHARED)
means: Final = MEANINGS  # enters rows
OK: Final = np.int32(Status.OK)


class JaxEvaluation:
    """One evaluation of a graph; rules tell it where there is no value.

    `status`: int32 of the bits of `Status`.
    """

    xp = XP

    def __init__(self, values: Mapping[Node, Any]) -> None:
        self.values = dict(values)
        self.status: Any = OK

    def failed(self, where: Any, status: Status = Status.FACTORISATION_FAILED) -> None:
        """Note a failure if any element of `where` is true."""
        self.status = self.status | jnp.where(jnp.any(where), np.int32(status), OK)

    def of(self, outputs: Sequence[Node]) -> list[Any]:
        """Values of the outputs."""
        values = self.values
        for node in topological(outputs, stop=values.__contains__):
            if node in values:
                continue
            if is_leaf(node):
                raise MissingRuleError(f"no value was given for {describe(node)}.")
            operands = [values[i] for i in node.inputs]
            rule = MEANINGS.get(type(node.op))
            found = opaque(node, *operands) if rule is None else rule(self, node, *operands)
            values[node] = _typed(found, node) if isinstance(node.type, TensorType) else found
        return [values[output] for output in outputs]


def inside(region: Region, operands: Sequence[Any]) -> tuple[list[Any], Any]:
    """Results of a region, and its status."""
    run = JaxEvaluation({region.parameter(i): operand for i, operand in enumerate(operands)})
    return run.of(region.results), run.status


def _typed(found: Any, node: Node) -> Any:
    dtype = held(node.dtype)
    return found if found.dtype == dtype else found.astype(dtype)


def forms(node: Node) -> list[Any]:
    """Shapes and dtypes of the results of a node."""
    types = node.type.items if isinstance(node.type, TupleType) else (node.tensor_type,)
    return [jax.ShapeDtypeStruct(static(t.shape), held(t.dtype)) for t in types]


def opaque(node: Node, *operands: Any) -> Any:
    """The NumPy meaning of a node, called by JAX: no accelerator computes it. NaN where there is no value.

    Raises MissingRuleError where there is none.
    """
    meaning = IN_NUMPY.get(type(node.op))
    if meaning is None:
        raise MissingRuleError(f"`{type(node.op).__name__}` has no meaning in JAX; take `backend='llvm'`.")
    wanted, several = forms(node), isinstance(node.type, TupleType)
    dtypes = [(held(i.dtype), numpy_dtype(i.dtype)) for i in node.inputs]

    def on_host(*words: Any) -> Any:
        given = zip(words, dtypes, strict=True)
        arrays = [np.asarray(_from_words(np.asarray(w), there), here) for w, (there, here) in given]
        try:
            with np.errstate(all="ignore"):
                found = meaning(node, {}, *arrays)
        except ExecutionError:
            found = [np.full(w.shape, np.nan if w.dtype.kind in "fc" else 0, w.dtype) for w in wanted]
            return [_to_words(np, v) for v in found]
        members = found if several else [found]
        return [_to_words(np, np.asarray(v, w.dtype)) for v, w in zip(members, wanted, strict=True)]

    method = "broadcast_all" if isinstance(node.op, Elementwise) else "sequential"

    def value(*arrays: Any) -> list[Any]:
        in_words = [jax.eval_shape(lambda x: _to_words(jnp, x), w) for w in wanted]
        found = jax.pure_callback(on_host, in_words, *(_to_words(jnp, x) for x in arrays), vmap_method=method)
        return [_from_words_in_jax(w, form.dtype) for w, form in zip(found, wanted, strict=True)]

    return differentiated(node, value, *operands)


def _to_words(np_or_jnp: Any, x: Any) -> Any:
    """Numbers of 64 bits as pairs of 32, along new last axes.

    JAX calls NumPy on threads of its own, where it knows nothing of the precision that its caller has switched on.
    """
    if x.dtype.kind == "c" and x.dtype.itemsize == 16:
        return _to_words(np_or_jnp, np_or_jnp.stack([x.real, x.imag], -1))
    if x.dtype.itemsize != 8 or x.dtype.kind == "c":
        return x
    if np_or_jnp is np:
        return np.asarray(x, order="C")[..., None].view("uint32")
    return jax.lax.bitcast_convert_type(x, "uint32")


def _from_words(words: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.itemsize == 16:
        parts = _from_words(words, np.dtype("float64"))
        return parts[..., 0] + 1j * parts[..., 1]
    if dtype.itemsize != 8 or dtype.kind == "c":
        return words
    return np.asarray(np.asarray(words, order="C").view(dtype)[..., 0])


def _from_words_in_jax(words: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.itemsize == 16:
        parts = _from_words_in_jax(words, np.dtype("float64"))
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    if dtype.itemsize != 8 or dtype.kind == "c":
        return words
    return jax.lax.bitcast_convert_type(words, dtype)


def differentiated(node: Node, value: Callable[..., Any], *operands: Any) -> Any:
    """Results of a node as a list, computed by `value`; their derivatives are those of the table of gradients."""

    call = with_pullback(value, functools.partial(_pulled_back, node))
    found = list(call(*operands))
    return found if isinstance(node.type, TupleType) else found[0]


def _pulled_back(node: Node, arrays: Sequence[Any], found: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
    """Cotangents of the operands of a node, by the row of the table of gradients; zero where it has none."""
    leaves = [tensor_input(n.dtype, n.static_shape, f"x{i}") for i, n in enumerate(node.inputs)]
    own = Node(node.op, *leaves)
    several = isinstance(node.type, TupleType)
    results = [Node(Item(i), own) for i in range(len(found))] if several else [own]
    seeds = [tensor_input(r.dtype, r.static_shape, "cotangent") for r in results]
    values: dict[Node, Any] = {**dict(zip(leaves, arrays, strict=True)), **dict(zip(results, found, strict=True))}
    values.update(zip(seeds, cotangents, strict=True))
    wanted = [n.dtype.startswith(("float", "complex")) for n in node.inputs]
    row = PULLBACKS.get(type(node.op))
    gradients = [None] * len(leaves) if row is None else row(own, tuple(seeds) if several else seeds[0], wanted)
    present = [g for g in gradients if g is not None]
    given = iter(JaxEvaluation(values).of(present))
    return tuple(next(given) if g is not None else _zero(array) for g, array in zip(gradients, arrays, strict=True))


def _zero(array: Any) -> Any:
    """The cotangent of an operand that has none: JAX wants float0 for whole numbers."""
    if jnp.issubdtype(array.dtype, jnp.inexact):
        return jnp.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)
