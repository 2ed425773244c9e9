"""Operations that users write in Python, under PyTensor's names: `Op`, `Apply`.

An instance of a user's `Op` and tensors in, tensors out: `perform` computes them, with the interpreter's lock, and
derivatives are the expressions that `pullback` writes. What the backends make of such a call is in `ops.python_call`.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from consilience.errors import DtypeError, GraphError, MissingRuleError, NullTypeGradError, ShapeError
from consilience.ir import Constant, Node, TensorType, TupleType, is_leaf, numpy_dtype, tensor_input
from consilience.ir.dimension import Dim, Dimension
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe, set_name
from consilience.ir.types import FLOATS
from consilience.names.absent import elsewhere
from consilience.ops.assertion import require
from consilience.ops.control import Item, compatible_shapes
from consilience.ops.elementwise import as_tensor, cast
from consilience.ops.notation import shape_of
from consilience.ops.python_call import PythonCall, PythonFunction, call, identity_of, settled
from consilience.ops.shape import as_length, broadcast_to
from consilience.record import Record

# Dtype, and lengths as far as they are integers.
Form = tuple[str, tuple[int | None, ...]]


class Apply:
    """An op with its inputs and outputs: what `Op.make_node` returns, and the `owner` of a tensor.

    op: An instance of `Op`.
    inputs: Tensors.
    outputs: Variables of the types of the results, such as `x.type()` or `pt.dvector()`: of these, dtype, number of
        axes and lengths that are integers are read. Other lengths are those that `op.infer_shape` gives, and without it
        those of the arrays which `perform` gives. The attribute `outputs` has the results themselves.
    Raises GraphError: For something else than tensors.
    See Op: Its `make_node` returns one.
    >>> import consilience.tensor as pt
    >>> from consilience.graph import Apply
    >>> x = pt.dscalar("x")
    >>> y = pt.exp(x)
    >>> isinstance(y.owner, Apply), y.owner.inputs[0] is x
    (True, True)
    """

    __slots__ = ("inputs", "op", "outputs")

    op: Any
    inputs: list[Node]
    outputs: list[Node]

    def __init__(self, op: Op, inputs: Sequence[Node], outputs: Sequence[Node]) -> None:
        if not isinstance(op, Op):
            raise GraphError(elsewhere(op) or f"`Apply` takes an instance of a subclass of `Op`, got {op!r}.")
        for what, listed in (("inputs", inputs), ("outputs", outputs)):
            wrong = [thing for thing in listed if not isinstance(thing, Node)]
            if wrong:
                raise GraphError(
                    elsewhere(wrong[0])
                    or f"the {what} of `{title_of(op)}` must be tensors of consilience, got {type(wrong[0]).__name__}; "
                    "`pt.as_tensor_variable(x)` makes one of an array, and `pt.dvector()` or `x.type()` an output."
                )
        self.op, self.inputs, self.outputs = op, list(inputs), list(outputs)
        forms = [_form(output) for output in outputs]
        function = op._python_function(tuple(map(_form, inputs)), tuple(forms))
        self.outputs = call(function, list(zip([f[0] for f in forms], _lengths(self), strict=True)), *inputs)

    @classmethod
    def _seen(cls, op: Any, inputs: Sequence[Node], outputs: Sequence[Node]) -> Apply:
        """A view of what is there."""
        seen = object.__new__(cls)
        seen.op, seen.inputs, seen.outputs = op, list(inputs), list(outputs)
        return seen

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def nout(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    @property
    def out(self) -> Node:
        """The output that `default_output` of the op chooses, or the only one."""
        return self.default_output()

    def default_output(self) -> Node:
        """The output that `default_output` of the op chooses, or the only one; GraphError where there are several."""
        chosen = getattr(self.op, "default_output", None)
        if chosen is None and len(self.outputs) != 1:
            raise GraphError(f"`{title_of(self.op)}` has {len(self.outputs)} outputs and no `default_output`.")
        return self.outputs[chosen or 0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Apply) and (self.op, self.inputs, self.outputs) == (
            other.op,
            other.inputs,
            other.outputs,
        )

    def __hash__(self) -> int:
        return hash(tuple(self.outputs))

    def __repr__(self) -> str:
        return f"{title_of(self.op)}({', '.join(i.name or repr(i.op) for i in self.inputs)})"


def owner(node: Node) -> Apply | None:
    """The op behind a tensor with its inputs and outputs; None for inputs, shared variables and constants."""
    if is_leaf(node) or isinstance(node.op, Constant):
        return None
    made = node.inputs[0] if isinstance(node.op, Item) else node
    several = isinstance(made.type, TupleType)
    outputs = [Node(Item(k), made) for k in range(len(made.type.items))] if isinstance(made.type, TupleType) else [node]
    op: Any = made.op
    if several and isinstance(op, PythonCall) and isinstance(op.function.function, Performed):
        op = op.function.function.op
    return Apply._seen(op, made.inputs, outputs)


class PythonOp:
    """An operation whose values Python computes; subclass it as PyTensor's `Op`.

        class LogLike(Op):
            itypes, otypes = [pt.dvector], [pt.dscalar]

            def perform(self, node, inputs, outputs):
                outputs[0][0] = np.asarray(my_density(inputs[0]))

            def pullback(self, inputs, outputs, cotangents):
                return [cotangents[0] * gradient_op(inputs[0])]

        pm.Potential("y", LogLike()(theta))

    Attributes
    ----------
    make_node
        Of the arguments of a call: gives an `Apply`. Needed unless `itypes` and `otypes` are set.
    itypes : sequence or None
        Types of the inputs: `pt.dvector`, variables or `TensorType`s. Integers become floats where asked for.
    otypes : sequence or None
        Types of the outputs, likewise.
    perform
        Of an `Apply`, read-only arrays of the inputs, and a list of one place for each output, which it fills. It must
        be pure: equal calls may be made once, and calls that nobody needs not at all.
    pullback
        Of inputs, outputs and a cotangent for each output, all tensors: gives a tensor for each input, None where it
        has no influence. `L_op` and, without outputs, `grad` are taken as well.
    infer_shape
        Of an `Apply` and of the shapes of the inputs: gives the shapes of the outputs.
    __props__
        Names of the attributes that decide what is computed: instances where they are equal are equal.
    thread_safe
        Whether `perform` may run in several threads at once, as chains do; otherwise calls of all such ops wait for
        each other.

    See as_op: A function of arrays as an op.
    Notes: Values are checked in every call: ShapeError and DtypeError where `perform` gives other arrays than were
        declared.
    >>> import numpy as np
    >>> import consilience.tensor as pt
    >>> from consilience.graph import Apply
    >>> class Largest(pt.Op):
    ...     itypes = [pt.dvector]
    ...     otypes = [pt.dscalar]
    ...
    ...     def perform(self, node, inputs, outputs):
    ...         outputs[0][0] = np.max(inputs[0])
    >>> Largest()(pt.as_tensor([1.0, 3.0])).eval().item()
    3.0
    """

    itypes: Sequence[Any] | None = None
    otypes: Sequence[Any] | None = None
    default_output: int | None = None
    view_map: ClassVar[dict[int, list[int]]] = {}
    destroy_map: ClassVar[dict[int, list[int]]] = {}
    thread_safe = False

    def make_node(self, *inputs: Any) -> Apply:
        """The call of this op, by `itypes` and `otypes`.

        Raises
        ------
        GraphError
            For another number or rank of inputs.
        DtypeError
            For a dtype that would lose digits.
        """
        if self.itypes is None or self.otypes is None:
            raise GraphError(f"`{title_of(self)}` needs `make_node`, or `itypes` and `otypes`.")
        if len(inputs) != len(self.itypes):
            raise GraphError(f"`{title_of(self)}` was declared with {len(self.itypes)} inputs, got {len(inputs)}.")
        pairs = zip(inputs, self.itypes, strict=True)
        fitted = [_fitted(as_tensor(x), type_of(of), title_of(self), i) for i, (x, of) in enumerate(pairs)]
        return Apply(self, fitted, [type_of(of)() for of in self.otypes])

    def __call__(self, *inputs: Any, name: str | None = None, return_list: bool = False, **keywords: Any) -> Any:
        """The results for some inputs: one tensor, or a list where there are several.

        name: Of the result; of several, with their number behind it.
        return_list: Whether a single result comes in a list too.
        """
        made = self.make_node(*inputs, **keywords)
        if not isinstance(made, Apply):
            raise GraphError(f"`make_node` of `{title_of(self)}` must return an `Apply`, got {type(made).__name__}.")
        outputs = made.outputs
        chosen = outputs if self.default_output is None else [outputs[self.default_output]]
        if name is not None:
            for k, output in enumerate(chosen):
                set_name(output, name if len(chosen) == 1 else f"{name}_{k}")
        return chosen[0] if len(chosen) == 1 and not return_list else list(chosen)

    def perform(self, node: Apply, inputs: list[npt.NDArray[Any]], output_storage: list[list[Any]]) -> None:
        """Compute the outputs; subclasses define it."""
        raise GraphError(
            f"`{title_of(self)}` has no `perform(self, node, inputs, outputs)`, which computes its values."
        )

    def pullback(self, inputs: list[Node], outputs: list[Node], cotangents: list[Node]) -> Sequence[Any]:
        """Cotangents of the inputs, by `L_op` or `grad` where a subclass defines those."""
        return self.L_op(inputs, outputs, cotangents)

    def L_op(self, inputs: list[Node], outputs: list[Node], output_grads: list[Node]) -> Sequence[Any]:
        """As `pullback`, under an older name of PyTensor."""
        return self.grad(inputs, output_grads)

    def grad(self, inputs: list[Node], output_grads: list[Node]) -> Sequence[Any]:
        """As `pullback`, without the outputs; MissingRuleError where a subclass defines none of them."""
        raise MissingRuleError(
            f"`{title_of(self)}` has no derivative: define `pullback(self, inputs, outputs, cotangents)`, or sample "
            "its parameters by a step method without gradients (`pm.Slice`, `pm.DEMetropolisZ`)."
        )

    def _python_function(self, inputs: tuple[Form, ...], outputs: tuple[Form, ...]) -> PythonFunction:
        """What computes the outputs of given forms."""
        if type(self).perform is Op.perform:
            self.perform(Apply._seen(self, (), ()), [], [])
        performed = Performed(self, inputs, outputs)
        return PythonFunction(performed, title_of(self), pullback=Pulled(self), alone=not self.thread_safe)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        names = getattr(type(self), "__props__", None)
        return names is not None and type(self) is type(other) and self._properties() == other._properties()

    def __hash__(self) -> int:
        return object.__hash__(self) if getattr(type(self), "__props__", None) is None else hash(self._properties())

    def _computing(self) -> Callable[..., Any]:
        """The function that computes values."""
        return type(self).perform

    def _properties(self) -> tuple[Any, ...]:
        """The class, and the attributes in `__props__`; GraphError for one without a hash."""
        values = tuple(getattr(self, name) for name in type(self).__props__)  # type: ignore[attr-defined]  # asked before
        for name, value in zip(type(self).__props__, values, strict=True):  # type: ignore[attr-defined]  # as above
            try:
                hash(value)
            except TypeError:
                raise GraphError(
                    f"`__props__` of `{title_of(self)}` lists `{name}`, and {type(value).__name__} has no hash: leave "
                    "it out of `__props__`, or give a tuple."
                ) from None
        return (type(self), *values)

    def __repr__(self) -> str:
        names = getattr(type(self), "__props__", ())
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{title_of(self)}{{{shown}}}" if shown else title_of(self)


Op = PythonOp  # as users know it


class Performed(Record):
    """The function of arrays that an op's `perform` is.

    `inputs`, `outputs`: their forms, as the op declared them.
    """

    op: Any
    inputs: tuple[Form, ...]
    outputs: tuple[Form, ...]

    @property
    def identity(self) -> str:
        """The same in every process: the class with its code, and the properties that decide what is computed."""
        code = identity_of(self.op._computing())
        return f"{type(self.op).__module__}.{type(self.op).__qualname__} {code} {self.op!r}"

    @functools.cached_property
    def node(self) -> Apply:
        """What `perform` sees of the graph: variables of the declared types."""
        inputs, outputs = ([tensor_input(*form) for form in forms] for forms in (self.inputs, self.outputs))
        return Apply._seen(self.op, inputs, outputs)

    def __call__(self, *arrays: npt.NDArray[Any]) -> list[Any]:
        given = list(arrays)
        for places in getattr(self.op, "destroy_map", {}).values():
            for place in places:
                given[place] = given[place].copy()
        storage: list[list[Any]] = [[None] for _ in self.outputs]
        self.op.perform(self.node, given, storage)
        found = [cell[0] for cell in storage]
        for k, value in enumerate(found):
            if value is None:
                raise GraphError(f"`perform` of `{title_of(self.op)}` left output {k} empty; set `outputs[{k}][0]`.")
        return found


class Pulled(Record):
    """The derivative of an op, as its `pullback` writes it."""

    op: Any

    def __call__(
        self, inputs: Sequence[Node], outputs: Sequence[Node], cotangents: Sequence[Node], wanted: Sequence[bool]
    ) -> list[Node | None]:
        title = title_of(self.op)
        try:
            found = self.op.pullback(list(inputs), list(outputs), list(cotangents))
        except MissingRuleError:
            raise
        except NotImplementedError as error:
            raise MissingRuleError(f"`{title}` has no derivative here: {error}") from error
        if not isinstance(found, list | tuple) or len(found) != len(inputs):
            got = len(found) if isinstance(found, list | tuple) else type(found).__name__
            raise GraphError(f"the derivative of `{title}` must give {len(inputs)} cotangents in a list, got {got}.")
        triples = zip(found, inputs, wanted, strict=True)
        given = [self._cotangent(i, c, x) if asked else None for i, (c, x, asked) in enumerate(triples)]
        pairs = [(c, x) for c, x in zip(given, inputs, strict=True) if c is not None]
        lengths = [(a, b) for c, x in pairs for a, b in zip(c.static_shape, x.static_shape, strict=True)]
        made = iter(settled([c for c, _ in pairs], lengths))
        return [None if c is None else _of_shape(next(made), x) for c, x in zip(given, inputs, strict=True)]

    def _cotangent(self, position: int, found: Any, x: Node) -> Node | None:
        """A cotangent in the dtype of its input, whose shape may be that of the input."""
        what = f"the derivative of `{title_of(self.op)}` by input {position}"
        if isinstance(found, Undefined):
            raise NullTypeGradError(f"{what} {found.reason}.")
        if found is None or x.dtype not in FLOATS:
            return None
        cotangent = as_tensor(found)
        if not np.can_cast(numpy_dtype(cotangent.dtype), numpy_dtype(x.dtype), "same_kind"):
            raise DtypeError(f"{what} must be {x.dtype}, got {describe(cotangent)}.")
        if not compatible_shapes(cotangent.static_shape, x.static_shape):
            raise ShapeError(f"{what} must have the shape {x.static_shape} of the input, got {describe(cotangent)}.")
        return cast(cotangent, x.dtype)


def _of_shape(cotangent: Node, x: Node) -> Node:
    """A cotangent with the lengths of its input; those that are not known to be equal are checked when it runs."""
    pairs = zip(cotangent.static_shape, x.static_shape, strict=True)
    owed = tuple(ShapeConstraint(a, b, "a derivative has the shape of its input") for a, b in pairs if a != b)
    (checked,) = require([cotangent], owed)
    return broadcast_to(checked, x.static_shape)


class Undefined(Record):
    """A derivative that is not there, and why."""

    reason: str


def grad_not_implemented(op: Any, x_pos: int, x: Any, comment: str = "") -> Undefined:
    """For `pullback`: the derivative by an input is not written; NullTypeGradError where one is asked for.

    op: The op at hand.
    x_pos: Place of the input.
    x : ...
    comment: Reason, for the message.
    Returns: What `pullback` returns in place of a derivative.
    See grad_undefined: Where none exists.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import grad_not_implemented
    >>> type(grad_not_implemented(None, 0, pt.dscalar("x"), "nobody has needed it")).__name__
    'Undefined'
    """
    return _undefined("is not implemented", x_pos, x, comment)


def grad_undefined(op: Any, x_pos: int, x: Any, comment: str = "") -> Undefined:
    """For `pullback`: the derivative by an input does not exist; NullTypeGradError where one is asked for.

    op: The op at hand.
    x_pos: Place of the input.
    x : ...
    comment: Reason, for the message.
    Returns: What `pullback` returns in place of a derivative.
    See grad_not_implemented: Where it is not written.
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import grad_undefined
    >>> type(grad_undefined(None, 0, pt.dscalar("x"), "a step")).__name__
    'Undefined'
    """
    return _undefined("does not exist", x_pos, x, comment)


def _undefined(what: str, x_pos: int, x: Any, comment: str) -> Undefined:
    operator.index(x_pos)
    as_tensor(x)
    return Undefined(f"{what}{': ' * bool(comment)}{comment.removesuffix('.')}")


class DisconnectedType:
    """The type of what has no influence: `DisconnectedType()()`, which is None, stands for its derivative.

    See grad: `return_disconnected` says what stands for such a derivative.
    >>> from consilience.gradient import DisconnectedType
    >>> DisconnectedType()() is None
    True
    """

    def __call__(self) -> None:
        """The derivative."""
        return


disconnected_type = DisconnectedType()
disconnected_type.__doc__ = """What stands for the derivative of something that has no influence: called, it gives None.

Returns
-------
None
    The derivative, in the list that `pullback` returns.

See Also
--------
grad_undefined : A derivative that does not exist.

Examples
--------
>>> from consilience.gradient import disconnected_type
>>> disconnected_type() is None
True
"""


def type_of(given: Any) -> TensorType:
    """The type that a variable, a maker of variables or a type means; GraphError for what is none of these."""
    if isinstance(given, TensorType):
        return given
    if told := elsewhere(given):
        raise GraphError(told)
    node = given() if callable(given) and not isinstance(given, Node) else given
    if not isinstance(node, Node):
        raise GraphError(f"a type such as `pt.dvector` was needed, got {given!r}.")
    return node.tensor_type


def title_of(op: Any) -> str:
    """The name of an op in messages."""
    return getattr(op, "__name__", type(op).__name__)


def _form(node: Node) -> Form:
    return node.dtype, tuple(n if isinstance(n, int) else None for n in node.static_shape)


def _fitted(operand: Node, of: TensorType, name: str, position: int) -> Node:
    """An input in the declared type."""
    if operand.ndim != len(of.shape):
        raise GraphError(
            f"input {position} of `{name}` was declared with {len(of.shape)} axes, got {describe(operand)}."
        )
    pairs = zip(operand.static_shape, of.shape, strict=True)
    if any(isinstance(n, int) and isinstance(want, int) and n != want for n, want in pairs):
        raise ShapeError(f"input {position} of `{name}` was declared as {of!r}, got {describe(operand)}.")
    if operand.dtype == of.dtype:
        return operand
    if not np.can_cast(numpy_dtype(operand.dtype), numpy_dtype(of.dtype), "safe"):
        raise DtypeError(
            f"input {position} of `{name}` was declared as {of.dtype}, got {describe(operand)}; write "
            f"`x.astype({of.dtype!r})` if it may be rounded."
        )
    return cast(operand, of.dtype)


def _lengths(made: Apply) -> list[tuple[Dim | None, ...]]:
    """Lengths of the outputs of a call as far as they are known before it."""
    declared = [_form(output)[1] for output in made.outputs]
    infer = getattr(made.op, "infer_shape", None)
    if infer is None or not any(None in shape for shape in declared):
        return list(declared)
    shapes = [shape_of(i) for i in made.inputs]
    old = len(inspect.signature(infer).parameters) == 3  # with PyTensor's former first parameter
    try:
        told = infer(None, made, shapes) if old else infer(made, shapes)
    except NotImplementedError:
        return list(declared)
    title = f"`infer_shape` of `{title_of(made.op)}`"
    if not isinstance(told, list | tuple) or len(told) != len(declared):
        raise ShapeError(f"{title} must give a list of {len(declared)} shapes, one per output, got {told!r}.")
    found: list[tuple[Dim | None, ...]] = []
    for k, (shape, own) in enumerate(zip(told, declared, strict=True)):
        if shape is None:
            found.append(own)
            continue
        lengths = tuple(n if isinstance(n, Dimension) else as_length(n) for n in shape)
        if len(lengths) != len(own) or any(
            n is not None and isinstance(length, int) and length != n for n, length in zip(own, lengths, strict=True)
        ):
            raise ShapeError(f"{title} gives {lengths} for output {k}, which was declared with the lengths {own}.")
        found.append(tuple(length if n is None else n for n, length in zip(own, lengths, strict=True)))
    return found
