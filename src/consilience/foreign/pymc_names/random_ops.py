"""Distributions that programs write as PyMC's: a `RandomVariable` op that draws, and a class that has its density.

In: a class with `rv_op`, an op whose `rng_fn` draws by NumPy. Out: a variable of this library whose draws are those of
`rng_fn`, with a generator made of this library's keys. Outside: graphs that PyTensor's rewrites would make of such ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from consilience.distributions.constraints import (
    Constraint,
    circle,
    interval,
    open_unit_interval,
    positive,
    positive_vector,
)
from consilience.distributions.custom import CustomDist, Formulas, core_axes, event_lengths
from consilience.distributions.distribution import Continuous, Discrete, Distribution, static
from consilience.distributions.generator import GraphGenerator, made_with
from consilience.distributions.random_variable import RandomVariable as RandomVariableRecord
from consilience.distributions.random_variable import distribution_of
from consilience.distributions.simulator import as_vector, call_with_seed, generator_of
from consilience.distributions.transforms import registry
from consilience.distributions.transforms.registry import to_unconstrained
from consilience.distributions.transforms.transform import Transform, of_variable
from consilience.errors import MissingRuleError
from consilience.ir import Node, Shape, TensorType, constant
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import set_name
from consilience.ops.elementwise import as_tensor
from consilience.ops.python_call import identity_of
from consilience.ops.shape import as_shape
from consilience.record import Record
from consilience.transforms.vectorize.signature import parse_signature

Array = npt.NDArray[Any]

__all__ = ["BoundedContinuous", "CircularContinuous", "PositiveContinuous", "RandomVariable", "UnitContinuous"]


class _OpType(type):
    """Ops that draw: variables of this library were drawn by one, those of a program's own op by that op."""

    def __instancecheck__(cls, thing: object) -> bool:
        if isinstance(thing, RandomVariableRecord):
            if not issubclass(thing.distribution, DrawnByOp):
                return cls is RandomOp
            settings: Any = thing.settings
            return type.__instancecheck__(cls, settings[0].random.op)
        return type.__instancecheck__(cls, thing)


class RandomOp(metaclass=_OpType):
    """An op that draws by NumPy, under PyTensor's name `RandomVariable`; programs derive their own.

    `name`, `signature`, `dtype`, `ndim_supp`, `ndims_params`: name for messages, core axes of parameters and draw such
    as "(),(n)->(n)", or their ranks, and element type; those that are not given are attributes of the class.
    `**others`: accepted: whether generators are changed in place is none of a graph's matters here. `rng_fn`: of a
    `numpy.random.Generator`, arrays of the parameters, and the batch shape or None: gives the draws.
    """

    name: str | None = None
    signature: str | None = None
    ndim_supp: int | None = None
    ndims_params: Sequence[int] | None = None
    dtype: str | None = None
    _print_name: ClassVar[tuple[str, str]] = ("RandomVariable", "\\operatorname{RandomVariable}")
    __props__ = ("name", "signature", "dtype", "inplace")
    inplace = False

    def __init__(
        self,
        name: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: Any = None,
        inplace: bool | None = None,
        signature: str | None = None,
        **others: Any,
    ) -> None:
        del inplace, others
        given = {"name": name, "ndim_supp": ndim_supp, "ndims_params": ndims_params, "signature": signature}
        given["dtype"] = None if dtype is None else np.dtype(dtype).name if dtype != "floatX" else dtype
        vars(self).update({what: value for what, value in given.items() if value is not None})
        if self.signature is None and (self.ndim_supp is None or self.ndims_params is None):
            raise ValueError(
                f"{self.title} needs `signature`, the core axes of its parameters and of a draw such as '(),()->()'."
            )
        if self.signature is not None:
            arguments, results = parse_signature(self.signature)
            self.ndims_params, self.ndim_supp = [len(axes) for axes in arguments], len(results[0])

    @property
    def title(self) -> str:
        """Name for messages."""
        shown = self._print_name[0]
        return type(self).__name__ if shown == RandomOp._print_name[0] else shown

    def rng_fn(self, rng: np.random.Generator, *parameters: Any) -> Any:
        """Draws, by the generator's method of the op's name unless a program defines others."""
        return getattr(rng, str(self.name))(*parameters)

    def __call__(
        self,
        *parameters: Any,
        size: Any = None,
        name: str | None = None,
        rng: Node | None = None,
        dtype: Any = None,
        return_next_rng: bool = False,
    ) -> Any:
        """A variable that is drawn by this op, without a density."""
        node = made_with(rng, lambda: variable(self, None, parameters, None, size, dtype), (), {})
        if name is not None:
            set_name(node, name)
        return (rng, node) if return_next_rng else node

    def event(self, values: Sequence[Node]) -> Shape:
        """Lengths of the axes of a draw, by the signature or by what a program says."""
        own = getattr(self, "_supp_shape_from_params", None)
        if own is None or self.ndim_supp == 0:
            ranks = None if self.signature else list(self.ndims_params or ())
            axes = core_axes(self.title, values, self.signature, None if self.signature else self.ndim_supp, ranks)
            return event_lengths(self.title, values, *axes, None)
        return as_shape(tuple(own(values, param_shapes=None)))


RandomVariable = RandomOp  # as programs know it


class PositiveContinuous(Continuous):
    """Base of a program's own distributions of positive numbers: a free variable moves along its logarithm."""


class UnitContinuous(Continuous):
    """Base of a program's own distributions on (0, 1): a free variable moves along its log odds."""


class CircularContinuous(Continuous):
    """Base of a program's own distributions of angles from -pi to pi."""


class BoundedContinuous(Continuous):
    """Base of a program's own distributions between bounds that are among the op's inputs.

    `bound_args_indices`: places of the lower and of the upper bound among the op's inputs, of which generator and size
    are the first two.
    """

    bound_args_indices: ClassVar[tuple[int | None, int | None] | None] = None


class DrawsOfOp(Record, eq=False):
    """Draws of an op as a function of parameters, of a key, and of a shape."""

    op: RandomOp
    event_rank: int
    dtype: str

    def __call__(self, *parameters: Node, rng: GraphGenerator, size: Sequence[Any]) -> Node:
        of = TensorType(self.dtype, as_shape(size))
        return call_with_seed(ArraysOfOp(self), self.op.title, of, rng.key, as_vector(of.shape), *parameters)


class ArraysOfOp(Record, eq=False):
    """The same as a function of arrays."""

    drawing: DrawsOfOp

    @property
    def identity(self) -> str:
        """The same in every process: the class of the op with its code, and its properties."""
        op = self.drawing.op
        shown = [f"{name}={getattr(op, name, None)!r}" for name in type(op).__props__]
        code = identity_of(op.rng_fn)
        return f"{type(op).__module__}.{type(op).__qualname__} {code} {' '.join(shown)} {self.drawing.dtype}"

    def __call__(self, uniforms: Array, lengths: Array, *parameters: Array) -> Array:
        shape = tuple(int(n) for n in lengths)
        size = shape[: len(shape) - self.drawing.event_rank] or None
        drawn = np.asarray(self.drawing.op.rng_fn(generator_of(uniforms), *parameters, size))
        return drawn.astype(self.drawing.dtype, copy=False)


class DrawnByOp(CustomDist):
    """A variable that an op of a program draws, with the density of the program's class."""

    formulas: Formulas = static(lambda title, name, given: given)
    kind: Any = static(lambda title, name, given: given)

    @property
    def mapped_support(self) -> Constraint:
        kind, vectors = self.kind, self.event_rank > 0
        if kind is None or issubclass(kind, Discrete):
            return self.bound_support
        if issubclass(kind, PositiveContinuous) and self.event_rank < 2:
            return positive_vector if vectors else positive
        if not vectors and issubclass(kind, UnitContinuous | CircularContinuous):
            return open_unit_interval if issubclass(kind, UnitContinuous) else circle
        if not vectors and issubclass(kind, BoundedContinuous):
            places = kind.bound_args_indices
            if places is None:
                raise MissingRuleError(
                    f"{self.title} is derived from BoundedContinuous and needs `bound_args_indices`."
                )
            ends = [self.values[i - 2 if i >= 0 else i] if i is not None else None for i in places]
            return interval(-np.inf if ends[0] is None else ends[0], np.inf if ends[1] is None else ends[1])
        return self.bound_support

    @property
    def sampled_support(self) -> Constraint:
        return self.mapped_support

    def over_batch(self, result: Node, shape: Shape, formula: str, name: str) -> Node:
        return Distribution.over_batch(self, result, shape, formula, name)  # PyMC broadcasts a scalar, too

    def has(self, formula: str) -> bool:
        return formula == "draw" or (self.kind is not None and own_formula(self.kind, formula) is not None)

    def logccdf(self, value: Node) -> Node:
        return self._by_the_class("logccdf", value) if self.has("logccdf") else super().logccdf(value)

    def icdf(self, q: Node) -> Node:
        return self._by_the_class("icdf", q)

    def support_point(self) -> Node:
        function = None if self.kind is None else own_formula(self.kind, "support_point")
        if function is None:  # the middle of the line that samplers move on
            transform = to_unconstrained(self.mapped_support)
            middle = constant(0, self.formulas.dtype)
            return middle if transform is None else transform.backward(middle)
        rv = self.variable(self.values, settings=(self.formulas, None))
        return as_tensor(function(rv, None, *self.values))

    def _by_the_class(self, formula: str, value: Node) -> Node:
        function = None if self.kind is None else own_formula(self.kind, formula)
        if function is None:
            self.missing(formula)
        return as_tensor(function(value, *self.values))


def own_formula(kind: type[Distribution], formula: str) -> Callable[..., Any] | None:
    """The function of a value and of parameters that a program's class has by this name; None where it has none."""
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "consilience":
            return None
        if formula in vars(base):
            found = vars(base)[formula]
            function: Callable[..., Any] = getattr(found, "__func__", found)
            return function
    return None


def variable(
    op: RandomOp, kind: type[Distribution] | None, parameters: Sequence[Any], shape: Any, size: Any, dtype: Any = None
) -> Node:
    """A variable drawn by an op, with the formulas of a class."""
    values = [as_tensor(p) for p in parameters]
    if len(values) != len(op.ndims_params or ()):
        raise TypeError(f"{op.title} takes {len(op.ndims_params or ())} parameters, got {len(values)}.")
    element = str(dtype or op.dtype or "floatX")
    element = {"floatX": "float64", "bool": "int64"}.get(element, element)
    element = "int64" if element.startswith(("int8", "int16", "uint")) else element
    event = op.event(values)
    ranks = tuple(op.ndims_params or ())
    functions = {name: None if kind is None else own_formula(kind, name) for name in ("logp", "logcdf")}
    drawing = DrawsOfOp(op, len(event), element)
    title = op.title if kind is None else kind.title
    formulas = Formulas(title, functions["logp"], functions["logcdf"], drawing, None, None, ranks, event, element)
    return DrawnByOp.variable(values, shape, size, (formulas, kind))


@means("variable_of_rv_op")
def variable_of_class(
    kind: Any, parameters: Sequence[Any], *, shape: Any = None, size: Any = None, **named: Any
) -> Node:
    """A variable of a class with `rv_op`: what `dist` of PyMC's bases makes of the op's parameters in a list."""
    if not isinstance(kind.rv_op, RandomOp):
        raise MissingRuleError(
            f"{kind.title} draws by an op of PyTensor's (`rv_op`) that is no `RandomVariable` with `rng_fn`: write its "
            "expression as `dist=` of a `pm.CustomDist`. A library that builds on PyMC's graphs keeps PyMC, and "
            "samples here with `import consilience.for_pymc`."
        )
    bound = distribution_of(kind.rv_op(*parameters, **named), kind.title)
    drawing = cast(DrawsOfOp, cast(DrawnByOp, bound).formulas.random)
    return variable(drawing.op, kind, bound.values, shape, size, drawing.dtype)


class DefaultTransforms:
    """PyMC's `_default_transform`: what a program enters for classes of its own, by op or by distribution."""

    def __init__(self) -> None:
        self.registry: dict[type, Callable[[Any, Node], Any]] = {}

    def register(self, kind: type[Any], function: Callable[[Any, Node], Any] | None = None) -> Any:
        """Enter a function of op and variable for a class that a program derived, directly or as a decorator."""
        if function is None:
            return lambda given: self.register(kind, given)
        if kind.__module__.partition(".")[0] == "consilience":
            raise MissingRuleError(
                f"the default transform of {kind.__name__} is this library's; give `default_transform=` to a variable."
            )
        self.registry[kind] = function
        return function

    def dispatch(self, rv: Node) -> Callable[[], Transform | None] | None:
        """The transform that was entered for the class of a variable or of its op, nearest first; None: none was."""
        bound = cast(DrawnByOp, distribution_of(rv))
        op = cast(DrawsOfOp, bound.formulas.random).op
        for kind in (*(() if bound.kind is None else bound.kind.__mro__), *type(op).__mro__):
            if kind in self.registry:
                given = self.registry[kind](op, rv)
                return lambda: None if given is None else of_variable(given, registry.inputs_of(rv))
        return None

    def __call__(self, op: object, rv: Node) -> Transform | None:
        """The default transform of a variable."""
        del op
        return registry.default_transform(rv)


default_transforms = DefaultTransforms()
registry.OF_DISTRIBUTIONS[DrawnByOp] = default_transforms.dispatch
