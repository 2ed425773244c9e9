"""Questions to graphs that PyMC's and PyTensor's helpers answer: constants, shapes, random variables.

In: expressions. Out: numbers, expressions. Outside: rewriting of graphs, which is `graph`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends import reference
from consilience.distributions.dist_math import check_parameters
from consilience.distributions.random_variable import random_variables
from consilience.distributions.simulator import as_vector
from consilience.errors import DtypeError, GraphError
from consilience.ir import Node, constant_value, tensor_input, topological
from consilience.ir.arithmetic import plain
from consilience.logprob.functions import conditional_logp
from consilience.ops.elementwise import as_tensor
from consilience.ops.shape import as_shape
from consilience.rewrite.rules import simplify
from consilience.tensor.random import shared_rng

__all__ = [
    "CheckParameterValue", "NotConstantValueError", "constant_fold", "normalize_rng_param", "normalize_size_param",
    "random_generator_type", "resolve_shapes", "rvs_in_graph", "shape_i", "transformed_conditional_logp",
]  # fmt: skip


class NotConstantValueError(GraphError, ValueError):
    """An expression depends on something that is not known before it is computed."""


class CheckParameterValue:
    """`check_parameters` with its message first: `CheckParameterValue(msg)(value, *conditions)`."""

    def __init__(self, msg: str = "", can_be_replaced_by_ninf: bool = False) -> None:
        self.msg = msg
        self.can_be_replaced_by_ninf = can_be_replaced_by_ninf

    def __call__(self, value: Any, *conditions: Any) -> Node:
        return check_parameters(value, *conditions, msg=self.msg, can_be_replaced_by_ninf=self.can_be_replaced_by_ninf)


def constant_fold(xs: Sequence[Node], raise_not_constant: bool = True) -> tuple[Any, ...]:
    """Expressions as arrays where they depend on constants alone, simplified where they do not.

    Raises NotConstantValueError for one that is not constant, unless `raise_not_constant` is False.
    """
    found = [as_tensor(x) for x in xs]
    values = [_known(node) for node in found]
    if raise_not_constant and any(value is None for value in values):
        unknown = next(x for x, value in zip(xs, values, strict=True) if value is None)
        raise NotConstantValueError(f"{unknown!r} depends on more than constants.")
    simplified = simplify(found)
    return tuple(node if value is None else value for node, value in zip(simplified, values, strict=True))


def _known(node: Node) -> npt.NDArray[Any] | None:
    """The value of an expression of constants alone."""
    if any(not n.inputs and constant_value(n) is None for n in topological([node])):
        return None
    return np.asarray(reference.evaluate([node], {})[0])


def resolve_shapes(shapes: Sequence[Any]) -> tuple[Node, ...]:
    """Lengths as expressions of the inputs' lengths: so they are from the start here, and are only simplified."""
    return tuple(simplify([as_tensor(length) for length in shapes]))


def rvs_in_graph(vars: Node | Sequence[Node], rv_ops: Any = None) -> set[Node]:
    """The random variables on which expressions depend, themselves included."""
    found = random_variables([plain(one) for one in (vars if isinstance(vars, list | tuple | set) else [vars])])
    return {rv for rv in found if rv_ops is None or isinstance(rv.op, rv_ops)}


def random_generator_type(name: str | None = None) -> Node:
    """A symbolic random generator: a random key, for which a compiled function takes a generator of NumPy's."""
    return tensor_input("key", (), name)


def normalize_rng_param(rng: Any) -> Node:
    """A random key: the one that was given, or a new one that is shared.

    Raises DtypeError for another tensor, or none.
    """
    if rng is None:
        return shared_rng()
    if not isinstance(rng, Node) or rng.dtype != "key":
        raise DtypeError(f"a random key was needed, such as `pt.random.rng()`, got {rng!r}.")
    return rng


def normalize_size_param(size: Any) -> Node | None:
    """A batch shape as a vector of lengths; None stays None."""
    return None if size is None else as_vector(as_shape(size))


def shape_i(var: Node, i: int) -> Node:
    """The length of axis i."""
    length: Node = as_tensor(var).shape[i]
    return length


def transformed_conditional_logp(
    rvs: Sequence[Node],
    *,
    rvs_to_values: Mapping[Node, Any],
    rvs_to_transforms: Mapping[Node, Any],
    jacobian: bool = True,
    **ignored: Any,
) -> list[Node]:
    """Factors of the joint density of all variables with values, those of `rvs` in their order.

    `rvs_to_values`: the value of each variable, on the unconstrained line where it has a transform.
    `rvs_to_transforms`: transforms by variable; None for none. `jacobian`: whether a factor is the density of the
    unconstrained value. `**ignored`: further keywords of PyMC's function, which change no value.
    """
    del ignored
    transforms = {rv: transform for rv, transform in rvs_to_transforms.items() if transform is not None}
    natural = {
        rv: transforms[rv].backward(as_tensor(value), *rv.owner.inputs) if rv in transforms else value
        for rv, value in rvs_to_values.items()
    }
    factors = conditional_logp(natural)
    result = []
    for rv in rvs:
        factor = factors[rv]
        if jacobian and rv in transforms:
            volume = transforms[rv].log_jac_det(as_tensor(rvs_to_values[rv]), *rv.owner.inputs)
            axes = tuple(range(factor.ndim, volume.ndim))  # those of one event
            factor = factor + (volume.sum(axis=axes) if axes else volume)
        result.append(factor)
    return result
