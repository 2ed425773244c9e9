"""The value of one expression: compiled, called once and forgotten.

An expression and values of what it depends on in, an array out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy.typing as npt

from consilience.backends import sparse_arguments
from consilience.backends.function import function
from consilience.backends.request import order_of
from consilience.errors import GraphError
from consilience.ir import Input, Node, topological
from consilience.ir.arithmetic import means
from consilience.ir.lengths import sources_of
from consilience.ir.side_tables import describe, name_of, origins_of
from consilience.ops.sparse.variable import SparseVariable

Array: TypeAlias = npt.NDArray[Any]


def eval(expression: Node, inputs_to_values: Mapping[Node | str, npt.ArrayLike] | None = None, **options: Any) -> Array:
    """The value of one expression.

    expression: The expression.
    inputs_to_values: Values of inputs, or of any expressions within, by node or by name. A node that the expression
        does not depend on is passed over.
    **options: As for `function`; `on_unused_input` is "ignore" here.
    Returns (ndarray): An array; random variables without a value are drawn, anew at every call.
    See function: Compile expressions.
    >>> x = pt.dscalar("x")
    >>> pt.eval(x**2, {x: 3.0}).item()
    9.0
    """
    if not isinstance(inputs_to_values, Mapping | None):
        raise TypeError(f"`eval` takes a dict of values by variable or name, got {inputs_to_values!r}.")
    given: dict[Any, Any] = dict(inputs_to_values or {})
    wrong = next((key for key in given if not isinstance(key, Node | SparseVariable | str)), None)
    if wrong is not None or None in given:
        raise TypeError(f"`eval` takes values by variable or name, got the key {wrong!r}.")
    order = order_of([expression])
    values = {_named(expression, order, key) if isinstance(key, str) else key: value for key, value in given.items()}
    known = set(sparse_arguments.tensors(list(values), None)[0])
    needed = topological([expression, *sources_of([expression])], stop=known.__contains__)
    absent = next((n for n in needed if isinstance(n.op, Input) and n not in known and n.dtype != "key"), None)
    if absent is not None:
        raise GraphError(f"`eval` needs a value for {describe(absent)}; pass it as `.eval({{x: value}})`.")
    result: Array = function(list(values), expression, **({"on_unused_input": "ignore"} | options))(*values.values())
    return result


@means("sparse_eval")
def _sparse_eval(x: Any, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """SciPy's matrix of a sparse variable, given the values of inputs."""
    given = dict(inputs_to_values or {})
    return function(list(given), x, **options)(*given.values())


def _named(expression: Node, order: Sequence[Node], name: str) -> Node:
    """The input, or else the inner expression, of a name; also an input that a derivative was taken from and lost."""
    order = list(dict.fromkeys([*order, *(origin for node in order for origin in origins_of(node))]))
    bearers = [node for node in order if name_of(node) == name]
    found = [node for node in bearers if isinstance(node.op, Input)] or bearers
    if len(found) == 1:
        return found[0]
    if found:
        raise GraphError(f"{describe(expression)} depends on {len(found)} variables named `{name}`; give them by node.")
    names = sorted({own for node in order if (own := name_of(node)) is not None})
    raise GraphError(f"{describe(expression)} depends on nothing named `{name}`; it has {names}.")


means("eval")(eval)
