"""What a function is asked to compute: inputs, outputs, updates and substitutions as users give them, checked.

The result is a `Request`, whose inputs are leaves of the graph and whose expressions depend on nothing else but
shared variables.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from consilience.backends.contexts import random_slot
from consilience.errors import DtypeError, GraphError, ShapeError, UnusedInputError, warn
from consilience.ir import (
    Constant,
    Dim,
    Input,
    Node,
    Parameter,
    Shared,
    TensorType,
    constant,
    numpy_dtype,
    substitute,
    tensor_input,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import known_meaning
from consilience.ir.lengths import sources_of
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import describe, name_of, origins_of
from consilience.names.absent import elsewhere
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.random import fold_in
from consilience.ops.shape import LengthOf
from consilience.record import Record, replace

Outputs: TypeAlias = "Node | Out | Sequence[Node | Out] | Mapping[str, Node | Out] | None"
Pairs: TypeAlias = Mapping[Node, Any] | Iterable[tuple[Node, Any]] | None
Unused: TypeAlias = Literal["raise", "warn", "ignore"] | None


class In(Record, eq=False):
    """An input with settings of its own.

    variable (TensorVariable): Symbolic variable, or any expression: its value is then given at the call.
    name (str): Name for calls by keyword; the variable's if not given.
    value (TensorLike): Default, for calls that do not give one.
    strict (bool): Whether values must be arrays of exactly the variable's dtype.
    allow_downcast (bool): As `allow_input_downcast` of `function`; None: as the function says.
    borrow (bool): Accepted, as is `mutable`: values are only read, and kept by nobody.
    mutable (bool): Taken for PyTensor's sake and without effect.
    See Out: The same for an output.
    See function: Takes it among its inputs.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> f = pm.function([x, pm.In(y, value=10.0)], x + y)
    >>> f(1.0).item(), f(1.0, 2.0).item()
    (11.0, 3.0)
    """

    variable: Node
    name: str | None = None
    value: Any = None
    strict: bool = False
    allow_downcast: bool | None = None
    borrow: bool | None = None
    mutable: bool = False

    def __post_init__(self) -> None:
        if not isinstance(_plain(self.variable), Node):
            raise GraphError(f"an input must be a symbolic variable such as `pt.vector('x')`, got {self.variable!r}.")
        for flag in ("strict", "allow_downcast", "borrow", "mutable"):
            if not isinstance(given := getattr(self, flag), bool | np.bool | None):
                raise TypeError(f"`In`: `{flag}` must be True or False, got {given!r}.")
        if not isinstance(self.value, Node | None) and np.asarray(self.value).dtype.kind not in "biufc":
            raise TypeError(f"`In`: `value` must be numbers, got {self.value!r:.200}.")


class Out(Record, eq=False):
    """An output; `borrow` has no meaning, since every result is a fresh array.

    variable (TensorVariable): The expression.
    borrow (bool): Accepted, without effect: every result is a fresh array.
    See In: The same for an input.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> pm.function([x], pm.Out(2 * x, borrow=True))(3.0).item()
    6.0
    """

    variable: Node
    borrow: bool = False


class Request(Record, eq=False):
    """Inputs and expressions that depend on them and on shared variables only.

    `name`: of the function, for messages.
    `inputs`: their variables are leaves.
    `outputs`: expressions, in order.
    `updates`: shared variables with the expressions of their next values.
    `form`: how results are returned: "one", "list", "dict" or "nothing".
    `keys`: for a dict.
    """

    name: str
    inputs: tuple[In, ...]
    outputs: tuple[Node, ...]
    updates: tuple[tuple[Node, Node], ...] = ()
    form: str = "list"
    keys: tuple[str, ...] = ()

    @property
    def expressions(self) -> list[Node]:
        """All that is computed: the outputs, then the next values."""
        return [*self.outputs, *(value for _, value in self.updates)]


def requested(
    inputs: Sequence[Node | In],
    outputs: Outputs,
    *,
    name: str,
    updates: Pairs = None,
    givens: Pairs = None,
    strict: bool = True,
    on_unused_input: Unused = None,
    random_key: Node | None = None,
) -> Request:
    """The request that a user's arguments mean; see `function`."""
    if on_unused_input not in (None, "raise", "warn", "ignore"):
        raise ValueError(f"`on_unused_input` must be 'raise', 'warn' or 'ignore', got {on_unused_input!r}.")
    if isinstance(inputs, Node | In | str) or not isinstance(inputs, Iterable):
        raise TypeError(f"`inputs` must be a list of variables, got {inputs!r}.")
    given = [item if isinstance(item, In) else In(item) for item in inputs]
    given = [replace(item, variable=_plain(item.variable)) for item in given]
    if told := elsewhere(outputs):
        raise TypeError(told)
    form, keys, written = _form(outputs)
    _check_inputs(name, given)
    replacements = _replacements(givens, [item.variable for item in given], strict)
    changed = _updates(updates)
    for item in given:
        if not isinstance(item.variable.op, Input):
            own = item.variable
            replacements[own] = tensor_input(own.dtype, own.static_shape, item.name or name_of(own))
    expressions = [*written, *(value for _, value in changed)]
    order = topological(expressions)
    origins = {origin for node in order for origin in origins_of(node)}
    if replacements:
        expressions = substitute(expressions, replacements)
    draws = known_meaning("realised_with")  # not known as long as there is no random variable
    if draws is not None:
        fresh = known_meaning("fresh_keys")
        assert fresh is not None
        given_keys = [replacements.get(item.variable, item.variable) for item in given]
        if any(key not in given_keys for key in fresh(expressions)):
            random_key = random_slot(secrets.randbits(62)) if random_key is None else random_key
            changed.append((random_key, fold_in(random_key, -1)))
            expressions = [*draws(expressions, random_key, given_keys), changed[-1][1]]
        else:
            expressions = draws(expressions)
    order = order_of(expressions)
    leaves = [replacements.get(item.variable, item.variable) for item in given]
    _check_closed(name, order, leaves)
    if on_unused_input != "ignore":
        unread = set(leaves).difference(order)
        lengths = _lengths(order, expressions) if unread else set()
        for item, leaf in zip(given, leaves, strict=True):
            symbols = {atom for length in leaf.static_shape for atom in dims.atoms(length)}
            if leaf in unread and item.variable not in origins and symbols.isdisjoint(lengths):
                _refuse_unused(name, item.variable, warning=on_unused_input == "warn")
    settled = tuple(
        In(leaf, item.name or name_of(item.variable), item.value, item.strict, item.allow_downcast)
        for leaf, item in zip(leaves, given, strict=True)
    )
    count = len(written)
    slots = [slot for slot, _ in changed]
    return Request(
        name, settled, tuple(expressions[:count]), tuple(zip(slots, expressions[count:], strict=True)), form, keys
    )


def order_of(expressions: Sequence[Node]) -> list[Node]:
    """All nodes that the expressions and their lengths depend on, in topological order."""
    return topological([*expressions, *sources_of(expressions)])


def _plain(thing: Any) -> Any:
    """The tensor inside of one with named dims, of which this layer knows no more; anything else as it is."""
    inside = None if isinstance(thing, Node | In | Out) else getattr(thing, "values", None)
    return inside if isinstance(inside, Node) else thing


def _lengths_tensor(thing: Any) -> Any:
    """A length, or the tuple of lengths that a shape is, as a tensor of integers; anything else as it is."""
    if isinstance(thing, int) and not isinstance(thing, bool):
        return constant(thing, "int64")
    if not isinstance(thing, tuple) or not all(
        isinstance(n, int) or (isinstance(n, Node) and n.type == _LENGTH) for n in thing
    ):
        return thing
    return as_tensor(thing) if thing else constant(np.zeros(0, "int64"))


_LENGTH: Final = TensorType("int64")


def _form(outputs: Outputs) -> tuple[str, tuple[str, ...], list[Node]]:
    """How results are returned, their keys, and the expressions."""
    keys: tuple[str, ...] = ()
    listed: list[Any]
    outputs = _plain(outputs)
    if isinstance(outputs, int):
        outputs = _lengths_tensor(outputs)
    if outputs is None:
        return "nothing", keys, []
    if isinstance(outputs, Node | Out):
        form, listed = "one", [outputs]
    elif isinstance(outputs, Mapping):
        form, keys, listed = "dict", tuple(outputs), list(outputs.values())
    elif not isinstance(outputs, Iterable):
        raise GraphError(f"an output must be a tensor expression, got {outputs!r}.")
    else:
        form, listed = "list", [*outputs]
    nodes = [_lengths_tensor(_plain(item.variable if isinstance(item, Out) else item)) for item in listed]
    for output in nodes:
        if not isinstance(output, Node) or not isinstance(output.type, TensorType):
            raise GraphError(f"an output must be a tensor expression, got {output!r}.")
    return form, keys, nodes


def _check_inputs(name: str, inputs: Sequence[In]) -> None:
    seen: set[Node] = set()
    for item in inputs:
        node = item.variable
        if isinstance(node.op, Shared):
            raise GraphError(
                f"{describe(node)} is shared: its value lives in a context and is no input. To give another value at "
                "the call, put a variable in its place: `givens={shared: variable}`."
            )
        if isinstance(node.op, Constant | Parameter) or not isinstance(node.type, TensorType):
            raise GraphError(f"an input must be a symbolic variable such as `pt.vector('x')`, got {describe(node)}.")
        if node in seen:
            raise GraphError(f"{describe(node)} is listed twice among the inputs of `{name}`.")
        seen.add(node)


def _pairs(what: str, given: Pairs) -> list[tuple[Node, Any]]:
    """A mapping or a list of pairs as a list of pairs, every node at most once."""
    if given is not None and not isinstance(given, Iterable):
        raise TypeError(f"`{what}` must be a dict or a list of pairs (variable, expression), got {given!r}.")
    listed = list(given.items()) if isinstance(given, Mapping) else list(given or ())
    for pair in listed:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], Node):
            raise TypeError(f"`{what}` must be a dict or a list of pairs (variable, expression), got {pair!r} in it.")
    twice = [node for i, (node, _) in enumerate(listed) if any(node is other for other, _ in listed[:i])]
    if twice:
        raise GraphError(f"`{what}` gives {describe(twice[0])} twice.")
    return [(node, value) for node, value in listed]


def _replacements(givens: Pairs, inputs: Sequence[Node], strict: bool) -> dict[Node, Node]:
    """What stands in place of what, all at once: a replacement is not searched for further replacements."""
    found: dict[Node, Node] = {}
    for old, value in _pairs("givens", givens):
        if old in inputs:
            raise GraphError(
                f"{describe(old)} is an input and replaced by `givens`, so its value would count nowhere; leave it out "
                "of the one or the other."
            )
        found[old] = _typed("givens", old, value, strict)
    return found


def _updates(updates: Pairs) -> list[tuple[Node, Node]]:
    found = []
    for slot, value in _pairs("updates", updates):
        if not isinstance(slot.op, Shared):
            raise GraphError(f"`updates` changes shared variables; {describe(slot)} is none: make it with `pt.shared`.")
        found.append((slot, _typed("updates", slot, value, True)))
    return found


def _typed(what: str, old: Node, value: Any, strict: bool) -> Node:
    """A value in the type of what it replaces. Numbers and arrays are converted, expressions only if not `strict`."""
    node = value if isinstance(value, Node) else _constant(what, old, value)
    if node.dtype != old.dtype:
        if strict or "key" in (node.dtype, old.dtype):
            raise DtypeError(
                f"`{what}` must give {describe(old)} an expression of dtype {old.dtype}, got {describe(node)}; "
                f'convert it: `.astype("{old.dtype}")`.'
            )
        node = cast(node, old.dtype)
    fits = node.ndim == old.ndim and all(
        not (isinstance(a, int) and isinstance(b, int)) or a == b
        for a, b in zip(node.static_shape, old.static_shape, strict=True)
    )
    if not fits:
        raise ShapeError(f"`{what}` must give {describe(old)} an expression of its shape, got {describe(node)}.")
    return node


def _constant(what: str, old: Node, value: Any) -> Node:
    array = np.asarray(value)
    if not np.can_cast(array.dtype, numpy_dtype(old.dtype), "same_kind"):
        raise DtypeError(f"`{what}` gives an array of {array.dtype} for {describe(old)}; convert it.")
    return constant(array, old.dtype)


def _check_closed(name: str, order: Sequence[Node], inputs: Sequence[Node]) -> None:
    known = set(inputs)
    missing = next((node for node in order if isinstance(node.op, Input) and node not in known), None)
    if missing is None:
        return
    raise GraphError(f"`{name}` depends on {describe(missing)}, which is not among its inputs; add it to `inputs`.")


def _refuse_unused(name: str, node: Node, *, warning: bool) -> None:
    message = (
        f"the input {describe(node)} of `{name}` is not used by the outputs; leave it out, or pass "
        "`on_unused_input='ignore'`."
    )
    if not warning:
        raise UnusedInputError(message)
    warn(message)


def _lengths(order: Sequence[Node], expressions: Sequence[Node]) -> set[dims.Atom]:
    """Symbols of all lengths that decide something."""
    found: list[Dim] = [node.op.length for node in order if isinstance(node.op, LengthOf)]
    for node in order:
        for of in (node.type,) if isinstance(node.type, TensorType) else node.type.items:
            found += of.shape
    for shape_constraint in collect(expressions):
        found += (shape_constraint.left, shape_constraint.right)
    return {atom for length in found for atom in dims.atoms(length)}
