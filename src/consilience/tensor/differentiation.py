"""Derivatives under PyTensor's names: the graph is simplified first, then differentiated.

Expressions and the tensors to differentiate by in, expressions out; what "disconnected" means is decided here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from consilience.errors import DisconnectedInputError, DtypeError, GraphError, warn
from consilience.ir import FLOATS, Constant, Input, Node, is_leaf, topological
from consilience.ir.arithmetic import plain
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import add_origins, describe, name_of, set_name
from consilience.names.absent import elsewhere
from consilience.ops.assertion import require
from consilience.ops.elementwise import AlteredGradient, TensorLike, as_tensor
from consilience.ops.sparse.variable import SparseVariable
from consilience.planning import before_slopes
from consilience.rewrite.rules import simplify
from consilience.transforms import gradient as calculus
from consilience.transforms.equal_terms import equal_terms_batched

Nodes = Node | Sequence[Node]

ON_DISCONNECTED = ("raise", "warn", "ignore")


def grad(
    cost: Node | None,
    wrt: Nodes,
    consider_constant: Nodes | None = None,
    disconnected_inputs: str = "raise",
    add_names: bool = True,
    known_grads: Mapping[Node, TensorLike] | None = None,
    return_disconnected: str | None = "zero",
    null_gradients: str = "raise",
) -> Any:
    """The derivative of a scalar expression with respect to one or several tensors.

    cost (TensorVariable or None): Scalar expression to differentiate.
    wrt: A float tensor or a sequence of them: inputs, shared variables, or expressions within.
    consider_constant: Expressions that derivatives do not pass.
    disconnected_inputs: For tensors the cost does not depend on: "raise" DisconnectedInputError, "warn", "ignore".
    add_names: Whether derivatives of named tensors are named, as (dcost/dx).
    known_grads: Expression -> derivative with respect to it, which counts in place of the cost's.
    return_disconnected (str or None): What stands for those: "zero", or "none" for None.
    null_gradients: "raise": NullTypeGradError where a derivative was declared undefined.
    Returns: An expression of the shape of `wrt`, or a list (for a tuple: a tuple) of them. For a sparse variable, a
        sparse one of the derivatives with respect to its entries.
    See jacobian: Derivative of every element.
    See hessian: Second derivatives of a scalar with respect to each tensor by itself.
    See value_and_grad: The cost and its derivative.
    >>> x = pt.dscalar("x")
    >>> pt.grad(x**3, x).eval({x: 2.0}).item()
    12.0
    """
    if null_gradients != "raise":
        raise ValueError(
            f"`null_gradients` must be 'raise', got {null_gradients!r}: an undefined derivative has no value here."
        )
    absent = _absent_value(return_disconnected)
    cost, wrt = plain(cost), plain(wrt)
    several: Any = wrt if isinstance(wrt, Node | tuple) else [wrt] if isinstance(wrt, SparseVariable) else list(wrt)
    wanted, constants = _listed(_entries(several), "wrt"), _listed(consider_constant, "consider_constant")
    known = _known(known_grads)
    if cost is None and not known:
        raise GraphError("`grad` needs a cost, or `known_grads` to begin with.")
    costs = [] if cost is None else [cost]
    there = _connected([*costs, *known], wanted, constants, disconnected_inputs)
    simple = _simplified([*costs, *known], [*wanted, *constants, *known])
    if not known:
        simple = before_slopes(simple, [*wanted, *constants])
    if known:
        ones = [as_tensor(1.0, node.dtype) for node in costs]
        found = calculus.pullback(simple[: len(costs)], wanted, ones, constants, known)
    else:
        found = calculus.gradient(simple[0], wanted, constants)
    found = _derived(found, [*costs, *known, *known.values()], wanted)
    if add_names and cost is not None and name_of(cost) is not None:
        _name(found, cost, wanted)
    results = [slope if here or absent else None for slope, here in zip(found, there, strict=True)]
    slopes = _with_places(several, _as(several, results))
    return slopes[0] if isinstance(wrt, SparseVariable) else slopes


def _entries(wrt: Any) -> Any:
    """What derivatives are taken with respect to: for sparse variables their entries."""
    if isinstance(wrt, Node) or not any(isinstance(x, SparseVariable) for x in wrt):
        return wrt
    return [x.data if isinstance(x, SparseVariable) else x for x in wrt]


def _with_places(wrt: Any, results: Any) -> Any:
    """Derivatives with respect to sparse variables at the places of these."""
    if isinstance(wrt, Node):
        return results
    made = [x.with_data(g) if isinstance(x, SparseVariable) else g for x, g in zip(wrt, results, strict=True)]
    return tuple(made) if isinstance(wrt, tuple) else made


def _absent_value(return_disconnected: str | None) -> bool:
    """Whether zeros stand for derivatives that are not there."""
    wanted = str(return_disconnected).lower()
    if wanted not in ("zero", "none"):
        raise ValueError(f"`return_disconnected` must be 'zero' or 'none', got {return_disconnected!r}.")
    return wanted == "zero"


def _listed(nodes: Nodes | None, what: str) -> list[Node]:
    if told := elsewhere(nodes):
        raise TypeError(told)
    nodes = plain(nodes)
    listed = [] if nodes is None else [nodes] if isinstance(nodes, Node) else [plain(node) for node in nodes]
    wrong = next((node for node in listed if not isinstance(node, Node)), None)
    if wrong is not None:
        raise TypeError(f"`{what}` must be a tensor or a list of tensors, got {wrong!r}.")
    return listed


def _as(given: Nodes, results: list[Any]) -> Any:
    """Results in the form of what was given: one, a tuple or a list."""
    if isinstance(given, Node):
        return results[0]
    return tuple(results) if isinstance(given, tuple) else results


def _known(given: Mapping[Node, TensorLike] | None) -> dict[Node, Node]:
    """Expressions with their known derivatives, of the same type."""
    known: dict[Node, Node] = {}
    for node, value in (given or {}).items():
        slope = as_tensor(value) if isinstance(value, Node) else as_tensor(value, node.dtype)
        if slope.dtype != node.dtype or slope.ndim != node.ndim:
            raise DtypeError(f"`known_grads` must give {describe(node)} a tensor of its type, got {describe(slope)}.")
        known[node] = slope
    return known


def _connected(
    outputs: Sequence[Node], wanted: Sequence[Node], constants: Collection[Node], on_disconnected: str
) -> list[bool]:
    """For each tensor whether the outputs depend on it; complains as asked where they do not."""
    if on_disconnected not in ON_DISCONNECTED:
        raise ValueError(f"disconnected ones must be met by 'raise', 'warn' or 'ignore', got {on_disconnected!r}.")
    for output in outputs:
        if not isinstance(output, Node):
            raise TypeError(elsewhere(output) or f"a derivative needs an expression, got {output!r}.")
    found = calculus.connected(outputs, wanted, frozenset(constants))
    for node, there in zip(wanted, found, strict=True):
        if there or on_disconnected == "ignore" or node.dtype not in FLOATS:
            continue
        message = (
            f"what is differentiated does not depend on {describe(node)}, or only through its shape or values that "
            "derivatives do not pass; leave it out, or pass `disconnected_inputs='ignore'` for zeros."
        )
        if on_disconnected == "raise":
            raise DisconnectedInputError(message)
        warn(message)
    return found


def _derived(found: Sequence[Node], outputs: Sequence[Node], wanted: Sequence[Node]) -> list[Node]:
    """Derivatives that answer for the lengths their origin relied on, and count as using its inputs."""
    result = require(found, collect(outputs))
    origins = [*wanted, *(node for node in topological(outputs) if isinstance(node.op, Input))]
    for node in result:
        add_origins(node, (origin for origin in origins if origin is not node))
    return result


def _name(found: Sequence[Node], cost: Node, wanted: Sequence[Node]) -> None:
    for slope, node in zip(found, wanted, strict=True):
        name = name_of(node)
        if name is not None and name_of(slope) is None and not is_leaf(slope) and not isinstance(slope.op, Constant):
            set_name(slope, f"(d{name_of(cost)}/d{name})")


gradient = grad


def value_and_grad(cost: Node, wrt: Nodes) -> tuple[Node, Any]:
    """The cost and its derivative; they share everything because equal expressions are one.

    cost, wrt : ...
    Returns: The cost, and the derivative in the form of `wrt`.
    See grad: Derivative of a scalar with respect to one or several tensors.
    See jacobian: Derivative of every element.
    See hessian: Second derivatives of a scalar with respect to each tensor by itself.
    >>> x = pt.dscalar("x")
    >>> [y.eval({x: 2.0}).item() for y in pt.value_and_grad(x**3, x)]
    [8.0, 12.0]
    """
    return cost, grad(cost, wrt)


def _prepared(
    outputs: Sequence[Node], wrt: Nodes, consider_constant: Nodes | None, on_disconnected: str
) -> tuple[list[Node], list[Node], list[Node]]:
    """Simplified outputs, what to differentiate by, and what derivatives do not pass."""
    several: Any = wrt if isinstance(wrt, Node | tuple) else [wrt] if isinstance(wrt, SparseVariable) else list(wrt)
    wanted, constants = _listed(_entries(several), "wrt"), _listed(consider_constant, "consider_constant")
    _connected(outputs, wanted, constants, on_disconnected)
    return _simplified(outputs, [*wanted, *constants]), wanted, constants


def _simplified(outputs: Sequence[Node], keep: Sequence[Node]) -> list[Node]:
    """Equal outputs in their normal form, terms of one form together; `keep` stays as it is."""
    return simplify(equal_terms_batched(outputs, keep), keep=keep)


def jacobian(
    expression: Node,
    wrt: Nodes,
    consider_constant: Nodes | None = None,
    disconnected_inputs: str = "raise",
    vectorize: bool = False,
) -> Any:
    """Derivative of every element: shape (*expression.shape, *wrt.shape), one for each tensor of `wrt`.

    expression: The expression, or several.
    wrt : ...
    consider_constant: As for `grad`.
    disconnected_inputs: As for `grad`.
    vectorize: Accepted; all rows are always computed together.
    Returns: In the form of `wrt`.
    See hessian: Second derivatives of a scalar with respect to each tensor by itself.
    See value_and_grad: The cost and its derivative.
    See grad: Derivative of a scalar with respect to one or several tensors.
    >>> x = pt.dvector("x")
    >>> pt.jacobian(x**2, x).eval({x: [1.0, 2.0]}).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    simple, wanted, constants = _prepared([expression], wrt, consider_constant, disconnected_inputs)
    found = calculus.jacobian(simple[0], wanted, constants)
    found = _derived(found, [expression], wanted)
    return _as(wrt, found)


def hessian(cost: Node, wrt: Nodes, consider_constant: Nodes | None = None, disconnected_inputs: str = "raise") -> Any:
    """Second derivatives of a scalar with respect to each tensor by itself: shape (*wrt.shape, *wrt.shape).

    cost, wrt : ...
    consider_constant: As for `grad`.
    disconnected_inputs: As for `grad`.
    Returns: In the form of `wrt`.
    See value_and_grad: The cost and its derivative.
    See grad: Derivative of a scalar with respect to one or several tensors.
    See jacobian: Derivative of every element.
    >>> x = pt.dvector("x")
    >>> pt.hessian(pt.sum(x**3), x).eval({x: [1.0, 2.0]}).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    simple, wanted, constants = _prepared([cost], wrt, consider_constant, disconnected_inputs)
    found = calculus.hessian(simple[0], wanted, constants)
    found = _derived(found, [cost], wanted)
    return _as(wrt, found)


def hessian_vector_product(
    cost: Node,
    wrt: Nodes,
    p: TensorLike | Sequence[TensorLike],
    consider_constant: Nodes | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The Hessian of a scalar in all of `wrt` together times `p`, without the matrix.

    cost, wrt : ...
    p: A tensor like `wrt`, or one for each.
    consider_constant, disconnected_inputs : ...
    Returns: In the form of `wrt`.
    See hessian: The matrix itself.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import hessian_vector_product
    >>> x = pt.dvector("x")
    >>> hessian_vector_product((x**3).sum(), x, pt.as_tensor([1.0, 1.0])).eval({x: [1.0, 2.0]}).tolist()
    [6.0, 12.0]
    """
    simple, wanted, constants = _prepared([cost], wrt, consider_constant, disconnected_inputs)
    vectors = _directions(wanted, p, isinstance(wrt, Node))
    found = calculus.hessian_vector_product(simple[0], wanted, vectors, constants)
    found = _derived(found, [cost, *vectors], wanted)
    return _as(wrt, found)


def _directions(nodes: Sequence[Node], given: Any, single: bool) -> list[Node]:
    """One tensor per node, numbers and arrays in its dtype."""
    values = [given] if single else list(given)
    if len(values) != len(nodes):
        raise GraphError(f"one tensor for each of {len(nodes)} was needed, got {len(values)}.")
    return [v if isinstance(v, Node) else as_tensor(v, n.dtype) for v, n in zip(values, nodes, strict=True)]


def pullback(
    f: Nodes,
    wrt: Nodes,
    cotangents: TensorLike | Sequence[TensorLike],
    consider_constant: Nodes | None = None,
    disconnected_inputs: str = "raise",
    return_disconnected: str | None = "zero",
) -> Any:
    """Transposed Jacobian of `f` times cotangents: one result per variable in `wrt`, of its type.

    f: Expression or expressions to differentiate.
    wrt : ...
    cotangents: One per output of `f`, of its type.
    consider_constant, disconnected_inputs : ...
    return_disconnected (str or None): What stands for variables that `f` does not depend on: "zero", or "none" for
        None.
    Returns: In the form of `wrt`.
    See pushforward: The Jacobian itself times vectors.
    See grad: Of a scalar.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import pullback
    >>> x = pt.dvector("x")
    >>> pullback(x**2, x, pt.as_tensor([1.0, 10.0])).eval({x: [3.0, 4.0]}).tolist()
    [6.0, 80.0]
    """
    written = _listed(f, "outputs")
    absent = _absent_value(return_disconnected)
    simple, wanted, constants = _prepared(written, wrt, consider_constant, disconnected_inputs)
    there = calculus.connected(written, wanted)
    seeds = _directions(written, cotangents, isinstance(f, Node))
    found = calculus.pullback(simple, wanted, seeds, constants)
    found = _derived(found, [*written, *seeds], wanted)
    return _as(wrt, [slope if here or absent else None for slope, here in zip(found, there, strict=True)])


def pushforward(
    f: Nodes,
    wrt: Nodes,
    tangents: TensorLike | Sequence[TensorLike],
    disconnected_outputs: str = "raise",
    return_disconnected: str | None = "zero",
    use_op_pushforward: bool = True,
) -> Any:
    """Jacobian of `f` by `wrt` times tangents: one result per output, of its type.

    f: Expression or expressions to differentiate.
    wrt : ...
    tangents: One per variable in `wrt`, of its type.
    disconnected_outputs: Outputs that depend on none of them: "raise" DisconnectedInputError, "warn" or "ignore".
    return_disconnected (str or None): What stands for those: "zero", or "none" for None.
    use_op_pushforward: Accepted; there is one way to compute it.
    Returns: In the form of `f`.
    See pullback: The transposed Jacobian.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import pushforward
    >>> x = pt.dvector("x")
    >>> pushforward(x**2, x, pt.as_tensor([1.0, 10.0])).eval({x: [3.0, 4.0]}).tolist()
    [6.0, 80.0]
    """
    written, wanted = _listed(f, "outputs"), _listed(wrt, "inputs")
    absent = _absent_value(return_disconnected)
    there = [any(calculus.connected([output], wanted)) for output in written]
    for output, connected in zip(written, there, strict=True):
        if not connected:
            _connected([output], wanted, (), disconnected_outputs)
    simple = _simplified(written, wanted)
    directions = _directions(wanted, tangents, isinstance(wrt, Node))
    found = _derived(calculus.pushforward(simple, wanted, directions), [*written, *directions], wanted)
    return _as(f, [slope if here or absent else None for slope, here in zip(found, there, strict=True)])


def Lop(
    f: Nodes,
    wrt: Nodes,
    eval_points: TensorLike | Sequence[TensorLike],
    consider_constant: Nodes | None = None,
    disconnected_inputs: str = "raise",
) -> Any:
    """The L-operator, `pullback` under its older name.

    f: Expression or expressions to differentiate.
    wrt : ...
    eval_points: The tangents or cotangents, one for each variable or expression.
    consider_constant, disconnected_inputs : ...
    Returns: In the form of `wrt`.
    See pullback: The same.
    See Rop: The Jacobian itself times vectors.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import Lop
    >>> x = pt.dvector("x")
    >>> Lop(x**2, x, pt.as_tensor([1.0, 10.0])).eval({x: [3.0, 4.0]}).tolist()
    [6.0, 80.0]
    """
    return pullback(f, wrt, eval_points, consider_constant, disconnected_inputs)


def Rop(
    f: Nodes,
    wrt: Nodes,
    eval_points: TensorLike | Sequence[TensorLike],
    disconnected_outputs: str = "raise",
    return_disconnected: str | None = "zero",
    use_op_rop_implementation: bool = True,
) -> Any:
    """The R-operator, `pushforward` under its older name.

    f: Expression or expressions to differentiate.
    wrt : ...
    eval_points: The tangents or cotangents, one for each variable or expression.
    disconnected_outputs: What to do with results that depend on none of the variables.
    return_disconnected (str or None): Derivative by a variable that the result does not depend on: "zero" or "none".
    use_op_rop_implementation: Taken for PyTensor's sake and without effect.
    Returns: In the form of `f`.
    See pushforward: The same.
    See Lop: The transposed Jacobian.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import Rop
    >>> x = pt.dvector("x")
    >>> Rop(x**2, x, pt.as_tensor([1.0, 10.0])).eval({x: [3.0, 4.0]}).tolist()
    [6.0, 80.0]
    """
    return pushforward(f, wrt, eval_points, disconnected_outputs, return_disconnected, use_op_rop_implementation)


def zero_grad(x: TensorLike) -> Node:
    """The value itself with zero derivative; unlike with `disconnected_grad` it counts as depending on `x`.

    x : ...
    Returns: The value, of the shape and dtype of `x`.
    See disconnected_grad: Treated as a constant by derivatives.
    See grad_clip: With a derivative brought between two numbers.
    See grad_scale: With a derivative times a number.
    >>> import consilience.tensor as pt
    >>> from consilience import gradient
    >>> x = pt.dscalar("x")
    >>> pt.grad(x * gradient.consider_constant(x), x).eval({x: 2.0}).item()
    2.0
    """
    return Node(AlteredGradient("zero"), as_tensor(x))


consider_constant = zero_grad


def undefined_grad(x: TensorLike) -> Node:
    """The value itself; NullTypeGradError for derivatives that pass it.

    x : ...
    Returns: The value.
    See disconnected_grad: A derivative of zero.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import undefined_grad
    >>> undefined_grad(2.0).eval().item()
    2.0
    """
    return Node(AlteredGradient("undefined"), as_tensor(x))


def grad_scale(x: TensorLike, multiplier: float) -> Node:
    """The value itself, with its derivative times a number.

    x : ...
    multiplier: Factor of the gradient.
    Returns: The value, of the shape and dtype of `x`.
    See consider_constant: The value itself with zero derivative.
    See disconnected_grad: Treated as a constant by derivatives.
    See grad_clip: With a derivative brought between two numbers.
    >>> import consilience.tensor as pt
    >>> from consilience import gradient
    >>> x = pt.dscalar("x")
    >>> pt.grad(gradient.grad_scale(x, 3.0), x).eval({x: 2.0}).item()
    3.0
    """
    return Node(AlteredGradient("scale", (float(multiplier),)), as_tensor(x))


def grad_clip(x: TensorLike, lower_bound: float, upper_bound: float) -> Node:
    """The value itself, with the derivative that arrives at it brought between two numbers.

    x : ...
    lower_bound: Least gradient.
    upper_bound: Greatest gradient.
    Returns: The value, of the shape and dtype of `x`.
    See grad_scale: With a derivative times a number.
    See consider_constant: The value itself with zero derivative.
    See disconnected_grad: Treated as a constant by derivatives.
    >>> import consilience.tensor as pt
    >>> from consilience import gradient
    >>> x = pt.dscalar("x")
    >>> pt.grad(10.0 * gradient.grad_clip(x, -1.0, 1.0), x).eval({x: 2.0}).item()
    1.0
    """
    if not lower_bound <= upper_bound:
        raise ValueError(f"the lower bound must not exceed the upper one, got {lower_bound!r} and {upper_bound!r}.")
    return Node(AlteredGradient("clip", (float(lower_bound), float(upper_bound))), as_tensor(x))
