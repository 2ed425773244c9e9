"""Functions with a derivative or a batched form of the user's, as expressions.

Names and meanings of PyTensor (`OpFromGraph`) and of JAX (`custom_vjp`, `custom_vmap`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from consilience.errors import GraphError
from consilience.ir import Dim, Input, Node, Region, Shared, close, substitute, tensor_input, with_lengths
from consilience.ir.arithmetic import means
from consilience.ir.dimension import Atom, as_symbol
from consilience.ir.side_tables import describe
from consilience.ir.types import FLOATS
from consilience.ops.call import CustomBatching, FunctionCall, matching
from consilience.ops.control import Item
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.transforms import gradient as calculus
from consilience.transforms.gradient.index import zeros_like

Rule = Callable[..., Any]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _applied(
    name: str,
    operands: Sequence[Node],
    leaves: Sequence[Node],
    results: Sequence[Node],
    pull: Callable[[list[Node], list[Node], list[Node]], Sequence[Any]] | None,
    batched: CustomBatching | None,
) -> list[Node]:
    """Results of a call; what the function reads from around it becomes a further operand."""
    body, inside = close(results, leaves)
    given = dict(zip(leaves, operands, strict=True))
    every = [given.get(i, i) for i in inside]
    pullback: Region | None = None
    if pull is not None:
        made = [tensor_input(r.dtype, r.static_shape) for r in results]
        seeds = [tensor_input(r.dtype, r.static_shape) for r in results]
        found = matching(_given(pull(list(leaves), made, seeds), leaves), leaves, "the derivative", name)
        others = [i for i in inside if i not in given]
        zeros = [zeros_like(i) if i.dtype in FLOATS else i for i in others]
        pullback, outer = close([*found, *zeros], [*inside, *made, *seeds])
        extra = [i for i in outer if i not in (*inside, *made, *seeds)]
        if extra:
            raise GraphError(
                f"the derivative of `{name}` reads {describe(extra[0])}, which the function does not; pass it as an "
                "input."
            )
    node = Node(FunctionCall(name, body, pullback, batched), *every)
    return [Node(Item(k), node) for k in range(len(results))]


def _given(cotangents: Any, leaves: Sequence[Node]) -> list[Any]:
    """Cotangents as tensors; None is zero."""
    listed = _listed(cotangents)
    return [zeros_like(leaf) if c is None else as_tensor(c) for c, leaf in zip(listed, leaves, strict=False)] + [
        as_tensor(c) for c in listed[len(leaves) :]
    ]


class _Custom:
    """A function of tensors that is called as it was, with rules of its own."""

    def __init__(self, function: Rule) -> None:
        if not callable(function):
            raise TypeError(f"`{type(self).__name__}` takes a function, got {function!r}.")
        self.function = function
        self.forward: Rule | None = None
        self.backward: Rule | None = None
        self.batching: CustomBatching | None = None
        self._inside: tuple[list[Node], list[Node]] | None = None  # while the derivative is written
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: TensorLike) -> Any:
        name = getattr(self.function, "__name__", "function")
        operands = [as_tensor(a) for a in arguments]
        if self._inside is not None:
            own, made = self._inside
            if operands != own:
                return self.function(*operands)
            return made[0] if len(made) == 1 else tuple(made)
        leaves = [tensor_input(o.dtype, o.static_shape) for o in operands]
        given = self.function(*leaves)
        results = [as_tensor(r) for r in _listed(given)]
        pull = None if self.backward is None else self._pull
        found = _applied(name, operands, leaves, results, pull, self.batching)
        return type(given)(found) if isinstance(given, list | tuple) else found[0]

    def _pull(self, leaves: list[Node], made: list[Node], seeds: list[Node]) -> Sequence[Any]:
        assert self.forward is not None
        assert self.backward is not None
        self._inside = leaves, made
        try:
            outcome = self.forward(*leaves)
        finally:
            self._inside = None
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise GraphError("the first function of `defvjp` must return (results, residuals).")
        cotangent: Any = seeds if isinstance(outcome[0], list | tuple) else seeds[0]
        found: Sequence[Any] = _listed(self.backward(outcome[1], cotangent))
        return found


class custom_vjp(_Custom):
    """A function of tensors with a derivative of the user's, as `jax.custom_vjp`.

        @pt.custom_vjp
        def f(x): ...
        f.defvjp(forward, backward)

    function: Function of tensors.

    Attributes
    ----------
    forward
        Of the inputs: gives (results, residuals).
    backward
        Of the residuals and the cotangents of the results: gives one cotangent per input, None for zero.

    See custom_vmap: A batched form of one's own.
    >>> @pt.custom_vjp
    ... def clipped(x):
    ...     return pt.clip(x, -1.0, 1.0)
    >>> clipped.defvjp(lambda x: (clipped(x), None), lambda kept, slope: (slope,))
    >>> x = pt.dscalar("x")
    >>> pt.grad(clipped(x), x).eval({x: 5.0}).item()
    1.0
    """

    def defvjp(self, fwd: Rule, bwd: Rule) -> None:
        """Set both functions."""
        self.forward, self.backward = fwd, bwd


class custom_vmap(_Custom):
    """A function of tensors with a batched form of the user's, as `jax.custom_batching.custom_vmap`.

    The rule gets the length of the batch axis, which inputs are batched (along their first axis) and the inputs; it
    gives the results and whether each is batched.

    function: Function of tensors.
    See custom_vjp: A derivative of one's own.
    See vmap: Uses the form.
    >>> @pt.custom_vmap
    ... def total(x):
    ...     return x.sum()
    >>> @total.def_vmap
    ... def batched(axis_size, in_batched, x):
    ...     return x.sum(axis=1), True
    >>> pt.vmap(total)(pt.as_tensor([[1.0, 2.0], [3.0, 4.0]])).eval().tolist()
    [3.0, 7.0]
    """

    def def_vmap(self, rule: Rule) -> Rule:
        """Set the rule; usable as a decorator."""
        self.batching = CustomBatching(rule)
        return rule


class OpFromGraph:
    """A function made of a graph, as PyTensor's: called with tensors, it gives the outputs for them.

    inputs, outputs: Variables (shared ones too) and expressions of them; other variables are read from around it.
    inline: Accepted; a function without derivative of its own is always written out.
    pullback: `f(inputs, outputs, cotangents)` -> one cotangent per input, None for zero; or a list with such a function
        per input for its cotangent alone, None for that of the graph. Also as `lop_overrides`.
    lop_overrides: Function that gives the derivative in place of the derived one.
    name: For messages and pictures.
    See function: A compiled function of arrays.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> hypotenuse = pm.OpFromGraph([x, y], [pt.sqrt(x**2 + y**2)])
    >>> hypotenuse(3.0, 4.0).eval().item()
    5.0
    """

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        *,
        inline: bool = False,
        pullback: Rule | Sequence[Rule | None] | None = None,
        lop_overrides: Rule | Sequence[Rule | None] | None = None,
        name: str | None = None,
    ) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.name = name or "OpFromGraph"
        self.pullback = pullback or lop_overrides
        for leaf in self.inputs:
            if not isinstance(leaf, Node) or not isinstance(leaf.op, Input | Shared):
                raise GraphError(f"inputs of `{self.name}` are variables such as `pt.vector('x')`, got {leaf!r}.")
        if isinstance(self.pullback, list | tuple) and len(self.pullback) != len(self.inputs):
            raise GraphError(
                f"`{self.name}` has {len(self.inputs)} inputs and {len(self.pullback)} derivatives; give one for each."
            )

    def __call__(self, *arguments: TensorLike) -> Any:
        """The outputs for other inputs: one, or a list."""
        operands = [as_tensor(a) for a in arguments]
        if len(operands) != len(self.inputs):
            raise GraphError(f"`{self.name}` has {len(self.inputs)} inputs, got {len(operands)}.")
        pull = None if self.pullback is None else self._pull
        operands = matching(operands, self.inputs, "the call", self.name)
        lengths: dict[Atom, Dim] = {}
        for leaf, operand in zip(self.inputs, operands, strict=True):
            pairs = zip(leaf.static_shape, operand.static_shape, strict=True)
            lengths.update((symbol, n) for own, n in pairs if (symbol := as_symbol(own)) is not None)
        nodes = with_lengths([*self.outputs, *self.inputs], lengths, frozenset(self.inputs))
        outputs, inputs = nodes[: len(self.outputs)], nodes[len(self.outputs) :]
        found = _applied(self.name, operands, inputs, outputs, pull, None)
        return found[0] if len(found) == 1 else found

    def _pull(self, leaves: list[Node], made: list[Node], seeds: list[Node]) -> Sequence[Any]:
        assert self.pullback is not None
        if callable(self.pullback):
            found: Sequence[Any] = _listed(self.pullback(leaves, made, seeds))
            return found
        outputs = substitute(self.outputs, dict(zip(self.inputs, leaves, strict=True)))
        usual = calculus.pullback(outputs, leaves, seeds)
        return [
            own if rule is None else rule(leaves, made, seeds) for rule, own in zip(self.pullback, usual, strict=True)
        ]


@means("clone")
def _clone(node: Node, name: str | None) -> Node:
    tensor = node.tensor_type
    return tensor_input(tensor.dtype, tensor.shape, name or node.name)


@means("owner")
def _owner(node: Node) -> Any:
    """Ops of users' own are loaded when somebody asks."""
    from consilience.tensor.python_ops import owner

    return owner(node)
